"""XML files: elements that repeat with fields in them are the rows of a table, anything else is a text."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from polyonym.ingest.readers import html
from polyonym.ingest.readers.content import Content, read_content
from polyonym.ingest.readers.rejection import Rejected
from polyonym.ingest.readers.result import Read, one_line
from polyonym.ingest.readers.tables import Layout, Row, Table

_MARKUP = re.compile(r"</?(?:p|br|div|a|b|i|em|strong|ul|ol|li|img|span|h[1-6]|table)\b[^<>]*>", re.IGNORECASE)
_TITLES = ("title", "head", "heading", "headline")


def contents(file: Content, max_bytes: int) -> Iterator[Table | Read]:
    """The table of a file (the items of a feed, the records of an export), or its text. Raises Rejected for what is no XML, or too large."""
    from lxml import etree

    data = read_content(file, max_bytes)
    # Entities are left alone: they may name files, or grow without end.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise Rejected(f"not valid XML: {error}") from error
    if _name(root) == "html":
        yield html.read(data)
        return
    records = _records(root)
    if not records:
        yield Read("", one_line(_first_title(root)), "\n\n".join(_blocks(root)))
        return
    yield Table(Layout(), iter([Row(f"line {record.sourceline}", _fields(record)) for record in records]))
    parent = records[0].getparent()
    for record in records:
        parent.remove(record)
    if rest := "\n\n".join(_blocks(root)):
        yield Read("", one_line(_first_title(root)), rest)


def _name(element: Any) -> str:
    """An element's name without its namespace, "" for an entity."""
    return element.tag.rsplit("}", 1)[-1].lower() if isinstance(element.tag, str) else ""


def _records(root: Any) -> list[Any]:
    """The elements of one name, beside each other, that have fields; none where the file is a text. Those nearest to the root."""
    level = [root]
    while level:
        for element in level:
            counts = Counter(child.tag for child in element)
            tag, count = counts.most_common(1)[0] if counts else ("", 0)
            alike = [child for child in element if child.tag == tag]
            if count > 1 and sum(map(_has_fields, alike)) == count and not any(map(_is_mixed, alike)):
                return alike
        level = [child for element in level for child in element]
    return []


def _has_fields(element: Any) -> bool:
    """Whether an element holds values under several names, most of them different."""
    names = Counter([*(child.tag for child in element), *element.attrib])
    return len(names) > 1 and len(element) > 0 and 2 * len(names) > names.total()


def _is_mixed(element: Any) -> bool:
    """Whether text stands beside elements anywhere in it: prose, not fields."""
    return any(len(part) and ((part.text or "").strip() or any((child.tail or "").strip() for child in part)) for part in element.iter())


def _fields(element: Any) -> dict[str, Any]:
    """The attributes and elements of a record by name; those that repeat as a list."""
    fields: dict[str, Any] = {name.rsplit("}", 1)[-1]: value for name, value in element.attrib.items()}
    repeated = Counter(_local(child) for child in element)
    for child in element:
        name, value = _local(child), _value(child)
        if repeated[name] > 1:
            fields[name] = [*(fields[name] if isinstance(fields.get(name), list) else []), value]
        else:
            fields[name] = value
    return fields


def _local(element: Any) -> str:
    return element.tag.rsplit("}", 1)[-1] if isinstance(element.tag, str) else ""


def _value(element: Any) -> Any:
    if len(element):
        return _fields(element)
    text = (element.text or "").strip()
    if _MARKUP.search(text):
        from selectolax.lexbor import LexborHTMLParser

        return " ".join(LexborHTMLParser(text).text(separator=" ").split())
    return text or dict(element.attrib) or ""


def _blocks(element: Any) -> Iterator[str]:
    """The texts of the innermost elements, those with marked words in them as one."""
    direct = [element.text, *(child.tail for child in element)]
    if len(element) == 0 or any((text or "").strip() for text in direct):
        if text := " ".join("".join(element.itertext()).split()):
            yield text
        return
    for child in element:
        yield from _blocks(child)


def _first_title(root: Any) -> str:
    return next((" ".join("".join(e.itertext()).split()) for e in root.iter() if _name(e) in _TITLES), "")
