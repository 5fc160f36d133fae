"""True-casing: lines in capitals or in title case written as a sentence would be, so that a recogniser sees names as it knows them.

English alone. Every character stays in its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise

from polyonym.ingest.mentions.word_lists import word_list
from polyonym.ingest.text.common_words import common_words

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SENTENCE_START = re.compile(r"(?:\A\W*|[.!?:][\"'”’)\]]*\s+|[|\t•]\s*)[\"'“‘(\[]*\Z")
_CAPITALS = re.compile(r"(?<![\w.])[^\W\da-zß-öø-ÿ_]{2,}(?:(?:\.? |-| & )[^\W\da-zß-öø-ÿ_]{2,})+(?!\w|\.\w)")
_OF = re.compile(r" (?:of|for)(?: the)? ", re.IGNORECASE)
_PEOPLE = re.compile(r"(?:[^aeiou]ian|ican|ese|ish|Dutch|French|German|Greek|Swiss|Soviet)\Z")  # such a word seldom begins a firm's name
_LIST_START = 8  # characters before a word in which the sign of a sentence's or an item's start is looked for

# How much likelier a word must be in lower case (natural logarithm) …
_FUNCTION = 4.2  # … to stand in no name,
_VERB = 3.6  # … to be taken for a verb where it might be a part of a name,
_LOOSE = 1.8  # … to end a name only right behind what is one for certain,
_SELDOM_NAME = 1.4  # … not to begin a name,
_HEADLINE = 1.0  # … to be made small in a headline, whose capitals may be its own.


def true_case(text: str) -> str:
    """`text` with its lines in capitals or in title case, and runs of capitals in other lines, written as a sentence would be.

    A line is in capitals when it has three words or more and no small letter; in title case when nearly all of its common words
    have a capital that they would not have in a sentence. In both, common words become small, unless they look like a part of a name
    (see `_names`); all others keep their first letter, since recognisers know "Ford", hardly "FORD". A run of capitals inside a line is a
    name, or a title and a name: all its words get a capital.
    """
    return "\n".join(map(_line, text.split("\n")))


def recased(before: str, after: str) -> list[tuple[int, int]]:
    """The spans of the lines in which true-casing changed a letter."""
    if before == after:
        return []
    spans = []
    position = 0
    for a, b in zip(before.split("\n"), after.split("\n"), strict=True):
        if a != b:
            spans.append((position, position + len(a)))
        position += len(a) + 1
    return spans


def _line(line: str) -> str:
    words = list(_WORD.finditer(line))
    if line.isupper():
        return _sentence(line, words) if len(words) >= 3 else line
    if _in_title_case(words):
        return _sentence(line, words, _HEADLINE)
    return _CAPITALS.sub(_run, line)


def _in_title_case(words: Sequence[re.Match[str]]) -> bool:
    longer = [w.group() for w in words if len(w.group()) > 3]
    if len(words) < 4 or len(longer) < 3 or sum(w[0].isupper() for w in longer) < 0.9 * len(longer):
        return False
    short = [w.group() for w in words if len(w.group()) < 4 and w.group().islower() and w.group().capitalize() not in word_list("small")]
    if len(short) > 0.1 * len(words):
        return False
    # A headline has a verb, or something that is as rarely a name; a line without is a name, or the title of a work.
    return sum(_ratio(w) >= 1.0 for w in longer) >= 2 and any(_ratio(w) >= _VERB - 0.7 for w in longer if w[0].isupper())


def _run(run: re.Match[str]) -> str:
    words = list(_WORD.finditer(run.group()))
    titled = any(w.group().capitalize() in word_list("title") for w in words)
    if len(words) < 2 or (max(len(w.group()) for w in words) < 5 and not titled):  # "the GM VEBA"
        return run.group()
    if any(len(w.group()) < 5 and _ratio(w.group()) > 3 for w in words[1:]):
        return _sentence(run.group(), words)
    return _WORD.sub(lambda w: _capital(w.group()), run.group())


def _sentence(line: str, words: Sequence[re.Match[str]], least: float = 0.5) -> str:
    """The line with capitals for names and for the first words of sentences."""
    names = _Names(line, words, least)
    in_capitals = line.isupper()
    parts: list[str] = []
    position = 0
    for i, word in enumerate(words):
        letters = word.group()
        before = line[max(0, word.start() - _LIST_START) : word.start()]
        symbol = names.ratios[i] < 0 and len(letters) < 6 and (before.endswith("(") or names.is_after_legal_form(i))
        if letters.isupper() and len(letters) > 1 and (symbol or not in_capitals):
            written = letters
        elif names.is_name[i] or word.start() == 0 or _SENTENCE_START.search(before):
            written = _capital(letters)
        else:
            written = _lower(letters)
        parts += (line[position : word.start()], written)
        position = word.end()
    return "".join([*parts, line[position:]])


class _Names:
    """Which words of a line belong to names, as far as words tell: those that are not common, and those that such a name takes in."""

    def __init__(self, line: str, words: Sequence[re.Match[str]], least: float) -> None:
        self._line = line
        self._at = words
        self._words = [w.group().capitalize() for w in words]
        self._beside = [line[a.end() : b.start()] == " " for a, b in pairwise(words)] + [False]
        self._legal = [w in word_list("legal_capital") for w in self._words]
        self._last = [w in word_list("last") or (w in word_list("institution") and w not in word_list("weak_last")) for w in self._words]
        self.ratios = [_ratio(w) for w in self._words]
        never = word_list("compass") | word_list("small")
        self.is_name = [r < least and w not in never for r, w in zip(self.ratios, self._words, strict=True)]
        self._ended: set[int] = set()  # words with which a name has ended
        for i in range(len(words)):
            self._take_in_following(i)
        for i in reversed(range(len(words) - 1)):
            self._take_in_before(i)
        for i in range(len(words) - 2):
            self._offices(i)

    def is_after_legal_form(self, i: int) -> bool:
        return i > 0 and self._beside[i - 1] and self._legal[i - 1]

    def _take_in_following(self, i: int) -> None:
        """ "Velmora Energy", "European Investment Bank", "Federal Trade Commission": up to three words to one in which names end."""
        if (
            i > 0
            and self._beside[i - 1]
            and (
                self._legal[i]
                or (self.is_name[i - 1] and self.ratios[i] < _HEADLINE and self._may_be_part(i) and not self._is_people(i - 1))
            )
        ):
            self.is_name[i] = True
        if not (self.is_name[i] or (self.ratios[i] < _SELDOM_NAME and self._may_be_part(i))):
            return
        for last in range(i + 1, min(i + (2 if i in self._ended else 4), len(self._at))):
            if (
                not self._beside[last - 1]
                or (self.ratios[last] > _VERB and not self._last[last])
                or self._words[last] in word_list("small")
            ):
                return
            if self._last[last] and (self.ratios[last] < _LOOSE or not self._is_people(i)):
                self.is_name[i : last + 1] = [True] * (last + 1 - i)
                self._ended.add(last)
                return

    def _take_in_before(self, i: int) -> None:
        """ "New York", "Thermo-Print", "Union Carbide", "Senator Smith", "Lucky Stores Inc", "Bank of America"."""
        if self.is_name[i] or self._words[i] in word_list("small"):
            return
        word, ratio = self._words[i], self.ratios[i]
        before_name = self._beside[i] and self.is_name[i + 1]
        hyphened = self._line[self._at[i].end() : self._at[i + 1].start()] == "-" and self.is_name[i + 1]
        legal = next((k for k in range(i + 1, min(i + 3, len(self._at))) if self._legal[k] and all(self._beside[i:k])), None)
        of = _OF.match(self._line, self._at[i].end())
        if (
            (before_name and (ratio < _SELDOM_NAME or any(word in word_list(kind) for kind in ("compass", "title", "first"))))
            or hyphened
            or (legal == i + 1 and ratio < _FUNCTION)
            or (legal is not None and ratio < _VERB and self.is_name[i + 1] and self.ratios[i + 1] >= 0)
        ):
            self.is_name[i] = True
        elif (
            self._last[i]
            and of
            and any(self.is_name[k] for k in range(i + 2, min(i + 4, len(self._at))) if self._at[k].start() == of.end())
        ):
            self.is_name[i] = True
            if i > 0 and self._beside[i - 1] and self.ratios[i - 1] < _SELDOM_NAME and self._may_be_part(i - 1):
                self.is_name[i - 1] = True

    def _offices(self, i: int) -> None:
        """ "Finance Ministry", "Wall Street", "Department of Energy", "Securities and Exchange Commission"."""
        if self._words[i + 1] in word_list("always_last") and self._beside[i] and self._may_be_part(i):
            first = i - 1 if i > 0 and self._beside[i - 1] and self._may_be_part(i - 1) and self.ratios[i - 1] < _SELDOM_NAME else i
            self.is_name[first : i + 2] = [True] * (i + 2 - first)
        of = _OF.match(self._line, self._at[i].end())
        if self._words[i] in word_list("head") and of and of.end() == self._at[i + 2].start() and self._may_be_part(i + 2):
            self.is_name[i] = self.is_name[i + 2] = True
            if (
                i + 4 < len(self._at)
                and self._words[i + 3] == "And"
                and all(self._beside[i + 2 : i + 4])
                and self.ratios[i + 4] < _VERB - 0.8
            ):
                self.is_name[i + 4] = True
        if (
            i + 3 < len(self._at)
            and self._words[i + 1] == "And"
            and all(self._beside[i : i + 3])
            and self._last[i + 3]
            and self.ratios[i + 3] < _LOOSE
            and max(self.ratios[i], self.ratios[i + 2]) < _VERB - 0.8
            and self._may_be_part(i + 2)
        ):
            self.is_name[i] = self.is_name[i + 2] = self.is_name[i + 3] = True

    def _may_be_part(self, i: int) -> bool:
        return self.ratios[i] < _VERB and self._words[i] not in word_list("small") and self._words[i] not in word_list("compass")

    def _is_people(self, i: int) -> bool:
        return _PEOPLE.search(self._words[i]) is not None


@cache
def _cases() -> tuple[dict[str, float], frozenset[str]]:
    """How much likelier English words are in lower case (natural logarithm), and which ones are mostly written in capitals."""
    lines = files("polyonym.ingest").joinpath("data/word_cases_en.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    rare = {row[0]: float(row[1]) for row in rows if len(row) == 2}
    return rare | common_words(), frozenset(row[0] for row in rows if len(row) == 1)


def _ratio(word: str) -> float:
    """How much likelier a word is in lower case; below zero for one that is not common."""
    return _cases()[0].get(word.lower(), _FUNCTION if word in ("A", "I") else -1.0)


def _capital(letters: str) -> str:
    if letters in _cases()[1] and letters.capitalize() not in word_list("title") | word_list("legal_capital"):
        return letters
    first = letters[0].upper() if len(letters[0].upper()) == 1 else letters[0]
    return first + (_lower(letters[1:]) if letters.isupper() else letters[1:])


def _lower(letters: str) -> str:
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in letters)
