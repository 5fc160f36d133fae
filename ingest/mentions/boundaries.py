"""Where a name begins and ends: mending a recogniser's spans, and telling names from junk, by closed word lists."""

import re
import unicodedata
from functools import cache

from polyonym.ingest.mentions.word_lists import word_list
from polyonym.ingest.text.sentences import Span

_RIGHT_EDGE = frozenset(".'’)]}!?+*%°′″")  # signs that a name may end in; all others are cut off
_PAIRS = {")": "(", "]": "[", "}": "{"}
_TAIL = re.compile(
    r"(?:\s+<?[A-Z]{1,5}\.[A-Z]{1,3}>?|\s*<[A-Z.]{1,9}>?"  # a ticker: "Philips PGLO.AS", "Boeing <BA>"
    r"|(?<=\b(?:Inc|Ltd|Plc|PLC))\.?\s+[A-Z]{2,5}|(?<=\bCorp)\.?\s+[A-Z]{2,5}"  # "Fieldcrest Cannon Inc FLD"
    r"|\s+['’]s?|\s+\."  # a possessive or full stop set apart, as in tokenised text
    r"|\s+\d+\s?[-–]\s?\d+"  # a score: "Evansville 91-73"
    r")\Z"
)
_DETERMINER = re.compile(r"(?:the|a|an|The|A|An|THE)\s+(?=\S)")
_LAST_WORD = re.compile(r"\s(\S+)\Z")
_FIRST_WORD = re.compile(r"(\S+)\s")
_MARKUP = re.compile(r"[\u2190-\u22ff\u27c0-\u2aff]|https?:|www\.|@|[<>{}|\\=]|&\w+;|\.(?:com|org|net|html?|php)\b")
_BREAK = re.compile(r"\n+")
_COMMA = re.compile(r",\s+(?!(?:Inc|Ltd|LLC|Llc|Co|Corp|Jr|Sr|LP|PLC|S\.?A|N\.?V)\b)(?=[A-Z])")
_AND = re.compile(r"\s(?:and|&)\s(?=[A-Z])")
_INNER = re.compile(r"(?<=\S)\s([a-z]+)\s(?=\S)")
_CONTRACTION = re.compile(r"['’](?:s|m|d|re|ve|ll)\Z")
_LETTER = re.compile(r"[^\W\d_]")


_DEGREE = re.compile(
    r"\b(?:[Bb]achelor|[Mm]aster|[Dd]octor|[Aa]ssociate)(?:['’]s|s['’]?)?(?: [Dd]egree)?(?: (?:of|in) (?:[Ff]ine |[Aa]pplied )?\w+(?:(?: and| &)? [A-Z]\w+)*)+"
    r"|\b(?:[Bb]achelor|[Mm]aster|[Dd]octor|[Aa]ssociate)['’]s [Dd]egree"
)


def degree_spans(text: str) -> list[Span]:
    """Where English degrees with their subjects stand, such as "Master of Arts in Art History" or "Bachelor's degree"."""
    return [m.span() for m in _DEGREE.finditer(text)]


def split(text: str, start: int, end: int, label: str, sentence_ends: frozenset[int], english: bool) -> list[Span]:
    """The names that a recogniser took for one.

    Cut at a line break that ends a sentence; in English also at commas ("Imperial, Orange"; not before "Inc"), between persons or
    places at "and", and at lower-case words that no name holds inside ("Colts beat Chiefs").
    """
    cuts = [m.span() for m in _BREAK.finditer(text, start, end) if _end_before(text, m.start()) in sentence_ends]
    if english:
        if "," in text[start:end]:
            cuts += [m.span() for m in _COMMA.finditer(text, start, end)]
        if label in ("PERSON", "GPE", "LOC"):
            cuts += [m.span() for m in _AND.finditer(text, start, end)]
        cuts += [
            m.span() for m in _INNER.finditer(text, start, end) if m[1] not in word_list("inner") and m[1] not in word_list("particle")
        ]
    parts = []
    for left, right in sorted(cuts):
        if left >= start:
            parts.append((start, left))
            start = right
    return [*parts, (start, end)]


def _end_before(text: str, at: int) -> int:
    while at > 0 and text[at - 1].isspace():
        at -= 1
    return at


def mend(text: str, start: int, end: int, sentence_starts: frozenset[int], sentence_ends: frozenset[int], english: bool) -> Span | None:
    """The span of the name inside text[start:end], or None when nothing of a name is left.

    Cut off: signs and quotes at the edges, a full stop that ends the sentence, and in English a ticker, lower-case words at
    the edges and a leading determiner.
    """
    while True:
        before = (start, end)
        start, end = _strip_signs(text, start, end, sentence_ends)
        if english:
            start, end = _strip_words(text, start, end, sentence_starts)
        if start >= end:
            return None
        if (start, end) == before:
            return before


