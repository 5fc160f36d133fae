"""What a recogniser sees in one passage, raw: spans with labels and tokens tagged as proper nouns, before any rule of ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from polyonym.ingest.text.common_words import is_common

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_BATCH = 16  # passages; outputs were compared with those of single passages and are equal
_PROPER = ("NNP", "NNPS")
_WORD = re.compile(r"[^\W\d_]+")
_MARKS = frozenset('.,;:?!"”')
_HEADLINE_COMMON = 1.5  # see polyonym.ingest.text.common_words; chosen on the sets named in benchmarks/detection.py


@dataclass(frozen=True)
class Recognition:
    """Offsets count in the passage (or, once moved, in the document).

    `names` are (start, end, label) of the recogniser; `proper` are (start, end) of tokens tagged as proper nouns, in order.
    """

    names: list[tuple[int, int, str]]
    proper: list[tuple[int, int]]

    def moved(self, by: int) -> Recognition:
        return Recognition([(s + by, e + by, label) for s, e, label in self.names], [(s + by, e + by) for s, e in self.proper])


def recognise(nlp: Language, passages: Sequence[str]) -> list[bytes]:
    """The payload to keep for each passage; `read` turns it back into a Recognition."""
    english = nlp.lang == "en"
    wanted = {"ner", "entity_ruler", "span_ruler", *(("tagger",) if english else ())}
    wanted |= {name for name in nlp.pipe_names if "2vec" in name or "transformer" in name}
    with nlp.select_pipes(enable=[name for name in nlp.pipe_names if name in wanted]):
        return [_payload(doc) for doc in nlp.pipe([true_case(p) if english else p for p in passages], batch_size=_BATCH)]


def _payload(doc: Doc) -> bytes:
    names = [(e.start_char, e.end_char, e.label_) for e in doc.ents]
    proper = [(t.idx, t.idx + len(t)) for t in doc if t.tag_ in _PROPER]
    return orjson.dumps([names, proper])


def read(payload: bytes) -> Recognition:
    names, proper = orjson.loads(payload)
    return Recognition([(s, e, label) for s, e, label in names], [(s, e) for s, e in proper])


def true_case(text: str) -> str:
    """`text` with its headlines written as a sentence would be, character by character, so that offsets stay.

    A line counts as upper case when it has no lower-case letter and three words or more: common words become lower case, all
    others keep their first letter, since recognisers know "Ford", hardly "FORD". It counts as a headline in title case when it has
    four words or more, no mark at its end, and nearly every longer word has a capital: only very common words become lower case,
    so that "Ford Buys Land" holds no "Ford Buys".
    """
    return "\n".join(map(_true_case_line, text.split("\n")))


def _true_case_line(line: str) -> str:
    if line.isupper():
        return _WORD.sub(_from_upper, line) if len(_WORD.findall(line)) >= 3 else line
    if line.rstrip()[-1:] in _MARKS:
        return line
    found = _WORD.findall(line)
    longer = [w for w in found if len(w) > 3]
    if len(found) < 4 or len(longer) < 3 or sum(w[0].isupper() for w in longer) < 0.9 * len(longer):
        return line
    return _WORD.sub(_from_title, line)


def _from_upper(word: re.Match[str]) -> str:
    letters = word.group()
    if is_common(letters) and word.start() > 0:
        return _lower(letters)
    return letters[0] + _lower(letters[1:])


def _from_title(word: re.Match[str]) -> str:
    letters = word.group()
    return _lower(letters) if word.start() > 0 and letters.istitle() and is_common(letters, _HEADLINE_COMMON) else letters


def _lower(letters: str) -> str:
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in letters)
