"""Decisions across documents, as they were made, with all that each rests on.

What is decided inside one document stands with its names (document_names) and links (links); `export decisions` shows all.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Column, Connection, Table, Text, select

from ingest.state import Json, delete_where_in, insert_rows, metadata, select_where_in
from resolution.units import Decision

decisions = Table(
    "decisions",
    metadata,
    Column("scope", Text, nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("names", Json, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("candidates", Json, nullable=False),
    Column("features", Json, nullable=False),
    Column("weights_version", Text, nullable=False),
    Column("spans", Json, nullable=False),
)


def replace(connection: Connection, scopes: Sequence[str], made: Iterable[Decision]) -> None:
    """Withdraw the decisions of these scopes, store the ones made now."""
    delete_where_in(connection, decisions.c.scope, sorted(set(scopes)))
    insert_rows(connection, decisions, map(vars, made))


def load(connection: Connection, scopes: Sequence[str] | None = None) -> Iterator[Decision]:
    """Decisions of these scopes (all without), sorted within batches."""
    statement = select(decisions).order_by(decisions.c.scope, decisions.c.kind, decisions.c.names, decisions.c.verdict)
    rows: Iterable[Any] = (
        connection.execute(statement) if scopes is None else select_where_in(connection, statement, decisions.c.scope, scopes)
    )
    for row in rows:
        yield Decision(
            row.scope, row.kind, tuple(row.names), row.verdict, tuple(row.candidates), row.features, row.weights_version, tuple(row.spans)
        )
