"""The queries of docs/graph-model.md run in both stores, and find the same."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Neo4jServer
from graph_state import fill, new_state

from polyonym.graph.load import load
from polyonym.graph.stores.embedded import Embedded
from polyonym.graph.stores.model import EDGES, MARKER, NODES
from polyonym.graph.stores.neo4j import Neo4j
from polyonym.graph.stores.store import GraphStore

PAGE = (Path(__file__).parents[2] / "docs" / "graph-model.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```cypher\n(.*?)```", PAGE, re.DOTALL)
NAMES = {1: "Velmora Energy", 2: "Velmora Group", 3: "North Sea Grid Authority"}
GOLD = Path(__file__).parents[2] / "examples" / "gold.jsonl"


def filled(store: GraphStore, folder: Path) -> GraphStore:
    engine = new_state(folder / "state.db")
    fill(engine, {"a.txt": [1, 2, 1, 3], "b.txt": [2, 1], "c.txt": [1, 4, 5], "d.txt": [5, 2, 3]}, NAMES)
    load(engine, store, "home")
    return store


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> GraphStore:
    folder = tmp_path_factory.mktemp("embedded")
    return filled(Embedded(folder / "graph"), folder)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, neo4j_server: Neo4jServer) -> Iterator[GraphStore]:
    neo4j_server.empty()
    store = Neo4j(neo4j_server.url, neo4j_server.user, neo4j_server.password)
    yield filled(store, tmp_path_factory.mktemp("neo4j-state"))
    store.close()


def test_the_page_asks_for_names_of_the_example_corpus() -> None:
    named = {m["text"] for line in GOLD.read_text(encoding="utf-8").splitlines() for m in json.loads(line)["mentions"]}
    asked = {name for query in QUERIES for name in re.findall(r"'([A-Z].*?)'", query)}
    assert asked == set(NAMES.values()) and asked <= named


@pytest.mark.parametrize("cypher", QUERIES, ids=range(len(QUERIES)))
def test_a_query_of_the_page_finds_something(embedded: GraphStore, cypher: str) -> None:
    assert embedded.query(cypher).rows


@pytest.mark.parametrize("cypher", QUERIES, ids=range(len(QUERIES)))
def test_a_query_of_the_page_finds_the_same_in_neo4j(embedded: GraphStore, server: GraphStore, cypher: str) -> None:
    assert server.query(cypher) == embedded.query(cypher)


def test_the_page_names_every_kind_and_property() -> None:
    for kind in (*NODES, MARKER, *EDGES):
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{kind.name}` |"))
        assert [name for name in kind.properties if f"`{name}`" not in row] == []
