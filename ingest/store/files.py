"""Files that are never seen half written: they are written beside their place, put on the disk, and then swapped in."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to be written, which takes the place of `path` when the context ends well.

    After a kill at any moment `path` holds what it held before, or all that was written; what was written beside it is
    overwritten by the next try.
    """
    beside = beside_of(path)
    try:
        with beside.open("wb") as file:
            yield file
        swap_in(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write(path: Path, content: bytes) -> None:
    """Put a file with this content in place of what is at `path`, as `replacing` does."""
    with replacing(path) as file:
        file.write(content)


def beside_of(path: Path) -> Path:
    """Where a file is written that will take the place of `path`."""
    return path.with_name(path.name + ".part")


def swap_in(beside: Path, path: Path) -> None:
    """Put a file that is written and closed in the place of `path`, durably: its content first, then its name."""
    sync(beside)
    os.replace(beside, path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until the disk holds a file's content, or a folder's names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
