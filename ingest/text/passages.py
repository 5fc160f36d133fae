"""Passages: the pieces of a text that are given to a model, cut so that an edit leaves all passages but its own as they were."""

import zlib
from dataclasses import dataclass

from polyonym.ingest.text.documents import content_hash
from polyonym.ingest.text.sentences import Span

LIMIT = 4000
"""Most characters of a passage, unless one sentence is longer."""

HARD_LIMIT = 20_000
"""A single sentence beyond this (text without any sentence mark) is cut all the same: models take memory by length."""


@dataclass(frozen=True)
class Passage:
    """`start` and `end` are offsets in the document; `content` names the text, wherever it stands."""

    start: int
    end: int
    content: str


def passages(text: str, sentences: list[Span]) -> list[Passage]:
    """Cut `text` into passages of whole sentences (their spans as given), at most LIMIT characters each where that can be.

    Whether a cut is made before a sentence depends on that sentence's own text (a checksum; likelier at a paragraph's
    start), not on what came before it, so that cuts fall on the same places again after an edit: content-defined
    chunking (Muthitacharoen, Chen and Mazières, 2001) with sentences for windows. LIMIT is the exception.
    """
    spans: list[Span] = []
    for start, end in sentences:
        after_break = "\n" in text[spans[-1][1] : start] if spans else True
        if spans and end - spans[-1][0] <= LIMIT and not _cuts_before(text[start:end], after_break):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return [Passage(s, e, content_hash(text[s:e])) for start, end in spans for s, e in _cut_hard(text, start, end)]


def _cuts_before(sentence: str, after_break: bool) -> bool:
    return zlib.crc32(sentence.encode("utf-8", "surrogatepass")) % (4 if after_break else 16) == 0


def _cut_hard(text: str, start: int, end: int) -> list[Span]:
    spans = []
    while end - start > HARD_LIMIT:
        cut = text.rfind(" ", start + 1, start + HARD_LIMIT)
        cut = cut if cut > start else start + HARD_LIMIT
        spans.append((start, cut))
        start = cut
    spans.append((start, end))
    return spans
