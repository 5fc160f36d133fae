"""Gold sets: documents whose mentions are known, each with the key of the thing that it names.

Spans are compared after a leading determiner and a trailing possessive were taken off both sides.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from polyonym.ingest.errors import WrongUse
from polyonym.resolution.linking.knowledge_base import QID, types_of
from polyonym.resolution.names.entity_types import type_of

_DETERMINERS = ("the ", "The ", "THE ", "a ", "A ", "an ", "An ")

_POSSESSIVES = ("'s", "’s", "'", "’")

_OTHER_WORDS = {"ORGANIZATION": "ORG", "ORGANISATION": "ORG", "LOCATION": "PLACE"}  # what gold sets call our types


@dataclass(frozen=True)
class GoldMention:
    """A mention with the key of the thing that it names (a Wikidata id, or another stable key); `type` is one of ours, "" if untold."""

    start: int
    end: int
    text: str
    key: str
    type: str

    @property
    def has_item(self) -> bool:
        """Whether the key is a Wikidata id."""
        return QID.fullmatch(self.key) is not None


@dataclass(frozen=True)
class GoldDocument:
    """A document whose mentions are known. What lies outside `judged` (start, end) is not judged, neither the gold's mentions nor ours."""

    doc_id: str
    text: str
    judged: tuple[int, int]
    mentions: tuple[GoldMention, ...]
    title: str = ""

    def judges(self, start: int, end: int) -> bool:
        """Whether a trimmed span lies where the document is judged."""
        return self.judged[0] <= start and end <= self.judged[1]

    @property
    def judged_mentions(self) -> dict[tuple[int, int], GoldMention]:
        """The mentions where the document is judged, by their trimmed spans; of two with one span the first counts."""
        by_span = {trim(self.text, m.start, m.end): m for m in reversed(self.mentions)}
        return {span: by_span[span] for span in sorted(by_span) if self.judges(*span)}


def read_gold(path: Path) -> list[GoldDocument]:
    """Read a gold set: JSON lines of {doc_id, text, evaluation_span?, mentions: [{start, end, text, qid, type?}]}, offsets in code points.

    A mention's `text` must be what stands at its place, and its `qid` a text: a Wikidata id, or another key that the mentions of one
    thing share. Raises WrongUse, naming file and line, when the set is of another form or holds a document twice.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise WrongUse(f"The gold set {path} cannot be read: {error.strerror}.") from error
    documents: dict[str, GoldDocument] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                document = _gold_document(orjson.loads(line))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                form = "{doc_id, text, mentions: [{start, end, text, qid}]}"
                what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
                raise WrongUse(f"The gold set {path}, line {number}, is not of the form {form}: {what}.") from error
            if document.doc_id in documents:
                raise WrongUse(f"The gold set {path}, line {number}: the document {document.doc_id!r} stands in it already.")
            documents[document.doc_id] = document
    if not any(d.judged_mentions for d in documents.values()):
        raise WrongUse(f"The gold set {path} holds no mentions that are judged.")
    return list(documents.values())


def _gold_document(row: Mapping[str, Any]) -> GoldDocument:
    text = str(row["text"])
    start, end = row.get("evaluation_span") or (0, len(text))
    mentions = tuple(_gold_mention(m, text) for m in row["mentions"])
    return GoldDocument(str(row["doc_id"]), text, (int(start), int(end)), mentions, str(row.get("title") or ""))


def _gold_mention(row: Mapping[str, Any], text: str) -> GoldMention:
    """Raises ValueError, saying what is wrong, or KeyError."""
    start, end, words, key = row["start"], row["end"], row["text"], row["qid"]
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text)):
        raise ValueError(f"there is no span from {start!r} to {end!r} in a text of {len(text):,} characters")
    if text[start:end] != words:
        raise ValueError(f"from {start} to {end} stands {text[start:end]!r}, not {words!r}")
    if not (isinstance(key, str) and key):
        raise ValueError(f"the `qid` of {words!r} is {key!r}; what has no Wikidata id gets a key of its own")
    return GoldMention(start, end, words, key, _gold_type(row.get("type")))


def _gold_type(raw: str | None) -> str:
    """Our type for a gold set's: one of ours, a recogniser's label, or Wikidata classes joined by "|"."""
    if not raw:
        return ""
    known = types_of(raw.split("|"))
    word = raw.upper().rpartition("_")[2]
    return known[0] if known else _OTHER_WORDS.get(word) or type_of(word)


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without a leading determiner and a trailing possessive."""
    start += next((len(d) for d in _DETERMINERS if text[start:end].startswith(d)), 0)
    end -= next((len(p) for p in _POSSESSIVES if text[start:end].endswith(p)), 0)
    return start, end
