"""What a projection (a graph store, a vector index) holds against what it should hold: every load is this difference.

`projected` keeps, for each projection, what it last acknowledged: an id and a hash of the content. The state's truth is
streamed past it in the order of ids (a merge join), so that memory does not grow with the corpus. A projection
acknowledges only what its store has made durable; after a crash in between, work is repeated that is harmless to repeat.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson
from sqlalchemy import Column, ColumnElement, Connection, Select, Table, Text, delete, select

from ingest.state import batched, delete_where_in, insert_rows, metadata

projected = Table(
    "projected",
    metadata,
    Column("projection", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("hash", Text, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing that a projection should hold. `hash` changes when its content does; `properties` ride along."""

    kind: str
    id: str
    hash: str
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """What has to be done to one thing: it is new, it has changed, or it is gone (then without hash and properties)."""

    verb: Literal["new", "changed", "gone"]
    kind: str
    id: str
    hash: str = ""
    properties: dict[str, Any] = field(default_factory=dict)


def properties_hash(properties: dict[str, Any]) -> str:
    """A digest of anything that JSON can hold; equal values give equal digests, whatever the order of the keys."""
    return hashlib.blake2b(orjson.dumps(properties, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()


def by_code_point(connection: Connection, column: ColumnElement[str]) -> ColumnElement[str]:
    """`column` for ORDER BY and comparisons as Python sorts text; PostgreSQL would otherwise sort by the locale."""
    return column.collate("C") if connection.dialect.name == "postgresql" else column


def difference(connection: Connection, projection: str, wanted: Iterable[Wanted], kind: str | None = None) -> Iterator[Change]:
    """What has to change in `projection` so that it holds exactly `wanted`, in ascending order of (kind, id).

    `wanted` must ascend strictly by (kind, id), compared as Python compares texts; ValueError if it does not. With `kind`, only
    what is acknowledged of that kind is compared. Nothing may be acknowledged over this connection while the result is
    being read: use a second one, or read it to its end first.
    """
    held = _acknowledged(connection, projection, kind)
    known = next(held, None)
    last = ("", "")
    for item in wanted:
        key = (item.kind, item.id)
        if key <= last:
            raise ValueError(f"wanted things of {projection} must ascend, but {key} follows {last}")
        last = key
        while known is not None and known[:2] < key:
            yield Change("gone", *known[:2])
            known = next(held, None)
        if known is None or known[:2] != key:
            yield Change("new", *key, item.hash, item.properties)
        else:
            if known[2] != item.hash:
                yield Change("changed", *key, item.hash, item.properties)
            known = next(held, None)
    while known is not None:
        yield Change("gone", *known[:2])
        known = next(held, None)


def _acknowledged(connection: Connection, projection: str, kind: str | None) -> Iterator[tuple[str, str, str]]:
    statement = select(projected.c.kind, projected.c.id, projected.c.hash).where(projected.c.projection == projection)
    if kind is not None:
        statement = statement.where(projected.c.kind == kind)
    statement = statement.order_by(by_code_point(connection, projected.c.kind), by_code_point(connection, projected.c.id))
    return rows_of(connection, statement)


def rows_of(connection: Connection, statement: Select[Any]) -> Iterator[Any]:
    """The rows of a statement, fetched in parts, so that memory does not grow with their number."""
    for part in connection.execute(statement.execution_options(yield_per=10_000)).partitions():
        yield from part


def acknowledge(connection: Connection, projection: str, changes: Sequence[Change]) -> None:
    """Record that the projection now holds the new and changed ones of `changes`, and no longer those that are gone."""
    by_kind: dict[str, list[str]] = {}
    for change in changes:
        if change.verb != "new":
            by_kind.setdefault(change.kind, []).append(change.id)
    for kind, ids in by_kind.items():
        for batch in batched(ids, 500):
            connection.execute(
                delete(projected).where(projected.c.projection == projection, projected.c.kind == kind, projected.c.id.in_(batch))
            )
    rows = ({"projection": projection, "kind": c.kind, "id": c.id, "hash": c.hash} for c in changes if c.verb != "gone")
    insert_rows(connection, projected, rows)


def forget(connection: Connection, projection: str) -> None:
    """Drop all that the projection has acknowledged: its next load starts over."""
    delete_where_in(connection, projected.c.projection, [projection])
