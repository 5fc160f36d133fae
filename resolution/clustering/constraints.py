"""Clusters while they form. Constraints are kept here, where clusters are united, so that no chain of merges gets round them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from polyonym.resolution.clustering.evidence import Side, merge_weights, side
from polyonym.resolution.judgements.judgements import Constraints
from polyonym.resolution.names.entity_types import TYPES, compatible
from polyonym.resolution.within_document.document_entities import DocumentEntity

APART = -6.0
"""Below these log-odds what documents say of two things parts them, whatever their names and links."""
_FIRM = {t: frozenset({t} - {"OTHER"}) for t in TYPES}


@dataclass(slots=True)
class Growing:
    """A cluster while it forms: its within-document entities (by index) and what may not be mixed in it. There is one for every within-document entity at first, mostly of empty
    sets; frozen ones share what is empty.
    """

    members: list[int]
    wikidata: frozenset[str]
    registry: frozenset[str]
    types: frozenset[str]
    variants: frozenset[str]  # names that are one by likeness alone, each of which must be like each other
    side: Side  # what its documents say of it


class Partition:
    """Within-document entities in clusters, united two by two. Promise 4: never two Wikidata ids; never two registry ids unless both carry the same
    Wikidata id; never types that cannot go together; never what a person has judged different.
    """

    def __init__(
        self, document_entities: Sequence[DocumentEntity], constraints: Constraints, type_of_unit: Callable[[DocumentEntity], str]
    ):
        self.document_entities = document_entities
        self._weights = merge_weights()
        self.heeds_what_is_said = False  # what people and the registry say goes before what documents say
        self._parent = list(range(len(document_entities)))
        self.clusters = {
            i: Growing(
                [i],
                frozenset({u.wikidata_id} if u.wikidata_id else ()),
                frozenset({u.registry_id} if u.registry_id else ()),
                _FIRM[type_of_unit(u)],
                frozenset(),
                side(u, type_of_unit(u)),
            )
            for i, u in enumerate(document_entities)
        }
        index = {u.key: i for i, u in enumerate(document_entities)} if constraints.same or constraints.different else {}
        self.judged_same = sorted((index[a], index[b]) for a, b in constraints.same if a in index and b in index)
        self._apart: dict[int, set[int]] = defaultdict(set)
        for a, b in constraints.different:
            if a in index and b in index:
                self._apart[index[a]].add(index[b])
                self._apart[index[b]].add(index[a])

    def find(self, i: int) -> int:
        """The root within-document entity of a within-document entity's cluster."""
        while self._parent[i] != i:
            self._parent[i] = self._parent[self._parent[i]]
            i = self._parent[i]
        return i

    def roots(self, members: Iterable[int]) -> list[int]:
        """The roots of these within-document entities' clusters, sorted."""
        return sorted({self.find(i) for i in members})

    def cluster(self, i: int) -> Growing:
        """The cluster that a within-document entity is in."""
        return self.clusters[self.find(i)]

    def conflict(self, i: int, j: int) -> str:
        """Why the clusters of two within-document entities may not become one, in words; "" when they may."""
        a, b = self.cluster(i), self.cluster(j)
        if len(a.wikidata | b.wikidata) > 1:
            return "different Wikidata ids"
        if len(a.registry | b.registry) > 1 and not (a.wikidata and a.wikidata == b.wikidata):
            return "different registry ids"
        if not all(compatible(x, y) for x in a.types for y in b.types):
            return "types that cannot go together"
        if self.heeds_what_is_said and self._weights.against(a.side, b.side) < APART:
            return "what is said of them"
        if self._apart:
            small, large = (a, b) if len(a.members) <= len(b.members) else (b, a)
            root = self.find(large.members[0])
            if any(self.find(x) == root for m in small.members for x in self._apart.get(m, ())):
                return "judged different"
        return ""

    def join(self, i: int, j: int) -> bool:
        """Unite the clusters of two within-document entities where nothing forbids it; says whether they are one now."""
        a, b = self.find(i), self.find(j)
        if a == b:
            return True
        if self.conflict(a, b):
            return False
        keep, gone = (a, b) if (len(self.clusters[a].members), -a) >= (len(self.clusters[b].members), -b) else (b, a)
        self._parent[gone] = keep
        into, from_ = self.clusters[keep], self.clusters.pop(gone)
        into.members += from_.members
        into.wikidata |= from_.wikidata
        into.registry |= from_.registry
        into.types |= from_.types
        into.variants |= from_.variants
        into.side |= from_.side
        return True

    def join_all(self, members: Iterable[int]) -> list[int]:
        """Unite what may be united, the clusters with most mentions first; returns the roots of the clusters that remain."""
        kept: list[int] = []
        for i in sorted(self.roots(members), key=lambda r: (-self.mentions(r), self.document_entities[r].key)):
            if not any(self.join(k, i) for k in kept):
                kept.append(i)
        return self.roots(kept)

    def mentions(self, i: int) -> int:
        """How many mentions the cluster of a within-document entity has."""
        return sum(n.count for m in self.cluster(i).members for n in self.document_entities[m].names)
