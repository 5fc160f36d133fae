"""Which within-document entities of different documents are one thing. Pure: the answer for a block depends on the within-document entities of that block alone.

Evidence is used best first: what people judged, confident links, equal names, variants of full names, likely links of names that are alike,
short names and their owners.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import exp, fsum
from typing import Any

from polyonym.ingest.text.common_words import is_common
from polyonym.resolution.clustering.blocks import blocks, linking_names, people_of, slip_keys, without_country, word_key
from polyonym.resolution.clustering.canonical_names import canonical_name
from polyonym.resolution.clustering.constraints import Partition
from polyonym.resolution.clustering.contexts import MOST_HOLDERS, Context, Nearness, nearest
from polyonym.resolution.clustering.evidence import Bearers, Side, between, merge_weights, nobody, said
from polyonym.resolution.decisions import Decision
from polyonym.resolution.judgements.judgements import Constraints
from polyonym.resolution.names.abbreviations import abbreviates
from polyonym.resolution.names.comparison import alike
from polyonym.resolution.names.entity_types import majority, type_of
from polyonym.resolution.names.normal_forms import demonym_of, is_generic, is_place_name, is_typo_variant, without_legal_form
from polyonym.resolution.names.persons import (
    PersonParts,
    given_keys,
    is_given_name,
    is_initial,
    is_surname,
    may_be_one_person,
    person_parts,
    specificity,
)
from polyonym.resolution.names.tables import squash
from polyonym.resolution.within_document.addresses import may_be_one
from polyonym.resolution.within_document.document_entities import DocumentEntity


@dataclass(frozen=True)
class Cluster:
    """Within-document entities that are one thing."""

    document_entities: tuple[tuple[str, str], ...]  # sorted within-document entity keys (document, head)
    name: str
    type: str
    wikidata_id: str | None = None
    registry_id: str | None = None


@dataclass(frozen=True)
class Solution:
    """The clusters of one or more blocks, with the decisions that made them."""

    clusters: list[Cluster]
    decisions: list[Decision]


CLEAR = 0.6
"""The least share among its possible bearers that a cluster is joined with."""
SURE = 0.95
"""From this probability on a join is not told by itself."""
TELLING = 2.5
"""From such log-odds on what documents say of a short name decides whose it is."""
MARGIN = 0.01
"""By how much the nearest owner's context must beat the next one's, and by at least a quarter of that."""
DOMINANT = 2
"""How many times as many documents must use an organisation's short name for one owner as for the next."""


def solve(
    document_entities: Sequence[DocumentEntity],
    constraints: Constraints,
    context: Context,
    demonyms: bool = False,
    bearers: Bearers = nobody,
) -> Solution:
    """Clusters of the within-document entities of one or more whole blocks, and the decisions behind them.

    `context(document)` gives the content words of a document (see contexts.content_words); it is asked only where a short name
    has several owners. `demonyms` unites a people's name with its country, `bearers` tells how many known things bear a name. The result does not depend on the order of `document_entities`, and
    equals the union of the results for single blocks.
    """
    clusters: list[Cluster] = []
    decisions: list[Decision] = []
    for block in blocks(document_entities, sorted(constraints.same), demonyms):
        if len(block) == 1:
            clusters.append(_cluster(block, {block[0].wikidata_id} - {None}, {block[0].registry_id} - {None}, ()))
            continue
        solver = _Block(block, constraints, context, demonyms, bearers)
        solver.solve()
        clusters += solver.clusters()
        decisions += solver.decisions
    return Solution(
        sorted(clusters, key=lambda c: c.document_entities), sorted(decisions, key=lambda d: (d.scope, d.kind, d.names, d.verdict))
    )


def firm_type(document_entity: DocumentEntity) -> str:
    """The within-document entity's type where its document leaves no doubt (PERSON or PLACE), else OTHER, which goes with everything.

    A recogniser's single label is noise; a person's full name, or the same label again and again, is none.
    """
    labels = document_entity.labels
    total = sum(labels.values())
    types = {type_of(label) for label in labels}
    if len(types) > 1 or not types <= {"PERSON", "PLACE"}:
        return "OTHER"
    type_ = types.pop()
    person, place = is_given_name(document_entity.head.split()[0]) or is_surname(document_entity.head), is_place_name(document_entity.head)
    if type_ == "PERSON" and (document_entity.surname or (total > 2 and (person or not place))):
        return "PERSON"
    if type_ == "PLACE" and (place or (total > 2 and not person)):
        return "PLACE"
    return "OTHER"


