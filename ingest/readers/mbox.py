"""Mailboxes in mbox format, a message at a time: a mailbox may be larger than memory, a message may not."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from polyonym.ingest.readers.rejection import Rejected
from polyonym.ingest.readers.result import one_line

_START = re.compile(rb"From (?:\S+ |- )?.*\d\d:\d\d")
_ESCAPED = re.compile(rb"^>(?=>*From )", re.MULTILINE)
_ID = re.compile(rb"^message-id:\s*<?([^<>\r\n]+)", re.MULTILINE | re.IGNORECASE)
_LONGEST_LINE = 1 << 20
_ID_LENGTH = 300


@dataclass(frozen=True)
class Stored:
    """A message of a mailbox: its name in it, and its bytes or why there are none."""

    name: str
    data: bytes = field(default=b"", repr=False)
    problem: str = ""


def looks_like_mailbox(head: bytes) -> bool:
    """Whether a file without a suffix begins as a mailbox does."""
    first, _, rest = head.partition(b"\n")
    return _START.match(first) is not None and re.match(rb"[A-Za-z][A-Za-z-]*:", rest) is not None


def messages(stream: BinaryIO, max_bytes: int) -> Iterator[Stored]:
    """The messages in order, named after their Message-ID, else after their content, so that no other message's coming or going renames them.

    Raises Rejected where no mailbox begins. A message of more than `max_bytes` is passed over with the reason; so is the second copy of
    one, as mail programs keep under several labels.
    """
    copies: dict[bytes, int] = {}
    names: set[str] = set()
    for number, (data, size) in enumerate(_split(stream, max_bytes), 1):
        if size > max_bytes:
            yield Stored(_free(_id(data) or f"message {number}", names), problem=f"oversized: {size:,} bytes, the limit is {max_bytes:,}")
            continue
        digest = hashlib.sha256(data).digest()
        name = _id(data)
        copies[digest] = copies.get(digest, 0) + 1
        if copies[digest] > 1:
            yield Stored(
                _free(f"{name or digest.hex()[:16]} (copy {copies[digest]})", names),
                problem="the same message stands earlier in the mailbox",
            )
        else:
            if not name or name in names:
                name = f"{name} {digest.hex()[:16]}".strip()
            yield Stored(_free(name, names), data)


def _id(data: bytes) -> str:
    head = re.split(rb"\r?\n\r?\n", data[:65536], maxsplit=1)[0]
    match = _ID.search(head)
    return one_line(match[1].decode("ascii", "replace"), _ID_LENGTH) if match else ""


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def _split(stream: BinaryIO, max_bytes: int) -> Iterator[tuple[bytes, int]]:
    """Each message's bytes, at most `max_bytes` of them, and how many there are."""
    lines: list[bytes] = []
    size = 0
    started = False
    blank = True  # a message begins after a blank line
    for line in iter(lambda: stream.readline(_LONGEST_LINE), b""):
        if blank and line.startswith(b"From ") and _START.match(line):
            if started:
                yield _message(lines), size
            lines, size, started = [], 0, True
        elif started:
            size += len(line)
            if size <= max_bytes:
                lines.append(line)
        elif line.strip():
            raise Rejected("not a mailbox: no line that begins a message")
        blank = not line.strip()
    if not started:
        raise Rejected("empty file")
    yield _message(lines), size


def _message(lines: list[bytes]) -> bytes:
    return _ESCAPED.sub(b"", b"".join(lines)).rstrip(b"\r\n") + b"\n"
