"""Fitting the weights of linking on documents whose mentions' items are known."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from pathlib import Path

import numpy as np
import orjson

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.text.documents import Document, content_hash
from polyonym.resolution.linking.candidates import CandidateSource
from polyonym.resolution.linking.features import FEATURES
from polyonym.resolution.linking.pools import Pool, pools
from polyonym.resolution.linking.ranking import CONFIDENCE_FEATURES, Weights, confidence, confidence_features
from polyonym.resolution.within_document.document_entities import DocumentName

FOLDS = 5
RANKING_PENALTY = 10.0
CONFIDENCE_PENALTY = 30.0
DOUBT = 0.7
"""Two candidates are too close to call from this ratio of their shares on. Anything from 0.6 to 0.95 links as well on the gold."""
ROUNDS = 2
"""What a document's things say of one another depends on the weights, so that these are fitted so many times over."""


@dataclass(frozen=True)
class Example:
    """A document with its names and, for each, how often its mentions have which item in the gold (None: no item)."""

    document: Document
    names: list[DocumentName]
    gold: Mapping[str, Mapping[str | None, int]]
    source: str = ""  # the gold set that it is from
    missed: int = 0  # gold mentions that were not found


@dataclass(frozen=True)
class Bin:
    """One stretch of the reliability curve."""

    low: float
    high: float
    mentions: int
    confidence: float  # mean
    right: float  # share


@dataclass(frozen=True)
class Fitted:
    """Weights with what cross-validation by document says of them."""

    weights: Weights
    accuracy: float  # over mentions whose item is in the knowledge base
    f1: float  # of the links over all gold mentions, the mean of the gold sets
    mentions: int
    curve: list[Bin]


def fit(examples: Sequence[Example], sources: Sequence[CandidateSource], version: str) -> Fitted:
    """Fit ranking, confidence and threshold. Deterministic. Raises WrongUse when the examples hold nothing to learn from."""
    examples = sorted(examples, key=lambda e: e.document.document)
    gold = {(e.document.document, name): counts for e in examples for name, counts in e.gold.items()}
    names = {e.document.document: e.names for e in examples}
    documents = [e.document for e in examples]
    weights = start_weights(version)
    for _ in range(ROUNDS):
        made = [p for p in pools(documents, names, sources, weights) if gold_of(p, gold)]
        groups = [_fold(p.head.document) for p in made]
        weights = replace(weights, features=_fit_ranking(made, gold))
    if sum(any(q in {i.item.id for i in p.items} for q in gold_of(p, gold)) for p in made) < 20:
        raise WrongUse(
            "The gold has fewer than 20 names whose item is among the candidates: nothing can be fitted. Import the knowledge base that its ids stand in."
        )
    source_of = {e.document.document: e.source for e in examples}
    possible = {s: sum(e.missed for e in examples if e.source == s) for s in sorted(set(source_of.values()))}
    linkable = 0
    for pool in made:
        with_item = sum(count for item, count in gold_of(pool, gold).items() if item)
        possible[source_of[pool.head.document]] += with_item
        linkable += with_item
    # The second stage must see scores of documents that the first was not fitted on, else it learns to trust too much.
    winners: list[tuple[Winner, int, str]] = []  # with its fold and its gold set
    for fold in range(FOLDS):
        fold_weights = replace(weights, features=_fit_ranking([p for p, g in zip(made, groups, strict=True) if g != fold], gold))
        outside = (p for p, g in zip(made, groups, strict=True) if g == fold and p.items)
        winners.extend((winner(p, gold, fold_weights), fold, source_of[p.head.document]) for p in outside)
    matrix = np.array([w.features for w, _, _ in winners])
    hits, totals = np.array([w.right for w, _, _ in winners], float), np.array([w.mentions for w, _, _ in winners], float)
    fold_of, source = np.array([fold for _, fold, _ in winners]), np.array([name for _, _, name in winners])
    predicted = np.zeros(len(winners))
    for fold in range(FOLDS):
        parameters, bias = _fit_confidence(matrix[fold_of != fold], hits[fold_of != fold], totals[fold_of != fold])
        fold_weights = replace(weights, confidence=parameters, bias=bias)
        predicted[fold_of == fold] = [confidence(row, fold_weights) for row in matrix[fold_of == fold]]
    margins = matrix[:, CONFIDENCE_FEATURES.index("margin")]
    threshold, f1 = _threshold(np.where(margins > -log(DOUBT), predicted, 0.0), hits, totals, source, possible)
    parameters, bias = _fit_confidence(matrix, hits, totals)
    weights = replace(weights, confidence=parameters, bias=bias, threshold=threshold, doubt=DOUBT)
    return Fitted(weights, float(hits.sum()) / linkable, f1, int(totals.sum()), reliability(predicted, hits, totals))


@dataclass(frozen=True)
class Winner:
    """The best candidate of a thing of one document beside the gold: what its confidence is judged by (CONFIDENCE_FEATURES), and for how
    many of the thing's mentions it is right.
    """

    features: list[float]
    right: int
    mentions: int


def winner(pool: Pool, gold: Mapping[tuple[str, str], Mapping[str | None, int]], weights: Weights) -> Winner:
    """The best candidate of a pool that has any, by these weights; `gold` is by (document, name)."""
    ranked = pool.rank(weights)
    best = ranked.order[0]
    items = gold_of(pool, gold)
    features = confidence_features(pool.words, pool.count, len(pool.names), ranked, pool.matrix[best])
    return Winner(features, items.get(pool.items[best].item.id, 0), sum(items.values()))


