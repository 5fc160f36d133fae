"""JSON lines: one object a line; a line that is none is set aside by its number."""

import io
import json
from collections.abc import Iterator

from polyonym.ingest.readers.content import Content, open_content, open_text
from polyonym.ingest.readers.encodings import detect_stream
from polyonym.ingest.readers.tables import Row


def rows(path: Content, max_bytes: int) -> Iterator[Row]:
    """Rows by line; empty lines are passed over. Raises NotText for binary content."""
    with open_content(path) as stream:
        encoding = detect_stream(stream)
    with open_text(path, encoding.name, encoding.errors) as file:
        # Only "\n" ends a line: the other line ends of Unicode may stand inside a string.
        file.reconfigure(newline="\n")
        number = 0
        while line := file.readline(max_bytes + 1):
            number += 1
            if len(line) > max_bytes:
                _skip_line(file, line)
                yield Row(f"line {number}", {}, f"oversized: a line of more than {max_bytes:,} bytes")
            elif line.strip():
                yield _row(number, line)


def _skip_line(file: io.TextIOWrapper, piece: str) -> None:
    while piece and not piece.endswith("\n"):
        piece = file.readline(1 << 20)


def _row(number: int, line: str) -> Row:
    place = f"line {number}"
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        return Row(place, {}, f"not valid JSON: {error.msg} at column {error.colno}")
    except (ValueError, RecursionError) as error:
        return Row(place, {}, f"not readable as JSON: {error}")
    if not isinstance(value, dict):
        return Row(place, {}, "not a JSON object")
    return Row(place, value)
