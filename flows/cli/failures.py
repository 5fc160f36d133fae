"""What a command ends with when something fails: one message with the way out, and its exit code."""

import errno
import sqlite3
import tempfile
import traceback

from sqlalchemy.exc import DBAPIError, OperationalError

from polyonym.ingest.errors import Damaged, HomeHeld, ServerAway, Stop, WrongUse

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM)
_DISK_OF_SQLITE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)


class Defect(Stop):
    """A mistake of this program's."""

    exit_code = 70


def as_stop(error: BaseException) -> Stop:
    """What a person is told of an error: itself if it is a Stop, else what can be done about it; what nobody foresaw is a Defect."""
    if isinstance(error, Stop):
        return error
    if isinstance(error, OSError) and error.errno in _DISK:
        return _disk(error)
    return _of_database(error) or _defect(error)


def _disk(error: object) -> WrongUse:
    return WrongUse(f"{error}. Nothing is lost: make room or mend the rights, then run the same command again.")


def _of_database(error: BaseException) -> Stop | None:
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF  # the rest tells finer kinds apart
        if code in _DISK_OF_SQLITE:
            return _disk(cause)
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return Damaged(f"A database of the home is damaged: {cause}. Restore the home from a copy, or start with a new one.")
        if code == sqlite3.SQLITE_BUSY:
            return HomeHeld(f"Another program keeps a database of the home locked: {cause}. Nothing is lost: run the same command again.")
    elif isinstance(error, DBAPIError) and (isinstance(error, OperationalError) or error.connection_invalidated):
        return ServerAway(f"The state store does not answer any more: {cause}. Nothing is lost: run the same command again.")
    return None


def _defect(error: BaseException) -> Defect:
    told = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile("w", prefix="polyonym-", suffix=".txt", encoding="utf-8", delete=False) as file:
            file.write(told)
        where = f"The traceback is in {file.name}"
    except OSError:
        where = told
    return Defect(f"A defect of this program: {type(error).__name__}: {error}. Nothing is lost; please report it. {where}")
