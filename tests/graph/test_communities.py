"""Communities: a nesting partition, the same for the same input, that a small change leaves mostly as it was."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyonym.graph.communities import Community, EntityGraph, Node, Partition, compute, load, store
from polyonym.ingest.store.database import open_state
from polyonym.ingest.store.tables import metadata

Edges = dict[tuple[str, str], float]


def graph_of(edges: Edges, names: dict[str, str] | None = None, alone: tuple[str, ...] = ()) -> EntityGraph:
    ids = sorted({e for pair in edges for e in pair} | set(alone))
    nodes = {e: Node((names or {}).get(e, f"name of {e}"), 1 + len(e)) for e in ids}
    return EntityGraph(nodes, [(a, b, w) for (a, b), w in sorted(edges.items())])


def planted(groups: int = 12, size: int = 15, seed: int = 1, within: float = 0.4, between: int = 60) -> Edges:
    """Groups that are dense inside and loosely tied to one another."""
    chance = random.Random(seed)
    edges: Edges = {}
    ids = [[f"g{g:02}e{i:02}" for i in range(size)] for g in range(groups)]
    for group in ids:
        for i, a in enumerate(group):
            for b in group[i + 1 :]:
                if chance.random() < within:
                    edges[a, b] = float(chance.randint(1, 4))
    everyone = [e for group in ids for e in group]
    for _ in range(between):
        a, b = sorted(chance.sample(everyone, 2))
        edges.setdefault((a, b), 1.0)
    return edges


def shuffled(graph: EntityGraph, seed: int) -> EntityGraph:
    chance = random.Random(seed)
    nodes, edges = list(graph.nodes.items()), [(b, a, w) if chance.random() < 0.5 else (a, b, w) for a, b, w in graph.edges]
    chance.shuffle(nodes)
    chance.shuffle(edges)
    return EntityGraph(dict(nodes), edges)


def sets(partition: Partition) -> set[tuple[int, frozenset[str]]]:
    return {(c.level, frozenset(c.members)) for c in partition.communities}


def assert_nests(graph: EntityGraph, partition: Partition) -> None:
    by_id = {c.community_id: c for c in partition.communities}
    assert len(by_id) == len(partition.communities)
    top = Counter(e for c in partition.communities if c.level == 0 for e in c.members)
    assert top == Counter({e for a, b, _ in graph.edges for e in (a, b)})
    children: dict[str, list[Community]] = {}
    for c in partition.communities:
        assert c.members == tuple(sorted(set(c.members)))
        assert (c.level == 0) == (c.parent is None)
        if c.parent is not None:
            children.setdefault(c.parent, []).append(c)
            assert c.level == by_id[c.parent].level + 1
    for parent, parts in children.items():
        assert len(parts) > 1
        assert sorted(e for c in parts for e in c.members) == list(by_id[parent].members)
    assert all(len(c.members) > 1 and c.title for c in partition.communities)


weights = st.integers(1, 5).map(float)
ids = st.sampled_from([f"e{i:02}" for i in range(40)])
graphs = st.dictionaries(st.tuples(ids, ids).filter(lambda p: p[0] < p[1]), weights, max_size=120)


@settings(max_examples=150, deadline=None)
@given(graphs, graphs, st.integers(2, 12), st.integers(0, 1000))
def test_every_level_is_a_partition_that_nests_whatever_came_before(before: Edges, edges: Edges, max_size: int, seed: int) -> None:
    previous = compute(graph_of(before), max_size=max_size)
    for start in (None, previous):
        partition = compute(graph_of(edges), start, max_size)
        assert_nests(graph_of(edges), partition)
        assert partition == compute(shuffled(graph_of(edges), seed), start, max_size)


@settings(max_examples=60, deadline=None)
@given(graphs, graphs, st.integers(2, 12))
def test_an_unchanged_graph_keeps_its_partition_and_a_fresh_one_is_a_fresh_homes(before: Edges, edges: Edges, max_size: int) -> None:
    graph = graph_of(edges)
    moved = compute(graph, compute(graph_of(before), max_size=max_size), max_size)
    assert compute(graph, moved, max_size) == moved
    assert compute(graph, None, max_size) == compute(graph, Partition("", ()), max_size)


@pytest.mark.parametrize("seed", range(6))
def test_ids_do_not_sway_the_division_of_a_fresh_graph(seed: int) -> None:
    chance = random.Random(seed)
    edges = planted(seed=seed, within=0.25, between=400)  # so loose that the order in which nodes are looked at decides much
    old = sorted({e for pair in edges for e in pair})
    new = dict(zip(old, chance.sample([f"x{i:03}" for i in range(900)], len(old)), strict=True))
    renamed = {(min(new[a], new[b]), max(new[a], new[b])): w for (a, b), w in edges.items()}
    there = compute(graph_of(renamed, {new[e]: f"name of {e}" for e in old}), max_size=20)
    back = {n: e for e, n in new.items()}
    assert {(level, frozenset(back[e] for e in group)) for level, group in sets(there)} == sets(compute(graph_of(edges), max_size=20))


def test_finds_the_planted_groups_and_divides_what_is_too_large() -> None:
    graph = graph_of(planted())
    partition = compute(graph, max_size=15)
    found = Counter(frozenset(e[:3] for e in c.members) for c in partition.communities if len(c.members) > 5)
    assert sum(len(group) == 1 for group in found) >= 10
    parents = {c.parent for c in partition.communities}
    assert all(len(c.members) <= 15 for c in partition.communities if c.community_id not in parents)


@pytest.mark.parametrize("shape", ["star", "clique"])
def test_what_has_no_inner_structure_stays_whole(shape: str) -> None:
    names = [f"e{i:03}" for i in range(60)]
    edges = {(a, b): 1.0 for i, a in enumerate(names) for b in names[i + 1 :] if shape == "clique" or i == 0}
    assert [len(c.members) for c in compute(graph_of(edges), max_size=10).communities] == [60]


def test_an_entity_without_a_relation_belongs_to_none() -> None:
    partition = compute(graph_of({("a", "b"): 1.0}, alone=("hermit",)))
    assert [c.members for c in partition.communities] == [("a", "b")]
    assert compute(graph_of({}, alone=("hermit",))).communities == ()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 5))
def test_a_small_change_moves_few_and_ids_carry_over(seed: int, gone: int) -> None:
    edges = planted(seed=seed % 20)
    before = compute(graph_of(edges), max_size=20)
    chance = random.Random(seed)
    for pair in chance.sample(sorted(edges), gone):
        del edges[pair]
    edges["g00e00", "new"] = 1.0
    after = compute(graph_of(edges), before, max_size=20)
    old, new = ({e: c.community_id for c in p.communities if c.level == 0 for e in c.members} for p in (before, after))
    assert sum(old[e] != new[e] for e in old if e in new) <= 12  # of 180
    assert new["new"] == new["g00e00"]
    kept = {c.community_id for c in before.communities} & {c.community_id for c in after.communities}
    assert len(kept) >= 0.6 * len(before.communities)


def test_an_untouched_community_keeps_its_parts() -> None:
    edges = planted(within=0.3, between=400)
    far = {(f"z{a}", f"z{b}"): w for (a, b), w in edges.items()}
    before = compute(graph_of({**edges, **far}), max_size=10)
    del far[min(far)]
    after = compute(graph_of({**edges, **far}), before, max_size=10)
    whole = [c for c in before.communities if c in after.communities and c.level == 0]
    assert whole
    for community in whole:
        below = [c for c in before.communities if c.level > 0 and set(c.members) <= set(community.members)]
        assert all(c in after.communities for c in below)


def test_ids_follow_the_larger_part_of_a_split_and_of_a_merge() -> None:
    def clique(names: str) -> Edges:
        return {(a, b): 5.0 for i, a in enumerate(names) for b in names[i + 1 :]}

    apart = compute(graph_of(clique("abcde") | clique("xyz")))
    of = {c.members: c.community_id for c in apart.communities}
    merged = compute(graph_of(clique("abcdexyz")), apart)
    assert [c.community_id for c in merged.communities] == [of[tuple("abcde")]]
    split = compute(graph_of(clique("abcde") | clique("xyz")), merged)
    assert {c.members: c.community_id for c in split.communities}[tuple("abcde")] == of[tuple("abcde")]
    assert len({c.community_id for c in split.communities}) == 2


@settings(max_examples=30, deadline=None)
@given(st.lists(graphs, min_size=1, max_size=4))
def test_nothing_of_what_is_gone_stays_and_the_tables_hold_the_partition(series: list[Edges]) -> None:
    engine = open_state("sqlite:///:memory:")
    with engine.connect() as connection:
        metadata.create_all(connection)
        for edges in series:
            partition = compute(graph_of(edges), load(connection), max_size=8)
            store(connection, partition)
            assert load(connection) == partition
            assert {e for c in partition.communities for e in c.members} == {e for pair in edges for e in pair}
            assert store(connection, partition) == 0


def test_title_names_the_most_central_and_most_mentioned() -> None:
    edges = {("a", "b"): 5.0, ("a", "c"): 5.0, ("a", "d"): 1.0, ("b", "c"): 1.0}
    nodes = {"a": Node("Aurelia Group", 9), "b": Node("Hamburg", 4), "c": Node("J. Moreau", 2), "d": Node("Zeta", 1)}
    graph = EntityGraph(nodes, [(a, b, w) for (a, b), w in edges.items()])
    assert [c.title for c in compute(graph).communities] == ["Aurelia Group, Hamburg and J. Moreau"]
    assert [c.title for c in compute(EntityGraph({"a": nodes["a"], "d": nodes["d"]}, [("a", "d", 1.0)])).communities] == [
        "Aurelia Group and Zeta"
    ]
