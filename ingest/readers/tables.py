"""Tables: which column is the text, which the id, which the title; each row becomes a document, the other columns its metadata."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from polyonym.ingest.readers.result import Read, ReaderOptions, SetAside, Unreadable, clean_metadata, one_line

SAMPLE_ROWS = 200
SAMPLE_CHARACTERS = 10_000_000
ID_LENGTH = 500
# Customary names, the surest first, compared without case and with "_" for spaces and hyphens.
TEXT_NAMES = (
    *("text", "body", "full_text", "fulltext", "body_text", "page_content", "article_text", "content", "contents", "article"),
    *("abstract", "passage"),
)
ID_NAMES = ("id", "doc_id", "docid", "document_id", "uid", "uuid", "guid", "_id", "identifier", "article_id", "key")
TITLE_NAMES = ("title", "headline", "heading", "subject", "doc_title", "document_title")
_ADDRESS = re.compile(r"https?://\S+")
_INDEX_NAMES = re.compile(r"(?:unnamed:_\d+|__index_level_\d+__|)")
_NUMBER = re.compile(r"[+-]?[\d.,:/ -]+%?")


@dataclass(frozen=True)
class Row:
    """A row of a table: its place in the file ("row 7", "line 7"), and its cells by column, or why there are none."""

    place: str
    cells: Mapping[str, Any]
    problem: str = ""


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are for."""

    text: str
    id: str | None
    title: str | None


def read_rows(rows: Iterable[Row], options: ReaderOptions) -> Iterator[Read | Unreadable]:
    """Documents of a table, one a row, in bounded memory (but for the ids seen).

    Raises SetAside when no row of the beginning can be read, and when the table lacks the columns that the options name.
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
        raise SetAside("empty table: no rows")
    if not any(not row.problem for row in sample):
        if broken is not None:
            raise broken
        if len(sample) == SAMPLE_ROWS:
            raise SetAside(f"none of the first {SAMPLE_ROWS} rows can be read; {sample[0].place}: {sample[0].problem}")
        yield from (Unreadable(row.place, row.problem) for row in sample)
        return
    columns = choose_columns([row.cells for row in sample if not row.problem], options)
    names = _Names()
    for row in chain(sample, iterator):
        yield _document(row, columns, options.max_bytes, names)
    if broken is not None:
        raise broken


class _Names:
    """The suffixes given out so far; none is given twice."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def taken(self, suffix: str) -> bool:
        return suffix in self._seen

    def take(self, suffix: str) -> str:
        while suffix in self._seen:
            suffix += "'"
        self._seen.add(suffix)
        return suffix


def _document(row: Row, columns: Columns, max_bytes: int, names: _Names) -> Read | Unreadable:
    if row.problem:
        return Unreadable(names.take(row.place), row.problem)
    number = row.place.split()[-1]
    identity = number if columns.id is None else _identity(row.cells.get(columns.id))
    if identity and names.taken(identity):
        return Unreadable(names.take(row.place), f"the id {identity!r} stands in an earlier row")
    suffix = names.take(identity or row.place)
    text = row.cells.get(columns.text)
    if text is None or text == "":
        return Unreadable(suffix, f"no text in column {columns.text!r}")
    if not isinstance(text, str):
        return Unreadable(suffix, f"column {columns.text!r} holds no text but {type(text).__name__}")
    if len(text) > max_bytes or len(text) * 4 > max_bytes < len(text.encode("utf-8", "replace")):
        return Unreadable(suffix, f"oversized: more than {max_bytes:,} bytes")
    rest = dict(row.cells)
    title = rest.get(columns.title) if columns.title else None
    told = isinstance(title, str) and not _ADDRESS.fullmatch(title)  # an address says nothing about the text
    for key in row.cells:
        if key in (columns.text, columns.id) or (key == columns.title and told) or _INDEX_NAMES.fullmatch(_plain(key)):
            del rest[key]
    return Read(suffix, one_line(title) if isinstance(title, str) and told else "", text, clean_metadata(rest.items()))


def _identity(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a column of integers with gaps comes as floats
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    identity = one_line(str(value), ID_LENGTH + 1)
    return identity if len(identity) <= ID_LENGTH else ""


def choose_columns(rows: list[Mapping[str, Any]], options: ReaderOptions) -> Columns:
    """Columns by the options' names, else by customary names, else the text is the column whose texts are longest on average.

    Raises SetAside when a named column is missing, or no column holds text.
    """
    keys = list(dict.fromkeys(key for row in rows for key in row))
    if options.text_columns:
        text = _named(keys, options.text_columns)
        if text is None:
            raise SetAside(_missing("text", options.text_columns, keys))
    else:
        lengths = {key: _average_length(rows, key) for key in keys}
        named = [key for name in TEXT_NAMES for key in keys if _plain(key) == name]
        candidates = [key for key in named if any(isinstance(row.get(key), str) and row[key].strip() for row in rows)]
        candidates += sorted((key for key in keys if lengths[key]), key=lambda key: (-lengths[key], keys.index(key)))
        if not candidates:
            raise SetAside(f"no column of texts; columns: {_listed(keys)}")
        text = candidates[0]
    others = [key for key in keys if key != text]
    if options.id_columns:
        identity = _named(others, options.id_columns)
        if identity is None:
            raise SetAside(_missing("id", options.id_columns, keys))
    else:
        identity = next((key for name in ID_NAMES for key in others if _plain(key) == name and _tells_apart(rows, key)), None)
    title = _named([key for key in others if key != identity], TITLE_NAMES)
    return Columns(text, identity, title)


def _plain(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _named(keys: list[str], names: Iterable[str]) -> str | None:
    return next((key for name in names for key in keys if _plain(key) == _plain(name)), None)


def _average_length(rows: list[Mapping[str, Any]], key: str) -> float:
    """The average length of a column's texts; 0 for a column of numbers, of addresses, or of anything but text."""
    values = [value for row in rows if (value := row.get(key)) not in (None, "")]
    texts = [value for value in values if isinstance(value, str) and not _NUMBER.fullmatch(value) and not _ADDRESS.fullmatch(value)]
    return sum(map(len, texts)) / len(rows) if len(texts) > len(values) / 2 else 0.0


def _tells_apart(rows: list[Mapping[str, Any]], key: str) -> bool:
    values = [identity for row in rows if (identity := _identity(row.get(key)))]
    return len(values) >= len(rows) / 2 and len(set(values)) >= len(values) / 2


def _missing(kind: str, names: tuple[str, ...], keys: list[str]) -> str:
    return f"no {kind} column {' or '.join(repr(name) for name in names)}; columns: {_listed(keys)}"


def _listed(keys: list[str]) -> str:
    return one_line(", ".join(keys) or "none", 150)
