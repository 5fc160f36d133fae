"""CSV and TSV files: encoding, separator and quoting are found out, cells are taken as they are."""

import csv
import io
from collections import Counter
from collections.abc import Iterator

from polyonym.ingest.readers.content import Content, open_content, open_text
from polyonym.ingest.readers.encodings import detect_stream
from polyonym.ingest.readers.result import SetAside
from polyonym.ingest.readers.tables import ID_NAMES, TEXT_NAMES, TITLE_NAMES, Row

SAMPLE = 1 << 17
_SEPARATORS = ",\t;|"


class _Dialect(csv.Dialect):
    lineterminator = "\n"
    strict = True

    def __init__(self, separator: str, quoting: str) -> None:
        self.delimiter = separator
        self.quoting = csv.QUOTE_NONE if quoting == "none" else csv.QUOTE_MINIMAL
        self.quotechar = None if quoting == "none" else '"'
        self.doublequote = quoting == "doubled"
        self.escapechar = "\\" if quoting == "escaped" else None
        super().__init__()


def rows(path: Content, max_bytes: int) -> Iterator[Row]:
    """The rows below the header, or all rows (columns "column 1" …) when the first row is no header.

    Raises SetAside for an empty file, NotText for binary content.
    """
    with open_content(path) as stream:
        encoding = detect_stream(stream)
    with open_text(path, encoding.name, encoding.errors) as file:
        sample = file.read(SAMPLE)
        whole = len(sample) < SAMPLE
    if not sample.strip():
        raise SetAside("empty file")
    dialect, header = _layout(sample, whole)
    csv.field_size_limit(min(max_bytes, 1 << 30))
    with open_text(path, encoding.name, encoding.errors) as file:
        reader = csv.reader(file, dialect)
        names: list[str] | None = None
        number = 0
        while True:
            first_line = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                number += 1
                yield Row(f"row {number}", {}, f"broken quoting in lines {first_line} to {reader.line_num}: {error}")
                continue
            if not any(cells):
                continue
            if names is None:
                names = _names(cells) if header else [f"column {n}" for n in range(1, len(cells) + 1)]
                if header:
                    continue
            number += 1
            if len(cells) > len(names) and any(cells[len(names) :]):
                yield Row(f"row {number}", {}, f"{len(cells)} cells in a table of {len(names)} columns")
            else:
                yield Row(f"row {number}", dict(zip(names, cells, strict=False)))


def _layout(sample: str, whole: bool) -> tuple[_Dialect, bool]:
    """Separator and quoting under which the sample's rows have most often one number of cells, and whether there is a header."""
    best: tuple[tuple[float, int], _Dialect, list[list[str]]] | None = None
    for quoting in ("doubled", *["escaped"] * ('\\"' in sample), "none"):
        for separator in _SEPARATORS:
            dialect = _Dialect(separator, quoting)
            parsed = _parse(sample, whole, dialect)
            if not parsed:
                continue
            cells, count = Counter(map(len, parsed)).most_common(1)[0]
            share = count / len(parsed)
            if cells > 1 and share >= 0.7 and (best is None or (share, cells) > best[0]):
                best = (share, cells), dialect, parsed
    if best is None:
        # One column: a separator that cannot occur.
        dialect = next(
            (d for d in (_Dialect("\x1f", "doubled"), _Dialect("\x1f", "none")) if _parse(sample, whole, d)), _Dialect("\x1f", "none")
        )
        best = (0.0, 1), dialect, _parse(sample, whole, dialect)
    return best[1], _has_header(best[2])


def _parse(sample: str, whole: bool, dialect: _Dialect) -> list[list[str]]:
    """The sample's rows; none when it cannot have been written in this dialect."""
    parsed: list[list[str]] = []
    try:
        parsed.extend(cells for cells in csv.reader(io.StringIO(sample, newline=""), dialect) if any(cells))
    except csv.Error as error:
        if whole or "unexpected end of data" not in str(error):
            return []
    else:
        if not whole:
            parsed = parsed[:-1]
    return parsed


def _has_header(parsed: list[list[str]]) -> bool:
    if not parsed:
        return False
    names = [cell.strip().lower() for cell in parsed[0]]
    if set(names) & {*TEXT_NAMES, *ID_NAMES, *TITLE_NAMES}:
        return True
    filled = [name for name in names if name]
    return len(set(filled)) == len(filled) and all(
        len(name) <= 60 and "\n" not in name and not name.replace(".", "").isdigit() for name in filled
    )


def _names(cells: list[str]) -> list[str]:
    names: list[str] = []
    for cell in cells:
        name = cell.strip()
        while name and name in names:
            name += "'"
        names.append(name)
    return names
