"""Communities: hierarchical Leiden on the graph of entities, started from the previous partition.

Level 0 divides all entities that are related to another; a community of more than `max_size` entities is divided again
on the next level, until its parts are small enough or show no inner structure (a star, a clique): those stay whole.
An entity without a relation belongs to no community.

What is not touched stays: an unchanged graph keeps its partition, a community whose entities and inner relations are
the same keeps its parts, and everything else starts from where its entities were before. `previous=None` forgets all of
that and gives what a fresh home gives.

Leiden: V. A. Traag, L. Waltman, N. J. van Eck, "From Louvain to Leiden: guaranteeing well-connected communities",
Scientific Reports 9 (2019), in the implementation of graspologic-native. Its own hierarchical variant can be given a
start for the first level only, so the levels are made here.
"""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson
from sqlalchemy import Column, Connection, Integer, Table, Text, select

from polyonym.graph.relations import SYMMETRIC, evidence, relation_weights
from polyonym.ingest.store import fingerprint
from polyonym.ingest.store.changes import Counters, counters_of
from polyonym.ingest.store.tables import delete_where_in, get_fact, insert_rows, metadata, set_fact
from polyonym.resolution import entities
from polyonym.resolution.clustering.disjoint_sets import DisjointSets

_FIRST_ITERATIONS = 4  # converged closely enough that the next run, on the same graph and one change, moves little else
_RESOLUTIONS = (1.0, 2.0, 4.0, 8.0)  # of the modularity, tried in turn until a community that is too large falls apart
_LARGEST_SHARE = 0.9  # a division that leaves more than this in one part only peels crumbs off
_TYPED_WEIGHT = 2.0  # a stated relation binds two entities more than standing in one sentence does
_TITLE_NAMES = 3

Edge = tuple[str, str, float]


@dataclass(frozen=True)
class Node:
    """An entity as communities see it."""

    name: str
    mentions: int


@dataclass(frozen=True)
class EntityGraph:
    """The graph that is divided: entities by id, and undirected weighted edges (a, b, weight), a < b, each pair once."""

    nodes: Mapping[str, Node]
    edges: Sequence[Edge]


@dataclass(frozen=True)
class Community:
    """Entities that belong together. `members` is sorted; `content` changes when its entities or their relations do."""

    community_id: str
    level: int
    parent: str | None
    title: str
    content: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Partition:
    """All communities, sorted by level and id. `content` stands for the graph and the settings that they were made from."""

    content: str
    communities: tuple[Community, ...]


communities = Table(
    "communities",
    metadata,
    Column("community_id", Text, primary_key=True),
    Column("level", Integer, nullable=False),
    Column("parent", Text, index=True),
    Column("title", Text, nullable=False),
    Column("content", Text, nullable=False),
    info={"owners": ("community_id",)},
)

members = Table(
    "community_members",
    metadata,
    Column("community_id", Text, primary_key=True),
    Column("entity_id", Text, primary_key=True, index=True),
    Column("level", Integer, nullable=False),
    info={"owners": ("community_id",)},
)


def read_graph(connection: Connection) -> EntityGraph:
    """The entity graph of the state: the weight of a pair is the sum over its relations, typed ones counting double."""
    nodes = {e.entity_id: Node(e.name, e.mentions) for e in entities.load(connection)}
    weights: dict[tuple[str, str], float] = defaultdict(float)
    for (source, target, type_, _), weight in relation_weights(connection).items():
        weights[min(source, target), max(source, target)] += weight * (1.0 if type_ == SYMMETRIC else _TYPED_WEIGHT)
    return EntityGraph(nodes, [(a, b, weights[a, b]) for a, b in sorted(weights)])


def _code() -> str:
    return fingerprint.of_code("graph/communities.py", "resolution/clustering/disjoint_sets.py")


def made_from(connection: Connection, max_size: int) -> Counters:
    """What a partition rests on: when it is the same, so is the partition."""
    return counters_of(connection, (evidence, entities.entities)) | {"code": _code(), "size": max_size}


