"""What a command, or a scheduled run, ends with when something fails: one message with the way out, and its exit code."""

import errno
import sqlite3
import tempfile
import traceback

from sqlalchemy.exc import DBAPIError, OperationalError

from polyonym.ingest.errors import Damaged, ExitCode, HomeHeld, ServerAway, Stop, WrongUse

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM)
_DISK_OF_SQLITE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)


class Defect(Stop):
    """A mistake of this program's."""

    exit_code = ExitCode.DEFECT


def as_stop(error: BaseException) -> Stop:
    """What a person is told of an error: itself if it is a Stop, else what can be done about it; what nobody foresaw is a Defect."""
    if isinstance(error, Stop):
        return error
    if isinstance(error, OSError) and error.errno in _DISK:
        return _disk(error)
    if _is_want_of_memory(error):
        return WrongUse(
            f"Memory ran out: {error or 'the system gives no more'}. What is done is kept. Free memory, set processes = 1 and a lower size_limit_mb in "
            "polyonym.toml, or use a smaller model; then run the same command again."
        )
    return _of_database(error) or _of_prefect(error) or _defect(error)


def _is_want_of_memory(error: BaseException) -> bool:
    """Whether Python had no memory left, or PyTorch none on the processor or on the GPU (which says so in words and a name of its own)."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and (type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error))
    )


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


def _of_prefect(error: BaseException) -> Stop | None:
    import httpx  # what Prefect asks its server with; all other errors of it are taken care of where they arise

    if not isinstance(error, httpx.HTTPError):
        return None
    return ServerAway(
        f"Prefect's server does not answer any more: {error}. Was it killed, for want of memory perhaps? Nothing is lost: run the same command again."
    )


def _defect(error: BaseException) -> Defect:
    trace = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile("w", prefix="polyonym-", suffix=".txt", encoding="utf-8", delete=False) as file:
            file.write(trace)
        where = f"The traceback is in {file.name}"
    except OSError:
        where = trace
    return Defect(f"A defect of this program: {type(error).__name__}: {error}. Nothing is lost; please report it. {where}")
