"""Under which block keys each unit stood when it was last solved: how a change finds the blocks that it touches."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Column, Connection, Index, Table, Text, select

from polyonym.ingest.store.tables import batched, delete_where_in, insert_rows, metadata, select_where_in
from polyonym.resolution.within_document.document_entities import UnitKey

unit_keys = Table(
    "unit_keys",
    metadata,
    Column("document", Text, nullable=False),
    Column("head", Text, nullable=False),
    Column("key", Text, nullable=False),
    Index("unit_keys_by_key", "key"),
    Index("unit_keys_by_document", "document"),
)


def replace(connection: Connection, documents: Sequence[str], keys: Mapping[UnitKey, Iterable[str]]) -> None:
    """Put the keys of these documents' units in place of the ones before."""
    delete_where_in(connection, unit_keys.c.document, documents)
    insert_rows(connection, unit_keys, ({"document": d, "head": h, "key": k} for (d, h), held in keys.items() for k in sorted(held)))


def keys_of_documents(connection: Connection, documents: Sequence[str]) -> dict[UnitKey, set[str]]:
    """The stored keys of all units of these documents."""
    return _grouped(select_where_in(connection, select(unit_keys), unit_keys.c.document, documents))


def keys_of_units(connection: Connection, units: Sequence[UnitKey]) -> dict[UnitKey, set[str]]:
    """The stored keys of these units; what was never stored is left out."""
    found: dict[UnitKey, set[str]] = {}
    for batch in batched(sorted(units), 500):
        u = unit_keys.c
        # Rows of other pairs come along and are dropped: SQLite finds documents by its index, but pairs only by reading everything.
        statement = select(unit_keys).where(u.document.in_({d for d, _ in batch}), u.head.in_({h for _, h in batch}))
        held = _grouped(connection.execute(statement))
        found |= {unit: held[unit] for unit in batch if unit in held}
    return found


def units_under(connection: Connection, keys: Sequence[str]) -> dict[str, list[UnitKey]]:
    """For each of these keys, the units that stand under it."""
    found: dict[str, list[UnitKey]] = {}
    for document, head, key in select_where_in(connection, select(unit_keys), unit_keys.c.key, keys):
        found.setdefault(key, []).append((document, head))
    return found


def known_documents(connection: Connection) -> set[str]:
    """The documents that have units in the index."""
    return set(connection.execute(select(unit_keys.c.document).distinct()).scalars())


def _grouped(rows: Iterable[Any]) -> dict[UnitKey, set[str]]:
    keys: dict[UnitKey, set[str]] = {}
    for document, head, key in rows:
        keys.setdefault((document, head), set()).add(key)
    return keys
