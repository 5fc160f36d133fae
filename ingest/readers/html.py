"""Web pages: the text that a reader of the page came for, as blocks with blank lines between; title and meta data apart."""

import logging
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import orjson

from polyonym.ingest.readers.encodings import decode
from polyonym.ingest.readers.rejection import Rejected
from polyonym.ingest.readers.result import Read, clean_metadata, one_line

# Elements that are no text of a page, or hidden.
_DROPPED = (
    "script, style, noscript, template, svg, math, canvas, iframe, object, embed, audio, video, select, button, input, textarea, "
    ".mw-editsection, .noprint, .sr-only, .visually-hidden, .screen-reader-text, [hidden], [aria-hidden=true], [style*='display:none'], [style*='display: none'], [style*='visibility:hidden']"
)
_ROLES = {
    **dict.fromkeys(("nav", "aside", "menu", "dialog"), "frame"),
    "h1": "headline",
    **dict.fromkeys(("h2", "h3", "h4", "h5", "h6"), "heading"),
    "a": "links",
    "pre": "pre",
}
_FRAME_ROLES = frozenset(("navigation", "banner", "contentinfo", "search", "complementary", "menu", "menubar", "dialog", "alertdialog"))
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
    "dc.creator": "author",
    "keywords": "keywords",
    "og:site_name": "site",
    **dict.fromkeys(
        (
            *("article:published_time", "og:published_time", "datepublished", "date", "pubdate", "publishdate", "publish_date"),
            *("publication_date", "dc.date", "dc.date.issued", "dcterms.date", "dcterms.created", "dcterms.issued", "citation_date"),
            *("citation_publication_date", "sailthru.date", "parsely-pub-date", "cxenseparse:recs:publishtime", "release_date"),
        ),
        "published",
    ),
    **dict.fromkeys(("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified"), "modified"),
}
_TIME = "time[itemprop=datePublished], [itemprop=datePublished][content], time[pubdate], time.published, time.entry-date, article time, main time"
_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]+)""", re.IGNORECASE
)
_BLANKS = re.compile(r"[ \t\n\r\f\v\u00a0]+")
_NAME_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ARTICLE_WORDS = frozenset(("article", "entry", "post", "story"))
_CONSENT_WORDS = frozenset(("cookie", "cookies", "consent", "gdpr", "cmp"))
_BYLINE_WORDS = frozenset(("byline", "author", "dateline", "standfirst", "dek", "subtitle", "subhead"))
_BYLINE = re.compile(r"(?:[Bb]y|[Vv]on|[Pp]ar|[Pp]or|[Dd]oor|[Aa]v|[Aa]f) +[A-Z]\w+(?: +[\w.'-]+)+")
_WORDS = re.compile(r"\w+")
_MARKS_ONLY = re.compile(r"[^\w]+")
LONG_CELL = 200
LONG_BYLINE = 120
SHORT_BLOCK = 40
SENTENCE_ENDS = frozenset('.!?:;…"”»)]。！？')
LEAST_SHARE = 0.2
FEW_LINKS = 0.05
DEEPEST = 5000
# Elements that nest when they are not closed.
_NESTING = re.compile(
    r"<(/?)(?:a|abbr|article|aside|b|big|blockquote|center|code|dl|div|em|fieldset|figure|font|footer|form|h[1-6]|header|i|ins|main|nav|ol|section|small"
    r"|span|strong|sub|sup|table|tt|u|ul|[a-z]+:[a-z]+)\b",
    re.IGNORECASE,
)


def read(data: bytes) -> Read:
    """The page's main content. Raises NotText for binary content, Rejected for markup nested without end."""
    markup = decode_page(data)
    tree = _parse(markup)
    return _read(tree, _main_text(tree, markup))


def page(markup: str) -> Read:
    """Title, meta data and all that is shown of a piece of markup that has no frame, a mail's for one.

    Raises Rejected for markup nested without end.
    """
    tree = _parse(markup)
    return _read(tree, [block.text for block in _all_blocks(tree)])


def _parse(markup: str) -> Any:
    from selectolax.lexbor import LexborHTMLParser

    # The parser's time grows with the square of the depth.
    if max(accumulate(-1 if tag[1] else 1 for tag in _NESTING.finditer(markup)), default=0) > DEEPEST:
        raise Rejected(f"markup nested more than {DEEPEST:,} levels deep")
    return LexborHTMLParser(markup)


def _read(tree: Any, blocks: list[str]) -> Read:
    heading = tree.css_first("h1")
    title = _title(tree) or (one_line(heading.text(separator=" ")) if heading else "")
    return Read("", title, "\n\n".join(blocks), _metadata(tree))


