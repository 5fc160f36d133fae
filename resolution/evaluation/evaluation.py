"""Evaluation against a gold set: how true the nodes and links are, overall and by type, and which errors cost most."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polyonym.ingest.errors import WrongUse
from polyonym.resolution.evaluation.errors import Error, errors_of
from polyonym.resolution.evaluation.gold import GoldDocument
from polyonym.resolution.evaluation.matching import match, of_type
from polyonym.resolution.evaluation.scores import Scores, scores_of
from polyonym.resolution.names.entity_types import TYPES


@dataclass(frozen=True)
class GoldEvaluation:
    """What a gold set says: the scores, the same by type of the gold mention, the errors (dearest first), and gold documents not here."""

    scores: Scores
    by_type: dict[str, Scores]
    errors: tuple[Error, ...]
    absent: tuple[str, ...]


def against_gold(gold: Sequence[GoldDocument], mentions: Iterable[Mapping[str, Any]]) -> GoldEvaluation:
    """Hold our mentions (rows of `export mentions`) against a gold set.

    A gold document is met by the document of that name, or the last part of whose name, with or without its extension, it is.
    Raises WrongUse when a text is another one here than in the gold set, when no gold document is here, or no gold mention is found.
    """
    documents = {d.doc_id: d for d in gold}
    seen: set[str] = set()
    matched = match(documents, mentions, seen)
    if not seen:
        raise WrongUse(
            "None of the gold set's documents has a mention in this home. "
            f"Ingest them first; its ids are such as {', '.join(sorted(documents)[:3])}, and a document is met by its name or file name."
        )
    if not matched.gold.keys() & matched.ours.keys():
        raise WrongUse("No mention has the span of a gold mention. Is the gold set of this text?")
    by_type = {
        type_: scores_of(len(documents), part)
        for type_ in TYPES
        if (part := of_type(matched, type_)).gold and part.gold.keys() & part.ours.keys()
    }
    return GoldEvaluation(scores_of(len(documents), matched), by_type, tuple(errors_of(matched)), tuple(sorted(set(documents) - seen)))
