"""Markdown: the text without its marks; front matter goes to the metadata."""

import re
from typing import Any

from polyonym.ingest.readers.encodings import decode
from polyonym.ingest.readers.html import page, table_blocks
from polyonym.ingest.readers.result import Read, clean_metadata, one_line

_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n(.*?\n)?(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)

_HIDDEN = re.compile(r"<(/?)(script|style|template|noscript)\b", re.IGNORECASE)


def read(data: bytes) -> Read:
    """Title: the front matter's, else the first heading. Raises NotText for binary content."""
    from markdown_it import MarkdownIt

    source, _ = decode(data)
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    metadata, source = _front_matter(source)
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(source)
    blocks: list[str] = []
    title = ""
    rows: list[list[str]] = []
    for index, token in enumerate(tokens):
        if token.type == "inline":
            text = _inline(token.children or [])
            opened = tokens[index - 1].type
            if opened in ("th_open", "td_open"):
                rows[-1].append(text.replace("\n", " "))
                continue
            if opened == "heading_open" and not title:
                title = one_line(text)
            blocks.append(text)
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "table_close":
            blocks += table_blocks([[cell for cell in row if cell] for row in rows])
            rows = []
        elif token.type in ("fence", "code_block"):
            blocks.append(token.content.rstrip("\n"))
        elif token.type == "html_block":
            blocks.append(page(token.content).text)
    text = "\n\n".join(block for block in blocks if block.strip())
    return Read("", one_line(str(metadata.get("title") or "")) or title, text, metadata)


def _inline(tokens: list[Any]) -> str:
    parts: list[str] = []
    hidden, shown_from = _hidden(tokens), 0
    for position, token in enumerate(tokens):
        if position < shown_from:
            continue
        shown_from = hidden.get(position, 0)
        match token.type:
            case "text" | "code_inline" | "text_special":
                parts.append(token.content)
            case "softbreak":
                parts.append(" ")
            case "hardbreak":
                parts.append("\n")
            case "image":
                parts.append(_inline(token.children or []))
            case "html_inline" if token.content.lower().startswith("<br"):
                parts.append("\n")
    return "".join(parts).strip()


def _hidden(tokens: list[Any]) -> dict[int, int]:
    """Where an element that is not text begins and where it ends. One that never ends is text that mentions such tags."""
    closed: dict[str, int] = {}
    ends: dict[int, int] = {}
    for position in reversed(range(len(tokens))):
        tag = _HIDDEN.match(tokens[position].content) if tokens[position].type == "html_inline" else None
        if tag and tag[1]:
            closed[tag[2].lower()] = position
        elif tag and tag[2].lower() in closed:
            ends[position] = closed[tag[2].lower()]
    return ends


def _front_matter(source: str) -> tuple[dict[str, Any], str]:
    """The YAML or TOML block at the beginning, and the rest; a block that is neither is text."""
    match = _FRONT_MATTER.match(source)
    if not match:
        return {}, source
    import tomllib

    import yaml

    try:
        values = yaml.safe_load(match[2] or "") if match[1] == "---" else tomllib.loads(match[2] or "")
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError):
        return {}, source
    if not isinstance(values, dict):
        return {}, source
    return clean_metadata(values.items()), source[match.end() :]