def load(connection: Connection) -> Partition:
    """The stored partition; empty, with the content "", before the first one."""
    of: dict[str, list[str]] = defaultdict(list)
    for row in connection.execute(select(members.c.community_id, members.c.entity_id).order_by(members.c.entity_id)):
        of[row.community_id].append(row.entity_id)
    rows = connection.execute(select(communities).order_by(communities.c.level, communities.c.community_id))
    divided = (Community(r.community_id, r.level, r.parent, r.title, r.content, tuple(of[r.community_id])) for r in rows)
    return Partition(get_fact(connection, "communities", ""), tuple(divided))


def store(connection: Connection, partition: Partition) -> int:
    """Make the tables hold `partition`, writing only what differs; returns how many communities were written or deleted."""
    before = {c.community_id: c for c in load(connection).communities}
    wanted = {c.community_id: c for c in partition.communities}
    changed = [c for i, c in wanted.items() if before.get(i) != c]
    gone = [i for i in before if i not in wanted]
    delete_where_in(connection, communities.c.community_id, gone + [c.community_id for c in changed])
    insert_rows(connection, communities, ({k: v for k, v in vars(c).items() if k != "members"} for c in changed))
    moved = [c for c in changed if c.community_id not in before or before[c.community_id].members != c.members]
    delete_where_in(connection, members.c.community_id, gone + [c.community_id for c in moved])
    rows = ({"community_id": c.community_id, "entity_id": e, "level": c.level} for c in moved for e in c.members)
    insert_rows(connection, members, rows)
    if get_fact(connection, "communities", "") != partition.content:
        set_fact(connection, "communities", partition.content)
    return len(changed) + len(gone)


def compute(graph: EntityGraph, previous: Partition | None = None, max_size: int = 50, seed: int = 42) -> Partition:
    """Divide `graph`, starting from `previous`; without it everything, ids included, comes from the graph alone.

    The result is the same for the same graph (in whatever order it is given), previous partition, `max_size` and `seed`.
    A community keeps its id when it holds more than half of what is left of its members on its level; where two could
    pass on their ids to one, the larger share decides, then the smaller id.
    """
    graph = _in_order(graph)
    content = _content(graph, max_size, seed)
    if previous is not None and previous.content == content:
        groups = _Previous(previous).groups
    else:
        groups = _Divider(graph, max_size, seed, _Previous(previous or Partition("", ()))).divide_all()
    named = _with_ids(groups, previous.communities if previous else ())
    strengths = _strengths(graph, named)
    titled = (replace(c, title=_title(graph, c, s)) for c, s in zip(named, strengths, strict=True))
    return Partition(content, tuple(sorted(titled, key=lambda c: (c.level, c.community_id))))


@dataclass(frozen=True)
class _Group:
    """A community before it has an id; `parent` is the index of its parent among the groups, or None."""

    level: int
    parent: int | None
    content: str
    members: tuple[str, ...]


class _Previous:
    """The previous partition, by what is asked of it."""

    def __init__(self, partition: Partition) -> None:
        index = {c.community_id: i for i, c in enumerate(partition.communities)}
        self.groups = [_Group(c.level, None if c.parent is None else index[c.parent], c.content, c.members) for c in partition.communities]
        self.children: dict[int, list[int]] = defaultdict(list)
        self.label: list[dict[str, int]] = [{} for _ in range(1 + max((g.level for g in self.groups), default=0))]
        self.same: dict[tuple[int, str], int] = {}
        for i, group in enumerate(self.groups):
            self.label[group.level].update(dict.fromkeys(group.members, i))
            self.same[group.level, group.content] = i
            if group.parent is not None:
                self.children[group.parent].append(i)

    def labels(self, level: int) -> dict[str, int]:
        """The community of each entity on a level, by a number."""
        return self.label[level] if level < len(self.label) else {}


