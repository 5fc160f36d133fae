"""Documents: what was read from the sources, and what was set aside with its reason."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson
from sqlalchemy import Column, Connection, Index, Table, Text, func, select

from polyonym.ingest.store.tables import Json, delete_where_in, insert_rows, metadata, select_where_in


@dataclass(frozen=True)
class Document:
    """One text with its provenance. `text` is what every offset in the project counts in, in code points.

    `date` is the day (month, year) that the document is of, `date_from` what says so: see ingest.text.dates.document_date.
    """

    document: str
    source: str
    file: str
    title: str
    language: str
    text: str
    metadata: dict[str, Any] = field(default_factory=dict)
    date: str | None = None
    date_from: str | None = None

    @cached_property
    def digest(self) -> str:
        """Changes when anything of the document that a later stage reads changes."""
        known = orjson.dumps(self.metadata, option=orjson.OPT_SORT_KEYS).decode()
        return content_hash(self.title, self.language, self.text, known, self.date or "", self.date_from or "")


@dataclass(frozen=True)
class Rejection:
    """A document that was set aside, and the reason, in words for a person."""

    document: str
    source: str
    file: str
    reason: str


documents = Table(
    "documents",
    metadata,
    Column("document", Text, primary_key=True),
    Column("source", Text, nullable=False),
    Column("file", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("metadata", Json, nullable=False),
    Column("date", Text),
    Column("date_from", Text),
    Index("documents_by_file", "source", "file"),
    info={"owners": ("document",)},
)

rejected = Table(
    "rejected",
    metadata,
    Column("document", Text, primary_key=True),
    Column("source", Text, nullable=False),
    Column("file", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Index("rejected_by_file", "source", "file"),
)


def content_hash(*parts: str) -> str:
    """A short digest (32 hex digits of SHA-256) of texts, told apart where one ends and the next begins."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()[:32]


def save(connection: Connection, read: Iterable[Document], set_aside: Iterable[Rejection] = ()) -> None:
    """Store documents and rejections in place of what their names held before."""
    read, set_aside = list(read), list(set_aside)
    remove(connection, [d.document for d in read] + [r.document for r in set_aside])
    insert_rows(connection, documents, (vars(d) | {"digest": d.digest} for d in read))
    insert_rows(connection, rejected, map(vars, set_aside))


def remove(connection: Connection, names: Sequence[str]) -> None:
    """Delete documents and rejections by name."""
    delete_where_in(connection, documents.c.document, names)
    delete_where_in(connection, rejected.c.document, names)


def load(connection: Connection, names: Sequence[str] | None = None) -> Iterator[Document]:
    """The documents of these names (all without), sorted by name within batches."""
    c = documents.c
    statement = select(c.document, c.source, c.file, c.title, c.language, c.text, c.metadata, c.date, c.date_from).order_by(c.document)
    rows: Iterable[Any] = (
        connection.execute(statement) if names is None else select_where_in(connection, statement, documents.c.document, names)
    )
    for row in rows:
        yield Document(*row)


def digests(connection: Connection) -> dict[str, tuple[str, str]]:
    """Every stored document's name, with (digest, language)."""
    return {
        r.document: (r.digest, r.language)
        for r in connection.execute(select(documents.c.document, documents.c.digest, documents.c.language))
    }


def long_texts(connection: Connection, least: int) -> dict[str, int]:
    """The documents with texts of so many characters or more, and how many."""
    length = func.length(documents.c.text)
    return {r.document: r.length for r in connection.execute(select(documents.c.document, length.label("length")).where(length >= least))}


def rejections(connection: Connection) -> list[Rejection]:
    """Everything set aside, sorted by name."""
    return [Rejection(*row) for row in connection.execute(select(rejected).order_by(rejected.c.document))]


def of_file(connection: Connection, source: str, file: str) -> set[str]:
    """The names of all documents and rejections that came from one file of a source."""
    names: set[str] = set()
    for table in (documents, rejected):
        statement = select(table.c.document).where(table.c.source == source, table.c.file == file)
        names |= set(connection.execute(statement).scalars())
    return names


def of_source(connection: Connection, source: str) -> set[str]:
    """The names of all documents and rejections of a source."""
    names: set[str] = set()
    for table in (documents, rejected):
        names |= set(connection.execute(select(table.c.document).where(table.c.source == source)).scalars())
    return names


def all_names(connection: Connection) -> set[str]:
    """The names of all documents and rejections."""
    return {name for table in (documents, rejected) for name in connection.execute(select(table.c.document)).scalars()}


def files(connection: Connection) -> set[tuple[str, str]]:
    """(source, file) of every file of which a document or a rejection is held."""
    statement = select(documents.c.source, documents.c.file).union(select(rejected.c.source, rejected.c.file))
    return {(r.source, r.file) for r in connection.execute(statement)}


def digests_of(connection: Connection, names: Sequence[str]) -> dict[str, str]:
    """Those of these names that are documents, with their digests."""
    return dict(select_where_in(connection, select(documents.c.document, documents.c.digest), documents.c.document, names))


def held_of_file(connection: Connection, source: str, file: str) -> dict[str, tuple[str, str]]:
    """The documents that came from one file of a source, with (digest, language)."""
    statement = select(documents.c.document, documents.c.digest, documents.c.language)
    rows = connection.execute(statement.where(documents.c.source == source, documents.c.file == file))
    return {r.document: (r.digest, r.language) for r in rows}
