"""The bytes of a file, unpacked where gzipped, never more of them than asked for."""

import gzip
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from polyonym.ingest.readers.result import SetAside


@dataclass(frozen=True)
class Attached:
    """A file that is attached to a mail. `for_itself` says that it was sent as a file, not as a picture within the text or the like."""

    name: str
    data: bytes = field(repr=False)
    for_itself: bool = True


Content = Path | Attached
"""What readers read: a file on disk, or one that another file holds."""


def open_content(file: Content) -> BinaryIO:
    """Open a file for reading its bytes; `.gz` is unpacked on the way."""
    stream = file.open("rb") if isinstance(file, Path) else io.BytesIO(file.data)
    return cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if file.name.lower().endswith(".gz") else stream


def read_content(file: Content, max_bytes: int) -> bytes:
    """All bytes of a file. Raises SetAside when there are more than `max_bytes` (after unpacking) or none."""
    packed = file.name.lower().endswith(".gz")
    size = file.stat().st_size if isinstance(file, Path) else len(file.data)
    if not packed and size > max_bytes:
        raise SetAside(f"oversized: {size:,} bytes, the limit is {max_bytes:,}")
    with open_content(file) as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise SetAside(f"oversized: more than {max_bytes:,} bytes" + " when unpacked" * packed)
    if not data:
        raise SetAside("empty file")
    return data


def open_text(file: Content, encoding: str, errors: str) -> io.TextIOWrapper:
    """Open a file for reading its characters as they are: line ends stay what they are."""
    return io.TextIOWrapper(open_content(file), encoding=encoding, errors=errors, newline="")
