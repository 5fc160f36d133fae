"""Raw outputs of models (spans, vectors), kept by the content they were made from, so that unchanged text is never run again.

Each output is in use by *owners* (a document, an entity); an output without an owner is deleted, so that nothing of a
deleted text stays behind.
"""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Column, Connection, LargeBinary, Table, Text, delete, exists, select

from polyonym.ingest.store.tables import batched, delete_where_in, insert_rows, metadata

outputs = Table(
    "model_outputs",
    metadata,
    Column("content", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("payload", LargeBinary, nullable=False),
)

uses = Table(
    "model_output_uses",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("content", Text, primary_key=True, index=True),
)


def load(connection: Connection, model: str, contents: Sequence[str]) -> dict[str, bytes]:
    """Kept payloads of `model` for these content hashes; what is not kept is missing from the result."""
    payloads: dict[str, bytes] = {}
    for batch in batched(sorted(set(contents)), 500):
        rows = connection.execute(
            select(outputs.c.content, outputs.c.payload).where(outputs.c.model == model, outputs.c.content.in_(batch))
        )
        payloads.update((r.content, r.payload) for r in rows)
    return payloads


def save(connection: Connection, model: str, payloads: Mapping[str, bytes]) -> None:
    """Keep payloads of `model` by content hash, in place of older ones."""
    for batch in batched(sorted(payloads), 500):
        connection.execute(delete(outputs).where(outputs.c.model == model, outputs.c.content.in_(batch)))
    insert_rows(connection, outputs, ({"content": c, "model": model, "payload": payloads[c]} for c in sorted(payloads)))


def use(connection: Connection, owners: Mapping[str, Iterable[str]]) -> None:
    """Record, for each owner, the full set of contents that it rests on now."""
    delete_where_in(connection, uses.c.owner, list(owners))
    insert_rows(connection, uses, ({"owner": o, "content": c} for o, contents in owners.items() for c in sorted(set(contents))))


def use_also(connection: Connection, owner: str, contents: Iterable[str]) -> None:
    """Record that an owner rests on these contents too."""
    wanted = sorted(set(contents))
    used = {c for batch in batched(wanted, 500) for c in _held(connection, owner, batch)}
    insert_rows(connection, uses, ({"owner": owner, "content": c} for c in wanted if c not in used))


def _held(connection: Connection, owner: str, contents: Sequence[str]) -> Iterable[str]:
    return connection.execute(select(uses.c.content).where(uses.c.owner == owner, uses.c.content.in_(contents))).scalars()


def prune(connection: Connection) -> int:
    """Delete the outputs that nobody uses; returns how many."""
    return connection.execute(delete(outputs).where(~exists().where(uses.c.content == outputs.c.content))).rowcount