def gold_of(pool: Pool, gold: Mapping[tuple[str, str], Mapping[str | None, int]]) -> Counter[str | None]:
    """How often the mentions of a thing have which item in the gold, by (document, name)."""
    total: Counter[str | None] = Counter()
    for name in pool.names:
        total.update(gold.get((name.document, name.name), {}))
    return total


def start_weights(version: str) -> Weights:
    """Weights of a first guess: names first, then how well known an item is."""
    guess = dict.fromkeys(FEATURES, 0.0) | {
        "exact label": 1.0,
        "label": 1.0,
        "exact alias": 1.0,
        "alias": 1.0,
        "prominence": 0.5,
        "similarity": 2.0,
    }
    return Weights(version, guess, dict.fromkeys(CONFIDENCE_FEATURES, 0.0), 0.0, 0.5, DOUBT)


def _fold(document: str) -> int:
    return int(content_hash(document), 16) % FOLDS


def _fit_ranking(made: Sequence[Pool], gold: Mapping[tuple[str, str], Mapping[str | None, int]]) -> dict[str, float]:
    """Conditional logit with an L2 penalty on standardised features, each name of a document one observation."""
    from scipy.optimize import minimize

    blocks, starts, targets = [], [0], []
    for pool in made:
        here = gold_of(pool, gold)
        target = np.array([here.get(i.item.id, 0) for i in pool.items], float)
        if target.sum() and len(pool.items) > 1:
            # Each name of a document counts once: a name that a long document repeats fifty times is one observation.
            blocks.append(np.array(pool.matrix))
            targets.append(target / target.sum())
            starts.append(starts[-1] + len(pool.items))
    if not blocks:
        return dict.fromkeys(FEATURES, 0.0)
    matrix, target = np.concatenate(blocks), np.concatenate(targets)
    scale = matrix.std(axis=0)
    scale[scale < 1e-9] = 1.0
    matrix = matrix / scale
    begin = np.array(starts[:-1])
    sizes = np.diff(starts)
    mass = np.add.reduceat(target, begin)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        scores = matrix @ w
        scores -= np.repeat(np.maximum.reduceat(scores, begin), sizes)
        powers = np.exp(scores)
        sums = np.add.reduceat(powers, begin)
        value = float((mass * np.log(sums)).sum() - (target * scores).sum() + 0.5 * RANKING_PENALTY * (w @ w))
        shares = powers / np.repeat(sums, sizes) * np.repeat(mass, sizes)
        return value, matrix.T @ (shares - target) + RANKING_PENALTY * w

    best = minimize(loss, np.zeros(matrix.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return {f: round(float(v), 4) for f, v in zip(FEATURES, best / scale, strict=True)}


def _fit_confidence(matrix: np.ndarray, hits: np.ndarray, totals: np.ndarray) -> tuple[dict[str, float], float]:
    """Logistic regression with an L2 penalty on standardised features: `hits` of `totals` mentions of each row were right."""
    from scipy.optimize import minimize

    mean, scale = matrix.mean(axis=0), matrix.std(axis=0)
    scale[scale < 1e-9] = 1.0
    standard = (matrix - mean) / scale

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        logit = standard @ w[1:] + w[0]
        value = float((totals * np.logaddexp(0, logit) - hits * logit).sum() + 0.5 * CONFIDENCE_PENALTY * (w[1:] @ w[1:]))
        error = totals / (1 + np.exp(-logit)) - hits
        return value, np.concatenate([[error.sum()], standard.T @ error + CONFIDENCE_PENALTY * w[1:]])

    best = minimize(loss, np.zeros(matrix.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    weights = best[1:] / scale
    return {f: round(float(v), 4) for f, v in zip(CONFIDENCE_FEATURES, weights, strict=True)}, round(float(best[0] - mean @ weights), 4)


def _threshold(
    predicted: np.ndarray, hits: np.ndarray, totals: np.ndarray, source: np.ndarray, possible: Mapping[str, int]
) -> tuple[float, float]:
    """The confidence from which linking has the best F1, with that F1. Every gold set counts alike, whatever its size."""
    best = (0.0, 0.0)
    for cut in np.arange(0.05, 0.96, 0.01):
        scores = []
        for name, gold in possible.items():
            made = (predicted >= cut) & (source == name)
            scores.append(2 * hits[made].sum() / max(1.0, totals[made].sum() + gold))
        best = max(best, (round(float(np.mean(scores)), 4), -round(float(cut), 2)))
    return -best[1], best[0]


def reliability(predicted: np.ndarray, hits: np.ndarray, totals: np.ndarray, bins: int = 10) -> list[Bin]:
    """How often candidates of each confidence are right."""
    out = []
    for i in range(bins):
        inside = (predicted >= i / bins) & ((predicted < (i + 1) / bins) | (i == bins - 1))
        mentions = totals[inside].sum()
        if mentions:
            out.append(
                Bin(
                    i / bins,
                    (i + 1) / bins,
                    int(mentions),
                    float((predicted * totals)[inside].sum() / mentions),
                    float(hits[inside].sum() / mentions),
                )
            )
    return out


def save_weights(weights: Weights, path: Path) -> None:
    """Write the weights as a file that decision.load_weights reads."""
    row = {
        "version": weights.version,
        "threshold": weights.threshold,
        "doubt": weights.doubt,
        "bias": weights.bias,
        "features": weights.features,
        "confidence": weights.confidence,
    }
    path.write_bytes(orjson.dumps(row, option=orjson.OPT_INDENT_2) + b"\n")
