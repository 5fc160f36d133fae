"""The state store: one transactional database that holds the truth. Everything else is a projection of it.

Each table is defined in the file of its concept, on the `metadata` of this file; no SQL stands anywhere else.
"""

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import orjson
from sqlalchemy import Column, Connection, Engine, MetaData, Table, Text, create_engine, delete, event, make_url, select
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.pool import NullPool
from sqlalchemy.types import TypeDecorator

from ingest.errors import Damaged, ServerAway, WrongUse

metadata = MetaData()
SCHEMA_VERSION = 3
T = TypeVar("T")
_PASSWORD = re.compile(r"(//[^:/@\s]*:)[^@\s]+(?=@)|([?&]password=)[^&#\s]+")
_RIGHTS = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
_IN_POSTGRESQL = Text(collation="C")


@event.listens_for(Column, "after_parent_attach")
def _sort_by_code_point(column: Column[Any], table: Any) -> None:
    """Our texts sort by code point in every database, as they do in Python: PostgreSQL would go by its locale."""
    if getattr(table, "metadata", None) is metadata and type(column.type) is Text:
        column.type = Text().with_variant(_IN_POSTGRESQL, "postgresql")


class Json(TypeDecorator[Any]):
    """A value kept as JSON text with sorted keys, so that equal values are equal bytes in every database."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Any) -> Any:
        return dialect.type_descriptor(_IN_POSTGRESQL if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: Any, dialect: Any) -> str | None:
        if value is None:
            return None
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY).decode()

    def process_result_value(self, value: str | None, dialect: Any) -> Any:
        return None if value is None else orjson.loads(value)


facts = Table(
    "facts",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Json, nullable=False),
)
"""Single facts about the home: schema version, home id, what was imported into it."""


def without_password(text: str) -> str:
    """A URL, or a text that names some, with its passwords hidden."""
    return _PASSWORD.sub(r"\1\2***", text)


def open_state(url: str) -> Engine:
    """Open the state store at an SQLAlchemy URL (`sqlite:///…` or `postgresql+psycopg://…`), making its tables if absent.

    A file that may not be written is opened for reading. Raises WrongUse for a URL that is none and for a file without the rights
    that it takes, ServerAway when the server does not answer, Damaged when the file is no database or was written by a newer version.
    """
    try:
        # No pool: a reader that is gone must not keep SQLite's file open (its journal would keep what is deleted), and a forked
        # worker must not share a socket.
        readable = _read_only_file(url)
        engine = create_engine(url, poolclass=NullPool, **({"creator": lambda: _connect_to_read(readable)} if readable else {}))
    except Exception as error:
        raise WrongUse(
            f"The state URL {without_password(url)!r} cannot be used: {error}. Set POLYONYM_STATE_URL to sqlite:///FILE or postgresql+psycopg://…"
        ) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _begin_ourselves if readable else _sqlite_pragmas)
        event.listen(engine, "begin", _sqlite_begin)
    from ingest.editions import count_editions  # (which needs this module's tables)

    count_editions(engine)
    where = engine.url.render_as_string(hide_password=True)
    try:
        _make_or_check(engine, where)
    except OperationalError as error:
        if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF in _RIGHTS:
            raise WrongUse(
                f"The state store {where} cannot be opened: {error.orig}. Mend the rights of the file and its folder."
            ) from error
        if engine.dialect.name == "sqlite":
            raise Damaged(f"The state store {where} cannot be opened: {error.orig}. Check the disk.") from error
        raise ServerAway(f"The state store {where} does not answer: {error.orig}") from error
    except DatabaseError as error:
        raise Damaged(f"The state store {where} is damaged: {error.orig}. Restore it from a copy, or start with a new home.") from error
    return engine


def _read_only_file(url: str) -> Path | None:
    """The SQLite file behind a URL if it is there and may not be written: by its own rights, or for want of a place for its journal."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        return None
    file = Path(parsed.database)
    return file if file.is_file() and not (os.access(file, os.W_OK) and os.access(file.absolute().parent, os.W_OK)) else None


def _connect_to_read(file: Path) -> sqlite3.Connection:
    # Without its journal the file is at rest; SQLite would want to make one, even to read, and is told that nobody writes meanwhile.
    at_rest = not file.with_name(f"{file.name}-wal").exists()
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro{'&immutable=1' if at_rest else ''}", uri=True, check_same_thread=False)


def _make_or_check(engine: Engine, where: str) -> None:
    with engine.connect() as connection:
        known = engine.dialect.has_table(connection, facts.name)
        version = get_fact(connection, "schema_version", 0) if known else 0
    if version > SCHEMA_VERSION:
        raise Damaged(
            f"The state store {where} was written by a newer version (schema {version}, this one knows {SCHEMA_VERSION}). Install the newer polyonym."
        )
    if version < SCHEMA_VERSION:
        with engine.begin() as connection:
            if version:
                _drop_what_changed(connection)
            metadata.create_all(connection)
            set_fact(connection, "schema_version", SCHEMA_VERSION)


def _drop_what_changed(connection: Connection) -> None:
    """Tables that older versions had otherwise, and that are found again: the next run looks at everything."""
    for table in ("projected", "editions"):
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {table}")
    connection.execute(delete(facts).where(facts.c.key.startswith("seen:")))


def _begin_ourselves(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # see _sqlite_begin


def _sqlite_pragmas(connection: Any, record: Any) -> None:
    _begin_ourselves(connection, record)
    cursor = connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "busy_timeout=30000",
        "foreign_keys=ON",
        "secure_delete=ON",  # what is deleted is overwritten: nothing of it is left in the file (costs nothing that can be measured)
        "temp_store=MEMORY",
        "cache_size=-65536",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _sqlite_begin(connection: Connection) -> None:
    # The driver's own deferred BEGIN would let reads inside one transaction see two states of the database.
    connection.exec_driver_sql("BEGIN")


def get_fact(connection: Connection, key: str, default: Any = None) -> Any:
    """The value kept under `key`, or `default`."""
    row = connection.execute(select(facts.c.value).where(facts.c.key == key)).first()
    return default if row is None else row[0]


def set_fact(connection: Connection, key: str, value: Any) -> None:
    """Keep `value` (anything JSON can hold) under `key`."""
    connection.execute(delete(facts).where(facts.c.key == key))
    connection.execute(facts.insert(), {"key": key, "value": value})


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut `items` into lists of at most `size`."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def insert_rows(connection: Connection, table: Table, rows: Iterable[dict[str, Any]], size: int = 5000) -> int:
    """Insert `rows` in batches; returns how many there were."""
    count = 0
    for batch in batched(rows, size):
        connection.execute(table.insert(), batch)
        count += len(batch)
    return count


def delete_where_in(connection: Connection, column: Column[Any], values: Sequence[Any], size: int = 500) -> None:
    """Delete the rows whose `column` holds one of `values`."""
    for batch in batched(values, size):
        connection.execute(delete(column.table).where(column.in_(batch)))


def select_where_in(connection: Connection, statement: Any, column: Any, values: Sequence[Any], size: int = 500) -> Iterator[Any]:
    """Rows of `statement` whose `column` holds one of `values`, asked for in batches, in the order of `values`' batches."""
    for batch in batched(values, size):
        for rows in connection.execute(statement.where(column.in_(batch))).partitions(100):
            yield from rows
