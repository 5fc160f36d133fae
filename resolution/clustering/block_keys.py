"""Under which block keys each within-document entity stood when it was last solved: how a change finds the blocks that it touches."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Column, Connection, Index, Table, Text, select

from polyonym.ingest.store.tables import batched, delete_where_in, insert_rows, metadata, select_where_in
from polyonym.resolution.within_document.document_entities import DocumentEntityKey

unit_keys = Table(
    "unit_keys",
    metadata,
    Column("document", Text, nullable=False),
    Column("head", Text, nullable=False),
    Column("key", Text, nullable=False),
    Index("unit_keys_by_key", "key"),
    Index("unit_keys_by_document", "document"),
)


def replace(connection: Connection, documents: Sequence[str], keys: Mapping[DocumentEntityKey, Iterable[str]]) -> None:
    """Put the keys of these documents' within-document entities in place of the ones before."""
    delete_where_in(connection, unit_keys.c.document, documents)
    insert_rows(connection, unit_keys, ({"document": d, "head": h, "key": k} for (d, h), of_unit in keys.items() for k in sorted(of_unit)))


def keys_of_documents(connection: Connection, documents: Sequence[str]) -> dict[DocumentEntityKey, set[str]]:
    """The stored keys of all within-document entities of these documents."""
    return _grouped(select_where_in(connection, select(unit_keys), unit_keys.c.document, documents))


def keys_of_document_entities(connection: Connection, document_entities: Sequence[DocumentEntityKey]) -> dict[DocumentEntityKey, set[str]]:
    """The stored keys of these within-document entities; what was never stored is left out."""
    stored: dict[DocumentEntityKey, set[str]] = {}
    for batch in batched(sorted(document_entities), 500):
        u = unit_keys.c
        # Rows of other pairs come along and are dropped: SQLite finds documents by its index, but pairs only by reading everything.
        statement = select(unit_keys).where(u.document.in_({d for d, _ in batch}), u.head.in_({h for _, h in batch}))
        of_batch = _grouped(connection.execute(statement))
        stored |= {document_entity: of_batch[document_entity] for document_entity in batch if document_entity in of_batch}
    return stored


def document_entities_under(connection: Connection, keys: Sequence[str]) -> dict[str, list[DocumentEntityKey]]:
    """For each of these keys, the within-document entities that stand under it."""
    by_key: dict[str, list[DocumentEntityKey]] = {}
    for document, head, key in select_where_in(connection, select(unit_keys), unit_keys.c.key, keys):
        by_key.setdefault(key, []).append((document, head))
    return by_key


def known_documents(connection: Connection) -> set[str]:
    """The documents that have within-document entities in the index."""
    return set(connection.execute(select(unit_keys.c.document).distinct()).scalars())


def _grouped(rows: Iterable[Any]) -> dict[DocumentEntityKey, set[str]]:
    keys: dict[DocumentEntityKey, set[str]] = {}
    for document, head, key in rows:
        keys.setdefault((document, head), set()).add(key)
    return keys
