"""Which document has gone through which stage, with what: the one mechanism behind re-indexing, changed settings and crashes.

A stage's *key* is a hash of all that its result rests on (the document's digest, models, settings, versions of rules).
A document whose stored key differs from the wanted one is out of date for that stage; nothing else decides what is done.
A mark, whatever its key, says that what is stored of the stage rests on the document's text as it stands now.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import Column, Connection, Table, Text, delete, select, update

from polyonym.ingest.store.tables import batched, delete_where_in, insert_rows, metadata

stages = Table(
    "stages",
    metadata,
    Column("document", Text, primary_key=True),
    Column("stage", Text, primary_key=True),
    Column("key", Text, nullable=False),
)


def outdated(connection: Connection, stage: str, wanted: Mapping[str, str]) -> list[str]:
    """The documents among `wanted` (document to key) for which `stage` has to be done, sorted."""
    done = held(connection, stage)
    return sorted(d for d, key in wanted.items() if done.get(d) != key)


def held(connection: Connection, stage: str) -> dict[str, str]:
    """The documents for which `stage` was done, with the keys that it was done with."""
    return {r.document: r.key for r in connection.execute(select(stages).where(stages.c.stage == stage))}


def is_marked(connection: Connection, stage: str, document: str) -> bool:
    """Whether `stage` was done for a document's present text."""
    statement = select(stages.c.key).where(stages.c.document == document, stages.c.stage == stage)
    return connection.execute(statement).first() is not None


def mark(connection: Connection, stage: str, keys: Mapping[str, str]) -> None:
    """Record, in the transaction that stores the results, that `stage` was done for these documents with these keys."""
    for batch in batched(keys, 500):
        connection.execute(delete(stages).where(stages.c.stage == stage, stages.c.document.in_(batch)))
    insert_rows(connection, stages, ({"document": d, "stage": stage, "key": k} for d, k in keys.items()))


def forget(connection: Connection, documents: Sequence[str]) -> None:
    """Drop all marks of these documents: they are gone, or have another text."""
    delete_where_in(connection, stages.c.document, documents)


def unmark(connection: Connection, stage: str, documents: Sequence[str]) -> None:
    """Have `stage` done again for these documents, whose text is as it was."""
    for batch in batched(documents, 500):
        connection.execute(update(stages).where(stages.c.stage == stage, stages.c.document.in_(batch)).values(key=""))