def decode_page(data: bytes) -> str:
    """The markup of a page, by the encoding that it declares where that is true. Raises NotText for binary content."""
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
    values: dict[str, Any] = {}
    for meta in tree.css("meta[content]"):
        attributes = meta.attributes
        name = _META.get((attributes.get("name") or attributes.get("property") or attributes.get("itemprop") or "").lower())
        if name and attributes["content"]:
            values.setdefault(name, attributes["content"])
    for name, value in _linked_data(tree):
        values.setdefault(name, value)
    time = tree.css_first(_TIME)
    if time and (value := time.attributes.get("datetime") or time.attributes.get("content") or time.text(separator=" ").strip()):
        values.setdefault("published", value)
    root = tree.css_first("html")
    if root and root.attributes.get("lang"):
        values["language"] = root.attributes["lang"]
    link = tree.css_first("link[rel=canonical][href]")
    if link:
        values["url"] = link.attributes["href"]
    return clean_metadata(values.items())


def _linked_data(tree: Any) -> Iterator[tuple[str, str]]:
    """What a page says of itself in JSON-LD, under our names."""
    for script in tree.css("script[type='application/ld+json']"):
        try:
            waiting = [orjson.loads(script.text())]
        except orjson.JSONDecodeError:
            continue
        while waiting:
            item = waiting.pop(0)
            if isinstance(item, list):
                waiting += item
            elif isinstance(item, dict):
                waiting += [item["@graph"]] if "@graph" in item else []
                author = item.get("author")
                names = [a.get("name") if isinstance(a, dict) else a for a in (author if isinstance(author, list) else [author])]
                for name, value in (
                    ("published", item.get("datePublished")),
                    ("modified", item.get("dateModified")),
                    ("author", ", ".join(n for n in names if isinstance(n, str))),
                ):
                    if isinstance(value, str) and value:
                        yield name, value


@dataclass
class _Block:
    """A piece of the page's text. `linked` of its characters are links; `frame`, `consent` and `byline` say what the names of the
    elements around it take it for: part of the page's frame, a box on cookies, or who wrote the text."""

    text: str
    linked: int = 0
    frame: bool = False
    consent: bool = False
    headline: bool = False
    heading: bool = False
    byline: bool = False

    @property
    def is_prose(self) -> bool:
        """Whether it may be part of a text between other parts: sentences or a table, not links or labels."""
        is_sentence = len(self.text) >= SHORT_BLOCK and self.text[-1] in SENTENCE_ENDS
        return not self.frame and self.linked < len(self.text) / 4 and (is_sentence or " | " in self.text)


def _main_text(tree: Any, markup: str) -> list[str]:
    """The blocks that trafilatura takes for the page's content, with the prose among them and the headline and byline above them."""
    blocks = [block for block in _all_blocks(tree) if not block.consent] or _all_blocks(tree)
    if not any(block.frame for block in blocks) and sum(block.linked for block in blocks) < FEW_LINKS * sum(len(b.text) for b in blocks):
        return [block.text for block in blocks]  # nothing here leads elsewhere: a report, a letter, a page that was made plain
    chosen = [i for i, is_chosen in enumerate(_chosen(blocks, markup)) if is_chosen]
    prose = [i for i, block in enumerate(blocks) if block.is_prose]
    if sum(len(blocks[i].text) for i in chosen) < LEAST_SHARE * sum(len(blocks[i].text) for i in prose) or not chosen:
        # Nothing like an article.
        return [block.text for block in blocks if not block.frame] or [block.text for block in blocks]
    first = max((i for i in range(chosen[0]) if blocks[i].headline), default=chosen[0])
    kept = {first, *chosen, *(i for i in prose if first < i < chosen[-1])}
    kept |= {i for i in range(first, min(chosen[-1] + 4, len(blocks))) if blocks[i].byline}
    kept |= {i for i in range(first, chosen[-1]) if blocks[i].heading and not blocks[i].frame and i + 1 in kept}
    return [blocks[i].text for i in sorted(kept)]


def _chosen(blocks: list[_Block], markup: str) -> list[bool]:
    """For each block whether trafilatura would keep it. It writes text in its own way, so that words are compared."""
    import trafilatura

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    lines = (trafilatura.extract(markup, include_comments=False, fast=True) or "").split("\n")
    words = [_letters(line) for line in lines]
    whole, apart = "".join(words), {*words, *(_letters(cell) for line in lines for cell in line.split("|"))}

    def is_kept(text: str) -> bool:
        letters = _letters(text)
        return letters in apart or (len(letters) > SHORT_BLOCK and letters in whole)

    def share(text: str) -> float:
        parts = [part for line in text.split("\n") for part in line.split(" | ") if _letters(part)]
        return sum(len(part) for part in parts if is_kept(part)) / max(1, sum(map(len, parts)))

    return [is_kept(block.text) or share(block.text) > 0.5 for block in blocks]


