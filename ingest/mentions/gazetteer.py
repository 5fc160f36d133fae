"""Finding many names in a text, wherever they stand, at word boundaries, with regard to case."""

import re
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import orjson

from polyonym.ingest.errors import WrongUse

_JOIN = "\x1f"
_LAST_SCRIPT = 0x20000  # beyond lie ideographs, which have no marks, and the variation selectors, named below


class Word(NamedTuple):
    """A word, or a single sign that is neither word nor white space. Offsets count in the text."""

    start: int
    end: int
    text: str


@cache
def _word() -> re.Pattern[str]:
    """Words of spaced scripts with their combining marks; each character of an unspaced script is a word of its own."""
    marks: list[str] = []
    start = None
    for code in range(0x300, _LAST_SCRIPT + 1):
        is_mark = code < _LAST_SCRIPT and unicodedata.category(chr(code))[0] == "M"
        if is_mark and start is None:
            start = code
        elif not is_mark and start is not None:
            marks.append(chr(start) if code - 1 == start else f"{chr(start)}-{chr(code - 1)}")
            start = None
    mark = f"[{''.join(marks)}\u200d\U000e0100-\U000e01ef]"
    unspaced = (
        "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    )
    return re.compile(f"[{unspaced}]{mark}*|(?:(?![{unspaced}])[^\\W_]{mark}*)+|\\S{mark}*")


def words(text: str) -> Iterator[Word]:
    """The words and signs of `text` in order, one after the other: a list of all of them would be twenty times as long as the text."""
    return (Word(m.start(), m.end(), m.group()) for m in _word().finditer(text))


class Matcher:
    """Names (each with a label) to be found in texts; white space between their words does not matter."""

    def __init__(self, names: Mapping[str, str] | Iterable[tuple[str, str]]) -> None:
        self._labels: dict[str, str] = {}
        lengths: dict[str, set[int]] = {}
        for name, label in names.items() if isinstance(names, Mapping) else names:
            parts = _word().findall(name)
            if parts:
                self._labels.setdefault(_JOIN.join(parts), label)
                lengths.setdefault(parts[0], set()).add(len(parts))
        self._lengths = {first: sorted(of, reverse=True) for first, of in lengths.items()}
        self._longest = max((max(of) for of in lengths.values()), default=0)

    @cached_property
    def folded(self) -> "Matcher":
        """The same names in small letters, to be found in words in small letters."""
        return Matcher((name.replace(_JOIN, " ").lower(), label) for name, label in self._labels.items())

    def find(self, text_words: Iterable[Word]) -> list[tuple[int, int, str]]:
        """(start, end, label) of every name in a text's words: the leftmost first, the longest at each place, none overlapping."""
        hits: list[tuple[int, int, str]] = []
        coming = iter(text_words) if self._longest else iter(())
        ahead = deque(islice(coming, self._longest))
        while ahead:
            step = 1
            for length in self._lengths.get(ahead[0].text, ()):
                label = self._labels.get(_JOIN.join(w.text for w in islice(ahead, length)))
                if label is not None and len(ahead) >= length:
                    hits.append((ahead[0].start, ahead[length - 1].end, label))
                    step = length
                    break
            for _ in range(step):
                ahead.popleft()
            ahead.extend(islice(coming, step))
        return hits


def read_patterns(file: str) -> list[tuple[str, str]]:
    """The user's gazetteer: (name, label); none without a file. Raises WrongUse, naming the line, when it cannot be read."""
    if not file:
        return []
    rows = []
    number = 0
    try:
        for line in Path(file).read_text(encoding="utf-8-sig").splitlines():
            number += 1
            if line.strip():
                row = orjson.loads(line)
                rows.append((str(row["name"]), str(row.get("label") or "OTHER")))
    except OSError as error:
        raise WrongUse(f"The patterns file {file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise WrongUse(f"The patterns file {file} is not UTF-8: {error}. Save it as UTF-8.") from error
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise WrongUse(
            f'The patterns file {file}, line {number}: each line is an object such as {{"name": "Aurelia", "label": "ORG"}} ({error}).'
        ) from error
    return rows
