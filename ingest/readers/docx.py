"""Word documents: paragraphs and tables in their order, without deleted passages and field codes."""

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from polyonym.ingest.readers.html import table_blocks
from polyonym.ingest.readers.result import Read, SetAside, clean_metadata, one_line

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SKIPPED = {
    _W + "del",
    _W + "moveFrom",
    _W + "instrText",
    _W + "delText",
    _W + "pPr",
    _W + "rPr",
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
}
_CHARACTERS = {_W + "tab": "\t", _W + "ptab": "\t", _W + "br": "\n", _W + "cr": "\n", _W + "noBreakHyphen": "-"}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PROPERTIES = ("author", "subject", "keywords", "category", "created", "modified", "last_modified_by", "language")


def read(data: bytes, max_bytes: int) -> Read:
    """Raises SetAside for an encrypted or broken file, or one that unpacks to more than `max_bytes`."""
    if data.startswith(_OLE):
        encrypted = "EncryptedPackage".encode("utf-16-le") in data
        raise SetAside("encrypted: needs a password" if encrypted else "not a .docx file but one of Word's older format (.doc)")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            unpacked = sum(entry.file_size for entry in package.infolist())
    except zipfile.BadZipFile as error:
        raise SetAside(f"broken or truncated .docx: {error}") from error
    if unpacked > max_bytes:
        raise SetAside(f"oversized: {unpacked:,} bytes when unpacked, the limit is {max_bytes:,}")
    import docx

    document = docx.Document(io.BytesIO(data))
    blocks: list[str] = []
    title = ""
    for element in document.element.body.iter(_W + "p", _W + "tbl"):
        style = _style(element)
        if _inside_table(element) or style.startswith("toc"):  # a table of contents says everything twice
            continue
        if element.tag == _W + "tbl":
            blocks += table_blocks(_rows(element))
        elif text := "".join(_characters(element)).strip():
            title = title or (one_line(text) if style in ("title", "heading1") else "")
            blocks.append(text)
    core = document.core_properties
    metadata = clean_metadata((name, getattr(core, name, None)) for name in _PROPERTIES)
    return Read("", one_line(core.title or "") or title, "\n\n".join(blocks), metadata)


def _inside_table(element: Any) -> bool:
    return any(ancestor.tag in (_W + "tbl", _W + "p") for ancestor in element.iterancestors())


def _characters(element: Any) -> Iterator[str]:
    """The characters below an element, in order; paragraphs of a text box inside it are set off by a line end."""
    for child in element:
        if child.tag == _W + "t":
            yield child.text or ""
        elif child.tag in _CHARACTERS:
            yield _CHARACTERS[child.tag]
        elif child.tag not in _SKIPPED and isinstance(child.tag, str):
            yield from _characters(child)
            if child.tag == _W + "p":
                yield "\n"


def _rows(table: Any) -> list[list[str]]:
    """The cells' texts, row by row; a table inside a cell is part of that cell's text."""
    rows = []
    for row in table.iter(_W + "tr"):
        if _owner(row, "tbl") is table:
            cells = [" ".join("".join(_characters(cell)).split()) for cell in row.iter(_W + "tc") if _owner(cell, "tr") is row]
            rows.append([cell for cell in cells if cell])
    return rows


def _owner(element: Any, tag: str) -> Any:
    return next(element.iterancestors(_W + tag))


def _style(paragraph: Any) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    return "" if style is None else str(style.get(_W + "val", "")).lower()
