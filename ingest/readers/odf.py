"""Texts and presentations of LibreOffice and its kin (.odt, .odp): paragraphs, tables, notes and frames in their order."""

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from polyonym.ingest.readers.html import table_blocks
from polyonym.ingest.readers.rejection import Rejected
from polyonym.ingest.readers.result import Read, clean_metadata, one_line

_SPACE = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_TEXT, _TABLE, _OFFICE = _SPACE % "text", _SPACE % "table", _SPACE % "office"
_PARAGRAPHS = {_TEXT + "p", _TEXT + "h"}
# Deleted passages, tables of contents, and what repeats on every slide.
_SKIPPED = {_TEXT + "tracked-changes", _TEXT + "table-of-content", _TEXT + "note-citation", _OFFICE + "forms", _TEXT + "page-number"}
_SKIPPED |= {_SPACE % "presentation" + name for name in ("footer-decl", "date-time-decl", "header-decl")}
_META = {"title": "title", "initial-creator": "author", "creator": "author", "subject": "subject", "keyword": "keywords"}
_META |= {"creation-date": "created", "date": "modified", "language": "language"}


def read(data: bytes, max_bytes: int, comments: bool = False) -> Read:
    """The document's text; with `comments`, what readers noted in its margin too.

    Raises Rejected for an encrypted or broken file and for one that unpacks to more than `max_bytes`.
    """
    from lxml import etree

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            unpacked = sum(entry.file_size for entry in package.infolist())
            if unpacked > max_bytes:
                raise Rejected(f"oversized: {unpacked:,} bytes when unpacked, the limit is {max_bytes:,}")
            names = set(package.namelist())
            if "META-INF/manifest.xml" in names and b"encryption-data" in package.read("META-INF/manifest.xml"):
                raise Rejected("encrypted: needs a password")
            if "content.xml" not in names:
                raise Rejected("not an OpenDocument file: no content in it")
            parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=True)
            content = etree.fromstring(package.read("content.xml"), parser)
            meta = etree.fromstring(package.read("meta.xml"), parser) if "meta.xml" in names else None
    except zipfile.BadZipFile as error:
        raise Rejected(f"broken or truncated OpenDocument file: {error}") from error
    body = content.find(_OFFICE + "body")
    blocks = list(_blocks(content if body is None else body, comments))
    title = next((one_line(t) for h in content.iter(_TEXT + "h") if (t := "".join(_characters(h, [])))), "")
    metadata = _metadata(meta)
    return Read("", one_line(str(metadata.pop("title", ""))) or title, "\n\n".join(blocks), metadata)


def _metadata(meta: Any) -> dict[str, Any]:
    values: dict[str, str] = {}
    for element in () if meta is None else meta.iter():
        key = _META.get(str(element.tag).rsplit("}", 1)[-1])
        if key and element.text:
            values.setdefault(key, element.text)
    return clean_metadata(values.items())


def _blocks(root: Any, comments: bool) -> Iterator[str]:
    for element in root:
        if element.tag in _PARAGRAPHS:
            beside: list[Any] = []
            if text := "".join(_characters(element, beside)).strip():
                yield text
            for part in beside:  # frames and notes that the paragraph holds
                yield from _blocks(part, comments)
        elif element.tag == _TABLE + "table":
            rows = [
                [" ".join(_blocks(cell, comments)).replace("\n", " ") for cell in row.iter(_TABLE + "table-cell")]
                for row in element.iter(_TABLE + "table-row")
            ]
            yield from table_blocks([[cell for cell in row if cell] for row in rows])
        elif element.tag == _OFFICE + "annotation":
            if comments:
                yield from _blocks(element, comments)
        elif isinstance(element.tag, str) and element.tag not in _SKIPPED:
            yield from _blocks(element, comments)


def _characters(element: Any, beside: list[Any]) -> Iterator[str]:
    """The characters of a paragraph in order; notes, frames and comments in it are put into `beside`, for after it."""
    yield element.text or ""
    for child in element:
        tag = child.tag if isinstance(child.tag, str) else ""
        if tag == _TEXT + "s":
            yield " " * min(int(child.get(_TEXT + "c", "1") or 1), 100)
        elif tag == _TEXT + "tab":
            yield "\t"
        elif tag == _TEXT + "line-break":
            yield "\n"
        elif tag == _OFFICE + "annotation" or tag == _TEXT + "note" or tag.startswith(_SPACE % "drawing"):
            beside.append([child])
        elif tag and tag not in _SKIPPED:
            yield from _characters(child, beside)
        yield child.tail or ""
