"""Sentence bounds by rule, in plain Python: fast enough for every document, the same for chunks, mentions and relations.

A statistical splitter gains nothing that can be measured for finding names, costs a model run, and exists for few
languages; the rules below need only the white space and the sentence marks of a script.
"""

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from polyonym.ingest.text.common_words import common_words
from polyonym.ingest.text.view import View, view_of

Span = tuple[int, int]

# A mark that ends a sentence, what may close after it, and (for scripts that use spaces) white space.
_MARK = re.compile(
    r"(?:[.!?…؟۔।॥።]+(?:\s?(?:''|\"(?=\s))|[\"'”’»)\]])*(?=\s))"  # marks of spaced scripts
    r"|(?:[。！？｡]+[」』”’）)\]]*)"  # marks of unspaced ones
    r"|(?:[^\S\n]*[\n\f\v])"  # a line break
)
_WORD_BEFORE = re.compile(r"\S+\Z")
_NEXT = re.compile(r"[^\w\n]*(\w*)")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]\Z")
_LOOK_BEHIND = 40
_LEFT_OUT = 100  # characters that the view leaves out, from which on they are a sentence of their own


@cache
def _abbreviations(language: str) -> dict[str, str]:
    """Abbreviations of a language, lower case without their last dot, with what the head of the data file says of them."""
    kinds: dict[str, str] = {}
    for line in files("polyonym.ingest").joinpath("data/abbreviations.tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            of, kind, words = line.split("\t")
            if of in (language, "*"):
                kinds.update(dict.fromkeys(words.split(), kind))
    return kinds


def sentences(text: str, language: str = "en") -> list[Span]:
    """The spans of `text`'s sentences in order, without the white space around them.

    Every character that is not white space lies in exactly one span. Line breaks end a sentence unless they only wrap a line
    (see ingest.text.view); what the view leaves out belongs to the sentence that follows, or is one by itself when it is long.
    """
    view = view_of(text)
    spans, others = unaltered(text, view, viewed_sentences(view.text, language))
    return sorted(spans + others)


def unaltered(text: str, view: View, viewed: Sequence[Span]) -> tuple[list[Span], list[Span]]:
    """For each sentence of the view its span in the text; and the spans of what is no sentence of the view."""
    spans: list[Span] = []
    others: list[Span] = []
    position = 0
    for start, end in viewed:
        first, last = view.span(start, end)
        first = _begin(text, position, first, others)
        spans.append((first, last))
        position = last
    rest: list[Span] = []
    _append_trimmed(rest, text, position, len(text))
    if rest and spans and rest[0][1] - rest[0][0] <= _LEFT_OUT:
        spans[-1] = (spans[-1][0], rest[0][1])
        rest = []
    return spans, others + rest


def _begin(text: str, position: int, first: int, others: list[Span]) -> int:
    """Where a sentence begins whose words begin at `first`, when the one before ended at `position`."""
    between: list[Span] = []
    _append_trimmed(between, text, position, first)
    if not between:
        return first
    if between[0][1] - between[0][0] <= _LEFT_OUT:
        return between[0][0]
    others += between
    return first


def viewed_sentences(text: str, language: str = "en") -> list[Span]:
    """The sentences of a view's text, where every line break ends one."""
    spans: list[Span] = []
    start = 0
    for mark in _MARK.finditer(text):
        if _ends(text, mark, language):
            _append_trimmed(spans, text, start, mark.end())
            start = mark.end()
    _append_trimmed(spans, text, start, len(text))
    return spans


def _append_trimmed(spans: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    right = len(piece.rstrip())
    if left < right:
        spans.append((start + left, start + right))


def _ends(text: str, mark: re.Match[str], language: str) -> bool:
    sign = mark.group()
    if "\n" in sign or sign[-1] in "\f\v":
        return True
    if sign[0] in "。！？｡؟۔।॥።":
        return True
    following = _NEXT.match(text, mark.end())
    word = following.group(1) if following else ""
    if word[:1].islower():
        return False
    if sign[0] in "!?" or sign[:2] == "..":
        return True
    before = _WORD_BEFORE.search(text, max(0, mark.start() - _LOOK_BEHIND), mark.start())
    token = before.group().lstrip("([{\"'“‘«„`") if before else ""
    return not _is_abbreviation(token, word, language) and not _is_numbering(text, mark.start(), token, language)


def _is_abbreviation(token: str, following: str, language: str) -> bool:
    lower = token.lower()
    kind = _abbreviations(language).get(lower)
    if kind == "never" or (kind == "number" and following[:1].isdigit()) or (len(token) == 1 and token.isupper()):
        return True
    if kind == "perhaps" or ("." in token and _DOTTED.search(token)):
        # "Acme Inc. The firm" ends a sentence, "Acme Inc. Chairman Lee" does not: only a word that is hardly ever part of a name tells.
        return not (language == "en" and following[:1].isupper() and following.lower() in _starters())
    return False


def _is_numbering(text: str, dot: int, token: str, language: str) -> bool:
    if not token.isdecimal() or len(token) > 3:
        return False
    at_line_start = text[max(0, dot - len(token) - 1) : dot - len(token)] in ("", "\n")
    return at_line_start or (language in _ORDINAL_DOT and len(token) <= 2)


_ORDINAL_DOT = frozenset(
    ["de", "da", "nb", "nn", "no", "fi", "cs", "sk", "pl", "hu", "hr", "sl", "sr", "et", "lv", "tr", "is"]
)  # "3. Oktober"


@cache
def _starters() -> frozenset[str]:
    return frozenset(w for w, ratio in common_words().items() if len(w) <= 5 and ratio >= 1.0)
