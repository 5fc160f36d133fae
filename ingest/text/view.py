"""The view: a text as a reader sees it, with a map back to the text unaltered.

A text comes wrapped, quoted, indented, as a comment, with words divided at line ends, with signs that nobody sees. None of that
belongs to what it says; so all that looks for sentences and names looks at the view, and only spans are carried back.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from polyonym.ingest.text.common_words import is_common
from polyonym.ingest.text.encoded import encoded_spans

Span = tuple[int, int]
Edit = tuple[int, int, str]
"""What stands in [start, end) is to read otherwise."""


class _Layer:
    """The map of one round of edits: from places in what was made to places in what it was made of."""

    def __init__(self, made: list[int], origin: list[int], end: int) -> None:
        self._made = made  # where stretches begin that run side by side, …
        self._origin = origin  # … and where they begin in the original
        self._end = end

    def back(self, at: int) -> int:
        """The place that the character at `at` came from."""
        i = bisect_right(self._made, at) - 1
        last = self._origin[i + 1] if i + 1 < len(self._origin) else self._end
        return max(self._origin[i], min(self._origin[i] + at - self._made[i], last - 1))

    def forth(self, at: int) -> int:
        """Where a place of the original is seen; a place that was taken out, where the next one that was not is seen."""
        i = bisect_right(self._origin, at) - 1
        seen = self._made[i] + at - self._origin[i]
        return min(seen, self._made[i + 1]) if i + 1 < len(self._made) else seen


@dataclass(frozen=True)
class View:
    """`text` is the text as it is read. Line breaks in it end a line or a paragraph; those that only wrapped a line are blanks."""

    text: str
    length: int
    layers: tuple[_Layer, ...] = ()

    def span(self, start: int, end: int) -> Span:
        """The span, in the text unaltered, of text[start:end], which must not be empty."""
        first, last = start, end - 1
        for layer in reversed(self.layers):
            first, last = layer.back(first), layer.back(last)
        return first, last + 1

    def seen(self, start: int, end: int) -> Span:
        """Where the view shows what stands at [start, end) of the text unaltered; empty when it shows nothing of it."""
        for layer in self.layers:
            start, end = layer.forth(start), layer.forth(end)
        return start, min(end, len(self.text))

    def edited(self, edits: Iterable[Edit]) -> View:
        """This view with what `edits` (in order, none overlapping another) say."""
        parts: list[str] = []
        made, origin = [0], [0]
        position = size = 0
        for start, end, text in edits:
            parts += (self.text[position:start], text)
            size += start - position
            if len(text) != end - start:
                if text:
                    made.append(size)
                    origin.append(start)
                made.append(size + len(text))
                origin.append(end)
            size += len(text)
            position = end
        if not parts:
            return self
        parts.append(self.text[position:])
        layers = self.layers if len(made) == 1 else (*self.layers, _Layer(made, origin, len(self.text)))
        return View("".join(parts), self.length, layers)


def view_of(text: str) -> View:
    """The view of a text.

    Invisible characters (Unicode's category Cf, but for the visible signs in it) are gone, blanks of all kinds are blanks, ligatures
    are letters, encoded blocks are left out; the marks and the indentation of quoted lines, comments and list continuations are gone;
    lines that were only wrapped are joined, and so are words divided at their ends.
    """
    view = View(text, len(text)).edited(_signs(text))
    view = view.edited((start, end, "\n" if "\n" in view.text[start:end] else " ") for start, end in encoded_spans(view.text))
    return view.edited(_lines(view.text)) if "\n" in view.text or view.text[:1] in (" ", "\t", ">") else view


# --- single signs

_INVISIBLE = (
    "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
)
_BLANK = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_SIGN = re.compile(
    rf"(?P<kept>\u00ad(?=[ \t]*\r?\n[ \t>*#|/;%]*[^\W\d_]))"  # divides a word
    rf"|(?P<gone>[{_INVISIBLE}]|\r(?=\n))|(?P<blank>[{_BLANK}])|(?P<line>[\r\u0085\u2028]|\u2029)|[\ufb00-\ufb06]"
)


def _signs(text: str) -> Iterator[Edit]:
    for sign in () if text.isascii() and "\r" not in text else _SIGN.finditer(text):
        if sign.lastgroup == "gone":
            yield sign.start(), sign.end(), ""
        elif sign.lastgroup == "blank":
            yield sign.start(), sign.end(), " "
        elif sign.lastgroup == "line":
            yield sign.start(), sign.end(), "\n"
        elif sign.lastgroup != "kept":
            yield sign.start(), sign.end(), unicodedata.normalize("NFKC", sign.group())


# --- lines

_LEAD = re.compile(r"[ \t]*(?:>[ \t]*)*")
_COMMENT = re.compile(r"(#+|\*|//+|;+|%+|--+|!+|\|)(?:[ \t]+|\Z)")
_BOUNDS = frozenset(("/*", "/**", "*/", "**/", "<!--", "-->"))  # lines on which a comment begins or ends
_ITEM = re.compile(r"(?:[-–—•‣◦▪·*+o]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,4})[.)]|#{1,6})[ \t]|\|")
_CELLS = re.compile(r"\S(?:\t|[ ]\|[ ]|[ ]{3,})\S")
_LABEL = re.compile(r"[^\W\d_][\w .'/-]{0,30}:(?:\s|\Z)")
_ENDS = re.compile(r"[.!?…:;][\"'”’»)\]]*\Z")
_ABBREVIATED = re.compile(r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Inc|Corp|Co|Ltd|No|vs|Gen|Sen|Rep|Gov|Jr|Sr|e\.g|i\.e|(?:[A-Z]\.)+[A-Z])\.\Z")
_INSIDE = re.compile(r"[.!?…][\"'”’»)\]]*\s+[\"'“‘«(]?[A-Z]")
_LOWER = re.compile(r"(?<![\w.])[a-zß-öø-ÿ]{2,}")
_DIVIDED = re.compile(r"([^\W\d_]+)[-\u2010\u00ad]\Z")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_WIDEST = 140  # of a line that was wrapped by hand or by a mail program
_WRAP = range(40, _WIDEST)
_OPEN = re.compile(  # words after which a sentence goes on
    r"(?:^|\s)(?:a|an|the|of|and|or|in|on|at|to|by|for|from|with|as|that|which|who|whose|is|are|was|were|be|been|has|have|had|will|would|can"
    r"|could|may|might|must|shall|should|not|its|his|her|their|our|your|my|this|these|those|than|into|under|over|between"
    r"|der|die|das|und|von|im|le|la|les|de|du|des|et|en|el|los|las|y|del|il|e|di|da|het|een|van)\Z"
)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a text: `lead` is where its words begin, behind indentation and marks."""

    start: int
    lead: int
    end: int
    mark: str  # of a quotation or comment, without blanks; lines of different marks are not of one paragraph
    words: str


def _rows(text: str) -> Iterator[_Line]:
    position = 0
    while position <= len(text):
        end = text.find("\n", position)
        end = end if end >= 0 else len(text)
        row = text[position:end]
        lead = len(row) if row.strip() in _BOUNDS else _LEAD.match(row).end()  # type: ignore[union-attr] # it matches anything
        yield _Line(position, position + lead, end, "".join(row[:lead].split()), row[lead:].rstrip())
        position = end + 1


def _lines(text: str) -> Iterator[Edit]:
    words = _WordsOf(text)
    before: _Line | None = None
    for _, block in groupby(_rows(text), key=lambda m: (m.mark, not m.words)):
        for blank, lines in groupby(_without_comment_marks(list(block)), key=lambda m: not m.words):
            paragraph = list(lines)
            joined = set() if blank else _joined(paragraph)
            for i, line in enumerate(paragraph):
                if before is not None and i in joined:
                    yield _join(before, line, words)
                elif line.lead > line.start:
                    yield line.start, line.lead, ""
                before = line


def _without_comment_marks(lines: list[_Line]) -> list[_Line]:
    """The lines, their words without the mark of a comment when they are one: lines that all begin with the same mark. A star
    may mark the items of a list as well: it is a comment's where lines read on, or where one has nothing but the star."""
    marks = [m[1] if (m := _COMMENT.match(line.words)) else "" for line in lines]
    mark = marks[-1]
    if len(lines) < 2 or not mark or any(m != mark for m in marks):
        return lines
    bare = []
    for line in lines:
        lead = len(_COMMENT.match(line.words)[0])  # type: ignore[index]
        bare.append(_Line(line.start, line.lead + lead, line.end, line.mark, line.words[lead:]))
    with_words = [line for line in bare if line.words]
    if mark == "|" and any("|" in line.words for line in with_words):
        return lines  # a table
    return bare if mark not in ("*", "|") or len(with_words) < len(lines) or _is_prose(with_words) else lines


def _is_prose(lines: Sequence[_Line]) -> bool:
    """Whether lines are running text: their sentences end inside of lines or go on in small letters, and not each with its line."""
    if len(lines) < 2:
        return False
    ends = sum(bool(_ENDS.search(line.words)) for line in lines[:-1])
    inside = sum(bool(_INSIDE.search(line.words)) for line in lines)
    goes_on = sum(_goes_on(a, b) for a, b in pairwise(lines))
    running = sum(bool(_LOWER.search(line.words)) for line in lines)
    others = len(lines) - 1
    return running > 0.6 * len(lines) and ends <= 0.4 * others and (goes_on >= 0.3 * others or inside > ends)


def _goes_on(line: _Line, following: _Line) -> bool:
    """Whether a sentence plainly goes on in the next line."""
    if _ENDS.search(line.words):
        return False
    return (following.words[:1].islower() and len(line.words.split()) > 2) or bool(_OPEN.search(line.words))


def _joined(lines: Sequence[_Line]) -> set[int]:
    """Which of a paragraph's lines (by number) belong to the one before."""
    joined: set[int] = set()
    start = 0
    for i in range(1, len(lines) + 1):  # a line too wide to have been wrapped stands alone
        if i == len(lines) or len(lines[i].words) > _WIDEST or len(lines[i - 1].words) > _WIDEST:
            joined.update(start + j for j in _joined_narrow(lines[start:i]))
            start = i
    return joined


def _joined_narrow(lines: Sequence[_Line]) -> Iterator[int]:
    if len(lines) < 2:
        return
    full = _full(lines)
    prose = _is_prose([line for line in lines if line.words])
    items = sum(bool(_ITEM.match(line.words)) for line in lines)
    listed = lines[0].words[:1].islower()  # a text begins with a capital, a list of words need not
    hanging_from: int | None = None  # the indentation of the item or label of which the line is a part
    for i, (line, following) in enumerate(pairwise(lines)):
        indentation = line.lead - line.start
        if _ITEM.match(line.words) or _LABEL.match(line.words):
            hanging_from = indentation
        elif hanging_from is not None and indentation <= hanging_from:
            hanging_from = None
        ended = _ENDS.search(line.words) and not _ABBREVIATED.search(line.words)
        runs_on = i in full and not ended
        if not line.words or not following.words or _CELLS.search(line.words):
            continue
        if _ITEM.match(following.words) and not (runs_on and items == 1):  # one dash may well be a sentence's
            continue
        if _LABEL.match(following.words) and (_LABEL.match(line.words) or (following.words[0].isupper() and not runs_on)):
            continue
        divided = _DIVIDED.search(line.words) and following.words[0].isalpha()
        heading = i == 0 and i not in full and not _LOWER.search(line.words)
        hangs = hanging_from is not None and following.lead - following.start > hanging_from
        goes_on = _goes_on(line, following) and (prose or i in full or not listed)
        if i in full or divided or hangs or goes_on or (prose and not heading and not ended):
            yield i + 1


def _full(lines: Sequence[_Line]) -> set[int]:
    """The lines (by number) that have no room for the next one's first word beside the widest line; none where most have: they weren't wrapped."""
    width = max(len(line.words) for line in lines)
    if width not in _WRAP or sum(bool(_LOWER.search(line.words)) for line in lines) < 0.5 * len(lines):
        return set()
    full = {
        i for i, (a, b) in enumerate(pairwise(lines)) if a.words and b.words and len(a.words) + 1 + len(b.words.split(None, 1)[0]) > width
    }
    return full if 2 * len(full) >= len(lines) - 1 else set()


def _join(line: _Line, following: _Line, words: _WordsOf) -> Edit:
    """What stands between two lines of one paragraph, as it is read: a blank, nothing in a divided word."""
    end = line.lead + len(line.words)
    divided = _DIVIDED.search(line.words)
    rest = _FIRST_WORD.match(following.words)
    if divided is None or rest is None:
        return end, following.lead, " "
    if line.words[-1] == "\u00ad" or (rest[0][0].islower() and words.divided(divided[1], rest[0])):
        return end - 1, following.lead, ""
    return end - 1, following.lead, "-"


class _WordsOf:
    """The words of a text, to tell words that were divided at a line's end from those that are written with a hyphen."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words: frozenset[str] | None = None

    def divided(self, first: str, rest: str) -> bool:
        if self._words is None:
            self._words = frozenset(re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", self._text))
        if first + rest in self._words or f"{first}-{rest}" in self._words:
            return first + rest in self._words
        return is_common(first + rest) or not (is_common(first) and is_common(rest))