def _is_short(name: str) -> bool:
    """Whether a name is no full name: one word, or a surname behind an initial."""
    parts = person_parts(name)
    return " " not in name or (parts is not None and is_initial(parts.given[0]))


class _Block:
    """One block while it is solved."""

    def __init__(self, document_entities: list[DocumentEntity], constraints: Constraints, context: Context, demonyms: bool, known: Bearers):
        self.document_entities = document_entities
        self.context = context
        self.demonyms = demonyms
        self.known = known
        self.partition = Partition(document_entities, constraints, firm_type)
        self.decisions: list[Decision] = []
        self.weights = merge_weights()
        self.doubtful: set[int] = set()  # within-document entities that may be several bearers'
        self.heads: dict[str, list[int]] = {}
        for i, u in enumerate(document_entities):
            self.heads.setdefault(u.head, []).append(i)
        self.owners = self._owners()

    def solve(self) -> None:
        for i, j in self.partition.judged_same:
            if self.partition.find(i) != self.partition.find(j) and self.partition.join(i, j):
                self._decide("merge", self.document_entities[i].head, [i, j], "judged the same", {})
        self._same_entries()
        self._same_addresses()
        self.partition.heeds_what_is_said = True
        short = [h for h in self.heads if h in self.owners]
        for head in sorted(self.heads):
            if head not in self.owners:
                self._same_name(head, self.heads[head])
        self._same_items()
        if len(self.heads) > 1:
            self._variants()
            self._alike_of_one_item()
        for head in sorted(short, key=lambda h: (-len(h.split()), -len(h), h)):
            self._short_name(head)
        if self.demonyms:
            self._demonyms()

    def _same_addresses(self) -> None:
        """Whoever writes from one address. A first name, a surname or initials that an address makes clear are settled by it: they say
        nothing of those who bear them elsewhere.
        """
        by_address: dict[str, list[int]] = {}
        for i, u in enumerate(self.document_entities):
            for address in u.addresses:
                by_address.setdefault(address, []).append(i)
        for address, members in sorted(by_address.items()):
            heads = {self.document_entities[i].head for i in members}
            if len(members) == 1 or not may_be_one(heads):
                continue
            self._join(min(heads, key=lambda h: (-len(h), h)), members, "same e-mail address", {"address": address})
            short = {h for h in heads if _is_short(h)}
            for head in sorted(short) if len(short) < len(heads) else ():
                settled = {i for i in members if self.document_entities[i].head == head}
                self.heads[head] = [i for i in self.heads[head] if i not in settled]
        self.heads = {head: members for head, members in self.heads.items() if members}

    def _owners(self) -> dict[str, list[int]]:
        """Short names, with the within-document entities of longer names that they are short for."""
        owners: dict[str, list[int]] = {}
        for i, u in enumerate(self.document_entities):
            names = {*linking_names(u)[1:], u.surname, u.head.partition(",")[0], without_country(u.head)} - {u.head, ""}
            for name in names:
                owners.setdefault(name, []).append(i)
        return owners

    def _same_entries(self) -> None:
        """What the registry knows as one: the user's word."""
        by_id: dict[str, list[int]] = {}
        for i, u in enumerate(self.document_entities):
            if u.registry_id:
                by_id.setdefault(u.registry_id, []).append(i)
        for value, members in sorted(by_id.items()):
            if len(members) > 1:
                self._join(self.document_entities[members[0]].head, members, "same registry entry", {"registry_id": value})

    def _same_items(self) -> None:
        """Names of one Wikidata item. Of several bearers of one name that are linked to it, the one that most documents speak of has it."""
        by_id: dict[str, dict[str, list[int]]] = {}
        for i, u in enumerate(self.document_entities):
            if value := u.wikidata_id:
                by_id.setdefault(value, {}).setdefault(u.head, []).append(i)
        for value, heads in sorted(by_id.items()):
            chosen = [self._most_spoken_of(heads[h]) for h in sorted(heads)]
            if len(chosen) > 1:
                self._join(
                    self.document_entities[chosen[0][0]].head,
                    sorted(i for joined in chosen for i in joined),
                    "same Wikidata item",
                    {"wikidata_id": value},
                )

    def _most_spoken_of(self, members: Sequence[int]) -> list[int]:
        """Those of these within-document entities that are in the largest of their clusters."""
        roots = self.partition.roots(members)
        best = max(roots, key=lambda r: (len(self.partition.cluster(r).members), -min(self.partition.cluster(r).members)))
        return [i for i in members if self.partition.find(i) == best]

    def _alike_of_one_item(self) -> None:
        """Names that are alike, of within-document entities that may be linked to one item though none is surely: "ibm", "international business machines"."""
        by_item: dict[str, dict[str, int]] = {}
        for i, u in enumerate(self.document_entities):
            if u.item and not is_generic(u.head):
                by_item.setdefault(u.item, {}).setdefault(u.head, i)
        for item, heads in sorted(by_item.items()):
            for a, b in combinations(sorted(heads), 2):
                if alike(a, b):
                    self._join(a, [heads[a], heads[b]], "linked to one item, and alike", {"names": [a, b], "item": item})

    def _same_name(self, head: str, members: list[int]) -> None:
        """One node for each bearer of a name."""
        if not is_generic(head) and len(members) > 1:
            self._bearers(head, members, "same name", {})

    def _bearers(self, name: str, members: Iterable[int], verdict: str, features: Mapping[str, Any]) -> None:
        """Unite what the evidence says is one bearer of a name, or of names that are alike. The clusters of which most is said come first; each
        joins the bearer to which it more probably belongs than to none or another one. Of what could be several bearers' and is said too little
        of to be one more, the context decides, or it stays apart.
        """
        before = self.partition.roots(i for i in members if i not in self.doubtful)
        if len(before) < 2:
            return
        order = sorted(before, key=lambda r: (-self.partition.cluster(r).side.telling, self.document_entities[r].key))
        bearers = _Bearers()
        joined: list[_Join] = []
        unclear: list[int] = []
        for root in order:
            side = self.partition.cluster(root).side
            ranked = self._ranked(name, root, bearers.like(side, self.document_entities))
            best = ranked[0] if ranked else None
            if best:
                best = replace(best, mentions=self.partition.mentions(root))
            if best and best.odds >= 1.0 and best.share >= CLEAR and self.partition.join(best.to, root):
                bearers.index(best.to, side)
                joined.append(best)
            elif not bearers.all or (side.telling and (best is None or best.odds < 1.0)):
                bearers.add(root, side)
                if best and len({self.document_entities[i].head for i in before}) == 1:
                    self._part(name, best)
            else:
                unclear.append(root)
        self._tell(name, joined, verdict, {"documents": len(before), **features})
        if unclear:
            self._unclear(name, unclear, bearers.all)

    def _ranked(self, name: str, root: int, bearers: Sequence[int]) -> list["_Join"]:
        """For each bearer how far a cluster may be its, the likeliest first."""
        side = self.partition.cluster(root).side
        known = self.known(name)
        weighed = {b: between(name, known, self.partition.cluster(b).side, side) for b in bearers if not self.partition.conflict(b, root)}
        odds = {b: exp(self.weights.weigh(f)) for b, f in weighed.items()}
        each = {b: odds[b] * len(self.partition.cluster(b).members) for b in weighed}
        total = fsum(each[b] for b in sorted(each))
        made = [_Join(root, b, round(odds[b], 3), round(each[b] / total, 3), weighed[b]) for b in weighed]
        return sorted(made, key=lambda j: (-j.share, self.document_entities[j.to].key))

    def _unclear(self, name: str, roots: Sequence[int], bearers: Sequence[int]) -> None:
        owners = {self.partition.find(b): self.partition.cluster(b).members for b in bearers}
        if len(owners) > 1:
            self._several(name, roots, {r: list(m) for r, m in owners.items()})

    def _tell(self, name: str, joined: Sequence["_Join"], verdict: str, features: Mapping[str, Any]) -> None:
        """Record joins: the sure ones of a name together, each of those in doubt by itself, with what speaks for and against it."""
        sure = [j for j in joined if j.probability >= SURE]
        for j in joined:
            if j.probability < SURE:
                self._decide("merge", name, [j.root, j.to], verdict, self._told(j))
        if sure:
            members = sorted({i for j in sure for i in (j.root, j.to)})
            least = min(sure, key=lambda j: (j.probability, self.document_entities[j.root].key))
            self._decide("merge", name, members, verdict, {**features, **self._told(least)})

    def _part(self, name: str, nearest: "_Join") -> None:
        """Record that a cluster is another bearer than the nearest one."""
        self._decide("split", name, [nearest.root, nearest.to], "two bearers of one name", self._told(nearest))

    def _told(self, join: "_Join") -> dict[str, Any]:
        return {"probability": join.probability, "mentions": join.mentions, "weights": self.weights.parts(join.features)}

    def _variants(self) -> None:
        """Full names: the same letters or words in another arrangement, slips, persons with other forms of their given names."""
        self._same_key(squash, "same letters")
        self._same_key(word_key, "same words")
        self._peoples()
        self._persons()
        self._typo_variants()

    def _same_key(self, key: Callable[[str], str], verdict: str) -> None:
        same: dict[str, list[str]] = {}
        for head in sorted(self.heads):
            if not is_generic(head) and len(head.split()) > 1:
                same.setdefault(key(head), []).append(head)
        for heads in same.values():
            if len(heads) > 1:
                self._bearers(heads[0], [i for h in heads for i in self.heads[h]], verdict, {"names": heads})

    def _peoples(self) -> None:
        members: dict[str, list[int]] = {}
        for i, document_entity in enumerate(self.document_entities):
            if people := people_of(document_entity):
                members.setdefault(people, []).append(i)
        for peoples in members.values():
            names = sorted({self.document_entities[i].head for i in peoples})
            if len(names) > 1:
                self._join(names[0], peoples, "singular and plural", {"names": names})

    def _persons(self) -> None:
        """Each full name of a surname, the fuller first, to the one fuller name that it can be short for."""
        by_surname: dict[str, list[tuple[str, PersonParts]]] = {}
        for head, members in self.heads.items():
            parts = person_parts(head) if any(self.document_entities[i].surname for i in members) else None
            if parts:
                by_surname.setdefault(parts.last, []).append((head, parts))
        for people in by_surname.values():
            people.sort(key=lambda p: specificity(p[1]), reverse=True)
            filed: dict[str, list[tuple[str, PersonParts]]] = {}
            for head, parts in people:
                under, looked_for = given_keys(parts.given[0])
                persons = {h: p for key in sorted(looked_for) for h, p in filed.get(key, ())}
                fuller = [h for h, p in persons.items() if may_be_one_person(p, parts)]
                for key in under | {f"={w}" for w in parts.words[1:-1]}:
                    filed.setdefault(key, []).append((head, parts))
                roots = self.partition.roots(self.heads[h][0] for h in fuller)
                if len(roots) == 1:
                    self._join_variant(head, fuller[0], "fuller name of a person", lambda a, b: _may_be_one_person(a, b))

    def _typo_variants(self) -> None:
        by_key: dict[str, list[str]] = {}
        for head in sorted(self.heads):
            for key in slip_keys(head):
                by_key.setdefault(key, []).append(head)
        pairs = {(a, b) for heads in by_key.values() for n, a in enumerate(heads) for b in heads[n + 1 :] if is_typo_variant(a, b)}
        for a, b in sorted(pairs):
            self._join_variant(a, b, "slip of the pen", _may_be_typo_variant)

    def _join_variant(self, a: str, b: str, verdict: str, alike: Callable[[str, str], bool]) -> None:
        """Unite two names that are alike, if every variant already in the one's cluster is like every one in the other's."""
        i, j = self.heads[a][0], self.heads[b][0]
        left, right = self.partition.cluster(i).variants | {a}, self.partition.cluster(j).variants | {b}
        called = [h for h in left | right if self._nicknamed(h)]
        if all(x == y or alike(x, y) or any(_covers(h, x) and _covers(h, y) for h in called) for x in left for y in right):
            self._bearers(a, [*self.heads[a], *self.heads[b]], verdict, {"names": [a, b]})
            self.partition.cluster(i).variants |= left | right

    def _nicknamed(self, head: str) -> bool:
        """Whether a document writes one of a name's words in quotes: Walter "Buck" Hennessy goes by either of them."""
        names = (n for i in self.heads.get(head, ()) for n in self.document_entities[i].names if n.name == head)
        return any(_IN_QUOTES.search(surface) for n in names for surface in n.surfaces)

    def _short_name(self, head: str) -> None:
        """A short name in documents that do not say what it is short for: to its owner, by context where it has several."""
        members = self.heads[head]
        if is_generic(head):
            return
        people: list[int] = []
        others: list[int] = []
        for i in self.owners[head]:
            (people if head == self.document_entities[i].surname and self._rule(i, head) in ("", "surname") else others).append(i)
        labels: Counter[str] = Counter()
        for i in members:
            labels.update(self.document_entities[i].labels)
        if people and others:
            people, others = (people, []) if majority(labels) == "PERSON" else ([], others)
        if people and not self._may_be_surname(head, labels, people):
            people = []
        places_ = [i for i in members if people and firm_type(self.document_entities[i]) == "PLACE"]
        members = [i for i in members if i not in places_]
        self._same_name(head, places_)
        others = [i for i in others if self._travels(head, others, members)]
        owners: dict[int, list[int]] = defaultdict(list)
        # What the registry knows by its short name is nobody's short form; it may itself be what another document means.
        settled = [i for i in members if self.partition.cluster(i).registry]
        members = [i for i in members if i not in settled]
        for i in [*(people or others), *settled]:
            owners[self.partition.find(i)].append(i)
        if not owners or not members:
            self._same_name(head, members)
        elif len(owners) == 1:
            root = next(iter(owners))
            verdict = "only owner of the surname" if people else "only owner of the short name"
            another = [i for i in members if not self._may_belong(i, root)]
            self._join(head, [root, *(i for i in members if i not in another)], verdict, {"owner": self.document_entities[root].head})
            self._same_name(head, another)
        else:
            unclear, another = self._by_what_is_said(head, members, owners)
            if unclear:
                self._several(head, unclear, owners, dominant=not people)
            self._same_name(head, another)

    def _by_what_is_said(self, head: str, members: Sequence[int], owners: Mapping[int, Sequence[int]]) -> tuple[list[int], list[int]]:
        """Give a short name's within-document entities to the owner of which their documents say the same rather than of any other. The within-document entities of which they say
        too little, and those of which they say what fits none.
        """
        unclear: list[int] = []
        another: list[int] = []
        for i in members:
            side = self.partition.cluster(i).side
            sides = {r: said(self.partition.cluster(r).side, side) for r in sorted(owners)} if len(owners) <= FEW else {}
            odds = {r: self.weights.said(f) for r, f in sides.items()}
            ranked = sorted(odds, key=lambda r: (-odds[r], self.document_entities[r].key))
            if ranked and odds[ranked[0]] < -TELLING:
                another.append(i)
            elif ranked and odds[ranked[0]] - odds[ranked[1]] > TELLING and self.partition.join(ranked[0], i):
                features = {"owner": self.document_entities[ranked[0]].head, "weights": self.weights.parts(sides[ranked[0]])}
                self._decide("merge", head, [i, ranked[0]], "what is said of it", features)
            else:
                unclear.append(i)
        return unclear, another

    def _may_belong(self, i: int, root: int) -> bool:
        """Whether what is said of a short name's within-document entity leaves it more probable than not that it means the only owner of the name."""
        owner = self.document_entities[root].head
        features = between(owner, self.known(owner), self.partition.cluster(root).side, self.partition.cluster(i).side)
        return self.weights.weigh(features) > 0

    def _travels(self, head: str, owners: Sequence[int], members: Sequence[int]) -> bool:
        """Whether a short name means the same outside the documents that say what it is short for: initials and words left off do; what is
        merely called so does where not more documents use the name by itself, or both may be linked to one item.
        """
        stating = [i for i in owners if self._rule(i, head) in _TOLD and not _is_made_of(head, self.document_entities[i].head)]
        if len(stating) < len(owners) or len(stating) >= len(members):
            return True
        items = {self.document_entities[i].item for i in stating} - {None}
        return bool(items & {self.document_entities[i].item for i in members})

    def _rule(self, i: int, name: str) -> str:
        """Why a within-document entity has a name besides its head; "" when it has not."""
        return next((n.rule for n in self.document_entities[i].names if n.name == name), "")

    def _may_be_surname(self, head: str, labels: Mapping[str, int], people: Sequence[int]) -> bool:
        """Whether a word that stands alone is the surname of people elsewhere, though recognisers may not take it for a person's.

        A firm with its founder's name stands alone in many documents and with him in few.
        """
        called = sum(labels.values()) - labels.get("OTHER", 0)
        if called and labels.get("PERSON", 0) * 2 >= called:
            return True
        sure = len(people) > 1 or is_given_name(self.document_entities[people[0]].head.split()[0])
        word = is_place_name(head) or (is_common(head) and len(people) < 3)
        return sure and not word and len(self.heads[head]) <= 2 * len(people)

    def _several(self, head: str, members: Sequence[int], owners: Mapping[int, list[int]], dominant: bool = True) -> None:
        """Within-document entities of a name that several things bear: to the dominant one where that is allowed, else to that of the nearest context."""
        ranked = sorted(owners, key=lambda r: (-len(owners[r]), self.document_entities[r].key))
        if dominant and len(owners[ranked[0]]) >= DOMINANT * len(owners[ranked[1]]):
            self._join(head, [ranked[0], *members], "most documents mean this one", {"owner": self.document_entities[ranked[0]].head})
            return
        nearness = Nearness((self.document_entities[i].document for i in chain(members, *owners.values())), self.context)
        for owner, users in owners.items():
            for i in users:
                nearness.add(owner, self.document_entities[i].document)
        doubtful: dict[int, tuple[dict[str, Any], tuple[dict[str, Any], ...]]] = {}
        left: Sequence[int] = members
        # Once more with the documents that the first round has added to each owner's: a story names somebody in full in few of its documents.
        for _ in range(2):
            doubtful = self._join_nearest(head, left, sorted(owners), nearness)
            if len(doubtful) in (0, len(left)):
                break
            left = list(doubtful)
        self.doubtful.update(doubtful)
        for i, (features, candidates) in doubtful.items():
            self._decide("abstain", head, [i], "several owners, none clearly nearest", features, candidates)

    def _join_nearest(
        self, head: str, members: Sequence[int], owners: Sequence[int], nearness: Nearness
    ) -> dict[int, tuple[dict[str, Any], tuple[dict[str, Any], ...]]]:
        """Join each within-document entity to the owner whose documents are clearly nearest to its own, which is then added to them. The within-document entities in doubt, with
        features and candidates.
        """
        joined: list[tuple[int, int]] = []
        doubtful = {}
        for i in members:
            scores = nearness.scores(self.document_entities[i].document)
            order = nearest(scores, owners, 5)
            candidates = tuple(
                {"name": self.document_entities[r].head, "document": self.document_entities[r].document, "score": scores.get(r, 0.0)}
                for r in order
            )
            first, second = scores.get(order[0], 0.0), scores.get(order[1], 0.0)
            margin, needed = round(first - second, 3), round(max(MARGIN, second / 4), 3)
            features = {"margin": margin, "needed": needed, "owners": len(owners), "mentions": self.partition.mentions(i)}
            if margin >= needed and self.partition.join(order[0], i):
                self._decide("merge", head, [i, order[0]], "nearest context", features, candidates)
                joined.append((order[0], i))
            else:
                doubtful[i] = (features, candidates)
        for owner, i in joined:
            nearness.add(owner, self.document_entities[i].document)
        return doubtful

    def _demonyms(self) -> None:
        for head, members in sorted(self.heads.items()):
            country = demonym_of(head)
            if country in self.heads:
                self._join(head, [*self.heads[country], *members], "people of a country", {"country": country})

    def _join(self, scope: str, members: Sequence[int], verdict: str, features: dict[str, Any]) -> None:
        before = self.partition.roots(members)
        if len(before) == 1:
            return
        kept = self.partition.join_all(members)
        if len(kept) < len(before):
            self._decide("merge", scope, members, verdict, features)
        if len(kept) > 1:
            self._decide("split", scope, members, self.partition.conflict(kept[0], kept[1]), features)

    def _decide(
        self,
        kind: str,
        scope: str,
        members: Sequence[int],
        verdict: str,
        features: Mapping[str, Any],
        candidates: tuple[dict[str, Any], ...] = (),
    ) -> None:
        document_entities = [self.document_entities[i] for i in sorted(set(members))]
        names = tuple(sorted({u.head for u in document_entities}))
        spans = tuple({"document": u.document, "start": s[0], "end": s[1]} for u in document_entities[:6] for s in _spans_of_head(u)[:1])
        self.decisions.append(Decision(scope, kind, names, verdict, candidates, dict(features), "", spans))

    def clusters(self) -> list[Cluster]:
        """The clusters as they stand."""
        return [
            _cluster([self.document_entities[i] for i in sorted(g.members)], g.wikidata, g.registry, self.owners)
            for g in self.partition.clusters.values()
        ]