class _Divider:
    def __init__(self, graph: EntityGraph, max_size: int, seed: int, previous: _Previous) -> None:
        self.graph, self.max_size, self.seed, self.previous = graph, max_size, seed, previous
        self.groups: list[_Group] = []

    def divide_all(self) -> list[_Group]:
        nodes = list(self.graph.nodes)
        for part, edges in _divide(nodes, self.graph.edges, self.previous.labels(0), _RESOLUTIONS[:1], len(nodes), self.seed):
            self._add(part, edges, 0, None)
        return self.groups

    def _add(self, part: list[str], edges: list[Edge], level: int, parent: int | None) -> None:
        content = _content(EntityGraph({n: self.graph.nodes[n] for n in part}, edges), self.max_size, self.seed)
        if (same := self.previous.same.get((level, content))) is not None:
            self._copy(same, parent)
            return
        index = len(self.groups)
        self.groups.append(_Group(level, parent, content, tuple(sorted(part))))
        if len(part) > self.max_size:
            largest = int(len(part) * _LARGEST_SHARE)
            for smaller, inner in _divide(part, edges, self.previous.labels(level + 1), _RESOLUTIONS, largest, self.seed):
                self._add(smaller, inner, level + 1, index)

    def _copy(self, old: int, parent: int | None) -> None:
        index = len(self.groups)
        self.groups.append(replace(self.previous.groups[old], parent=parent))
        for child in self.previous.children[old]:
            self._copy(child, index)


def _in_order(graph: EntityGraph) -> EntityGraph:
    """The related entities in the order of their names, then ids: an id that was carried over must not sway the outcome."""
    related = {e for a, b, _ in graph.edges for e in (a, b)}
    order = sorted(related, key=lambda e: (graph.nodes[e].name, e))
    rank = {e: i for i, e in enumerate(order)}
    pairs = ((a, b, w) if rank[a] < rank[b] else (b, a, w) for a, b, w in graph.edges)
    return EntityGraph({e: graph.nodes[e] for e in order}, sorted(pairs, key=lambda e: (rank[e[0]], rank[e[1]])))


def _content(graph: EntityGraph, max_size: int, seed: int) -> str:
    names = [(e, node.name) for e, node in graph.nodes.items()]
    return hashlib.sha256(orjson.dumps([_code(), max_size, seed, names, graph.edges])).hexdigest()[:32]


def _divide(
    nodes: list[str], edges: Sequence[Edge], before: Mapping[str, int], resolutions: Sequence[float], largest: int, seed: int
) -> list[tuple[list[str], list[Edge]]]:
    """Parts of `nodes` (in order) with their inner edges, none with more than `largest` nodes; none when that can't be had."""
    if not edges:
        return []
    for resolution in resolutions:
        part_of = _leiden(nodes, edges, before, resolution, seed)
        part_of = _without_singles(_connected(nodes, edges, part_of), edges)
        if max(Counter(part_of.values()).values()) <= largest:
            parts: dict[int, tuple[list[str], list[Edge]]] = defaultdict(lambda: ([], []))
            for node in nodes:
                parts[part_of[node]][0].append(node)
            for edge in edges:
                if part_of[edge[0]] == part_of[edge[1]]:
                    parts[part_of[edge[0]]][1].append(edge)
            return list(parts.values())
    return []


def _leiden(nodes: Sequence[str], edges: Sequence[Edge], before: Mapping[str, int], resolution: float, seed: int) -> dict[str, int]:
    import graspologic_native

    start = None
    if any(node in before for node in nodes):
        # What has become unconnected must not start as one; a new entity starts alone.
        fresh = 1 + max(before.values())
        labels = {node: before.get(node, fresh + i) for i, node in enumerate(nodes)}
        start = _connected(nodes, edges, labels)
    _, levels = graspologic_native.leiden(
        edges=edges, starting_communities=start, resolution=resolution, iterations=1 if start else _FIRST_ITERATIONS, seed=seed
    )
    return {node: levels[node] for node in nodes}


def _connected(nodes: Sequence[str], edges: Sequence[Edge], part_of: Mapping[str, int]) -> dict[str, int]:
    """The parts cut into their connected pieces, numbered from 0 in the order of `nodes`."""
    place = {node: i for i, node in enumerate(nodes)}
    pieces = DisjointSets(len(nodes))
    for a, b, _ in edges:
        if part_of[a] == part_of[b]:
            pieces.unite(place[a], place[b])
    numbers: dict[int, int] = {}
    return {node: numbers.setdefault(pieces.find(i), len(numbers)) for i, node in enumerate(nodes)}


