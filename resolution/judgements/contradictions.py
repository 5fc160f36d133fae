"""Whether judgements can all be obeyed at once, and which of them cannot. Near linear in their number."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from polyonym.resolution.judgements.judgements import Judgement, LinkJudgements, Reference, part_name, spoken_of


@dataclass(frozen=True)
class Contradiction:
    """A judgement, and the ones before it that together forbid it, in the order in which they follow from one another."""

    judgement: Judgement
    others: tuple[Judgement, ...]


def contradiction(known: Sequence[Judgement], new: Sequence[Judgement]) -> Contradiction | None:
    """The contradiction that the new judgements bring in among themselves or with the known ones; None when there is none.

    Two things are bound by "same" and by links to one item; they are kept apart by "different", by a split, by links to two items and by a
    link to an item and one to none. Another link of the very same subject contradicts too. What counts is all of them together, so that
    their order decides only which one is named.
    """
    place = {j: i for i, j in reversed(list(enumerate([*known, *new])))}
    bonds = _Bonds(list(place))
    for a, b, why in bonds.kept_apart():
        involved = list(dict.fromkeys([*bonds.chain(a, b), *why]))
        last = max(involved, key=place.__getitem__)
        if place[last] >= len(known):
            return Contradiction(last, tuple(j for j in involved if j != last))
    return _second_link(known, new)


def _second_link(known: Sequence[Judgement], new: Sequence[Judgement]) -> Contradiction | None:
    """A new link of a subject that has another link."""
    made: dict[Reference, list[Judgement]] = defaultdict(list)
    for judgement in (j for j in known if j.kind == "link"):
        made[judgement.subject].append(judgement)
    for judgement in (j for j in new if j.kind == "link"):
        others = tuple(j for j in made[judgement.subject] if j.value != judgement.value)
        if others:
            return Contradiction(judgement, others)
        made[judgement.subject].append(judgement)
    return None


class _Places:
    """All that judgements speak of: names, everywhere or in one document. One place can lie in another."""

    def __init__(self, judgements: Iterable[Judgement]):
        self.every = sorted({r for j in judgements for r in spoken_of(j)}, key=str)
        self._of_name: dict[str, list[Reference]] = defaultdict(list)
        self._of_document: dict[tuple[str, str | None], list[Reference]] = defaultdict(list)
        for place in self.every:
            self._of_name[place.name].append(place)
            self._of_document[place.name, place.document].append(place)

    def covered(self, reference: Reference) -> list[Reference]:
        """The places that a reference speaks of."""
        if reference.document is None:
            near = self._of_name[reference.name]
        else:
            near = [p for d in dict.fromkeys((reference.document, *reference.also)) for p in self._of_document[reference.name, d]]
        return [p for p in near if reference.covers(p)]


class _Bonds:
    """Places, what binds them and what keeps them apart, as judgements say it."""

    def __init__(self, judgements: Sequence[Judgement]):
        self._judgements = judgements
        self._places = _Places(judgements)
        links = LinkJudgements(judgements)
        self._link = {p: link for p in self._places.every if (link := links.of(p.name, p.document))}
        # Places that are bound hang on one knot: a judgement that two things are the same, or an item that they are linked to.
        self._knots: dict[Reference, list[Judgement | str]] = defaultdict(list)
        self._places_at: dict[Judgement | str, list[Reference]] = {}
        for judgement in judgements:
            if judgement.kind == "same":
                self._tie(judgement, [p for side in (judgement.subject, judgement.others[0]) for p in self._places.covered(side)])
        items: dict[str, list[Reference]] = defaultdict(list)
        for place, link in self._link.items():
            if link.value:  # what stands for no item may be anything
                items[link.value].append(place)
        for item, places in items.items():
            self._tie(item, places)
        self._group = self._groups()

    def _tie(self, knot: Judgement | str, places: list[Reference]) -> None:
        self._places_at[knot] = places
        for place in places:
            self._knots[place].append(knot)

    def _groups(self) -> dict[Reference, int]:
        """For each bound place the number of the group of places that are bound to one another."""
        group: dict[Reference, int] = {}
        for start in self._knots:
            if start not in group:
                group.update(dict.fromkeys(self._paths(start), len(group)))
        return group

    def _paths(self, start: Reference) -> dict[Reference, tuple[Reference, Judgement | str] | None]:
        """All places that are bound to one, each with the place before it on a shortest way from there and the knot that they share."""
        before: dict[Reference, tuple[Reference, Judgement | str] | None] = {start: None}
        untied: set[Judgement | str] = set()
        queue = deque([start])
        while queue:
            here = queue.popleft()
            for knot in self._knots.get(here, ()):
                if knot not in untied:
                    untied.add(knot)
                    fresh = [p for p in self._places_at[knot] if p not in before]
                    before |= dict.fromkeys(fresh, (here, knot))
                    queue.extend(fresh)
        return before

    def chain(self, start: Reference, end: Reference) -> list[Judgement]:
        """The judgements that bind two places of one group, on a shortest way."""
        before = self._paths(start)
        made: list[Judgement] = []
        while step := before[end]:
            previous, knot = step
            made += [self._link[end], self._link[previous]] if isinstance(knot, str) else [knot]
            end = previous
        return made[::-1]

    def kept_apart(self) -> Iterator[tuple[Reference, Reference, tuple[Judgement, ...]]]:
        """Pairs of places of one group that must not be one thing, and what says so; at least one pair of each group that has any."""
        for judgement in self._judgements:
            for left, right in self._sides_apart(judgement):
                there = {self._group[p] for p in left if p in self._group} & {self._group[p] for p in right if p in self._group}
                for group in sorted(there):
                    rivals = ((a, b) for a in self._of(left, group) for b in self._of(right, group) if a != b)
                    yield from ((a, b, (judgement,)) for a, b in rivals)
        linked: dict[int, list[Reference]] = defaultdict(list)
        for place in sorted(self._link, key=lambda p: (self._link[p].value, str(p))):
            if place in self._group:
                linked[self._group[place]].append(place)
        for places in linked.values():
            if len({self._link[p].value for p in places}) > 1:
                pairs = combinations(places, 2)
                yield from ((a, b, (self._link[a], self._link[b])) for a, b in pairs if self._link[a].value != self._link[b].value)

    def _of(self, places: Iterable[Reference], group: int) -> list[Reference]:
        return [p for p in places if self._group.get(p) == group]

    def _sides_apart(self, judgement: Judgement) -> Iterator[tuple[list[Reference], list[Reference]]]:
        """The places on both sides of what a judgement says are two things."""
        if judgement.kind == "different":
            yield self._places.covered(judgement.subject), self._places.covered(judgement.others[0])
        elif judgement.kind == "split":
            for whole in sorted({o.name for o in judgement.others}):
                yield self._places.covered(Reference(whole)), self._places.covered(Reference(part_name(whole, judgement)))
