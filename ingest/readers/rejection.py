"""One bad document is one bad document: what cannot be read is rejected with the reason, and the run goes on."""

from dataclasses import dataclass
from pathlib import Path

from polyonym.ingest.readers.encodings import NotText
from polyonym.ingest.readers.result import one_line


@dataclass(frozen=True)
class Unreadable:
    """A file (`suffix` "") or a row of a table that holds no readable text, with the reason."""

    suffix: str
    reason: str


class Rejected(Exception):
    """Raised by readers: the file as a whole cannot be read, for the reason in the message."""


def rejected(file: object, kind: str | None, error: Exception) -> Rejected:
    """Whatever a reader of a `kind` of file raised, as the rejection of the file."""
    if isinstance(error, Rejected):
        return error
    return Rejected(str(error) if isinstance(error, NotText) else reason_of(file, kind, error))


def reason_of(file: object, kind: str | None, error: Exception) -> str:
    """Why a file of a `kind` (a format, None when it is unknown) cannot be read, in words for a person."""
    match error:
        case FileNotFoundError():
            return "broken symbolic link" if isinstance(file, Path) and file.is_symlink() else "no longer there"
        case PermissionError():
            return "permission denied"
        case OSError() if error.strerror:
            return error.strerror.lower()
        case EOFError():
            return "truncated: the packed content breaks off"
        case MemoryError():
            return "too large to be read in the memory there is"
    text = str(error).splitlines()[0] if str(error) else ""
    return one_line(f"broken {kind or 'file'}: {text or type(error).__name__}", 200)
