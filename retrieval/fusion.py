"""Puts the results of several searches in one order."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

RANK_CONSTANT = 60
"""How flat the first ranks are: a result of rank r (from 0) counts 1 / (60 + r + 1). Cormack, Clarke and Büttcher, SIGIR 2009."""


def reciprocal_rank(rankings: Mapping[str, Sequence[int]]) -> list[tuple[int, float]]:
    """Items with the sum of their reciprocal ranks over all rankings, highest first, ties by the item."""
    scores: dict[int, float] = defaultdict(float)
    for ranking in rankings.values():
        for rank, item in enumerate(ranking):
            scores[item] += 1 / (RANK_CONSTANT + rank + 1)
    return sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))
