"""The bytes of a file, unpacked where gzipped, never more of them than asked for."""

import gzip
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from polyonym.ingest.readers.encodings import detect_stream
from polyonym.ingest.readers.rejection import Rejected

SHOWN_RANGES = 10


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
    """All bytes of a file. Raises Rejected when there are more than `max_bytes` (after unpacking) or none."""
    packed = file.name.lower().endswith(".gz")
    size = file.stat().st_size if isinstance(file, Path) else len(file.data)
    if not packed and size > max_bytes:
        raise Rejected(f"oversized: {size:,} bytes, the limit is {max_bytes:,}")
    with open_content(file) as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise Rejected(f"oversized: more than {max_bytes:,} bytes" + " when unpacked" * packed)
    if not data:
        raise Rejected("empty file")
    return data


class LineTooLong(Rejected):
    """Raised for a line longer than the limit, which has been passed over."""


class Lines:
    """The lines of a text file as they are, with their ends, each in its own encoding; closed with the `with` block it is used in.

    `number` is that of the line last read, from 1. Raises NotText for binary content, LineTooLong as lines are read.
    """

    def __init__(self, file: Content, max_bytes: int, newline: str = "") -> None:
        """`newline` is what ends a line, as of `open`: "" stands for all that is customary."""
        with open_content(file) as stream:
            self.encoding = detect_stream(stream)
        self.number = 0
        self.in_other_encoding = LineNumbers()
        self._limit = max_bytes
        self._file = io.TextIOWrapper(open_content(file), self.encoding.name, self.encoding.errors, newline)

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> str:
        line = self._file.readline(self._limit + 1)
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) > self._limit:
            while line and not line.endswith(("\n", "\r")):
                line = self._file.readline(1 << 20)
            raise LineTooLong(f"oversized: a line of more than {self._limit:,} bytes")
        if self.encoding.other:
            line, other = self.encoding.mend(line)
            if other:
                self.in_other_encoding.add(self.number)
        return line


class LineNumbers:
    """Numbers of lines as ranges: all are counted, the first few ranges are kept to be told."""

    def __init__(self) -> None:
        self.count = 0
        self._ranges: list[list[int]] = []

    def add(self, number: int) -> None:
        """Add a number that is higher than all before."""
        self.count += 1
        if self._ranges and self._ranges[-1][1] == number - 1:
            self._ranges[-1][1] = number
        elif len(self._ranges) <= SHOWN_RANGES:
            self._ranges.append([number, number])

    def __str__(self) -> str:
        shown = ", ".join(str(a) if a == b else f"{a}\u2013{b}" for a, b in self._ranges[:SHOWN_RANGES])
        return f"{shown} … ({self.count:,} in all)" if len(self._ranges) > SHOWN_RANGES else shown
