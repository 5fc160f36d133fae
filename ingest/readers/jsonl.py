"""JSON lines: one object a line; a line that is none is set aside by its number."""

import json
from collections.abc import Iterator

from polyonym.ingest.readers.content import Content, Lines, LineTooLong
from polyonym.ingest.readers.tables import Layout, Row, Table


def table(file: Content, max_bytes: int) -> Table:
    """Rows by line; empty lines are passed over. They raise NotText for binary content."""
    layout = Layout()
    return Table(layout, _rows(file, max_bytes, layout))


def _rows(file: Content, max_bytes: int, layout: Layout) -> Iterator[Row]:
    # Only "\n" ends a line: the other line ends of Unicode may stand inside a string.
    with Lines(file, max_bytes, "\n") as lines:
        layout.encoding = str(lines.encoding)
        while True:
            try:
                line = next(lines)
            except StopIteration:
                break
            except LineTooLong as error:
                yield Row(f"line {lines.number}", {}, str(error))
            else:
                if line.strip():
                    yield _row(lines.number, line)
        layout.other_lines = str(lines.in_other_encoding)


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
