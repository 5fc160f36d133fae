"""What a projection (a graph store, a vector index) holds against what it should hold: every load is this difference.

`acknowledged` keeps, for each projection, what it last acknowledged: an id, a hash of the content, and whose it is: the document,
entity or community by whose changes it may change. The state's truth is streamed past it in the order of owners and ids (a merge
join), so that memory does not grow with the corpus; where it is known who has changed, the rest need not be looked at. A projection
acknowledges only what its store has made durable; after a crash in between, work is repeated that is harmless to repeat.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson
from sqlalchemy import Column, ColumnElement, Connection, Select, Table, Text, delete, select, tuple_

from polyonym.ingest.store.tables import batched, delete_where_in, insert_rows, metadata, select_where_in

acknowledged = Table(
    "acknowledged",
    metadata,
    Column("projection", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("owner", Text, primary_key=True),
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
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What has to be done to one thing: it is new, it has changed, or it is gone (then without hash and properties)."""

    verb: Literal["new", "changed", "gone"]
    kind: str
    id: str
    owner: str = ""
    hash: str = ""
    properties: dict[str, Any] = field(default_factory=dict)


def properties_hash(properties: dict[str, Any]) -> str:
    """A digest of anything that JSON can hold; equal values give equal digests, whatever the order of the keys."""
    return hashlib.blake2b(orjson.dumps(properties, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()


def by_code_point(connection: Connection, column: ColumnElement[str]) -> ColumnElement[str]:
    """`column` for ORDER BY and comparisons as Python sorts text; PostgreSQL would otherwise sort by the locale."""
    return column.collate("C") if connection.dialect.name == "postgresql" else column


def difference(
    connection: Connection, projection: str, wanted: Iterable[Wanted], kind: str | None = None, owners: Collection[str] | None = None
) -> Iterator[Change]:
    """What has to change in `projection` so that it holds exactly `wanted`, in ascending order of (kind, owner, id).

    `wanted` must ascend strictly by (kind, owner, id), compared as Python compares texts; ValueError if it does not. With `kind`, and
    with `owners`, only what is acknowledged of that kind, and of these owners, is compared. Nothing may be acknowledged over this
    connection while the result is being read: use a second one, or read it to its end first.
    """
    acknowledged_hashes = _acknowledged(connection, projection, kind, owners)
    known = next(acknowledged_hashes, None)
    last = ("", "", "")
    for item in wanted:
        key = (item.kind, item.owner, item.id)
        if key <= last:
            raise ValueError(f"wanted things of {projection} must ascend, but {key} follows {last}")
        last = key
        while known is not None and known[:3] < key:
            yield _gone(known)
            known = next(acknowledged_hashes, None)
        if known is None or known[:3] != key:
            yield Change("new", item.kind, item.id, item.owner, item.hash, item.properties)
        else:
            if known[3] != item.hash:
                yield Change("changed", item.kind, item.id, item.owner, item.hash, item.properties)
            known = next(acknowledged_hashes, None)
    while known is not None:
        yield _gone(known)
        known = next(acknowledged_hashes, None)


def _gone(known: tuple[str, str, str, str]) -> Change:
    kind, owner, id_, _ = known
    return Change("gone", kind, id_, owner)


def _acknowledged(
    connection: Connection, projection: str, kind: str | None, owners: Collection[str] | None
) -> Iterator[tuple[str, str, str, str]]:
    a = acknowledged.c
    statement = select(a.kind, a.owner, a.id, a.hash).where(a.projection == projection)
    if kind is not None:
        statement = statement.where(a.kind == kind)
    statement = statement.order_by(*(by_code_point(connection, column) for column in (a.kind, a.owner, a.id)))
    return rows_of(connection, statement, a.owner, owners)


def rows_of(
    connection: Connection, statement: Select[Any], owner: ColumnElement[str] | None = None, owners: Collection[str] | None = None
) -> Iterator[Any]:
    """The rows of a statement, fetched in parts, so that memory does not grow with their number.

    With `owners`, those whose `owner` is one of them; they come in the statement's order if that is first by `owner`.
    """
    if owner is not None and owners is not None:
        yield from select_where_in(connection, statement, owner, sorted(owners))
        return
    for part in connection.execute(statement.execution_options(yield_per=10_000)).partitions():
        yield from part


def acknowledge(connection: Connection, projection: str, changes: Sequence[Change]) -> None:
    """Record that the projection now holds the new and changed ones of `changes`, and no longer those that are gone."""
    a = acknowledged.c
    by_kind: dict[str, list[tuple[str, str]]] = {}
    for change in changes:
        if change.verb != "new":
            by_kind.setdefault(change.kind, []).append((change.owner, change.id))
    for kind, keys in by_kind.items():
        for batch in batched(keys, 500):
            connection.execute(delete(acknowledged).where(a.projection == projection, a.kind == kind, tuple_(a.owner, a.id).in_(batch)))
    rows = ({"projection": projection, "kind": c.kind, "owner": c.owner, "id": c.id, "hash": c.hash} for c in changes if c.verb != "gone")
    insert_rows(connection, acknowledged, rows)


def forget(connection: Connection, projection: str) -> None:
    """Drop all that the projection has acknowledged: its next load starts over."""
    delete_where_in(connection, acknowledged.c.projection, [projection])
