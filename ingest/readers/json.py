"""JSON files: a list of objects is a table, also where an object holds little else; any other content is one document."""

import io
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from polyonym.ingest.readers import jsonl
from polyonym.ingest.readers.columns import kind_of
from polyonym.ingest.readers.content import Content, open_content, read_content
from polyonym.ingest.readers.encodings import decode, detect_stream
from polyonym.ingest.readers.rejection import Rejected
from polyonym.ingest.readers.result import Read, clean_metadata, one_line
from polyonym.ingest.readers.tables import Layout, Row, Table, record

_HEAD = 1 << 16
_OBJECTS = re.compile(rb"\[\s*\{")
_LIST_NAMES = frozenset(
    (
        *("data", "items", "results", "records", "rows", "entries", "documents", "docs", "messages", "articles", "posts", "features"),
        *("hits", "value", "values", "list", "objects", "elements", "nodes", "comments", "pages", "events"),
    )
)
"""What lists of records are called in the answers of programs."""
_DEEPEST = 3


def contents(file: Content, max_bytes: int) -> Iterator[Table | Read]:
    """The table of a file, or its text. JSON lines are read as such also where the file's name does not say so.

    A list at the top is read item by item, anything else as a whole: raises Rejected when that has more than `max_bytes`, or is no JSON.
    """
    begin = _begin(file)
    if begin.startswith(b"["):
        yield _list(file, max_bytes)
    elif begin.startswith(b"{") and not _is_lines(begin):
        yield from _object(file, max_bytes)
    else:
        yield jsonl.table(file, max_bytes)


def lines(file: Content, max_bytes: int) -> Iterator[Table]:
    """The table of a file of JSON lines, or of one that is called so and holds one list of objects."""
    yield _list(file, max_bytes) if _OBJECTS.match(_begin(file)) else jsonl.table(file, max_bytes)


def _begin(file: Content) -> bytes:
    """The beginning of a file, from its first character that is no blank."""
    with open_content(file) as stream:
        return stream.read(_HEAD).removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"").lstrip(b"\xff\xfe \t\r\n")


def _is_lines(begin: bytes) -> bool:
    """Whether the first line is an object by itself, or does not end within the beginning though it has begun a large one."""
    line, end, rest = begin.partition(b"\n")
    try:
        json.loads(line)
    except ValueError:
        return not end and len(begin) > _HEAD // 2
    return bool(rest.strip())


def _list(file: Content, max_bytes: int) -> Table:
    layout = Layout()
    return Table(layout, _items(file, max_bytes, layout))


def _items(file: Content, max_bytes: int, layout: Layout) -> Iterator[Row]:
    import ijson

    with open_content(file) as stream:
        encoding = detect_stream(stream)
    layout.encoding = str(encoding)
    with _as_utf8(file, max_bytes, plain=encoding.name.startswith("utf-8") and not encoding.other) as stream:
        try:
            for number, item in enumerate(ijson.items(stream, "item", use_float=True), 1):
                yield Row(f"item {number}", item) if isinstance(item, dict) else Row(f"item {number}", {}, "not a JSON object")
        except ijson.JSONError as error:
            raise Rejected(f"not valid JSON: {error}") from error


def _as_utf8(file: Content, max_bytes: int, plain: bool) -> BinaryIO:
    """The content in UTF-8 without a mark; what is in another encoding (not `plain`) is turned into it in memory."""
    if not plain:
        return io.BytesIO(decode(read_content(file, max_bytes))[0].encode("utf-8", "replace"))
    stream = open_content(file)
    if stream.read(3) != b"\xef\xbb\xbf":
        stream.seek(0)
    return stream


def _object(file: Content, max_bytes: int) -> Iterator[Table | Read]:
    text, encoding = decode(read_content(file, max_bytes))
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Rejected(f"not valid JSON: {error}") from error
    holder, name = _records(content)
    if not name:
        yield _document(content)
        return
    rows = holder.pop(name)
    yield Table(
        Layout(encoding=str(encoding)),
        iter([Row(f"item {n}", r) if isinstance(r, dict) else Row(f"item {n}", {}, "not a JSON object") for n, r in enumerate(rows, 1)]),
    )
    if record(content):
        yield _document(content)


def _records(content: dict[str, Any], depth: int = 0) -> tuple[dict[str, Any], str]:
    """The object, and the name in it, of the list of objects that a file is there for; "" where there is none.

    That is a list of a customary name, or one beside which nothing carries words.
    """
    lists = [name for name, value in content.items() if isinstance(value, list) and value and all(isinstance(v, dict) for v in value)]
    for name in sorted(lists, key=lambda name: -len(content[name])):
        others = [value for other, value in content.items() if other != name]
        if name.lower() in _LIST_NAMES or (len(lists) == 1 and not any(kind_of(value) == "words" for value in others)):
            return content, name
    inner = [value for value in content.values() if isinstance(value, dict)] if depth < _DEEPEST else []
    places = (_records(value, depth + 1) for value in inner)
    return next((pair for pair in places if pair[1]), (content, ""))


def _document(content: dict[str, Any]) -> Read:
    """An object as one document."""
    metadata = clean_metadata((name, value) for name, value in content.items() if kind_of(value) != "words")
    return Read("", one_line(_title(content)), "\n".join(record(content)), metadata)


def _title(content: dict[str, Any]) -> str:
    title = next((value for name, value in content.items() if name.lower() in ("title", "name", "headline")), "")
    return title if isinstance(title, str) else ""