def _without_singles(part_of: dict[str, int], edges: Sequence[Edge]) -> dict[str, int]:
    """One entity is no community: it joins the part that it is bound to most (the part of the lowest number in a tie)."""
    size = Counter(part_of.values())
    if min(size.values()) > 1:
        return part_of
    neighbours: dict[str, list[tuple[str, float]]] = {node: [] for node, part in part_of.items() if size[part] == 1}
    for a, b, weight in edges:
        if a in neighbours:
            neighbours[a].append((b, weight))
        if b in neighbours:
            neighbours[b].append((a, weight))
    joined = dict(part_of)
    for node, around in neighbours.items():
        if size[joined[node]] > 1:
            continue  # another one has joined it
        bound: dict[int, float] = defaultdict(float)
        for other, weight in around:
            bound[joined[other]] += weight
        part = min(bound, key=lambda p: (-bound[p], p))
        size[joined[node]] -= 1
        size[part] += 1
        joined[node] = part
    return joined


def _with_ids(groups: Sequence[_Group], previous: Iterable[Community]) -> list[Community]:
    """Communities with ids: carried over by overlap where it is more than half, else made from level and members."""
    inside = [{e: i for i, g in enumerate(groups) if g.level == level for e in g.members} for level in range(1 + _deepest(groups))]
    there = {e for level in inside for e in level}
    claims: dict[int, tuple[int, str]] = {}
    for old in sorted(previous, key=lambda c: c.community_id):
        left = [e for e in old.members if e in there]
        where = inside[old.level] if old.level < len(inside) else {}
        for group, overlap in Counter(where[e] for e in left if e in where).items():
            if 2 * overlap > len(left) and overlap > claims.get(group, (0, ""))[0]:
                claims[group] = (overlap, old.community_id)
    ids = {group: community_id for group, (_, community_id) in claims.items()}
    taken = set(ids.values())
    for i in sorted(range(len(groups)), key=lambda i: (groups[i].level, groups[i].members)):
        attempt = 0
        while i not in ids:
            made = hashlib.sha256(orjson.dumps([groups[i].level, groups[i].members, attempt])).hexdigest()[:16]
            if made not in taken:
                ids[i] = made
                taken.add(made)
            attempt += 1
    return [Community(ids[i], g.level, None if g.parent is None else ids[g.parent], "", g.content, g.members) for i, g in enumerate(groups)]


def _deepest(groups: Iterable[_Group]) -> int:
    return max((g.level for g in groups), default=0)


def _strengths(graph: EntityGraph, partition: Sequence[Community]) -> list[dict[str, float]]:
    """For each community, how strongly each member is bound to the others in it (sum of weights)."""
    place = [
        {e: i for i, c in enumerate(partition) if c.level == level for e in c.members} for level in range(1 + _deepest_level(partition))
    ]
    strengths: list[dict[str, float]] = [dict.fromkeys(c.members, 0.0) for c in partition]
    for a, b, weight in graph.edges:
        for level in place:
            where = level.get(a)
            if where is None or level.get(b) != where:
                break
            strengths[where][a] += weight
            strengths[where][b] += weight
    return strengths


def _deepest_level(partition: Iterable[Community]) -> int:
    return max((c.level for c in partition), default=0)


def _title(graph: EntityGraph, community: Community, strength: Mapping[str, float]) -> str:
    """The names that are most central and most mentioned, such as "Aurelia Group, Hamburg and J. Moreau"."""
    score = {e: strength[e] * (1 + math.log(max(1, graph.nodes[e].mentions))) for e in community.members}
    names = dict.fromkeys(graph.nodes[e].name for e in sorted(score, key=lambda e: (-score[e], graph.nodes[e].name, e)))
    *first, last = list(names)[:_TITLE_NAMES]
    return f"{', '.join(first)} and {last}" if first else last
