"""Web pages: the text that a reader of the page came for, as blocks with blank lines between; title and meta data apart."""

import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from polyonym.ingest.readers.encodings import decode
from polyonym.ingest.readers.result import Read, SetAside, clean_metadata, one_line

# Elements that are no text of the page, and (by role, hiding or the customary class names) navigation and other frame.
_DROPPED = (
    "script, style, noscript, template, svg, math, canvas, iframe, object, embed, audio, video, select, button, input, textarea, dialog, nav, aside, menu, "
    "[role=navigation], [role=banner], [role=contentinfo], [role=search], [role=complementary], [role=menu], [role=menubar], [role=dialog], [role=alertdialog], "
    "[hidden], [aria-hidden=true], [style*='display:none'], [style*='display: none'], [style*='visibility:hidden']"
)
_FRAME_WORDS = frozenset(Path(__file__).with_name("frame_words.txt").read_text("utf-8").split())
_BLOCKS = {
    *(
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
    ),
    *("figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "html", "li", "main", "ol", "p", "pre"),
    *("section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
}
_META = {
    "description": "description",
    "og:description": "description",
    "author": "author",
    "article:author": "author",
    "keywords": "keywords",
    "og:site_name": "site",
    "article:published_time": "published",
    "date": "published",
    "dc.date": "published",
    "article:modified_time": "modified",
}
_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]+)""", re.IGNORECASE
)
_BLANKS = re.compile(r"[ \t\n\r\f\v\u00a0]+")
_MARKS_ONLY = re.compile(r"[^\w]+")
LONG_CELL = 200
DEEPEST = 5000
# Elements that nest when they are not closed.
_NESTING = re.compile(
    r"<(/?)(?:a|abbr|article|aside|b|big|blockquote|center|code|dl|div|em|fieldset|figure|font|footer|form|h[1-6]|header|i|ins|main|nav|ol|section|small"
    r"|span|strong|sub|sup|table|tt|u|ul|[a-z]+:[a-z]+)\b",
    re.IGNORECASE,
)


def read(data: bytes) -> Read:
    """Raises NotText for binary content, SetAside for markup nested without end."""
    return page(_decode(data))


def page(markup: str) -> Read:
    """Title, meta data and text of a page or of a piece of markup. Raises SetAside for markup nested without end."""
    from selectolax.lexbor import LexborHTMLParser

    # The parser's time grows with the square of the depth.
    if max(accumulate(-1 if tag[1] else 1 for tag in _NESTING.finditer(markup)), default=0) > DEEPEST:
        raise SetAside(f"markup nested more than {DEEPEST:,} levels deep")
    tree = LexborHTMLParser(markup)
    title, metadata = _title(tree), _metadata(tree)
    root = tree.body or tree.root
    if root is None:
        return Read("", title, "", metadata)
    heading = tree.css_first("h1")
    title = title or (one_line(heading.text(separator=" ")) if heading else "")
    return Read("", title, "\n\n".join(_main_blocks(tree, root)), metadata)


def _decode(data: bytes) -> str:
    declared = _CHARSET.search(data[:2048])
    if declared and not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        name = (declared[1] or declared[2]).decode("ascii", "replace").lower()
        # Browsers read Latin-1 as cp1252, and a page that was read as ASCII so far cannot be UTF-16.
        name = {"iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252", "utf-16": "utf-8"}.get(name, name)
        try:
            return data.decode(name)
        except (LookupError, UnicodeDecodeError):
            pass  # a false declaration
    return decode(data)[0]


def _title(tree: Any) -> str:
    element = tree.css_first("head > title") or tree.css_first("title")
    title = one_line(element.text()) if element else ""
    if not title:
        meta = tree.css_first("meta[property='og:title']")
        title = one_line(meta.attributes.get("content") or "") if meta else ""
    return title


def _metadata(tree: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for meta in tree.css("meta[content]"):
        attributes = meta.attributes
        name = _META.get((attributes.get("name") or attributes.get("property") or "").lower())
        if name:
            found.setdefault(name, attributes["content"])
    root = tree.css_first("html")
    if root and root.attributes.get("lang"):
        found["language"] = root.attributes["lang"]
    link = tree.css_first("link[rel=canonical][href]")
    if link:
        found["url"] = link.attributes["href"]
    return clean_metadata(found.items())


def _main_blocks(tree: Any, root: Any) -> list[str]:
    """The blocks of the page without its frame: those of the element that says that it is the page's content, when it is the only
    one of its kind and holds a good part of the text."""
    # Marked and passed over, not taken out: the parser frees what is taken out while we may still hold parts of it.
    dropped = {node.mem_id for node in tree.css(_DROPPED) if node.tag not in ("html", "body")}
    dropped.update(node.mem_id for node in tree.css("header, footer") if not _inside(node, ("article", "main")))
    lengths = _lengths(root, dropped)
    whole = lengths[root.mem_id]
    for node in tree.css("[class], [id]"):
        attributes = node.attributes
        words = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower().split()
        if (
            not _FRAME_WORDS.isdisjoint(words)
            and node.tag not in ("html", "body", "main", "article")
            and lengths.get(node.mem_id, 0) < whole / 2
        ):
            dropped.add(node.mem_id)
    for selector in ("main, [role=main]", "article"):
        found = tree.css(selector)
        if len(found) == 1 and lengths.get(found[0].mem_id, 0) >= 0.3 * whole:
            root = found[0]
            break
    return list(_blocks(root, dropped))


def _lengths(root: Any, dropped: set[int]) -> dict[int, int]:
    """The number of characters of text below every element, without dropped nodes and margins."""
    lengths: dict[int, int] = {}
    total = 0
    stack: list[tuple[Any, int]] = [(root, -1)]
    while stack:
        node, before = stack.pop()
        if before >= 0:
            lengths[node.mem_id] = total - before
        elif node.tag == "-text":
            total += len(node.text(deep=False).strip())
        elif node.mem_id not in dropped:
            stack.append((node, total))
            stack.extend((child, -1) for child in reversed(list(node.iter(include_text=True))))
    return lengths


def _inside(node: Any, tags: tuple[str, ...]) -> bool:
    while (node := node.parent) is not None:
        if node.tag in tags:
            return True
    return False


def _blocks(root: Any, dropped: set[int]) -> Iterator[str]:
    """The text below `root` without what lies in `dropped` nodes, block by block; a data table is one block with a line for each row."""
    inline: list[str] = []
    kept_spaces = 0
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, leaving = stack.pop()
        tag = node.tag
        if leaving:
            kept_spaces -= tag == "pre"
            yield from _flush(inline, tag == "pre" and not kept_spaces)
        elif tag == "-text":
            inline.append(node.text(deep=False))
        elif tag == "br":
            inline.append("\n" if kept_spaces else "\v")
        elif node.mem_id in dropped:
            continue
        elif tag == "table" and (rows := _rows(node, dropped)) is not None:
            yield from _flush(inline, False)
            yield from rows
        else:
            if tag in _BLOCKS:
                yield from _flush(inline, False)
                kept_spaces += tag == "pre"
                stack.append((node, True))
            stack.extend((child, False) for child in reversed(list(node.iter(include_text=True))))
    yield from _flush(inline, False)


def _flush(inline: list[str], kept_spaces: bool) -> Iterator[str]:
    text = "".join(inline)
    inline.clear()
    if not kept_spaces:
        text = "\n".join(line for part in text.split("\v") if (line := _BLANKS.sub(" ", part).strip()))
    if text.strip():
        yield text.strip("\n")


def _rows(table: Any, dropped: set[int]) -> list[str] | None:
    """The blocks of a data table; None for a table that only lays out the page."""
    if table.css_first("table table") or table.css_first("td table"):
        return None
    lines: list[list[str]] = []
    for row in table.css("tr"):
        cells = [" ".join(_blocks(cell, dropped)).replace("\n", " ") for cell in row.iter() if cell.tag in ("td", "th")]
        lines.append([cell for cell in cells if cell])
    if max((len(line) for line in lines), default=0) < 2 and any(len(cell) > LONG_CELL for line in lines for cell in line):
        return None
    return table_blocks(lines)


def table_blocks(lines: list[list[str]]) -> list[str]:
    """Rows of cells as text: a line for each row with " | " between cells, a block of its own for each long cell."""
    blocks: list[str] = []
    block: list[str] = []
    for cells in lines:
        if sum(len(cell) for cell in cells) > LONG_CELL and any(len(cell) > LONG_CELL for cell in cells):
            blocks += ["\n".join(block)] * bool(block)
            blocks.append(_join_cells(cells))
            block = []
        elif cells:
            block.append(_join_cells(cells))
    return blocks + ["\n".join(block)] * bool(block)


def _join_cells(cells: list[str]) -> str:
    """Cells of one row; a cell that holds only a mark ("$", ")", "%", a bullet) goes with its neighbour."""
    line = ""
    previous_opens = True
    for cell in cells:
        mark = _MARKS_ONLY.fullmatch(cell) is not None
        closing = mark and cell[0] in ")%]"
        if line:
            line += "" if closing else " " if previous_opens else " | "
        line += cell
        previous_opens = mark and not closing and cell not in "—–-"
    return line
