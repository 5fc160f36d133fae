"""What the graph should hold, as the state says it."""

import json
from pathlib import Path

import pytest
from graph_state import Texts, fill, new_state, wanted_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, insert

from polyonym.graph.difference import acknowledge, difference
from polyonym.graph.load import wanted
from polyonym.graph.projection import elements
from polyonym.graph.relations import entity_relations, gather
from polyonym.graph.stores.model import EDGES, NODES, EdgeKind, edge_id, identity
from polyonym.ingest.relations import relations
from polyonym.ingest.store.database import open_state

THREE: Texts = {"a.txt": [1, 2, 1, 3], "b.txt": [2, 1], "c.txt": []}


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return new_state(tmp_path / "state.db")


def test_a_small_state_as_a_graph(engine: Engine) -> None:
    fill(engine, THREE)
    graph = wanted_of(engine)
    assert [d["id"] for d in graph["Document"]] == ["a.txt", "b.txt", "c.txt"]
    assert len(graph["Chunk"]) == len(graph["HAS_CHUNK"]) == 4
    assert {e["id"]: (e["name"], e["wikidata_id"], e["aliases"], e["mentions"], e["documents"]) for e in graph["Entity"]} == {
        "e01": ("Thing 1", "Q1", ["Thing 1"], 3, 2),
        "e02": ("Thing 2", None, ["Thing 2"], 2, 2),
        "e03": ("Thing 3", "Q3", ["Thing 3"], 1, 1),
    }
    assert {(r["source"], r["target"], r["type"], r["predicate"], r["weight"]) for r in graph["RELATED"]} == {
        ("e01", "e02", "co_occurs", "", 3),
        ("e01", "e03", "co_occurs", "", 1),
        ("e01", "e03", "causes", "lead to", 1),
    }
    assert {(c["source"], c["target"]) for c in graph["PART_OF"]} == {("c1-0", "c0-0"), ("c1-1", "c0-1"), ("c1-2", "c0-2")}
    assert len(graph["IN_COMMUNITY"]) == 6


def test_every_mention_stands_in_each_chunk_in_which_it_starts(engine: Engine) -> None:
    fill(engine, THREE)
    graph = wanted_of(engine)
    chunks = {c["id"]: c for c in graph["Chunk"]}
    found = {(chunks[m["source"]]["document"], m["start_at"], m["text"]) for m in graph["MENTIONS"]}
    assert found == {
        ("a.txt", 0, "Thing 1"), ("a.txt", 9, "Thing 2"), ("a.txt", 18, "Thing 1"), ("a.txt", 27, "Thing 3"),
        ("b.txt", 0, "Thing 2"), ("b.txt", 9, "Thing 1"),
    }  # fmt: skip
    for mention in graph["MENTIONS"]:
        chunk = chunks[mention["source"]]
        assert chunk["start_at"] <= mention["start_at"] < chunk["end_at"]
    assert len(graph["MENTIONS"]) > len(found), "the chunks share a part"


def test_evidence_is_every_span_in_order(engine: Engine) -> None:
    fill(engine, THREE)
    related = next(r for r in wanted_of(engine)["RELATED"] if r["type"] == "co_occurs" and r["target"] == "e02")
    assert json.loads(related["evidence"]) == [
        {"document": "a.txt", "start": 0, "end": 16, "date": "2020"},
        {"document": "a.txt", "start": 9, "end": 25, "date": "2020"},
        {"document": "b.txt", "start": 0, "end": 16, "date": "2020"},
    ]


def test_relations_of_an_entity_with_itself_or_without_entity_are_left_out(engine: Engine) -> None:
    fill(engine, {"a.txt": [1, 1, 2]})
    row = {
        "document": "a.txt",
        "type": "co_occurs",
        "predicate": "",
        "start_at": 0,
        "end_at": 9,
        "sentence": "s",
        "pattern": "verb",
        "date": "",
    }
    with engine.begin() as connection:
        lost = {"source_start": 100, "source_end": 107, "target_start": 0, "target_end": 7}
        connection.execute(insert(relations), {**row, **lost})
        gather(connection)
        found = [(r.source, r.target, r.type, r.weight) for r in entity_relations(connection)]
    assert found == [("e01", "e02", "causes", 1), ("e01", "e02", "co_occurs", 1)]


def test_members_that_are_gone_have_no_edge_to_their_community(engine: Engine) -> None:
    fill(engine, THREE)
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM entities WHERE entity_id = 'e03'")
    assert {m["source"] for m in wanted_of(engine)["IN_COMMUNITY"]} == {"e01", "e02"}


@pytest.fixture(scope="module")
def refilled(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return new_state(tmp_path_factory.mktemp("state") / "state.db")


ODD_NAMES = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1), max_size=4, unique=True)


@given(ODD_NAMES)
@settings(deadline=None, max_examples=50)
def test_everything_ascends_by_an_id_of_its_own(refilled: Engine, names: list[str]) -> None:
    fill(refilled, {name: [i, i + 1, i + 9, i + 10] for i, name in enumerate(names)})
    with refilled.connect() as connection:
        for kind in (*NODES, *EDGES):
            keys = [(e.owner, e.id) for e in elements(connection, kind)]
            assert keys == sorted(set(keys)) and len({id_ for _, id_ in keys}) == len(keys)


def test_postgres_gives_the_same_in_the_same_order(postgres_url: str, engine: Engine) -> None:
    other = open_state(postgres_url)
    texts = {name: [1, 2, i, i + 1] for i, name in enumerate(["a b", "a-b", "A", "ab", "Ab", "é", "e", "Z", "ø", "_"])}
    for state in (engine, other):
        fill(state, texts)
    with engine.connect() as here, other.connect() as there:
        for kind in (*NODES, *EDGES):
            assert list(elements(here, kind)) == list(elements(there, kind))
            changes = list(difference(there, "p", wanted(there, kind), kind.name))
            acknowledge(there, "p", changes)
            assert not list(difference(there, "p", wanted(there, kind), kind.name))
        assert {c.verb for kind in NODES for c in difference(there, "p", [], kind.name)} == {"gone"}


@given(st.sampled_from(EDGES), st.text(), st.text(), st.integers(0), st.integers(0))
def test_an_edges_id_says_all_that_is_needed_to_find_it(kind: EdgeKind, last: str, predicate: str, start: int, end: int) -> None:
    properties = {"source": "e1", "target": "e2", "type": "causes", "predicate": predicate, "start_at": start, "end_at": end}
    properties[kind.identity[-1]] = {"end_at": end, "source": last}.get(kind.identity[-1], predicate)
    wanted = {name: properties[name] for name in kind.identity}
    assert identity(kind, edge_id(kind, properties)) == wanted
