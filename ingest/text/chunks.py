"""Chunks: the pieces of a document that are embedded, shown and cited."""

import re
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from sqlalchemy import Column, Connection, Integer, Row, Table, Text, select

from polyonym.ingest.store.tables import delete_where_in, insert_rows, metadata, select_where_in
from polyonym.ingest.text.documents import Document, content_hash
from polyonym.ingest.text.sentences import Span, sentences

CountTokens = Callable[[Sequence[str]], list[int]]

_WIDEST_TOKEN = 20
"""Characters that count as one token at least: a tokenizer may take a megabyte without a space for one unknown word."""

_WINDOW = 20_000
"""Characters of a piece that are divided into words at once."""
_BLANK = re.compile(r"\s+")


@dataclass(frozen=True)
class Chunk:
    """`text` is the document's text[start:end]; `tokens` counts in the embedding model's tokens, without its special ones.

    `chunk` is made from the document's name and the text, so that an edit elsewhere in the document leaves it as it was;
    `ordinal` is its place among the document's chunks; `content` is the hash of the text alone.
    """

    chunk: str
    document: str
    ordinal: int
    start: int
    end: int
    text: str
    tokens: int
    content: str


chunks = Table(
    "chunks",
    metadata,
    Column("chunk", Text, primary_key=True),
    Column("document", Text, nullable=False, index=True),
    Column("ordinal", Integer, nullable=False),
    Column("start_at", Integer, nullable=False),
    Column("end_at", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("content", Text, nullable=False),
    info={"owners": ("document",)},
)


@dataclass(frozen=True)
class _Piece:
    """A sentence, or a part of one that is too long for a chunk."""

    start: int
    end: int
    tokens: int


def chunk(document: Document, count_tokens: CountTokens, limit: int, overlap: int = 0) -> list[Chunk]:
    """Cut a document into chunks of whole sentences, at most `limit` tokens each, in order.

    `count_tokens` gives the number of tokens of each text; it is asked once per sentence, and a chunk counts as the sum of its
    sentences. `overlap` is how many sentences a chunk repeats from the one before, as far as they take no more than half of
    it. A sentence beyond the limit is cut at white space, a word beyond it between characters.

    Packing starts anew at anchors, paragraphs (more rarely, sentences) chosen by a checksum of their own text; so an edit
    moves chunks up to the next anchor only (content-defined chunking; see polyonym.ingest.text.passages). Between two anchors the
    chunks are about equally long.
    """
    spans = sentences(document.text, document.language)
    widest = limit * _WIDEST_TOKEN  # what is longer is cut in any case
    counts = count_tokens([document.text[start:end] if end - start <= widest else "" for start, end in spans])
    made: list[Chunk] = []
    seen: dict[str, int] = {}
    for segment in _segments(document.text, spans, counts):
        pieces = [p for piece in segment for p in _cut(document.text, piece, count_tokens, limit)]
        for start, end, tokens in _pack(pieces, limit, overlap):
            text = document.text[start:end]
            content = content_hash(text)
            twin = seen[content] = seen.get(content, -1) + 1
            made.append(
                Chunk(content_hash(document.document, content, str(twin)), document.document, len(made), start, end, text, tokens, content)
            )
    return made


def _segments(text: str, spans: Sequence[Span], counts: Sequence[int]) -> Iterator[list[_Piece]]:
    segment: list[_Piece] = []
    for (start, end), tokens in zip(spans, counts, strict=True):
        if (
            segment
            and zlib.crc32(text[start:end].encode("utf-8", "surrogatepass")) % (8 if "\n" in text[segment[-1].end : start] else 64) == 0
        ):
            yield segment
            segment = []
        segment.append(_Piece(start, end, tokens))
    if segment:
        yield segment


def _too_long(piece: _Piece, limit: int) -> bool:
    return piece.tokens > limit or piece.end - piece.start > limit * _WIDEST_TOKEN


def _cut(text: str, piece: _Piece, count_tokens: CountTokens, limit: int) -> Iterator[_Piece]:
    """`piece` itself, or parts of it that fit."""
    if not _too_long(piece, limit):
        yield piece
        return
    if piece.end - piece.start > 2 * _WINDOW:
        for window in _windows(text, piece, count_tokens):
            yield from _cut(text, window, count_tokens, limit)
        return
    words: list[Span] = []
    position = piece.start
    for word in text[piece.start : piece.end].split():
        start = text.index(word, position)
        position = start + len(word)
        words.append((start, position))
    if len(words) == 1:
        yield from _halve(text, piece, count_tokens, limit)
        return
    counts = count_tokens([text[start:end] for start, end in words])
    parts = [p for span, n in zip(words, counts, strict=True) for p in _cut(text, _Piece(*span, n), count_tokens, limit)]
    current = parts[0]
    for part in parts[1:]:
        joined = _Piece(current.start, part.end, current.tokens + part.tokens)
        if _too_long(joined, limit):
            yield current
            current = part
        else:
            current = joined
    yield current


def _windows(text: str, piece: _Piece, count_tokens: CountTokens) -> Iterator[_Piece]:
    """A very long piece in parts that end where a word does, as far as words do end."""
    start = piece.start
    while start < piece.end:
        end = min(start + _WINDOW, piece.end)
        blank = _BLANK.search(text, end, min(end + _WINDOW // 2, piece.end)) if end < piece.end else None
        end, after = blank.span() if blank else (end, end)
        yield _Piece(start, end, count_tokens([text[start:end]])[0])
        start = after


def _halve(text: str, piece: _Piece, count_tokens: CountTokens, limit: int) -> Iterator[_Piece]:
    middle = (piece.start + piece.end) // 2
    while middle < piece.end and (unicodedata.category(text[middle])[0] == "M" or text[middle] == "\u200d" or text[middle - 1] == "\u200d"):
        middle += 1  # a mark stays with its letter, a joined sign stays whole
    if not piece.start < middle < piece.end:
        yield piece
        return
    halves = ((piece.start, middle), (middle, piece.end))
    for (start, end), tokens in zip(halves, count_tokens([text[s:e] for s, e in halves]), strict=True):
        yield from _cut(text, _Piece(start, end, tokens), count_tokens, limit)


def _pack(pieces: Sequence[_Piece], limit: int, overlap: int) -> Iterator[tuple[int, int, int]]:
    """(start, end, tokens) of the chunks of one segment."""
    remaining = sum(p.tokens for p in pieces)
    first = 0
    while first < len(pieces):
        lead = _lead(pieces, first, limit, overlap)
        room = limit - sum(p.tokens for p in pieces[lead:first])
        target = remaining / max(1, ceil(remaining / room))
        last, taken = first, 0
        while last < len(pieces) and (last == first or (taken < target and taken + pieces[last].tokens <= room)):
            taken += pieces[last].tokens
            last += 1
        if taken > room:
            lead = first
        yield pieces[lead].start, pieces[last - 1].end, sum(p.tokens for p in pieces[lead:last])
        remaining -= taken
        first = last


def _lead(pieces: Sequence[_Piece], first: int, limit: int, overlap: int) -> int:
    """From where the chunk that begins with piece `first` repeats."""
    lead, tokens = first, 0
    while lead > 0 and first - lead < overlap and tokens + pieces[lead - 1].tokens <= limit // 2:
        lead -= 1
        tokens += pieces[lead].tokens
    return lead


def replace(connection: Connection, documents: Sequence[str], rows: Iterable[Chunk]) -> None:
    """Store `rows` in place of all chunks of `documents`."""
    delete_where_in(connection, chunks.c.document, documents)
    renamed = {"start": "start_at", "end": "end_at"}
    insert_rows(connection, chunks, ({renamed.get(name, name): value for name, value in vars(c).items()} for c in rows))


def load(connection: Connection, documents: Sequence[str] | None = None) -> Iterator[Chunk]:
    """The chunks of these documents (all without), sorted by document and place within batches."""
    statement = select(chunks).order_by(chunks.c.document, chunks.c.ordinal)
    rows: Iterable[Row[Any]] = (
        connection.execute(statement) if documents is None else select_where_in(connection, statement, chunks.c.document, documents)
    )
    return map(_chunk_of, rows)


def by_id(connection: Connection, ids: Sequence[str]) -> Iterator[Chunk]:
    """The chunks of these ids, in no promised order."""
    return map(_chunk_of, select_where_in(connection, select(chunks), chunks.c.chunk, ids))


def texts(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    """The texts of these chunks by id."""
    rows = select_where_in(connection, select(chunks.c.chunk, chunks.c.text), chunks.c.chunk, ids)
    return {r.chunk: r.text for r in rows}


def contents(connection: Connection) -> dict[str, str]:
    """Every chunk's id with the hash of its text."""
    return {r.chunk: r.content for r in connection.execute(select(chunks.c.chunk, chunks.c.content))}


def _chunk_of(r: Row[Any]) -> Chunk:
    return Chunk(r.chunk, r.document, r.ordinal, r.start_at, r.end_at, r.text, r.tokens, r.content)
