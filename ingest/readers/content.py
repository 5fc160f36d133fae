"""The bytes of a file, unpacked where gzipped, never more of them than asked for."""

import gzip
import io
from pathlib import Path
from typing import BinaryIO, cast

from polyonym.ingest.readers.result import SetAside


def open_content(path: Path) -> BinaryIO:
    """Open a file for reading its bytes; `.gz` is unpacked on the way."""
    return cast(BinaryIO, gzip.open(path, "rb")) if path.name.lower().endswith(".gz") else path.open("rb")


def read_content(path: Path, max_bytes: int) -> bytes:
    """All bytes of a file. Raises SetAside when there are more than `max_bytes` (after unpacking) or none."""
    packed = path.name.lower().endswith(".gz")
    if not packed and path.stat().st_size > max_bytes:
        raise SetAside(f"oversized: {path.stat().st_size:,} bytes, the limit is {max_bytes:,}")
    with open_content(path) as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise SetAside(f"oversized: more than {max_bytes:,} bytes" + " when unpacked" * packed)
    if not data:
        raise SetAside("empty file")
    return data


def open_text(path: Path, encoding: str, errors: str) -> io.TextIOWrapper:
    """Open a file for reading its characters as they are: line ends stay what they are."""
    return io.TextIOWrapper(open_content(path), encoding=encoding, errors=errors, newline="")
