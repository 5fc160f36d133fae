"""Both graph stores, held to the same promises. The loads are real, and so is the server."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Neo4jServer
from graph_state import Texts, connect, fill, fill_plainly, flip, held_by, new_state, spoil, wanted_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from polyonym.graph.load import Written, load, read_version
from polyonym.graph.stores.embedded import Embedded
from polyonym.graph.stores.model import EdgeKind, NodeKind
from polyonym.graph.stores.neo4j import Neo4j
from polyonym.graph.stores.store import Counts, GraphStore, Marker
from polyonym.ingest.errors import Damaged, ServerAway, Stop, WrongUse

THREE: Texts = {"a.txt": [1, 2, 1, 3], "b.txt": [2, 1], "c.txt": []}
OTHER: Texts = {"a.txt": [1, 2, 1, 4], "d.txt": [2, 1], "c.txt": [9]}


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return new_state(tmp_path / "state.db")


@pytest.fixture(params=["embedded", "neo4j"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GraphStore]:
    if request.param == "embedded":
        yield Embedded(tmp_path / "graph")
    else:
        server = connect(request.getfixturevalue("neo4j"))
        yield server
        server.close()


def test_the_store_holds_what_the_state_says(engine: Engine, store: GraphStore) -> None:
    fill(engine, THREE)
    seen: list[int] = []
    written = load(engine, store, "home", seen.append)
    assert held_by(store) == wanted_of(engine)
    nodes, relationships = (sum(len(v) for k, v in wanted_of(engine).items() if k.isupper() == upper) for upper in (False, True))
    assert written == Written(nodes, relationships)
    assert sum(seen) == nodes + relationships
    assert store.counts() == Counts(nodes + 1, relationships)
    assert store.marker() == Marker("home", 1)


def test_a_second_load_writes_nothing(engine: Engine, store: GraphStore) -> None:
    fill(engine, THREE)
    load(engine, store, "home")
    assert load(engine, store, "home") == Written()
    assert store.marker() == Marker("home", 1)


def test_only_the_difference_is_written(engine: Engine, store: GraphStore) -> None:
    fill(engine, {**THREE, "z.txt": [1, 2]})
    load(engine, store, "home")
    fill(engine, {**THREE, "z.txt": [1, 2, 7]})
    before = wanted_of(engine)
    written = load(engine, store, "home")
    assert held_by(store) == before
    assert 0 < written.nodes <= 9
    assert 0 < written.relationships <= 17
    assert store.marker() == Marker("home", 2)


def test_an_empty_state_gives_the_marker_alone(engine: Engine, store: GraphStore) -> None:
    assert load(engine, store, "home") == Written()
    assert store.counts() == Counts(1, 0)
    fill(engine, THREE)
    load(engine, store, "home")
    fill(engine, {})
    load(engine, store, "home")
    assert store.counts() == Counts(1, 0)


TEXTS = st.dictionaries(st.sampled_from(["a.txt", "ü/b'.txt", 'c "x\\y`.txt']), st.lists(st.integers(0, 6), max_size=5), max_size=3)


@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXTS, min_size=2, max_size=4))
def test_any_series_of_changes_ends_in_what_the_state_says(engine: Engine, store: GraphStore, series: list[Texts]) -> None:
    for texts in series:
        fill(engine, texts)
        load(engine, store, "home")
        wanted = wanted_of(engine)
        assert held_by(store) == wanted
        counts = store.counts()
        assert counts.nodes + counts.relationships == 1 + sum(map(len, wanted.values()))


class Dying:
    """A store that fails at one of its steps, as a process that dies there would."""

    def __init__(self, store: GraphStore, step: int) -> None:
        self.store, self.left = store, step

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def _step(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    def begin(self, marker: Marker, fresh: bool) -> None:
        self._step()
        self.store.begin(marker, fresh)
        self._step()

    def apply(self, verb: str, kind: NodeKind | EdgeKind, rows: list[dict[str, Any]]) -> None:
        self._step()
        self.store.apply(verb, kind, rows)
        self._step()

    def finish(self) -> None:
        self._step()
        self.store.finish()
        self._step()


@pytest.mark.slow
def test_a_load_that_dies_at_any_step_is_finished_by_the_next(engine: Engine, store: GraphStore) -> None:
    fill(engine, THREE)
    load(engine, store, "home")
    for step in range(1, 100):
        before = wanted_of(engine)
        fill(engine, OTHER if step % 2 else THREE)
        wanted = wanted_of(engine)
        died = False
        try:
            load(engine, Dying(store, step), "home")  # type: ignore[arg-type]
        except KeyboardInterrupt:
            died = True
            if isinstance(store, Embedded):
                assert held_by(store) in (before, wanted), "readers see a whole load or none of it"
        load(engine, store, "home")
        assert held_by(store) == wanted
        if not died:
            break
    assert step > 10


def test_a_first_load_that_dies_is_finished_by_the_next(engine: Engine, store: GraphStore) -> None:
    fill(engine, THREE)
    for step in (1, 2, 3, 4, 9):
        with pytest.raises(KeyboardInterrupt):
            load(engine, Dying(store, step), "home")  # type: ignore[arg-type]
    load(engine, store, "home")
    assert held_by(store) == wanted_of(engine)


def test_another_homes_graph_is_refused_and_left_alone(engine: Engine, store: GraphStore, tmp_path: Path) -> None:
    fill(engine, THREE)
    load(engine, store, "home")
    other = new_state(tmp_path / "other.db")
    for start_over in (False, True):
        with pytest.raises(WrongUse, match="belongs to another home"):
            load(other, store, "other home", start_over=start_over)
    assert held_by(store) == wanted_of(engine)


def test_a_store_of_an_older_load_is_filled_anew(engine: Engine, store: GraphStore) -> None:
    fill(engine, THREE)
    load(engine, store, "home")
    fill(engine, OTHER)
    spoil(store, "MATCH (x:Home) SET x.version = 0")
    load(engine, store, "home")
    assert held_by(store) == wanted_of(engine)
    assert load(engine, store, "home") == Written()


def test_a_store_without_marker_is_filled_anew(engine: Engine, store: GraphStore) -> None:
    fill(engine, THREE)
    load(engine, store, "home")
    spoil(store, "MATCH (x:Home) DELETE x", "MATCH (x:Entity {id: 'e01'}) DETACH DELETE x")
    load(engine, store, "home")
    assert held_by(store) == wanted_of(engine)


def test_a_graph_of_another_model_is_filled_anew(engine: Engine, store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(engine, THREE)
    monkeypatch.setattr("polyonym.graph.load._MODEL", "an older one")
    load(engine, store, "home")
    monkeypatch.undo()
    assert load(engine, store, "home") != Written()
    assert held_by(store) == wanted_of(engine)
    assert load(engine, store, "home") == Written()


def test_a_state_restored_from_a_copy_fills_the_store_anew(engine: Engine, store: GraphStore, tmp_path: Path) -> None:
    fill(engine, THREE)
    load(engine, store, "home")
    engine.dispose()
    (tmp_path / "copy.db").write_bytes((tmp_path / "state.db").read_bytes())
    fill(engine, OTHER)
    load(engine, store, "home")
    restored = new_state(tmp_path / "copy.db")
    load(restored, store, "home")
    assert held_by(store) == wanted_of(restored)


def test_starting_over_repairs_whatever_is_wrong(engine: Engine, store: GraphStore) -> None:
    fill(engine, THREE)
    load(engine, store, "home")
    spoil(store, "MATCH (x:Entity {id: 'e01'}) DETACH DELETE x", "MATCH (x:Entity) SET x.name = 'wrong'")
    assert load(engine, store, "home") == Written()
    load(engine, store, "home", start_over=True)
    assert held_by(store) == wanted_of(engine)


WRITING = (
    "CREATE (x:Entity {id: 'new'})",
    "MATCH (x:Entity) SET x.name = 'wrong'",
    "match (x:Entity) detach delete x",
    "WITH 1 AS one MERGE (x:Entity {id: 'new'})",
    "MATCH (x:Entity) RETURN x; MATCH (x) DETACH DELETE x",
    "DROP TABLE Entity",
    "EXPORT DATABASE '/tmp/polyonym-test-export'",
    "COPY (MATCH (x:Entity) RETURN x.id) TO '/tmp/polyonym-test.csv'",
    "ALTER CURRENT USER SET PASSWORD FROM 'a' TO 'b'",
    "/* MATCH */ CREATE (x:Entity {id: 'new'})",
    "EXPLAIN CREATE (x:Entity {id: 'new'})",
    "PROFILE CREATE (x:Entity {id: 'new'})",
)


@pytest.mark.parametrize("cypher", [*WRITING, "", ";", "// nothing"])
def test_a_query_cannot_write(engine: Engine, store: GraphStore, cypher: str) -> None:
    fill(engine, THREE)
    load(engine, store, "home")
    with pytest.raises(WrongUse):
        store.query(cypher)
    assert held_by(store) == wanted_of(engine)


@pytest.mark.parametrize(
    "cypher",
    [
        "MATCH (x:Entity) RETRUN x",
        "MATCH (x:Entity RETURN x",
        "RETURN y",
        "UNWIND",
        "MATCH (a)-[:RELATED*1..99999999999999999999]->(b) RETURN a",
    ],
)
def test_a_wrong_query_says_what_is_wrong(engine: Engine, store: GraphStore, cypher: str) -> None:
    fill(engine, THREE)
    load(engine, store, "home")
    with pytest.raises(WrongUse) as caught:
        store.query(cypher)
    assert len(str(caught.value)) > 30


def test_answers_are_the_same_from_both_stores_and_plain(engine: Engine, store: GraphStore) -> None:
    fill(engine, THREE)
    load(engine, store, "home")
    answer = store.query(
        "MATCH (e:Entity {id: 'e01'}) RETURN e, e.name AS name, e.aliases AS aliases, e.wikidata_id AS qid, e.registry_id AS registry;"
    )
    entity = {"id": "e01", "name": "Thing 1", "type": "ORG", "wikidata_id": "Q1", "aliases": ["Thing 1"], "mentions": 3, "documents": 2}
    assert answer.columns == ["e", "name", "aliases", "qid", "registry"]
    assert answer.rows == [[{"label": "Entity", **entity}, "Thing 1", ["Thing 1"], "Q1", None]]
    answer = store.query(
        "MATCH p = (d:Document {id: 'b.txt'})-[r:HAS_CHUNK]->(c:Chunk) RETURN p, r, c.start_at AS start ORDER BY start LIMIT 1"
    )
    path, relationship, start = answer.rows[0]
    assert [node["label"] for node in path["nodes"]] == ["Document", "Chunk"]
    assert path["relationships"] == [relationship] == [{"relationship": "HAS_CHUNK"}]
    assert start == 0
    assert type(start) is int
    assert store.query("MATCH (e:Entity) WHERE e.name = '; CREATE' RETURN e").rows == []


# Neo4j alone


_THEIRS = (
    "CREATE (:Person {name: 'Ada'})-[:KNOWS]->(:Entity {id: 'e01', name: 'Not ours'}), (:Document {id: 'a.txt'}), (:Document {id: 'a.txt'})"
)
_SHAPE = "MATCH (x) WHERE NOT x:Polyonym RETURN labels(x)[0] AS label, x.id, COUNT {(x)--()} AS degree ORDER BY label, x.id"


@pytest.fixture
def shared(neo4j: Neo4jServer) -> Iterator[Neo4j]:
    """A database in which other data has labels like ours and, what we never allow among our own, ids like ours, twice."""
    store = connect(neo4j)
    store._write(_THEIRS)
    try:
        yield store
    finally:
        store._write("MATCH (x) DETACH DELETE x")
        store.close()


def test_a_database_with_other_data_keeps_it(engine: Engine, shared: Neo4j) -> None:
    before = shared.query(_SHAPE).rows
    assert before == [["Document", "a.txt", 0], ["Document", "a.txt", 0], ["Entity", "e01", 1], ["Person", None, 1]]
    for texts in (THREE, OTHER):
        fill(engine, texts)
        load(engine, shared, "home")
        assert held_by(shared) == wanted_of(engine)
        assert shared.query(_SHAPE).rows == before
    load(engine, shared, "home", start_over=True)
    fill(engine, {})
    load(engine, shared, "home")
    assert shared.counts() == Counts(1, 0)
    assert shared.query(_SHAPE).rows == before
    assert shared.query("MATCH (:Person {name: 'Ada'})-[:KNOWS]->(x:Entity) RETURN x.name").rows == [["Not ours"]]


def test_our_constraints_and_indexes_bind_nobody_else(engine: Engine, shared: Neo4j) -> None:
    load(engine, shared, "home")
    shared._write(
        "CREATE (:Entity {id: 'x'}), (:Entity {id: 'x'}), (:Chunk {document: 'long' + reduce(t = '', _ IN range(1, 9000) | t + 'x')})"
    )
    constraints = shared.query("SHOW CONSTRAINTS YIELD labelsOrTypes, properties RETURN labelsOrTypes[0], properties[0]").rows
    assert sorted(constraints) == [[f"Polyonym{label}", "id"] for label in ("Chunk", "Community", "Document", "Entity", "Home")]
    indexes = shared.query("SHOW INDEXES YIELD labelsOrTypes, properties RETURN labelsOrTypes[0], properties[0]").rows
    assert ["PolyonymEntity", "name"] in indexes


def test_the_constraints_of_earlier_versions_go_and_those_of_others_stay(engine: Engine, neo4j: Neo4jServer) -> None:
    store = connect(neo4j)
    fill(engine, THREE)
    load(engine, store, "home")
    for label in ("Document", "Chunk", "Entity", "Community", "Home"):  # as earlier versions made them
        store._write(f"MATCH (x:{label}:Polyonym) REMOVE x:Polyonym{label}")
        store._write(f"DROP CONSTRAINT polyonym_own_{label.lower()}_id")
        store._write(f"CREATE CONSTRAINT polyonym_{label.lower()}_id FOR (x:{label}) REQUIRE x.id IS UNIQUE")
    store._write("CREATE INDEX polyonym_entity_name FOR (x:Entity) ON (x.name)")
    store._write("CREATE CONSTRAINT theirs FOR (x:Document) REQUIRE x.number IS UNIQUE")
    try:
        fill(engine, OTHER)
        written = load(engine, store, "home")
        assert 0 < written.nodes < sum(len(rows) for kind, rows in wanted_of(engine).items() if not kind.isupper())  # not started over
        assert held_by(store) == wanted_of(engine)
        counts = store.counts()
        assert counts.nodes + counts.relationships == 1 + sum(map(len, wanted_of(engine).values()))
        names = {row[0] for kind in ("CONSTRAINTS", "INDEXES") for row in store.query(f"SHOW {kind} YIELD name RETURN name").rows}
        assert {name for name in names if name.startswith("polyonym") and "_own_" not in name} == set()
        assert "theirs" in names
    finally:
        store._write("DROP CONSTRAINT theirs")
        store.close()


@pytest.mark.slow
@pytest.mark.parametrize("clean", [True, False])
def test_a_server_stopped_and_started_during_a_load(
    engine: Engine, neo4j: Neo4jServer, monkeypatch: pytest.MonkeyPatch, clean: bool
) -> None:
    monkeypatch.setattr("polyonym.graph.load.BATCH", 40)
    fill_plainly(engine, 60)
    store = connect(neo4j, patience=120)
    batches, restarting = 0, threading.Thread(target=lambda: None)
    apply = store.apply

    def apply_slowly(verb: str, kind: NodeKind | EdgeKind, rows: list[dict[str, Any]]) -> None:
        nonlocal batches, restarting
        batches += 1
        if batches == 6:
            (neo4j.stop if clean else neo4j.kill)()
            restarting = threading.Timer(3, neo4j.start)
            restarting.start()
        apply(verb, kind, rows)

    monkeypatch.setattr(store, "apply", apply_slowly)
    load(engine, store, "home")
    restarting.join()
    assert batches > 12
    assert held_by(store) == wanted_of(engine)
    assert load(engine, store, "home") == Written()
    store.close()


@pytest.mark.slow
def test_a_server_that_stays_away(engine: Engine, neo4j: Neo4jServer) -> None:
    fill(engine, THREE)
    store = connect(neo4j, patience=2)
    load(engine, store, "home")
    fill(engine, OTHER)
    neo4j.stop()
    try:
        for work in (lambda: load(engine, store, "home"), lambda: store.query("RETURN 1"), store.counts, lambda: held_by(store)):
            with pytest.raises(ServerAway, match="did not answer for 2 seconds"):
                work()
    finally:
        neo4j.start()
    load(engine, store, "home")
    assert held_by(store) == wanted_of(engine)
    store.close()


def test_what_the_user_set_wrongly_is_named(engine: Engine, neo4j: Neo4jServer) -> None:
    with pytest.raises(WrongUse, match="POLYONYM_GRAPH_PASSWORD"):
        load(engine, Neo4j(neo4j.url, neo4j.user, "wrong"), "home")
    with pytest.raises(WrongUse, match="POLYONYM_GRAPH_URL"):
        Neo4j("http://localhost", "neo4j", "x")
    with pytest.raises(WrongUse, match="nowhere"):
        load(engine, Neo4j(neo4j.url, neo4j.user, neo4j.password, "nowhere", patience=3), "home")


# The embedded store alone


@pytest.fixture
def embedded(tmp_path: Path) -> Embedded:
    return Embedded(tmp_path / "graph")


def test_readers_see_the_last_load_that_ended(engine: Engine, embedded: Embedded) -> None:
    fill(engine, THREE)
    load(engine, embedded, "home")
    before = held_by(embedded)
    fill(engine, OTHER)
    steps: list[str] = []

    class Watched(Dying):
        def _step(self) -> None:
            reader = Embedded(embedded.folder)
            steps.append("old" if held_by(reader) == before else "new")

    load(engine, Watched(embedded, 0), "home")  # type: ignore[arg-type]
    assert steps[-1] == "new"
    assert set(steps[:-1]) == {"old"}
    assert held_by(embedded) == wanted_of(engine)


def test_another_process_reads_while_one_writes(engine: Engine, embedded: Embedded) -> None:
    fill(engine, THREE)
    load(engine, embedded, "home")
    embedded.begin(Marker("home", 2), fresh=False)
    code = f"from pathlib import Path; from polyonym.graph.stores.embedded import Embedded; print(Embedded(Path({str(embedded.folder)!r})).counts())"
    try:
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    finally:
        embedded.abandon()
    assert shown.stdout.strip() == str(embedded.counts())


def test_nothing_is_left_beside_the_graph(engine: Engine, embedded: Embedded) -> None:
    fill(engine, THREE)
    with pytest.raises(KeyboardInterrupt):
        load(engine, Dying(embedded, 6), "home")  # type: ignore[arg-type]
    assert not list(embedded.folder.iterdir())
    load(engine, embedded, "home")
    assert sorted(p.name for p in embedded.folder.iterdir()) == ["graph.json", "graph.lbug"]


def test_what_a_killed_load_left_is_swept_away(engine: Engine, embedded: Embedded) -> None:
    fill(engine, THREE)
    load(engine, embedded, "home")
    for name in ("loading.lbug", "loading.lbug.wal", "loading.lbug.Chunk.arrow", "graph.json.part"):
        (embedded.folder / name).write_bytes(b"half of something")
    fill(engine, OTHER)
    load(engine, embedded, "home")
    assert sorted(p.name for p in embedded.folder.iterdir()) == ["graph.json", "graph.lbug"]
    assert held_by(embedded) == wanted_of(engine)


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: flip(folder / "graph.lbug"),
        lambda folder: (folder / "graph.lbug").write_bytes(b""),
        lambda folder: (folder / "graph.lbug").write_bytes((folder / "graph.lbug").read_bytes()[:9000]),
        lambda folder: (folder / "graph.json").write_bytes(b"{"),
        lambda folder: (folder / "graph.json").unlink(),
    ],
    ids=["a flipped byte", "emptied", "cut off", "checksums damaged", "checksums gone"],
)
def test_a_damaged_store_is_named_and_can_be_made_again(engine: Engine, embedded: Embedded, damage: Callable[[Path], object]) -> None:
    fill(engine, THREE)
    load(engine, embedded, "home")
    damage(embedded.folder)
    for work in (lambda: load(engine, embedded, "home"), lambda: embedded.query("MATCH (x) RETURN x"), embedded.counts):
        with pytest.raises(Damaged, match="check --repair"):
            work()
    load(engine, embedded, "home", start_over=True)
    assert held_by(embedded) == wanted_of(engine)
    assert load(engine, embedded, "home") == Written()


def test_a_moved_home_keeps_its_graph(engine: Engine, embedded: Embedded, tmp_path: Path) -> None:
    fill(engine, THREE)
    load(engine, embedded, "home")
    subprocess.run(["cp", "-r", embedded.folder, tmp_path / "it's [moved] *"], check=True)
    moved = Embedded(tmp_path / "it's [moved] *")
    assert load(engine, moved, "home") == Written()
    load(engine, moved, "home", start_over=True)
    assert held_by(moved) == wanted_of(engine)


def test_a_deleted_graph_is_made_again(engine: Engine, embedded: Embedded) -> None:
    fill(engine, THREE)
    load(engine, embedded, "home")
    for path in embedded.folder.iterdir():
        path.unlink()
    with pytest.raises(WrongUse, match="no graph"):
        embedded.query("MATCH (x) RETURN x")
    assert embedded.counts() == Counts(0, 0)
    load(engine, embedded, "home")
    assert held_by(embedded) == wanted_of(engine)


def test_a_folder_that_cannot_be_written(engine: Engine, embedded: Embedded, tmp_path: Path) -> None:
    (tmp_path / "graph").write_text("a file where the folder should be")
    fill(engine, THREE)
    with pytest.raises(Stop, match="cannot be written"):
        load(engine, embedded, "home")
    with engine.connect() as connection:
        assert read_version(connection, "embedded").version == 0


def test_a_full_disk_leaves_the_graph_as_it_was(engine: Engine, small_disk: Path) -> None:
    store = Embedded(small_disk / "graph")
    fill(engine, THREE)
    load(engine, store, "home")
    before = held_by(store)
    (small_disk / "ballast").write_bytes(b"x" * (43 << 20))
    fill(engine, OTHER)
    with pytest.raises(Stop, match="No space left on device"):
        load(engine, store, "home")
    assert held_by(store) == before
    (small_disk / "ballast").unlink()
    load(engine, store, "home")
    assert held_by(store) == wanted_of(engine)
