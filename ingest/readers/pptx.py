"""Presentations of PowerPoint: slide after slide, the title first, then texts and tables as they stand on it, then the speaker's notes."""

from collections.abc import Iterator
from typing import Any

from polyonym.ingest.readers.html import table_blocks
from polyonym.ingest.readers.ooxml import Package
from polyonym.ingest.readers.result import Read, one_line

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_OUTSIDE = {"sldNum", "dt", "ftr", "hdr", "sldImg"}


def read(data: bytes, max_bytes: int, comments: bool = False) -> Read:
    """The text of all slides that are shown; with `comments`, what readers noted on a slide too. Raises Rejected as ooxml.Package does."""
    package = Package(data, ".pptx", max_bytes)
    parts = package.related_by_id(package.main)
    presentation = package.part(package.main)
    blocks: list[str] = []
    title = ""
    for reference in presentation.iter(_P + "sldId"):
        name = parts.get(reference.get(_R_ID), "")
        slide = package.part(name)
        if slide is None or slide.get("show") in ("0", "false"):
            continue
        headline, texts = _slide(slide)
        title = title or one_line(headline)
        blocks += [text for text in (headline, *texts) if text]
        for notes in package.related(name, "notesSlide"):
            blocks += [text for text in _slide(package.part(notes))[1] if text]
        if comments:
            for part in package.related(name, "comments"):
                blocks += [text for c in package.part(part) if (text := "".join(t.text or "" for t in c.iter(_P + "text", _A + "t")))]
    metadata = package.metadata()
    return Read("", one_line(str(metadata.pop("title", ""))) or title, "\n\n".join(blocks), metadata)


def _slide(slide: Any) -> tuple[str, list[str]]:
    """The title of a slide, and its other texts in their order; slide numbers, dates, heads and feet are none."""
    headline = ""
    texts: list[str] = []
    if slide is None:
        return headline, texts
    for shape in slide.iter(_P + "sp", _P + "graphicFrame"):
        if any(ancestor.tag == _FALLBACK for ancestor in shape.iterancestors()):
            continue
        place = shape.find(f".//{_P}nvPr/{_P}ph")
        kind = "" if place is None else place.get("type", "")
        if kind in _OUTSIDE:
            continue
        for table in shape.iter(_A + "tbl"):
            rows = [[" ".join(" ".join(_paragraphs(cell)).split()) for cell in row.iter(_A + "tc")] for row in table.iter(_A + "tr")]
            texts += table_blocks([[cell for cell in row if cell] for row in rows])
        if shape.tag == _P + "sp":
            text = "\n".join(_paragraphs(shape))
            if kind in ("title", "ctrTitle") and not headline:
                headline = text
            else:
                texts.append(text)
    return headline, texts


def _paragraphs(element: Any) -> Iterator[str]:
    for paragraph in element.iter(_A + "p"):
        parts = (part.text or "" if part.tag == _A + "t" else " " for part in paragraph.iter(_A + "t", _A + "br", _A + "tab"))
        if text := "".join(parts).strip():
            yield text
