"""Tables: each row becomes a document, with the text that its columns give; the other columns are its metadata."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from typing import Any

from polyonym.ingest.readers.column_dates import iso_date
from polyonym.ingest.readers.columns import Columns, choose, id_of, is_index, is_nothing, kind_of
from polyonym.ingest.readers.rejection import Rejected, Unreadable
from polyonym.ingest.readers.result import Read, ReaderOptions, clean_metadata, one_line

SAMPLE_ROWS = 200
SAMPLE_CHARACTERS = 10_000_000
_BY_CONTENT = re.compile(r"(?:\A|[ /])row-[0-9a-f]{16}(?:-\d+)?\Z")


@dataclass(frozen=True)
class Row:
    """A row of a table: its place in the file ("row 7", "line 7"), and its cells by column, or why there are none."""

    place: str
    cells: Mapping[str, Any]
    problem: str = ""


@dataclass
class Layout:
    """What was found out about a table by looking at it; what does not apply is empty. Filled in while the table is read.

    `head` is the place of the row that names the columns, `passed_over` the numbers of lines that are no part of the table, `other_lines`
    those of lines in the second of the encodings. `text` are the columns that make a row's text: `alone` says that one is it unaltered.
    """

    sheet: str = ""
    encoding: str = ""
    other_lines: str = ""
    separator: str = ""
    head: str = ""
    passed_over: str = ""
    text: list[str] = field(default_factory=list)
    alone: bool = False
    id: str = ""
    date: str = ""

    def as_json(self) -> dict[str, Any]:
        """What was found out, without what does not apply."""
        return {key: value for key, value in asdict(self).items() if value or key in ("id", "head")}


@dataclass(frozen=True)
class Table:
    """A table of a file: its rows, to be read once, and what was found out about it so far."""

    layout: Layout
    rows: Iterator[Row]


def read_rows(rows: Iterable[Row], options: ReaderOptions, layout: Layout) -> Iterator[Read | Unreadable]:
    """Documents of a table, one a row, in bounded memory (but for the names given out). What the columns are for goes to `layout`.

    Raises Rejected when no row of the beginning can be read, and when the table lacks the columns that the options name.
    """
    iterator = iter(rows)
    sample: list[Row] = []
    size = 0
    broken: Exception | None = None
    try:
        for row in islice(iterator, SAMPLE_ROWS):
            sample.append(row)  # one by one: what came before the damage is still read
            size += sum(len(cell) for cell in row.cells.values() if isinstance(cell, str))
            if size > SAMPLE_CHARACTERS:
                break
    except Exception as error:
        broken = error
    if not sample and broken is None:
        raise Rejected("empty table: no rows")
    if not any(not row.problem for row in sample):
        if broken is not None:
            raise broken
        if len(sample) == SAMPLE_ROWS:
            raise Rejected(f"none of the first {SAMPLE_ROWS} rows can be read; {sample[0].place}: {sample[0].problem}")
        yield from (Unreadable(row.place, row.problem) for row in sample)
        return
    columns = choose([row.cells for row in sample if not row.problem], options)
    layout.text, layout.alone, layout.id, layout.date = list(columns.text), columns.alone, columns.id or "", columns.date or ""
    make = _Documents(columns, options.max_bytes)
    for row in chain(sample, iterator):
        yield make.document(row)
    if broken is not None:
        raise broken


class _Documents:
    """Makes documents of rows. A row is called by its id; without one, or with that of an earlier row, by what it holds, so that rows
    that come and go leave the names of others alone."""

    def __init__(self, columns: Columns, max_bytes: int) -> None:
        self._columns = columns
        self._max_bytes = max_bytes
        self._times_given: Counter[str] = Counter()
        self._left_out: set[str | None] = {name for name in columns.names if is_index(name)}
        self._left_out.add(columns.id)
        self._words = [name for name in columns.names if columns.kinds.get(name, "words") == "words" and name not in self._left_out]
        self._of_text = (
            list(columns.text)
            if columns.alone or columns.closed
            else [n for n in self._words if n in columns.text or n not in columns.kinds]
        )

    def document(self, row: Row) -> Read | Unreadable:
        if row.problem:
            return Unreadable(self._name(row.place), row.problem)
        columns, cells = self._columns, row.cells
        identity = id_of(cells.get(columns.id)) if columns.id else ""
        if not identity or identity in self._times_given:
            identity = f"{identity} row-{_key(cells)}".strip()
        suffix = self._name(identity)
        value = cells.get(columns.text[0]) if columns.alone else None
        if value is not None and value != "":
            if not isinstance(value, str):
                return Unreadable(suffix, f"column {columns.text[0]!r} holds no text but {type(value).__name__}")
            text, used = value, {columns.text[0]}
        else:
            text, used = self._record(cells)
            if not text:
                return Unreadable(suffix, f"no text in column {columns.text[0]!r}" if columns.alone else "no words in this row")
        if len(text) > self._max_bytes or len(text) * 4 > self._max_bytes < len(text.encode("utf-8", "replace")):
            return Unreadable(suffix, f"oversized: more than {self._max_bytes:,} bytes")
        title = cells.get(columns.title) if columns.title else None
        if not isinstance(title, str) or kind_of(title) == "address":  # an address says nothing about the text
            title = ""
        left_out = self._left_out | used | ({columns.title} if title else set())
        metadata = clean_metadata((name, value) for name, value in cells.items() if name not in left_out)
        if columns.date and not is_nothing(cells.get(columns.date)):
            day = cells[columns.date]
            metadata["date"] = iso_date(day, columns.day_first) or one_line(str(day), 100)
        return Read(suffix, one_line(title), text, metadata)

    def _name(self, wanted: str) -> str:
        """A name that no row has yet: that which is wanted, with a number where rows are the same."""
        self._times_given[wanted] += 1
        while (times := self._times_given[wanted]) > 1:
            wanted = f"{wanted}-{times}"
            self._times_given[wanted] += 1
        return wanted

    def _record(self, cells: Mapping[str, Any]) -> tuple[str, set[str]]:
        """The text of a row without a column of prose, one "column: value" a line, and the columns that are in it."""
        lines: list[str] = []
        used: set[str] = set()
        columns = self._columns
        names = self._words if columns.alone else self._of_text
        more = [] if columns.closed else [name for name in cells if name not in columns.names]
        for name in (*names, *more):
            value = cells.get(name)
            if is_nothing(value) or (name not in columns.kinds and kind_of(value) != "words"):
                continue
            lines += _lines(name, value)
            used.add(name)
        return ("\n".join(lines) if any(kind_of(cells[name]) == "words" for name in used) else ""), used


def record(cells: Mapping[str, Any]) -> list[str]:
    """A text of all values with words, one "column: value" a line."""
    return [line for name, value in cells.items() if kind_of(value) == "words" for line in _lines(name, value)]


def _lines(name: str, value: Any) -> list[str]:
    """A cell as lines of a text: several for what is nested."""
    if isinstance(value, dict):
        return [line for key, inner in value.items() if not is_nothing(inner) for line in _lines(f"{name}.{key}", inner)]
    if isinstance(value, (list, tuple)) and any(isinstance(item, dict) for item in value):
        return [f"{name}: {_said(item)}" for item in value if not is_nothing(item)]
    return [f"{name}: {_said(value)}"]


def _said(value: Any) -> str:
    """A value on one line."""
    match value:
        case dict():
            return "; ".join(f"{key}: {_said(inner)}" for key, inner in value.items() if not is_nothing(inner))
        case list() | tuple():
            return ", ".join(_said(item) for item in value if not is_nothing(item))
    return " ".join(str(value).split())


def is_named_by_content(suffix: str) -> bool:
    """Whether a row has its name from what it holds, for want of an id."""
    return _BY_CONTENT.search(suffix) is not None


def _key(cells: Mapping[str, Any]) -> str:
    """A short hash of what a row holds."""
    content = json.dumps([[name, value] for name, value in cells.items()], default=str, ensure_ascii=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]