def titles_before(text: str, start: int) -> str:
    """The titles that stand right before a name, in any case of letters: "Mrs.", "Prime Minister", "CFO"; or nothing."""
    first = start
    while (word := _WORD_BEFORE.search(text, max(0, first - 20), first)) and (
        word[1] in word_list("title") or word[1].rstrip(".").capitalize() in word_list("title")
    ):
        first = word.start()
    return text[first:start].strip()


_WORD_BEFORE = re.compile(r"(?<![^\s(\[\"“'‘])([^\W\d_]+\.?)[ ]+\Z")
_NUMBER_GOES_ON = re.compile(r"(?:[-/][A-Za-z]*\d\w*)+")


def whole_number(text: str, start: int, end: int) -> int:
    """Where a name ends that was cut inside its number: "SR-2023" in "SR-2023-052"."""
    last = text[start:end].rpartition(" ")[2]
    goes_on = _NUMBER_GOES_ON.match(text, end) if any(c.isalpha() for c in last) else None
    return goes_on.end() if goes_on else end


def _strip_signs(text: str, start: int, end: int, sentence_ends: frozenset[int]) -> Span:
    while start < end and not (text[start].isalnum() or (text[start] in ".#@$" and text[start + 1 : start + 2].isalnum())):
        start += 1
    while start < end:
        last = text[end - 1]
        ends_word = last.isalnum() or last in _RIGHT_EDGE or unicodedata.category(last)[0] == "M"
        unpaired = last in _PAIRS and text.count(_PAIRS[last], start, end) < text.count(last, start, end)
        quote = last == "'" and (end - start < 2 or text[end - 2] in " '")  # not a plural's possessive
        full_stop = last == "." and end in sentence_ends and text.count(".", start, end) == 1
        if ends_word and not unpaired and not quote and not full_stop:
            break
        end -= 1
    for opening, closing in (("(", ")"), ("[", "]")):
        at = text.rfind(opening, start, end)
        if at > start and closing not in text[at:end]:  # "Acme (AC": the bracket belongs to the sentence
            end = at
    return start, end


def _strip_words(text: str, start: int, end: int, sentence_starts: frozenset[int]) -> Span:
    piece = text[start:end]
    if tail := _TAIL.search(piece):
        return start, start + tail.start()
    if (tail := _DETERMINER.match(piece)) and (piece[0].islower() or start in sentence_starts or piece[1].isupper()):
        return start + tail.end(), end
    if (tail := _LAST_WORD.search(piece)) and _is_lower(tail[1]) and tail[1].rstrip(".") not in word_list("legal"):
        return start, start + tail.start()
    if (tail := _FIRST_WORD.match(piece)) and start in sentence_starts and tail[1] in word_list("opening"):
        return start + tail.end(), end
    if (tail := _FIRST_WORD.match(piece)) and _is_lower(tail[1]) and tail[1] not in word_list("particle"):
        return start + tail.end(), end
    return start, end


def _is_lower(word: str) -> bool:
    return word.islower() and word[0].isalpha() and not any(c.isdigit() for c in word)


_LONGEST, _MOST_WORDS, _LONGEST_WORD = 120, 16, 60  # of a name in a spaced script
_CODE = re.compile(r"[{}<>|\\=^~`]|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b|\w_\w|(?:[A-Za-z]\d+){4}|\$\w|::|\(\)")


def may_be_name(name: str) -> bool:
    """Whether something looks like a name in any language: not too long, mostly letters, no piece of code and no key."""
    words = name.split()
    if len(name) > _LONGEST or len(words) > _MOST_WORDS or (name.isascii() and max(map(len, words), default=0) > _LONGEST_WORD):
        return False
    return not _CODE.search(name) and 3 * sum(c.isalnum() or c.isspace() or unicodedata.category(c)[0] == "M" for c in name) >= len(name)


def is_junk(name: str) -> bool:
    """Whether a span is no name in English: nothing but lower case, a lone letter, markup, a month or weekday, a degree, an
    interjection, a pronoun as written ("US" is none)."""
    if len(name.rstrip(".")) < 2 or not _LETTER.search(name) or _MARKUP.search(name) or name.islower():
        return True
    word = name.rstrip(".")
    return word in _junk_words() or _CONTRACTION.split(word)[0] in word_list("pronoun")


@cache
def _junk_words() -> frozenset[str]:
    lists = (word_list(kind) for kind in ("pronoun", "opening", "interjection", "degree", "month", "day"))
    return frozenset(word.rstrip(".") for words in lists for word in words)
