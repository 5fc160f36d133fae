"""Whose rows have changed: noticed by whoever asks, whatever statement changed them."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from graph_state import fill, held_by, new_state, wanted_of
from sqlalchemy import Connection, Engine, delete, insert, update

from polyonym.flows.home import tables  # noqa: F401  (a store is opened with all its tables)
from polyonym.graph.difference import acknowledged
from polyonym.graph.load import Written, load
from polyonym.graph.relations import EntityRelation, entity_relations, gather, wrong_evidence
from polyonym.graph.stores.embedded import Embedded
from polyonym.ingest.store.changes import counters_of, forget_owners, owners_since, set_watermark
from polyonym.resolution.entities import aliases, entities, memberships
from polyonym.resolution.within_document.document_names import mention_names

TEXTS = {"a.txt": [1, 2, 1, 3], "b.txt": [2, 1], "c.txt": [4, 5]}
TABLES = (entities, aliases)


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    made = new_state(tmp_path / "state.db")
    fill(made, TEXTS)
    return made


def renamed(connection: Connection) -> None:
    connection.execute(update(entities).where(entities.c.name == "Thing 4").values(name="Four"))


def gone(connection: Connection) -> None:
    connection.execute(delete(aliases).where(aliases.c.name == "Thing 4"))


def added(connection: Connection) -> None:
    connection.execute(insert(aliases), [{"entity_id": "e04", "name": "Four", "count": 1}])


@pytest.mark.parametrize("change", [renamed, gone, added])
def test_whose_rows_a_statement_changes(engine: Engine, change: Callable[[Connection], None]) -> None:
    with engine.begin() as connection:
        before = counters_of(connection, TABLES)
        assert owners_since(connection, TABLES, before) == set()
        change(connection)
        assert owners_since(connection, TABLES, before) == {"e04"}, "in the same transaction"
        assert counters_of(connection, TABLES) != before
    with engine.connect() as connection:
        assert owners_since(connection, TABLES, before) == {"e04"}
        assert owners_since(connection, TABLES, counters_of(connection, TABLES)) == set()


def test_a_statement_that_changes_no_row_makes_no_edition(engine: Engine) -> None:
    with engine.begin() as connection:
        before = counters_of(connection, TABLES)
        connection.execute(delete(aliases).where(aliases.c.name == "nobody"))
        connection.execute(update(entities).where(entities.c.name == "nobody").values(name="Four"))
        assert counters_of(connection, TABLES) == before


def test_what_is_rolled_back_has_changed_nothing(engine: Engine) -> None:
    with engine.connect() as connection:
        before = counters_of(connection, TABLES)
        connection.commit()
        renamed(connection)
        connection.rollback()
        assert owners_since(connection, TABLES, before) == set() and counters_of(connection, TABLES) == before


def test_what_was_forgotten_is_not_known(engine: Engine) -> None:
    with engine.begin() as connection:
        before = counters_of(connection, TABLES)
        renamed(connection)
        now = counters_of(connection, TABLES)
        forget_owners(connection)
        assert owners_since(connection, TABLES, before) is None and owners_since(connection, TABLES, {}) is None
        assert owners_since(connection, TABLES, now) == set()


def test_a_load_looks_only_at_what_has_changed(engine: Engine, tmp_path: Path) -> None:
    store = Embedded(tmp_path / "graph")
    load(engine, store, "home")
    with engine.begin() as connection:
        connection.execute(delete(acknowledged).where(acknowledged.c.kind == "Entity", acknowledged.c.id == "e01"))
        renamed(connection)
    assert load(engine, store, "home") == Written(nodes=1), "the other is not looked at, though it is not acknowledged"
    assert held_by(store) == wanted_of(engine)


def test_evidence_follows_names_and_relations(engine: Engine) -> None:
    with engine.begin() as connection:
        whole = list(entity_relations(connection))
        connection.execute(delete(memberships).where(memberships.c.entity_id == "e02", memberships.c.document == "b.txt"))
        assert wrong_evidence(connection) == ["b.txt"]
        connection.execute(delete(mention_names).where(mention_names.c.document == "c.txt"))
        gather(connection)
        assert wrong_evidence(connection) == []
        left = list(entity_relations(connection))
    assert [documents_of(held) for held in (whole, left)] == [{"a.txt", "b.txt", "c.txt"}, {"a.txt"}]


def documents_of(relations: Iterable[EntityRelation]) -> set[str]:
    return {piece.document for relation in relations for piece in relation.evidence}


def test_evidence_is_gathered_anew_where_it_is_not_known_what_changed(engine: Engine) -> None:
    with engine.begin() as connection:
        whole = list(entity_relations(connection))
        connection.exec_driver_sql("DELETE FROM evidence WHERE document = 'a.txt'")
        gather(connection)
        assert list(entity_relations(connection)) != whole, "nothing has changed, as far as is known"
        set_watermark(connection, "evidence", {})
        gather(connection)
        assert list(entity_relations(connection)) == whole
