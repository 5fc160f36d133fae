"""Puts the results of several searches in one order."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

RANK_CONSTANT = 60
"""How flat the first ranks are: a result of rank r (from 0) counts 1 / (60 + r + 1). Cormack, Clarke and Büttcher, SIGIR 2009."""

WEIGHTS = {"words": 1.0, "meaning": 1.0, "graph": 2.0}
"""What each search counts: the graph as much as the two that look at passages alone (measured: docs/retrieval.md)."""


def reciprocal_rank(rankings: Mapping[str, Sequence[int]]) -> list[tuple[int, float]]:
    """Items with the weighted sum of their reciprocal ranks over the rankings of these searches, highest first, ties by the item."""
    scores: dict[int, float] = defaultdict(float)
    for search, ranking in rankings.items():
        for rank, item in enumerate(ranking):
            scores[item] += WEIGHTS[search] / (RANK_CONSTANT + rank + 1)
    return sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))
