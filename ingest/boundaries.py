"""Where a name begins and ends: mending a recogniser's spans, and telling names from junk, by closed word lists."""

import re
from functools import cache
from importlib.resources import files

from ingest.common_words import common_words
from ingest.sentences import Span

_EDGE_LEFT = " \t\n\r\u00a0\u200b\"'“”‘’„«»`()[]{}<>,;:.-–—•*|/\\=_+~^"
_EDGE_RIGHT = ' \t\n\r\u00a0\u200b"“”‘„«»`([{<>,;:-–—•*|/\\=_+~^#'
_PAIRS = {")": "(", "]": "[", "}": "{"}
_TICKER = re.compile(r"(?:\s+<?[A-Z]{1,5}\.[A-Z]{1,3}>?|\s*<[A-Z.]{1,9}>?)\Z")
_DETERMINER = re.compile(r"(?:the|a|an|The|A|An|THE)\s+(?=\S)")
_LAST_WORD = re.compile(r"\s(\S+)\Z")
_FIRST_WORD = re.compile(r"(\S+)\s")
_MARKUP = re.compile(r"https?:|www\.|@|[<>{}|\\=]|&\w+;|\.(?:com|org|net|html?|php)\b")
_LETTER = re.compile(r"[^\W\d_]")


@cache
def word_list(kind: str) -> frozenset[str]:
    """A closed list of `data/mention_words.tsv`, as written there."""
    for line in files("ingest").joinpath("data/mention_words.tsv").read_text(encoding="utf-8").splitlines():
        name, _, words = line.partition("\t")
        if name == kind:
            return frozenset(words.split())
    raise KeyError(kind)


def mend(text: str, start: int, end: int, sentence_starts: frozenset[int], sentence_ends: frozenset[int], english: bool) -> Span | None:
    """The span of the name inside text[start:end], or None when nothing of a name is left.

    Cut off: what stands beyond a line break that ends a sentence, signs and quotes at the edges, a full stop that ends
    the sentence, and in English a ticker, lower-case words at the edges and a leading determiner.
    """
    start, end = _longest_line(text, start, end, sentence_ends)
    while True:
        before = (start, end)
        start, end = _strip_signs(text, start, end, sentence_ends)
        if english:
            start, end = _strip_words(text, start, end, sentence_starts)
        if start >= end:
            return None
        if (start, end) == before:
            return before


def _longest_line(text: str, start: int, end: int, sentence_ends: frozenset[int]) -> Span:
    if "\n" not in text[start:end]:
        return start, end
    parts = []
    position = start
    for newline in [i for i in range(start, end) if text[i] == "\n"] + [end]:
        part = text[position:newline]
        if newline == end or position + len(part.rstrip()) in sentence_ends:
            parts.append((position, newline))
            position = newline + 1
    return max(parts, key=lambda p: (p[1] - p[0], -p[0]))


def _strip_signs(text: str, start: int, end: int, sentence_ends: frozenset[int]) -> Span:
    while start < end and text[start] in _EDGE_LEFT and not (text[start] == "." and text[start + 1 : start + 2].isalnum()):
        start += 1
    while start < end:
        last = text[end - 1]
        if (
            last in _EDGE_RIGHT
            or (last in _PAIRS and text.count(_PAIRS[last], start, end) < text.count(last, start, end))
            or (last == "'" and (end - start < 2 or text[end - 2] in " '"))
            or (last == "." and end in sentence_ends and text.count(".", start, end) == 1)
        ):
            end -= 1
        else:
            break
    for opening, closing in (("(", ")"), ("[", "]")):
        at = text.rfind(opening, start, end)
        if at > start and closing not in text[at:end]:  # "Acme (AC": the bracket belongs to the sentence
            end = at
    return start, end


def _strip_words(text: str, start: int, end: int, sentence_starts: frozenset[int]) -> Span:
    piece = text[start:end]
    if found := _TICKER.search(piece):
        return start, start + found.start()
    if (found := _DETERMINER.match(piece)) and (piece[0].islower() or start in sentence_starts or piece[1].isupper()):
        return start + found.end(), end
    if (found := _LAST_WORD.search(piece)) and _is_lower(found[1]) and found[1].rstrip(".") not in word_list("legal"):
        return start, start + found.start()
    if (found := _FIRST_WORD.match(piece)) and _is_lower(found[1]) and found[1] not in word_list("particle"):
        return start + found.end(), end
    return start, end


def _is_lower(word: str) -> bool:
    return word.islower() and word[0].isalpha() and not any(c.isdigit() for c in word)


def is_junk(name: str) -> bool:
    """Whether a span is no name in English: a degree, a month or weekday, a pronoun (as written: "US" is none), a lone letter, markup."""
    words = name.split()
    if len(name) < 2 or not _LETTER.search(name) or _MARKUP.search(name):
        return True
    if len(words) == 1:
        bare = name.rstrip(".")
        return (
            name in word_list("pronoun")
            or name in word_list("degree")
            or bare in word_list("month")
            or bare in word_list("day")
            or len(bare) < 2
        )
    return (
        words[0].removesuffix("'s").removesuffix("’s") in word_list("degree_head")
        and len(words) > 1
        and words[1] in ("of", "in", "degree", "'s")
    )


def is_common(word: str) -> bool:
    """Whether a word, whatever its case, is mostly written in lower case in English."""
    return word.lower() in common_words()
