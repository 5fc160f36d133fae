"""Our mentions beside those of a gold set: which of them have one span."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from polyonym.ingest.errors import WrongUse
from polyonym.resolution.evaluation.gold import GoldDocument, GoldMention, trim

Span = tuple[str, int, int]  # gold document, start, end: trimmed


@dataclass(frozen=True)
class Ours:
    """One of our mentions inside a judged span."""

    entity_id: str
    link: str | None
    candidate: str | None
    confidence: float
    text: str


@dataclass(frozen=True)
class Matched:
    """Gold mentions and ours by trimmed span; `inside` counts ours, those with one span each."""

    gold: dict[Span, GoldMention]
    ours: dict[Span, Ours]
    inside: int


def match(documents: Mapping[str, GoldDocument], mentions: Iterable[Mapping[str, Any]], seen: set[str]) -> Matched:
    """Our mentions (rows of `export mentions`) beside the mentions of gold documents, by id; the ids of those that have any go into `seen`.

    Raises WrongUse when a document's text is another one here than in the gold set.
    """
    gold = {(d.doc_id, *span): m for d in documents.values() for span, m in d.judged_mentions.items()}
    ours: dict[Span, Ours] = {}
    inside = 0
    for row in mentions:
        document = _met(documents, row["document"])
        if document is None:
            continue
        if document.text[row["start"] : row["end"]] != row["text"]:
            raise WrongUse(
                f"The gold set's text of {document.doc_id!r} is not that of the document {row['document']!r}: at {row['start']}–{row['end']} "
                f"it has {document.text[row['start'] : row['end']]!r}, the document {row['text']!r}. Make the gold set on the text of `export documents`."
            )
        seen.add(document.doc_id)
        start, end = trim(document.text, row["start"], row["end"])
        if document.judges(start, end):
            inside += 1
            link = row.get("wikidata_id")
            ours[(document.doc_id, start, end)] = Ours(
                row["entity_id"], link, row.get("candidate") or link, row.get("confidence") or 0.0, row["text"]
            )
    return Matched(gold, ours, inside)


def _met(documents: Mapping[str, GoldDocument], name: str) -> GoldDocument | None:
    path = PurePosixPath(name)
    return next((documents[key] for key in (name, path.name, path.stem) if key in documents), None)


def of_type(matched: Matched, type_: str) -> Matched:
    """The part of a match that has gold mentions of one type; ours that no gold mention meets have none."""
    gold = {span: m for span, m in matched.gold.items() if m.type == type_}
    ours = {span: m for span, m in matched.ours.items() if span in gold}
    return Matched(gold, ours, len(ours))
