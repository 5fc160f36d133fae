"""Which units of different documents are one thing. Pure: the answer for a block depends on the units of that block alone.

Evidence is used best first: what people judged, confident links, equal names, then short names to their owners and spelling variants.
Constraints hold where clusters form, so that no chain of merges gets round them.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from resolution.blocks import UnitKey, blocks, is_person_like, linking_names, surname_keys
from resolution.document_names import is_slip
from resolution.entity_types import compatible, majority
from resolution.name_tables import squash
from resolution.names import demonym_of, is_generic, is_given_name, person_parts, same_given_name
from resolution.units import Cluster, Constraints, Decision, Solution, Unit

Context = Callable[[str], frozenset[str]]


def solve(units: Sequence[Unit], constraints: Constraints, context: Context, demonyms: bool = False) -> Solution:
    """Clusters of the units of one or more whole blocks, and the decisions behind them.

    `context(document)` gives the content words of a document (see content_words); it is asked only where a short name has
    several owners. `demonyms` unites a people's name with its country. The result does not depend on the order of `units`, and
    equals the union of the results for single blocks.
    """
    clusters: list[Cluster] = []
    decisions: list[Decision] = []
    for block in blocks(units, sorted(constraints.same), demonyms):
        solution = _Block(block, constraints, context, demonyms).solve()
        clusters += solution.clusters
        decisions += solution.decisions
    return Solution(clusters, decisions)


def content_words(text: str) -> frozenset[str]:
    """The words of a text that tell its subject: in lower case, four letters or more."""
    return frozenset(w for w in _WORD.findall(text.casefold()))


import re  # noqa: E402

_WORD = re.compile(r"[^\W\d_]{4,}")


@dataclass
class _Group:
    """A cluster while it forms."""

    members: list[int]
    wikidata: set[str] = field(default_factory=set)
    registry: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)


def firm_type(unit: Unit) -> str:
    """The unit's type where its document leaves no doubt, else OTHER, which goes with everything."""
    labels = unit.labels
    total = sum(labels.values())
    type_ = majority(labels)
    if is_person_like(unit) and labels.get("PERSON", 0) == total:
        parts = person_parts(unit.head)
        if parts and is_given_name(parts.given[0]):
            return "PERSON"
    if type_ in ("PLACE",) and total >= 2 and len([l for l in labels if majority({l: 1}) == type_]) == len(labels):
        return type_
    return "OTHER"


