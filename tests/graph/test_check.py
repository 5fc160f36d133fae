"""`check` finds what is wrong, and finds nothing where nothing is."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from graph_state import connect, fill, flip, held_by, new_state, spoil, wanted_of
from small_state import fill as resolved_state
from sqlalchemy import Connection, Engine, text

from polyonym.graph.check.finding import Finding
from polyonym.graph.check.projections import check_graph, check_index
from polyonym.graph.check.state import check_state
from polyonym.graph.load import load
from polyonym.graph.stores.embedded import Embedded
from polyonym.graph.stores.store import GraphStore
from polyonym.ingest.errors import Damaged, WrongUse
from polyonym.resolution.judgements.judgements import Judgement, Reference, save

TEXTS = {
    "a.txt": "Marta Klein joined Norvik Energy in Oslo. Klein had worked for Siemens AG.",
    "b.txt": "Norvik Energy is based in Oslo. Siemens AG is not.",
}
LABELS = {"Marta Klein": "PERSON", "Klein": "PERSON", "Norvik Energy": "ORG", "Oslo": "GPE", "Siemens AG": "ORG"}


@pytest.fixture
def state(tmp_path: Path) -> Engine:
    return resolved_state(tmp_path / "state.db", TEXTS, LABELS)


def found(engine: Engine, *statements: str) -> list[str]:
    """What the check finds after these statements."""
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
        return [str(f) for f in check_state(connection)]


def test_a_sound_state(state: Engine) -> None:
    assert found(state) == []


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (["DELETE FROM documents WHERE document = 'b.txt'"], "1 documents that are gone but left rows in mentions (b.txt)"),
        (["DELETE FROM documents WHERE document = 'b.txt'"], "1 documents that are gone but left rows in memberships (b.txt)"),
        (["DELETE FROM memberships WHERE name = 'oslo'"], "1 entities without a name in any document"),
        (["DELETE FROM memberships WHERE name = 'oslo'"], "2 mentions without a name, or names without a mention (a.txt oslo, b.txt oslo)"),
        (["DELETE FROM mentions WHERE text = 'Oslo' AND document = 'a.txt'"], "1 mentions without a name, or names without a mention (a.txt 36)"),
        (["DELETE FROM mention_names WHERE name = 'oslo'"], "2 mentions without a name, or names without a mention"),
        (["DELETE FROM entities WHERE name = 'Oslo'"], "1 names of no entity"),
        (["DELETE FROM entities WHERE name = 'Oslo'"], "1 aliases of no entity"),
        (["INSERT INTO community_members VALUES ('c1', 'e-gone', 0)"], "1 members of communities that are no entities (e-gone)"),
        (["INSERT INTO communities VALUES ('c1', 1, 'c0', 'title', '')"], "1 parents that are no communities (c0)"),
        (["INSERT INTO summaries VALUES ('c9', '[{\"sentence\": \"S\", \"chunk\": \"gone\"}]', '', '')"], "1 chunks that summaries rest on and that are gone"),
        (["UPDATE documents SET text = 'Else.' WHERE document = 'b.txt'"], "1 texts that differ from their digest (b.txt)"),
        (["INSERT INTO chunks VALUES ('c1', 'a.txt', 0, 0, 5, 'Klein', 1, '')"], "1 chunks that are not what stands in their document (a.txt 0)"),
        (["UPDATE memberships SET mentions = 9 WHERE name = 'oslo' AND document = 'a.txt'"], "1 names whose mentions are counted wrongly (a.txt oslo)"),
        (["UPDATE entities SET documents = 9 WHERE name = 'Oslo'"], "1 entities that count their mentions or documents wrongly"),
        (["DELETE FROM memberships WHERE name = 'oslo' AND document = 'a.txt'"], "1 entities that count their mentions or documents wrongly"),
        (["INSERT INTO model_outputs VALUES ('hash', 'model', 'x')"], "1 model outputs that nothing uses (hash)"),
    ],
)  # fmt: skip
def test_leftovers_and_loose_ends(state: Engine, statements: list[str], expected: str) -> None:
    shown = found(state, *statements)
    assert any(expected in line for line in shown), shown


def entity_of(connection: Connection, name: str) -> str:
    return str(connection.execute(text("SELECT entity_id FROM memberships WHERE name = :name"), {"name": name}).scalars().first())


def unite(engine: Engine, one: str, other: str) -> None:
    """Put the names of two entities into one, as no run would."""
    with engine.begin() as connection:
        ids = {"one": entity_of(connection, one), "other": entity_of(connection, other)}
        connection.execute(text("UPDATE memberships SET entity_id = :one WHERE entity_id = :other"), ids)
        for table in ("entities", "aliases"):
            connection.execute(text(f"DELETE FROM {table} WHERE entity_id = :other"), ids)


def test_two_wikidata_ids_in_one_entity(state: Engine) -> None:
    set_link = "UPDATE links SET wikidata_id = '{}', confidence = 0.95, verdict = 'link', named = TRUE WHERE document = '{}' AND name = 'norvik energy'"
    assert found(state, set_link.format("Q1", "a.txt"), set_link.format("Q1", "b.txt")) == []
    assert any("1 entities of several Wikidata ids" in f for f in found(state, set_link.format("Q2", "b.txt")))


def test_two_registry_ids_in_one_entity(state: Engine) -> None:
    set_ids = "UPDATE links SET registry_id = '{}', wikidata_id = '{}', verdict = 'link' WHERE document = '{}' AND name = 'norvik energy'"
    assert found(state, set_ids.format("R1", "Q1", "a.txt"), set_ids.format("R2", "Q1", "b.txt")) == []
    assert any("1 entities of several registry ids" in f for f in found(state, "UPDATE links SET wikidata_id = NULL"))


def test_a_person_that_is_a_place(state: Engine) -> None:
    unite(state, "marta klein", "oslo")
    assert any("1 entities of types that cannot go together" in f for f in found(state))


def test_names_that_were_judged_different(state: Engine) -> None:
    with state.begin() as connection:
        save(connection, Judgement("different", Reference("norvik energy"), (Reference("siemens"),)))
    assert found(state) == []
    unite(state, "norvik energy", "siemens")
    assert any("1 entities of names that were judged different" in f for f in found(state))


# The graph store


@pytest.fixture(params=["embedded", "neo4j"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GraphStore]:
    if request.param == "embedded":
        yield Embedded(tmp_path / "graph")
    else:
        server = connect(request.getfixturevalue("neo4j"))
        yield server
        server.close()


@pytest.fixture
def engine(tmp_path: Path, store: GraphStore) -> Engine:
    """A state whose graph is loaded."""
    engine = new_state(tmp_path / "graph-state.db")
    fill(engine, {"a.txt": [1, 2, 1, 3], "b.txt": [2, 1]})
    load(engine, store, "home")
    return engine


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (["MATCH (x:Entity {id: 'e03'}) DETACH DELETE x"], ["1 Entity missing (e03)", "RELATED missing", "MENTIONS missing", "2 IN_COMMUNITY missing"]),
        (["MATCH (x:Entity {id: 'e01'}) SET x.name = 'wrong'"], ["1 Entity with another content (e01)"]),
        (["MATCH (x:Entity {id: 'e01'}) SET x.aliases = ['a', 'b']"], ["1 Entity with another content (e01)"]),
        (["CREATE (x:Document{mark} {id: 'left-over.txt'})"], ["1 Document too many (left-over.txt)"]),
        (["MATCH (:Document)-[x:HAS_CHUNK]->(:Chunk) DELETE x"], ["4 HAS_CHUNK missing"]),
        (["MATCH (a:Entity {id: 'e02'}) MATCH (b:Entity {id: 'e01'}) CREATE (a)-[:RELATED {type: 'is_a', predicate: ''}]->(b)"],
         ["1 RELATED too many (e02 → e01 → is_a → )"]),
        (["MATCH (a:Community {id: 'c1-1'}) MATCH (b:Community {id: 'c0-1'}) CREATE (a)-[:PART_OF]->(b)"], ["1 PART_OF stored twice"]),
        (["MATCH (x:Home) DELETE x"], ["no marker"]),
        (["MATCH (x:Home) SET x.version = 7"], ["the store was filled by load 7, the last load of this home was 1"]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_graph_is_found_and_mended(engine: Engine, store: GraphStore, damage: list[str], expected: list[str]) -> None:
    assert check_graph(engine, store, "home") == []
    spoil(store, *(d.replace("{mark}", "" if isinstance(store, Embedded) else ":Polyonym") for d in damage))
    findings = check_graph(engine, store, "home")
    assert all(f.repairable for f in findings)
    assert len(findings) == len(expected)
    for line in expected:
        assert any(line in str(f) for f in findings), findings
    load(engine, store, "home", start_over=True)
    assert check_graph(engine, store, "home") == []
    assert held_by(store) == wanted_of(engine)


def test_a_change_that_was_not_loaded_yet_is_found(engine: Engine, store: GraphStore) -> None:
    fill(engine, {"a.txt": [1, 2, 1, 3]})
    assert any("Document too many (b.txt)" in str(f) for f in check_graph(engine, store, "home"))
    load(engine, store, "home")
    assert check_graph(engine, store, "home") == []


def test_a_lost_acknowledgement_is_found(engine: Engine, store: GraphStore) -> None:
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM acknowledged WHERE id = 'e01'"))
    assert [str(f) for f in check_graph(engine, store, "home")] == ["graph: 1 nodes or relationships acknowledged wrongly (e01)"]
    load(engine, store, "home", start_over=True)
    assert check_graph(engine, store, "home") == []


def test_another_homes_graph_is_not_checked(engine: Engine, store: GraphStore) -> None:
    with pytest.raises(WrongUse):
        check_graph(engine, store, "other home")


def test_a_damaged_graph_is_a_finding(tmp_path: Path) -> None:
    store, engine = Embedded(tmp_path / "graph"), new_state(tmp_path / "state.db")
    fill(engine, {"a.txt": [1, 2]})
    load(engine, store, "home")
    flip(store.file)
    (finding,) = check_graph(engine, store, "home")
    assert "store damaged" in finding.what
    load(engine, store, "home", start_over=True)
    assert check_graph(engine, store, "home") == []


# Indexes


def test_an_index_is_compared_by_id_and_content() -> None:
    held = {"a": "1", "b": "1", "z": "1"}
    assert check_index("chunks", held, lambda: dict(held)) == []
    assert check_index("chunks", {"a": "1", "b": "2", "c": "1"}, lambda: held) == [
        Finding("index chunks", "vectors missing", 1, ("c",)),
        Finding("index chunks", "orphaned vectors", 1, ("z",)),
        Finding("index chunks", "vectors of an older content", 1, ("b",)),
    ]


def test_a_damaged_index_is_a_finding() -> None:
    def damaged() -> dict[str, str]:
        raise Damaged("differs from its checksum")

    (finding,) = check_index("chunks", {}, damaged)
    assert str(finding) == "index chunks: 1 index damaged: differs from its checksum"


def test_many_are_counted_and_few_are_shown() -> None:
    (finding,) = check_index("chunks", {f"c{i}": "1" for i in range(9)}, dict)
    assert str(finding) == "index chunks: 9 vectors missing (c0, c1, c2, c3, c4, …)"
