"""Records: texts of which each line is "column: value", as the readers make them of the rows of tables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from polyonym.ingest.readers import is_table
from polyonym.ingest.readers.columns import plain_name
from polyonym.ingest.text.documents import Document

_LINE = re.compile(r"([^\n:]{1,100}): (\S[^\n]*)\Z")
_PARTS = re.compile(r"[^;|]+")
_LONGEST_NAME = 10
"""Words that a value may have to be a name by itself."""
ROLE = "ROLE"
"""Label of what a person does, which is no name."""
_BESIDE = "beside "
_NAMES = ("name", "full_name", "fullname")


@dataclass(frozen=True)
class Field:
    """A value of a record, text[start:end], with its column's name and the label of what such columns hold, "" where that is unknown.

    Of several values in one cell each is a field.
    """

    column: str
    label: str
    start: int
    end: int


def fields(document: Document) -> list[Field]:
    """The values of a document that is a row of a table without prose, in order; none of any other document."""
    if not is_table(document.file):
        return []
    lines: list[tuple[str, str, int]] = []
    start = 0
    for line in document.text.split("\n"):
        match = _LINE.match(line)
        if match is None:
            return []
        lines.append((match[1], match[2], start + match.start(2)))
        start += len(line) + 1
    columns = [column for column, _, _ in lines]
    of_whom = _subject({plain_name(name) for name in (*columns, *document.metadata)})
    return [field for column, value, at in lines for field in _fields(column, value, at, of_whom)]


def _fields(column: str, value: str, at: int, of_whom: str) -> Iterator[Field]:
    label = of_whom if plain_name(column) in _NAMES else _label(column)
    for part in _PARTS.finditer(value):
        text = part[0].strip()
        if text:
            start = at + part.start() + part[0].index(text[0])
            yield Field(column, label if _may_be_name(text) else "", start, start + len(text))


def _may_be_name(text: str) -> bool:
    """Whether a value looks like one name: of few words, not written small, without a comma or the end of a sentence inside."""
    first = next((c for c in text if c.isalpha()), "")
    return not first.islower() and len(text.split()) <= _LONGEST_NAME and "," not in text and not re.search(r"[.!?] [A-Z]", text[4:])


@cache
def _label(column: str) -> str:
    """What columns of this name hold, by the whole name, else by its last word ("Contact person")."""
    plain = plain_name(column).strip("_")
    known = {name: label for label, names in _known().items() if not label.startswith(_BESIDE) for name in names}
    return known.get(plain, "") or known.get(plain.rsplit("_", 1)[-1], "")


def _subject(columns: set[str]) -> str:
    """What a column called "name" holds, by the columns beside it."""
    return next((label.removeprefix(_BESIDE) for label, names in _known().items() if label.startswith(_BESIDE) and columns & names), "")


@cache
def _known() -> dict[str, frozenset[str]]:
    """What is known of columns by the file of data, with the plain names that they have."""
    lines = files("polyonym.ingest").joinpath("data/columns.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return {label: frozenset(names.split()) for label, names in rows}