class _Block:
    def __init__(self, units: list[Unit], constraints: Constraints, context: Context, demonyms: bool):
        self.units = units
        self.context = context
        self.demonyms = demonyms
        self.index = {u.key: i for i, u in enumerate(units)}
        self.parent = list(range(len(units)))
        self.groups = {
            i: _Group(
                [i], {u.wikidata_id} if u.wikidata_id else set(), {u.registry_id} if u.registry_id else set(), {firm_type(u)} - {"OTHER"}
            )
            for i, u in enumerate(units)
        }
        self.same = sorted((self.index[a], self.index[b]) for a, b in constraints.same if a in self.index and b in self.index)
        self.apart: dict[int, set[int]] = defaultdict(set)
        for a, b in constraints.different:
            if a in self.index and b in self.index:
                self.apart[self.index[a]].add(self.index[b])
                self.apart[self.index[b]].add(self.index[a])
        self.decisions: list[Decision] = []
        self.heads: dict[str, list[int]] = {}
        for i, u in enumerate(units):
            self.heads.setdefault(u.head, []).append(i)

    def find(self, i: int) -> int:
        while self.parent[i] != i:
            self.parent[i] = self.parent[self.parent[i]]
            i = self.parent[i]
        return i

    def allowed(self, i: int, j: int) -> bool:
        """Whether the clusters of two units may become one (promise 4)."""
        a, b = self.groups[self.find(i)], self.groups[self.find(j)]
        wikidata = a.wikidata | b.wikidata
        if len(wikidata) > 1 or (len(a.registry | b.registry) > 1 and not (a.wikidata and a.wikidata == b.wikidata)):
            return False
        if not all(compatible(x, y) for x in a.types for y in b.types):
            return False
        small, large = (a, b) if len(a.members) <= len(b.members) else (b, a)
        root = self.find(large.members[0])
        return not any(self.find(x) == root for m in small.members for x in self.apart.get(m, ()))

    def join(self, i: int, j: int) -> bool:
        """Unite the clusters of two units if they may be one; says whether they are one now."""
        a, b = self.find(i), self.find(j)
        if a == b:
            return True
        if not self.allowed(i, j):
            return False
        keep, gone = (a, b) if (len(self.groups[a].members), -a) >= (len(self.groups[b].members), -b) else (b, a)
        self.parent[gone] = keep
        into, from_ = self.groups[keep], self.groups.pop(gone)
        into.members += from_.members
        into.wikidata |= from_.wikidata
        into.registry |= from_.registry
        into.types |= from_.types
        return True

    def solve(self) -> Solution:
        if len(self.units) > 1:
            for i, j in self.same:
                self.join(i, j)
            self._by_id()
            self._by_name()
            self._variants()
            self._short_names()
        return Solution(self._clusters(), self.decisions)

    def _by_id(self) -> None:
        for kind in ("wikidata_id", "registry_id"):
            by_id: dict[str, list[int]] = {}
            for i, u in enumerate(self.units):
                if value := getattr(u, kind):
                    by_id.setdefault(value, []).append(i)
            for members in by_id.values():
                self._join_all(members)

    def _join_all(self, members: Sequence[int]) -> list[int]:
        """Unite what may be united, the commonest first; returns one member of each cluster that remains."""
        ordered = sorted(members, key=lambda i: (-sum(self.units[i].labels.values()), i))
        kept: list[int] = []
        for i in ordered:
            if not any(self.join(k, i) for k in kept):
                kept.append(i)
        return kept

    def _owned(self) -> dict[str, list[int]]:
        """Short names with the units of whose longer names they are a part."""
        owners: dict[str, list[int]] = {}
        for i, u in enumerate(self.units):
            names = set(linking_names(u)[1:]) | set(surname_keys(u))
            if "," in u.head:
                names.add(u.head.partition(",")[0])
            for name in names - {u.head}:
                owners.setdefault(name, []).append(i)
        return owners

    def _by_name(self) -> None:
        owners = self._owned()
        for head, members in sorted(self.heads.items()):
            if is_generic(head) or head in owners:
                continue
            self._join_all(members)

    def _short_names(self) -> None:
        owners = self._owned()
        for head, members in sorted(self.heads.items()):
            if is_generic(head) or head not in owners:
                continue
            # Owners that are themselves persons' full names take surnames; label evidence of the bare name decides with them.
            roots = sorted({self.find(i) for i in owners[head]})
            labels: Counter[str] = Counter()
            for i in members:
                labels.update(self.units[i].labels)
            persons = [r for r in roots if "PERSON" in self.groups[r].types or is_person_like(self.units[r])]
            if majority(labels) == "PERSON":
                roots = persons or roots
            elif persons and len(persons) < len(roots):
                roots = [r for r in roots if r not in persons]
            elif persons and majority(labels) != "PERSON" and labels["PERSON"] * 4 < labels.total():
                roots = []
            if not roots:
                self._join_all(members)
            elif len(roots) == 1:
                for i in members:
                    self.join(roots[0], i)
                self._join_all([i for i in members if self.find(i) != self.find(roots[0])] or members[:1])
            else:
                self._several_owners(head, members, owners[head], roots)

    def _several_owners(self, head: str, members: list[int], owners: list[int], roots: list[int]) -> None:
        documents: dict[int, list[str]] = defaultdict(list)
        for i in owners:
            if self.find(i) in roots:
                documents[self.find(i)].append(self.units[i].document)
        for i in members:
            mine = self.context(self.units[i].document)
            scored = sorted(
                ((round(max(_overlap(mine, self.context(d)) for d in sorted(set(ds))), 3), -r) for r, ds in documents.items()), reverse=True
            )
            (best, root), (second, _) = scored[0], scored[1]
            margin = round(best - second, 3)
            candidates = tuple({"name": self.units[-r].head, "score": s} for s, r in scored[:5])
            if margin >= 0.05:
                self.join(-root, i)
                self.decisions.append(Decision(head, "merge", (head, self.units[-root].head), "context", candidates, {"margin": margin}))
            else:
                self.decisions.append(
                    Decision(head, "abstain", (head, self.units[i].document), "several owners", candidates, {"margin": margin})
                )

    def _variants(self) -> None:
        """Full names: the same words or letters in another arrangement, dropped middle names, nicknames, slips."""
        for key in (lambda h: squash(h), lambda h: " ".join(sorted(h.split()))):
            same: dict[str, list[int]] = {}
            for head, members in sorted(self.heads.items()):
                if not is_generic(head) and len(head.split()) > 1:
                    same.setdefault(key(head), []).append(members[0])
            for members in same.values():
                self._join_all(members)
        by_last: dict[str, list[int]] = {}
        for head, members in sorted(self.heads.items()):
            if is_person_like(self.units[members[0]]) and (parts := person_parts(head)):
                by_last.setdefault(parts.last, []).append(members[0])
        for people in by_last.values():
            for i in people:
                a = person_parts(self.units[i].head)
                found = []
                for j in people:
                    b = person_parts(self.units[j].head)
                    if a and b and i != j and self.find(i) != self.find(j) and same_given_name(a.given[0], b.given[0]):
                        if len(a.given[0]) == 1 or len(b.given[0]) == 1:
                            if not (a.given[0][0] == b.given[0][0]):
                                continue
                        if len(a.given) > 1 and len(b.given) > 1 and not same_given_name(a.given[1], b.given[1]):
                            continue
                        found.append(j)
                if len({self.find(j) for j in found}) == 1:
                    self.join(i, found[0])
        heads = sorted(self.heads)
        from resolution.blocks import slip_keys

        slips: dict[str, list[str]] = {}
        for h in heads:
            for k in slip_keys(h):
                slips.setdefault(k, []).append(h)
        for k in sorted(slips):
            hs = slips[k]
            for n, x in enumerate(hs):
                for y in hs[n + 1 :]:
                    if is_slip(x, y):
                        self.join(self.heads[x][0], self.heads[y][0])
        if self.demonyms:
            for h in heads:
                if (c := demonym_of(h)) and c in self.heads:
                    self.join(self.heads[h][0], self.heads[c][0])

    def _clusters(self) -> list[Cluster]:
        out = []
        for group in self.groups.values():
            units = [self.units[i] for i in sorted(group.members)]
            out.append(
                Cluster(
                    tuple(sorted(u.key for u in units)),
                    canonical_name(units),
                    canonical_type(units),
                    min(group.wikidata, default=None),
                    min(group.registry, default=None),
                )
            )
        return sorted(out, key=lambda c: c.units)


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / (len(a) * len(b)) ** 0.5 if a and b else 0.0


def canonical_name(units: Iterable[Unit]) -> str:
    """The commonest spelling among the units' full names (heads that are no one else's short form), ties to the longest."""
    counts: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for u in units:
        for n in u.names:
            if n.name == u.head or len(u.names) == 1:
                counts[n.name] += n.count
                spellings[n.name].update(n.surfaces)
    if not counts:
        u = min(units, key=lambda u: u.key)
        return u.names[0].surface if u.names else u.head
    best = max(counts, key=lambda n: (len(n.split()) > 1, counts[n], len(n), n))
    return max(spellings[best], key=lambda s: (not s.isupper(), spellings[best][s], len(s), s))


def canonical_type(units: Iterable[Unit]) -> str:
    """The commonest type of all the mentions."""
    total: Counter[str] = Counter()
    for u in units:
        total.update(u.labels)
    return majority(total)
