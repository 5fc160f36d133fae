"""The searches: by words, by meaning, along the graph, and what each mode makes of them."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from polyonym.retrieval.fusion import reciprocal_rank
from polyonym.retrieval.index import Index, best
from polyonym.retrieval.records import Hit, Mode, Question

DEPTH = 100
"""Passages of each search that are fused."""
_DAMPING = 0.7
"""How likely the walk goes on rather than back to the things that the question names."""
_STEPS = 20
_SEARCHES = {
    Mode.VECTOR: ("words", "meaning"),
    Mode.GRAPH: ("graph",),
    Mode.DUAL: ("words", "meaning", "graph"),
    Mode.FLAT: ("meaning",),
    Mode.BM25: ("words",),
}


def search(index: Index, question: Question, mode: Mode, query_vector: npt.ArrayLike | None, k: int) -> list[Hit]:
    """The at most `k` passages that answer best, the best first, ties in the order of documents.

    `query_vector` (dimension,) is the question's embedding; without one no mode searches by meaning. A graph search of a question
    that names nothing known searches by words instead.
    """
    depth = max(k, DEPTH)
    rankings: dict[str, list[int]] = {}
    wanted = searches_of(mode, question)
    if "words" in wanted:
        rankings["words"] = index.by_words(question.text, depth)
    if "meaning" in wanted and query_vector is not None:
        rankings["meaning"] = index.by_meaning(query_vector, depth)
    if "graph" in wanted:
        rankings["graph"] = along_graph(index, question, depth)
    return [
        _hit(index, passage, score, [name for name, ranking in rankings.items() if passage in ranking])
        for passage, score in reciprocal_rank(rankings)[:k]
    ]


def searches_of(mode: Mode, question: Question) -> tuple[str, ...]:
    """The searches that a mode makes for a question: words, meaning (which needs the question's embedding), graph."""
    if mode is Mode.ADAPTIVE:
        mode = Mode.DUAL if question.names else Mode.VECTOR
    if mode is Mode.GRAPH and not question.names:
        mode = Mode.BM25
    return _SEARCHES[mode]


def along_graph(index: Index, question: Question, limit: int) -> list[int]:
    """Passages by personalised PageRank from the things that the question names (Haveliwala 2002; over passages as in HippoRAG 2024).

    Each name is worth as much as it is rare: one over the number of passages that mention its things, divided among homonyms.
    """
    count = len(index.entities)
    restart = np.zeros(count + len(index.chunks))
    for name in question.names:
        bearers = [index.entities[entity_id] for entity_id in name.entity_ids]
        restart[bearers] += 1 / max(1, int(index.passages[bearers].sum())) / len(bearers)
    if not restart.any():
        return []
    restart /= restart.sum()
    reached = restart
    for _ in range(_STEPS):
        reached = (1 - _DAMPING) * restart + _DAMPING * (index.walk @ reached)
    return best(reached[count:], limit)


def _hit(index: Index, passage: int, score: float, found_by: Sequence[str]) -> Hit:
    chunk = index.chunks[passage]
    return Hit(
        chunk.chunk, chunk.document, chunk.start, chunk.end, chunk.text, index.dates.get(chunk.document), round(score, 6), tuple(found_by)
    )
