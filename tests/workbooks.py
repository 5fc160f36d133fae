"""Small workbooks for tests: no library that writes them is among our dependencies."""

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

Cell = str | int | float | None
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def xlsx(path: Path, sheets: Mapping[str, Sequence[Sequence[Cell]]], hidden: Sequence[str] = ()) -> None:
    """Write an Excel workbook; `hidden` are the sheets that are not shown."""
    numbered = list(enumerate(sheets, 1))
    state = {True: 'state="hidden"', False: ""}
    listed = "".join(f'<sheet name={quoteattr(name)} sheetId="{n}" r:id="rId{n}" {state[name in hidden]}/>' for n, name in numbered)
    links = "".join(f'<Relationship Id="rId{n}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n, _ in numbered)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = "".join(f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{kind}.worksheet+xml"/>' for n, _ in numbered)
    content = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/>'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>{parts}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type="{_OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>',
        **{f"xl/worksheets/sheet{n}.xml": _sheet(sheets[name]) for n, name in numbered},
    }
    with zipfile.ZipFile(path, "w") as package:
        for name, text in content.items():
            package.writestr(name, text)


def _sheet(rows: Sequence[Sequence[Cell]]) -> str:
    written = "".join(
        f'<row r="{r}">{"".join(_cell(f"{chr(65 + c)}{r}", cell) for c, cell in enumerate(row) if cell is not None)}</row>'
        for r, row in enumerate(rows, 1)
    )
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{written}</sheetData></worksheet>'


def _cell(place: str, cell: str | int | float) -> str:
    if isinstance(cell, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
    return f'<c r="{place}"><v>{cell}</v></c>'