def _letters(text: str) -> str:
    return "".join(_WORDS.findall(text.casefold()))


def _all_blocks(tree: Any) -> list[_Block]:
    root = tree.body or tree.root
    if root is None:
        return []
    # Marked and passed over, not taken out: the parser frees what is taken out while we may still hold parts of it.
    dropped = {node.mem_id for node in tree.css(_DROPPED) if node.tag not in ("html", "body")}
    return list(_blocks(root, dropped))


def _inside(node: Any, tags: tuple[str, ...]) -> bool:
    while (node := node.parent) is not None:
        if node.tag in tags:
            return True
    return False


def _roles(node: Any, half: int) -> tuple[str, ...]:
    """What an element is by its kind and by the words in its names: "frame", "consent", "headline", "heading", "byline", "links", "pre".

    What holds more than `half` of the page's characters is no frame, whatever it is called.
    """
    if node.tag in ("html", "body", "main", "article"):
        return ()
    if node.tag in _ROLES:
        return (_ROLES[node.tag],)
    attributes = node.attributes
    names = " ".join(attributes.get(name) or "" for name in ("class", "id", "itemprop", "rel"))
    words = {word.lower() for word in _NAME_WORDS.findall(names)}
    is_frame = attributes.get("role") in _FRAME_ROLES or not _FRAME_WORDS.isdisjoint(words)
    if node.tag in ("header", "footer") or "footer" in words:  # the page's, not an article's
        of_text = not _ARTICLE_WORDS.isdisjoint(words) or _inside(node, ("article", "main"))
        is_frame = is_frame or not (of_text or node.css_first("h1"))
    is_frame = is_frame and len(node.text()) <= half
    consent, byline = not _CONSENT_WORDS.isdisjoint(words), not _BYLINE_WORDS.isdisjoint(words)
    return (*["frame"] * is_frame, *["consent"] * consent, *["byline"] * byline)


def _blocks(root: Any, dropped: set[int]) -> Iterator[_Block]:
    """The text below `root` without what lies in `dropped` nodes, block by block; a data table is one block with a line for each row."""
    inline: list[str] = []
    depth: Counter[str] = Counter()  # how many elements of each role we are in
    stack: list[tuple[Any, tuple[str, ...] | None]] = [(root, None)]
    linked, half = 0, len(root.text()) // 2

    def flush(kept_spaces: bool) -> Iterator[_Block]:
        nonlocal linked
        if text := _joined(inline, kept_spaces):
            yield block(text, linked)
        inline.clear()
        linked = 0

    def block(text: str, linked: int = 0) -> _Block:
        byline = len(text) < LONG_BYLINE and depth["frame"] == 0 and (depth["byline"] > 0 or _BYLINE.fullmatch(text) is not None)
        return _Block(text, linked, depth["frame"] > 0, depth["consent"] > 0, depth["headline"] > 0, depth["heading"] > 0, byline)

    while stack:
        node, left = stack.pop()
        tag = node.tag
        if left is not None:
            if tag in _BLOCKS:
                yield from flush(tag == "pre" and depth["pre"] == 1)
            depth.subtract(left)
        elif tag == "-text":
            inline.append(node.text(deep=False))
            linked += len(inline[-1].strip()) if depth["links"] else 0
        elif tag == "br":
            inline.append("\n" if depth["pre"] else "\v")
        elif node.mem_id in dropped:
            continue
        else:
            if tag in _BLOCKS:
                yield from flush(False)
            roles = _roles(node, half)
            depth.update(roles)
            stack.append((node, roles))
            if tag == "table" and (rows := _rows(node, dropped)) is not None:
                yield from map(block, rows)
            else:
                stack.extend((child, None) for child in reversed(list(node.iter(include_text=True))))
    yield from flush(False)


def _joined(inline: list[str], kept_spaces: bool) -> str:
    text = "".join(inline)
    if not kept_spaces:
        text = "\n".join(line for part in text.split("\v") if (line := _BLANKS.sub(" ", part).strip()))
    return text.strip("\n") if text.strip() else ""


def _rows(table: Any, dropped: set[int]) -> list[str] | None:
    """The blocks of a data table; None for a table that only lays out the page."""
    if table.css_first("table table") or table.css_first("td table"):
        return None
    lines: list[list[str]] = []
    for row in table.css("tr"):
        cells = [
            " ".join(block.text for block in _blocks(cell, dropped)).replace("\n", " ") for cell in row.iter() if cell.tag in ("td", "th")
        ]
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