@dataclass(frozen=True)
class _Join:
    """That a cluster belongs to a bearer of its name: the odds that it does if there is no other bearer, and the bearer's share among all that
    it may belong to, by what is said and by how many documents speak of each.
    """

    root: int
    to: int
    odds: float
    share: float
    features: dict[str, float]
    mentions: int = 0  # that hang on it

    @property
    def probability(self) -> float:
        return round(self.share * self.odds / (1.0 + self.odds), 3)


_TOLD = frozenset({"alias", "coreference"})
"""Rules by which a document says that two names are one thing's, without any likeness of theirs."""
FEW = 8
"""So many bearers are compared with everything; of more only those that share something with it."""


class _Bearers:
    """The bearers of a name while they are found: clusters, each by one of its within-document entities, and by what is said of them."""

    def __init__(self) -> None:
        self.all: list[int] = []
        self._by_value: dict[tuple[str, str], dict[int, None]] = defaultdict(dict)

    def add(self, document_entity: int, side: Side) -> None:
        self.all.append(document_entity)
        self.index(document_entity, side)

    def index(self, document_entity: int, side: Side) -> None:
        """This is said of a bearer."""
        for value in side.values():
            if len(holders := self._by_value[value]) <= MOST_HOLDERS:
                holders[document_entity] = None

    def like(self, side: Side, document_entities: Sequence[DocumentEntity]) -> list[int]:
        """The bearers that a side may belong to, sorted by within-document entity: what too many share tells nothing."""
        if len(self.all) <= FEW:
            return sorted(self.all)
        shared: Counter[int] = Counter()
        for value in side.values():
            if len(holders := self._by_value.get(value, {})) <= MOST_HOLDERS:
                shared.update(list(holders))
        return sorted(sorted(shared, key=lambda b: (-shared[b], document_entities[b].key))[:FEW])


