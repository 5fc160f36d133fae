"""Word documents: paragraphs, tables, notes, text boxes, heads and feet in reading order, with all tracked changes accepted."""

import re
from collections.abc import Iterator
from typing import Any

from polyonym.ingest.readers.html import table_blocks
from polyonym.ingest.readers.ooxml import Package
from polyonym.ingest.readers.result import Read, one_line

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_R_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_PARAGRAPH, _TABLE, _BOX = _W + "p", _W + "tbl", _W + "txbxContent"
_SKIPPED = {
    *(_W + name for name in ("del", "moveFrom", "instrText", "delText", "pPr", "rPr", "txbxContent")),
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
}
_CHARACTERS = {_W + "tab": "\t", _W + "ptab": "\t", _W + "br": "\n", _W + "cr": "\n", _W + "noBreakHyphen": "-"}
_PAGE_NUMBER = re.compile(r"\W*(?:[^\W\d_]+\W+)?\d*(?:\W+(?:[^\W\d_]+\W+)?\d+)?\W*")  # "Page 2 of 5", "- 3 -", "2/5"
_NUMBER = re.compile(r"\d+")
_OUTSIDE_LIMIT = 60


def read(data: bytes, max_bytes: int, comments: bool = False) -> Read:
    """The document's text; with `comments`, what readers noted in its margin too, each after its paragraph with its author's name.

    Footnotes follow their paragraph, endnotes the text; what stands in the heads of pages comes first and what in their feet last,
    once each. Raises Rejected for what ooxml.Package does.
    """
    package = Package(data, ".docx", max_bytes)
    document = _Document(package, comments)
    body = package.part(package.main)
    heads, feet = document.heads_and_feet(body)
    blocks = list(document.blocks(body))
    metadata = package.metadata()
    title = one_line(str(metadata.pop("title", ""))) or document.title
    return Read("", title, "\n\n".join([*heads, *blocks, *document.endnotes, *feet]), metadata)


class _Document:
    """The parts of a document that paragraphs refer to, and what was met on the way."""

    def __init__(self, package: Package, comments: bool) -> None:
        self._package = package
        kinds = ("footnote", "endnote", *["comment"] * comments)
        self._notes = {kind: self._by_id(kind) for kind in kinds}
        self.title = ""
        self.endnotes: list[str] = []

    def _by_id(self, kind: str) -> dict[str, Any]:
        parts = map(self._package.part, self._package.related(self._package.main, f"{kind}s"))
        return {note.get(_W + "id"): note for part in parts if part is not None for note in part.iter(_W + kind)}

    def heads_and_feet(self, body: Any) -> tuple[list[str], list[str]]:
        """What stands at the head and at the foot of pages, each text once (whatever numbers it has), without page numbers."""
        parts = self._package.related_by_id(self._package.main)
        parts_by_id: tuple[dict[str, str], dict[str, str]] = ({}, {})
        for texts, tag in zip(parts_by_id, ("headerReference", "footerReference"), strict=True):
            for reference in body.iter(_W + tag):
                part = self._package.part(parts.get(reference.get(_R_ID), ""))
                lines = [] if part is None else self.blocks(part)
                for line in lines:
                    if not (len(line) < _OUTSIDE_LIMIT and _PAGE_NUMBER.fullmatch(line)):
                        texts.setdefault(_NUMBER.sub("#", line), line)
        return list(parts_by_id[0].values()), list(parts_by_id[1].values())

    def blocks(self, root: Any) -> Iterator[str]:
        """The paragraphs and tables below an element in order, each followed by the text boxes and notes that it holds or refers to."""
        for element in root.iter(_PARAGRAPH, _TABLE):
            style = _style(element)
            if _is_inside(element, root) or style.startswith("toc"):  # a table of contents says everything twice
                continue
            if element.tag == _TABLE:
                yield from table_blocks(_rows(element))
            elif text := "".join(_characters(element)).strip():
                self.title = self.title or (one_line(text) if style in ("title", "heading1") else "")
                yield text
            yield from self._beside(element)

    def _beside(self, element: Any) -> Iterator[str]:
        boxes = (_BOX, *(f"{_W}{kind}Reference" for kind in self._notes))
        for part in element.iter(*boxes):
            if part.tag == _BOX:
                if not _is_inside(part, element, _BOX) and not any(a.tag in _SKIPPED for a in part.iterancestors()):
                    yield from self.blocks(part)
                continue
            kind = part.tag[len(_W) : -len("Reference")]
            note = self._notes[kind].pop(part.get(_W + "id"), None)
            if note is None or _is_inside(part, element, _BOX):
                continue
            text = "\n".join(self.blocks(note))
            if kind == "endnote":
                self.endnotes.append(text)
            elif text:
                author = note.get(_W + "author", "") if kind == "comment" else ""
                yield f"{author}: {text}" if author else text


def _is_inside(element: Any, root: Any, *tags: str) -> bool:
    """Whether an element lies in a table or paragraph (or one of `tags`) below `root`."""
    for ancestor in element.iterancestors():
        if ancestor is root:
            return False
        if ancestor.tag in (tags or (_PARAGRAPH, _TABLE)):
            return True
    return False


def _characters(element: Any) -> Iterator[str]:
    """The characters below an element, in order, a line end after each paragraph inside it."""
    for child in element:
        if child.tag == _W + "t":
            yield child.text or ""
        elif child.tag in _CHARACTERS:
            yield _CHARACTERS[child.tag]
        elif child.tag not in _SKIPPED and isinstance(child.tag, str) and not (child.tag == _W + "r" and _is_hidden(child)):
            yield from _characters(child)
            if child.tag == _PARAGRAPH:
                yield "\n"


def _is_hidden(run: Any) -> bool:
    mark = run.find(f"{_W}rPr/{_W}vanish")
    return mark is not None and mark.get(_W + "val", "true") not in ("0", "false", "off")


def _rows(table: Any) -> list[list[str]]:
    """The cells' texts, row by row; a table inside a cell is part of that cell's text."""
    rows = []
    for row in table.iter(_W + "tr"):
        if _owner(row, "tbl") is table and row.find(f"{_W}trPr/{_W}del") is None:
            cells = [" ".join("".join(_characters(cell)).split()) for cell in row.iter(_W + "tc") if _owner(cell, "tr") is row]
            rows.append([cell for cell in cells if cell])
    return rows


def _owner(element: Any, tag: str) -> Any:
    return next(element.iterancestors(_W + tag))


def _style(paragraph: Any) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    return "" if style is None else str(style.get(_W + "val", "")).lower()
