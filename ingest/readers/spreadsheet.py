"""Spreadsheets (xlsx, xlsm, xlsb, xls, ods): each visible sheet is a table; cells hold the values that were last worked out."""

import zipfile
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from polyonym.ingest.readers import heads
from polyonym.ingest.readers.content import Content, LineNumbers, open_content
from polyonym.ingest.readers.rejection import Rejected
from polyonym.ingest.readers.tables import Layout, Row, Table

_SAMPLE = 200
"""Rows by which the head row is found."""
_MOST_UNPACKED = 40
"""Times the limit of a document that a workbook may be when unpacked: it is held in memory, and a packed one of a few kilobytes may be of
terabytes."""


def tables(file: Content, max_bytes: int) -> Iterator[Table]:
    """The tables of a workbook, one a sheet that holds anything. Raises Rejected for one that is encrypted, too large or without sheets."""
    import python_calamine

    with open_content(file) as stream:
        _check_size(stream, max_bytes)
        try:
            workbook = python_calamine.load_workbook(stream)
        except python_calamine.PasswordError as error:
            raise Rejected("encrypted: needs a password") from error
        names = [
            sheet.name
            for sheet in workbook.sheets_metadata
            if sheet.typ == python_calamine.SheetTypeEnum.WorkSheet and sheet.visible == python_calamine.SheetVisibleEnum.Visible
        ]
        if len(names) > 1:
            names = [name for name in names if workbook.get_sheet_by_name(name).height]
        if not names:
            raise Rejected("empty table: no rows")
        for name in names:
            sheet = workbook.get_sheet_by_name(name)
            layout = Layout(sheet=name.replace("/", "_") if len(names) > 1 else "")
            yield Table(layout, _rows(sheet.iter_rows(), (sheet.start or (0, 0))[0] + 1, layout))


def _check_size(stream: Any, max_bytes: int) -> None:
    if zipfile.is_zipfile(stream):
        with zipfile.ZipFile(stream) as package:
            unpacked = sum(entry.file_size for entry in package.infolist())
        if unpacked > _MOST_UNPACKED * max_bytes:
            raise Rejected(f"oversized: {unpacked:,} bytes when unpacked, the limit of a workbook is {_MOST_UNPACKED * max_bytes:,}")
    stream.seek(0)


def _rows(cells: Iterable[list[Any]], first: int, layout: Layout) -> Iterator[Row]:
    """The rows of a sheet, of which `first` is the number of the first row that holds anything."""
    rows = (list(map(_value, row)) for row in cells)
    sample = list(islice(rows, _SAMPLE))
    start, headed = heads.begin(sample)
    passed_over = LineNumbers()
    for index in range(start):
        if any(cell not in (None, "") for cell in sample[index]):
            passed_over.add(first + index)
    layout.passed_over = str(passed_over)
    layout.head = f"row {first + start}" if headed else ""
    names = heads.column_names(sample[start]) if headed else heads.unnamed(max(map(len, sample), default=0))
    for number, row in enumerate(chain(sample[start + headed :], rows), first + start + headed):
        if any(cell not in (None, "") for cell in row):
            yield Row(f"row {number}", {name: cell for name, cell in zip(names, row, strict=False) if cell != ""})


def _value(cell: Any) -> Any:
    """A cell's value; whole numbers, which spreadsheets keep as fractions, as such."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15 else cell
