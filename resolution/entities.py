"""Entities: the things that names stand for, their aliases, and which (document, name) belongs to which."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, Integer, Table, Text, delete, or_, select, tuple_

from polyonym.ingest.store.tables import batched, insert_rows, metadata, select_where_in


@dataclass(frozen=True)
class Entity:
    """One real-world thing. `documents` and `mentions` count where it occurs."""

    entity_id: str
    name: str
    type: str
    wikidata_id: str | None = None
    registry_id: str | None = None
    description: str | None = None
    documents: int = 0
    mentions: int = 0


@dataclass(frozen=True)
class Alias:
    """One spelling of an entity's name and how often it stands in the documents."""

    entity_id: str
    name: str
    count: int


@dataclass(frozen=True)
class Membership:
    """That a document's name stands for an entity, with how many mentions it does."""

    document: str
    name: str
    entity_id: str
    mentions: int


entities = Table(
    "entities",
    metadata,
    Column("entity_id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("wikidata_id", Text, index=True),
    Column("registry_id", Text, index=True),
    Column("description", Text),
    Column("documents", Integer, nullable=False),
    Column("mentions", Integer, nullable=False),
    info={"owners": ("entity_id",)},
)

aliases = Table(
    "aliases",
    metadata,
    Column("entity_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("count", Integer, nullable=False),
    info={"owners": ("entity_id",)},
)

memberships = Table(
    "memberships",
    metadata,
    Column("document", Text, primary_key=True),
    Column("name", Text, primary_key=True, index=True),
    Column("entity_id", Text, nullable=False, index=True),
    Column("mentions", Integer, nullable=False),
    info={"owners": ("document",)},
)


def replace(
    connection: Connection,
    gone: Iterable[str],
    new: Iterable[Entity],
    new_aliases: Iterable[Alias],
    new_memberships: Iterable[Membership],
) -> None:
    """Take the entities `gone` out, with aliases and memberships, and put the new ones in; what is in both stays untouched."""
    ids = sorted(set(gone))
    _replace(connection, entities, new, load(connection, ids))
    _replace(connection, aliases, new_aliases, load_aliases(connection, ids))
    _replace(connection, memberships, new_memberships, members_of(connection, ids))


def _replace(connection: Connection, table: Table, new: Iterable[Any], stored: Iterable[Any]) -> None:
    wanted, present = dict.fromkeys(new), dict.fromkeys(stored)
    key = tuple(table.primary_key.columns)
    for batch in batched((row for row in present if row not in wanted), 500):
        connection.execute(delete(table).where(tuple_(*key).in_([tuple(getattr(row, c.name) for c in key) for row in batch])))
    insert_rows(connection, table, (vars(row) for row in wanted if row not in present))


def load(connection: Connection, ids: Sequence[str] | None = None) -> Iterator[Entity]:
    """Entities by id (all without), sorted by id within batches."""
    statement = select(entities).order_by(entities.c.entity_id)
    rows: Iterable[Any] = (
        connection.execute(statement) if ids is None else select_where_in(connection, statement, entities.c.entity_id, ids)
    )
    for row in rows:
        yield Entity(*row)


def bearing(connection: Connection, item: str) -> Iterator[Entity]:
    """The entities that bear a Wikidata or a registry id, sorted by id."""
    wanted = or_(entities.c.wikidata_id == item, entities.c.registry_id == item)
    for row in connection.execute(select(entities).where(wanted).order_by(entities.c.entity_id)):
        yield Entity(*row)


def load_aliases(connection: Connection, ids: Sequence[str] | None = None) -> Iterator[Alias]:
    """Aliases of these entities (of all without), sorted by entity, then commonest first, within batches."""
    statement = select(aliases).order_by(aliases.c.entity_id, aliases.c.count.desc(), aliases.c.name)
    rows: Iterable[Any] = connection.execute(statement) if ids is None else select_where_in(connection, statement, aliases.c.entity_id, ids)
    for row in rows:
        yield Alias(*row)


def load_memberships(connection: Connection, documents: Sequence[str] | None = None) -> Iterator[Membership]:
    """Memberships of these documents' names (of all without), sorted within batches."""
    statement = select(memberships).order_by(memberships.c.document, memberships.c.name)
    rows: Iterable[Any] = (
        connection.execute(statement) if documents is None else select_where_in(connection, statement, memberships.c.document, documents)
    )
    for row in rows:
        yield Membership(*row)


def members_of(connection: Connection, ids: Sequence[str]) -> Iterator[Membership]:
    """All memberships of these entities, sorted within batches."""
    statement = select(memberships).order_by(memberships.c.entity_id, memberships.c.document, memberships.c.name)
    for row in select_where_in(connection, statement, memberships.c.entity_id, ids):
        yield Membership(*row)


def all_ids(connection: Connection) -> set[str]:
    """Every entity's id."""
    return set(connection.execute(select(entities.c.entity_id)).scalars())


def members_named(connection: Connection, name: str) -> Iterator[Membership]:
    """All memberships of one normalised name, sorted by document."""
    for row in connection.execute(select(memberships).where(memberships.c.name == name).order_by(memberships.c.document)):
        yield Membership(*row)
