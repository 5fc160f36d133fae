"""The names of one document and the groups that they are put into, while the rules of grouping run."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from polyonym.resolution.names.entity_types import majority
from polyonym.resolution.names.normal_forms import is_place_name, without_legal_form
from polyonym.resolution.names.persons import PersonParts, looks_like_person, person_parts
from polyonym.resolution.within_document.addresses import addresses_of

ACRONYM = re.compile(r"(?=.*[A-Z].*[A-Z])[A-Z][A-Za-z]?[A-Z&0-9]{0,7}")
Span = tuple[int, int]


@dataclass
class Name:
    """A normalised name while its document is being grouped. `owner` is the name under which a rule put it."""

    name: str
    spans: list[Span] = field(default_factory=list)
    surfaces: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    owner: str | None = None
    rule: str = ""
    evidence: tuple[Span, ...] = ()

    def __post_init__(self) -> None:
        self.tokens = self.name.split()

    @property
    def count(self) -> int:
        return len(self.spans)

    @property
    def type(self) -> str:
        return majority(self.labels)

    @property
    def person(self) -> PersonParts | None:
        """Its parts, when it is a person's full name."""
        return person_parts(self.name) if looks_like_person(self.name, self.labels, self.count) else None

    @property
    def legal(self) -> bool:
        """Whether one of its spellings has a legal form: a firm in full."""
        return any(len(without_legal_form(s).split()) < len(s.split()) for s in self.surfaces)

    @property
    def acronyms(self) -> list[str]:
        """Its raw spellings in capitals, without dots and a small plural s, when all of them are written so."""
        letters = [re.sub(r"['’.]|(?<=[A-Z]{2})s\Z|['’]s\Z", "", s.removeprefix("the ")) for s in self.surfaces]
        return letters if all(ACRONYM.fullmatch(f) for f in letters) else []


def in_reading_order(names: Iterable[Name]) -> list[Name]:
    """These names, each once, by their first mention."""
    return sorted({n.name: n for n in names}.values(), key=lambda n: (n.spans[0], n.name))


class Grouping:
    """The names of one document while the rules run. A name has at most one owner; no circles."""

    def __init__(self, text: str, names: dict[str, Name]):
        self.text = text
        self.names = names
        self.in_order = in_reading_order(names.values())
        self.people = [(n, parts) for n in self.in_order if (parts := n.person)]
        self.is_person = {n.name for n, _ in self.people}
        self.addresses = {n.name: frozenset(addresses_of(text, n.spans)) for n in self.in_order} if "@" in text else {}
        self._by_beginning: dict[str, list[Name]] = defaultdict(list)
        self._by_end: dict[str, list[Name]] = defaultdict(list)
        for n in self.in_order:
            for size in range(1, len(n.tokens)):
                self._by_beginning[" ".join(n.tokens[:size])].append(n)
                self._by_end[" ".join(n.tokens[-size:])].append(n)

    def beginning_with(self, start: str) -> Sequence[Name]:
        """The names that begin with these words and have more, in reading order."""
        return self._by_beginning.get(start, ())

    def ending_with(self, end: str) -> Sequence[Name]:
        """The names that end with these words and have more, in reading order."""
        return self._by_end.get(end, ())

    def root(self, name: str) -> str:
        while (owner := self.names[name].owner) is not None:
            name = owner
        return name

    def free(self) -> Iterator[Name]:
        """Names that have no owner yet, in reading order."""
        return (n for n in self.in_order if n.owner is None)

    def attach(self, short: Name, owner: Name, rule: str, *evidence: Span) -> None:
        """Put a name under another one, unless it has one, or each has an e-mail address of its own: "Karin <…>" is not the Karin Holm
        beside whom another address stands.
        """
        root = self.root(owner.name)
        if short.owner is not None or root == short.name:
            return
        if self.addresses:
            mine, theirs = self.addresses[short.name], self.addresses[root]
            if mine and theirs and mine.isdisjoint(theirs):
                return
            self.addresses[root] = mine | theirs
        short.owner, short.rule = owner.name, rule
        short.evidence = evidence or (short.spans[0], owner.spans[0])

    def attach_to_best(self, short: Name, owners: Iterable[Name], rule: str) -> None:
        """To the only owner, or of several to the one with most mentions, then the first."""
        best = min(owners, key=lambda o: (-o.count, o.spans[0], o.name), default=None)
        if best is not None:
            self.attach(short, best, rule)

    def attach_if_only(self, short: Name, owners: Sequence[Name], rule: str) -> None:
        """To its owner, when all owners are one thing."""
        if len({self.root(o.name) for o in owners}) == 1:
            self.attach(short, owners[0], rule)

    def is_organisation(self, name: str) -> bool:
        """Whether the document has this name and calls it an organisation's."""
        return name in self.names and self.names[self.root(name)].type == "ORG" and name not in self.is_person

    def is_place(self, name: str) -> bool:
        """Whether a name is a place's: by the tables or because the document calls it so."""
        known = self.names.get(name)
        return is_place_name(name) or (known is not None and known.type == "PLACE")