def _cluster(
    document_entities: Sequence[DocumentEntity], wikidata: Iterable[Any], registry: Iterable[Any], short: Collection[str]
) -> Cluster:
    """The cluster of these sorted within-document entities; `short` holds names that are short for others."""
    labels: Counter[str] = Counter()
    for u in document_entities:
        labels.update(u.labels)
    name = canonical_name(document_entities, short)
    return Cluster(
        tuple(u.key for u in document_entities), name, _type(name, labels), min(wikidata, default=None), min(registry, default=None)
    )


def _type(name: str, labels: Mapping[str, int]) -> str:
    """The commonest type of these labels, but no place and no person behind a name with a legal form ("Hartmann Werke GmbH"): two
    letters ("AS Roma", "Li Co") are no such sign, and films and products are called like firms.
    """
    type_, bare = majority(labels), set(map(squash, without_legal_form(name).split()))
    firm = type_ in ("PLACE", "PERSON") and any(len(word) > 2 for word in set(map(squash, name.split())) - bare)
    return "ORG" if firm else type_


def _may_be_one_person(a: str, b: str) -> bool:
    left, right = person_parts(a), person_parts(b)
    return left is not None and right is not None and may_be_one_person(left, right)


def _may_be_typo_variant(a: str, b: str) -> bool:
    """Whether two names are one but for a slip: also a person's with more and with fewer given names, one of them with a slip in the surname."""
    left, right = person_parts(a), person_parts(b)
    if is_typo_variant(a, b) or left is None or right is None:
        return is_typo_variant(a, b)
    if left.last == right.last:
        return may_be_one_person(left, right)
    mended = replace(right, words=(*right.words[:-1], left.last))
    return is_typo_variant(f"{left.given[0]} {left.last}", f"{left.given[0]} {right.last}") and may_be_one_person(left, mended)


_IN_QUOTES = re.compile(r"\s[\"“‘'(][^\W\d_]{2,}[\"”’')]\s")


def _covers(long: str, short: str) -> bool:
    return set(short.split()) <= set(long.split())


def _is_made_of(short: str, long: str) -> bool:
    """Whether a short name is made of a longer one's letters: initials, or letters of it in order from the first (VLMR of Velmora)."""
    letters = iter(squash(long))
    in_order = " " not in short and len(short) < 7 and short[0] == long[0] and all(c in letters for c in squash(short))
    return in_order or abbreviates(short.upper(), [long])


def _spans_of_head(document_entity: DocumentEntity) -> list[tuple[int, int]]:
    return [span for n in document_entity.names if n.name == document_entity.head or len(document_entity.names) == 1 for span in n.evidence]
