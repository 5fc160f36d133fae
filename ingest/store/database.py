"""The state store: one transactional database that holds the truth. Everything else is a projection of it."""

import os
import re
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.pool import NullPool

from polyonym.ingest.errors import Damaged, ServerAway, WrongUse
from polyonym.ingest.store.changes import count_changes
from polyonym.ingest.store.schema import bring_up_to_date

_PASSWORD = re.compile(r"(//[^:/@\s]*:)[^@\s]+(?=@)|([?&]password=)[^&#\s]+")
_RIGHTS = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)


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
    count_changes(engine)
    where = engine.url.render_as_string(hide_password=True)
    try:
        bring_up_to_date(engine, where)
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
