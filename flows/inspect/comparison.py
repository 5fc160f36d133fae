"""Compares the modes of asking over questions whose answers are known."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from sqlalchemy import Connection

from polyonym.flows.home.home import Home
from polyonym.flows.home.progress import Timings
from polyonym.flows.home.settings import Settings
from polyonym.flows.inspect import asking
from polyonym.ingest.errors import WrongUse
from polyonym.ingest.text import documents
from polyonym.retrieval import evaluation
from polyonym.retrieval.evaluation import GoldQuestion, Measures
from polyonym.retrieval.records import Hit, Mode

Ranking = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Outcome:
    """What one mode made of the questions: by question its ranking (document, score), its measures and its seconds."""

    mode: Mode
    rankings: Mapping[str, Ranking]
    measures: Mapping[str, Measures]
    seconds: Mapping[str, float]

    def milliseconds(self, ids: Sequence[str], share: float) -> float:
        """The time within which this share of these questions was answered."""
        return round(float(np.quantile([self.seconds[i] for i in ids], share)) * 1000, 1)


@dataclass(frozen=True)
class Comparison:
    """The outcomes of all modes over the questions that could be judged, and the questions whose gold is not in the home."""

    questions: Sequence[GoldQuestion]
    unknown: Sequence[GoldQuestion]
    outcomes: Sequence[Outcome]


def compare(
    home: Home, settings: Settings, connection: Connection, questions: Sequence[GoldQuestion], modes: Sequence[Mode], timings: Timings
) -> Comparison:
    """Ask every question in every mode. A document's place is that of its best passage.

    Raises WrongUse when the gold of no question is in the home.
    """
    by_title: dict[str, list[str]] = defaultdict(list)
    for document in documents.load(connection):
        by_title[document.title].append(document.document)
    known = frozenset(name for names in by_title.values() for name in names)
    meant = {q.id: gold for q in questions if (gold := evaluation.documents_meant(q.gold, by_title, known))}
    judged = [q for q in questions if q.id in meant]
    if not judged:
        raise WrongUse("No question has all its gold in this home, by title or as a document. `polyonym export documents` lists both.")
    ask = asking.opened(home, settings, connection)
    for mode in modes:
        ask(judged[0].text, mode, 1)  # loads what the mode needs, so that no question pays for it
    outcomes = []
    with timings.stage("Asking", len(judged) * len(modes), "questions") as stage:
        for mode in modes:
            rankings, seconds = {}, {}
            for q in judged:
                begun = perf_counter()
                answer = ask(q.text, mode, evaluation.RUN_DEPTH)
                seconds[q.id] = perf_counter() - begun
                rankings[q.id] = _by_document(answer.evidence)
                stage.advance()
            measures = {q.id: evaluation.measure([d for d, _ in rankings[q.id]], meant[q.id]) for q in judged}
            outcomes.append(Outcome(mode, rankings, measures, seconds))
    return Comparison(judged, [q for q in questions if q.id not in meant], outcomes)


def _by_document(hits: Sequence[Hit]) -> Ranking:
    best: dict[str, float] = {}
    for hit in hits:
        best.setdefault(hit.document, hit.score)
    return tuple(best.items())
