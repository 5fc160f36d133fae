"""Under which block keys each unit stood when it was last solved: how a change finds the blocks that it touches."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlalchemy import Column, Connection, Index, Table, Text, select

from ingest.state import delete_where_in, insert_rows, metadata, select_where_in

UnitKey = tuple[str, str]  # (document, head)

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


def units_under(connection: Connection, keys: Sequence[str]) -> dict[str, list[UnitKey]]:
    """For each of these keys, the units that stand under it."""
    found: dict[str, list[UnitKey]] = {}
    for document, head, key in select_where_in(connection, select(unit_keys), unit_keys.c.key, keys):
        found.setdefault(key, []).append((document, head))
    return found


def known_documents(connection: Connection) -> set[str]:
    """The documents that have units in the index."""
    return set(connection.execute(select(unit_keys.c.document).distinct()).scalars())


def _grouped(rows: Iterator[tuple[str, str, str]]) -> dict[UnitKey, set[str]]:
    keys: dict[UnitKey, set[str]] = {}
    for document, head, key in rows:
        keys.setdefault((document, head), set()).add(key)
    return keys
