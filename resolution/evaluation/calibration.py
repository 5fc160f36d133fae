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
from polyonym.resolution.linking.features import FEATURES, ItemWords
from polyonym.resolution.linking.pools import Pool, pools
from polyonym.resolution.linking.ranking import CONFIDENCE_FEATURES, Ranked, Weights, confidence, load_weights
from polyonym.resolution.linking.statements import AGREEMENT, agreement, traits_of_item
from polyonym.resolution.within_document.document_entities import DocumentName
from polyonym.resolution.within_document.traits import Traits

FOLDS = 5
RANKING_PENALTY = 10.0
CONFIDENCE_PENALTY = 30.0
AS_GOOD = 0.0015
"""Thresholds that differ by less in F1 are equally good; the highest is taken, since a wrong link costs more than one that is missed."""
DOUBT = 0.7
"""Two candidates are too close to call from this ratio of their shares on. Anything from 0.6 to 0.95 links as well on the gold."""
ROUNDS = 2
"""What a document's things say of one another depends on the weights, so that these are fitted so many times over."""
STATEMENT_PENALTY = 0.1
OTHERS = 5
STRANGERS = 3.0
"""How many gold mentions a document counts for whose subject gets the item of another's: of n such at most one is right."""


@dataclass(frozen=True)
class Example:
    """A document with its names and, for each, how often its mentions have which item in the gold ("": none has it; None: the gold leaves the mention out)."""

    document: Document
    names: list[DocumentName]
    gold: Mapping[str, Mapping[str | None, int]]
    source: str = ""  # the gold set that it is from
    missed: int = 0  # gold mentions that were not found
    subject: str | None = None  # the name of what the document is about, where no other document of its source is about the same thing


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
    """Fit ranking, confidence and threshold. Deterministic. Raises WrongUse when the examples hold nothing to learn from.

    A gold set leaves much out that it could have annotated, so that what it leaves out says nothing of a confidence; only the threshold heeds it.
    """
    examples = sorted(examples, key=lambda e: e.document.document)
    annotated = [e for e in examples if e.subject is None]
    gold = {(e.document.document, name): counts for e in examples for name, counts in e.gold.items()}
    names = {e.document.document: e.names for e in annotated}
    documents = [e.document for e in annotated]
    weights = start_weights(version)
    for _ in range(ROUNDS):
        made = [p for p in pools(documents, names, sources, weights) if gold_of(p, gold)]
        groups = [_fold(p.head.document) for p in made]
        weights = replace(weights, features=_fit_ranking(made, gold))
    if sum(any(q in {i.item.id for i in p.items} for q in gold_of(p, gold)) for p in made) < 20:
        raise WrongUse(
            "The gold has fewer than 20 names whose item is among the candidates: nothing can be fitted. Import the knowledge base that its ids stand in."
        )
    # The second stage must see scores of documents that the first was not fitted on, else it learns to trust too much.
    weighed: list[tuple[Pool, Weights]] = []
    for fold in range(FOLDS):
        inside = [p for p, g in zip(made, groups, strict=True) if g != fold]
        fold_weights = replace(weights, features=_fit_ranking(inside, gold))
        weighed.extend((p, fold_weights) for p, g in zip(made, groups, strict=True) if g == fold)
    source_of = {e.document.document: e.source for e in annotated}
    possible = {s: sum(e.missed for e in annotated if e.source == s) for s in sorted({e.source for e in annotated})}
    known = 0
    observed: list[_Observation] = []
    for pool, fold_weights in weighed:
        here = gold_of(pool, gold)
        linkable = sum(n for item, n in here.items() if item)
        possible[source_of[pool.head.document]] += linkable
        known += linkable
        if pool.items:
            ranked = pool.rank(fold_weights)
            right = here.get(pool.items[ranked.order[0]].item.id, 0)
            observed.append(
                _Observation(
                    pool.confidence_features(ranked),
                    right,
                    linkable + here.get("", 0),
                    here.get(None, 0),
                    _fold(pool.head.document),
                    source_of[pool.head.document],
                )
            )
    subjects = _subjects(examples, sources, weights)
    statements = _fit_statements(subjects) if subjects else {f: load_weights().confidence[f] for f in AGREEMENT}
    strangers = _strangers(subjects)
    predicted = np.zeros(len(observed))
    for fold in range(FOLDS):
        fold_weights = _with_confidence(weights, [o for o in observed if o.fold != fold] + strangers, statements)
        outside = [i for i, o in enumerate(observed) if o.fold == fold]
        predicted[outside] = [confidence(observed[i].features, fold_weights) for i in outside]
    margins = np.array([o.features[CONFIDENCE_FEATURES.index("margin")] for o in observed])
    threshold, f1 = _threshold(np.where(margins > -log(DOUBT), predicted, 0.0), observed, possible)
    weights = replace(_with_confidence(weights, observed + strangers, statements), threshold=threshold, doubt=DOUBT)
    hits, judged = np.array([o.right for o in observed], float), np.array([o.annotated for o in observed], float)
    return Fitted(weights, float(hits.sum()) / known, f1, int(judged.sum()), reliability(predicted, hits, judged))


@dataclass(frozen=True)
class _Observation:
    """One winner of a pool: how many of its mentions it is right for, of those that the gold gives an item; and how many the gold leaves out."""

    features: Sequence[float]
    right: float
    annotated: float
    left_out: float
    fold: int
    source: str


@dataclass(frozen=True)
class _Subject:
    """What a document of a source of subjects is about, with the winner of its pool."""

    source: str
    pool: Pool
    ranked: Ranked

    @property
    def item(self) -> ItemWords:
        return self.pool.items[self.ranked.order[0]]


def _subjects(examples: Sequence[Example], sources: Sequence[CandidateSource], weights: Weights) -> list[_Subject]:
    about = {e.document.document: e for e in examples if e.subject is not None}
    return [
        _Subject(about[p.head.document].source, p, p.rank(weights))
        for p in pools([e.document for e in about.values()], {d: e.names for d, e in about.items()}, sources, weights)
        if p.items and about[p.head.document].subject in {n.name for n in p.names}
    ]


def _strangers(subjects: Sequence[_Subject]) -> list[_Observation]:
    """The winners that several subjects of one source have, though each is another thing: at most one is right. Gold sets annotate what has an item; what
    has none, and is called like something that has, is learned from these."""
    shared: dict[tuple[str, str], list[list[float]]] = {}
    for s in subjects:
        shared.setdefault((s.source, s.item.item.id), []).append(s.pool.confidence_features(s.ranked))
    several = [rows for rows in shared.values() if len(rows) > 1]
    return [_Observation(row, STRANGERS / len(alike), STRANGERS, 0, -1, "") for alike in several for row in alike]


def _fit_statements(subjects: Sequence[_Subject]) -> dict[str, float]:
    """How much each agreement of a text with a description speaks for one thing, as the logarithm of the ratio of its frequencies among pairs of one
    thing and pairs of two (Fellegi and Sunter 1969), fitted jointly.

    One thing are a subject and the item of just its name that no other subject has; two are the subject and the items of OTHERS more subjects of its
    type. Where a text leaves the dates of a life out, it is given those that are right for it.
    """
    winners = Counter((s.source, s.item.item.id) for s in subjects)
    sure: dict[str, list[tuple[list[Traits], Traits]]] = {}  # by type
    for s in subjects:
        item = s.item
        if winners[s.source, item.item.id] == 1 and item.item.description and "exact label" in s.pool.kinds[s.ranked.order[0]]:
            described = traits_of_item(item.item, "PERSON" in item.types)
            life: Traits = {kind: described[kind] for kind in ("born", "died") if kind in described}
            said = [dict(n.traits) for n in s.pool.names] + [life]
            sure.setdefault("PERSON" if "PERSON" in item.types else min(item.types, default=""), []).append((said, described))
    rows: list[list[float]] = []
    one: list[float] = []
    mass: list[float] = []
    for type_, observations in sure.items():
        for at, (said, described) in enumerate(observations):
            others = [observations[(at + n) % len(observations)][1] for n in range(1, OTHERS + 1)] if len(observations) > OTHERS else []
            rows += [agreement(said, d, type_ == "PERSON") for d in (described, *others)]
            one += [1.0, *(0.0 for _ in others)]
            mass += [1.0, *(1.0 / OTHERS for _ in others)]
    matrix, hits, totals = np.array(rows), np.array(one) * np.array(mass), np.array(mass)
    weights, _ = _logistic(matrix, hits, totals, np.zeros(len(rows)), STATEMENT_PENALTY)
    return {f: round(float(v), 4) for f, v in zip(AGREEMENT, weights, strict=True)}


def _with_confidence(weights: Weights, observed: Sequence[_Observation], statements: Mapping[str, float]) -> Weights:
    """With the second stage fitted on what the gold says something of; what `statements` weigh is given."""
    said = [o for o in observed if o.annotated]
    matrix = np.array([o.features for o in said])
    hits, totals = np.array([o.right for o in said], float), np.array([o.annotated for o in said], float)
    given = np.array([statements.get(f, 0.0) for f in CONFIDENCE_FEATURES])
    free = [i for i, f in enumerate(CONFIDENCE_FEATURES) if f not in statements]
    mean, scale = matrix[:, free].mean(axis=0), matrix[:, free].std(axis=0)
    scale[scale < 1e-9] = 1.0
    fitted, bias = _logistic((matrix[:, free] - mean) / scale, hits, totals, matrix @ given, CONFIDENCE_PENALTY)
    given[free] = fitted / scale
    parameters = {f: round(float(v), 4) for f, v in zip(CONFIDENCE_FEATURES, given, strict=True)}
    return replace(weights, confidence=parameters, bias=round(float(bias - mean @ given[free]), 4))


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


def _logistic(matrix: np.ndarray, hits: np.ndarray, totals: np.ndarray, offset: np.ndarray, penalty: float) -> tuple[np.ndarray, float]:
    """Logistic regression with an L2 penalty: weights and intercept, where `hits` of `totals` of each row were right, and `offset` is added to each row's logit."""
    from scipy.optimize import minimize

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        logit = matrix @ w[1:] + w[0] + offset
        value = float((totals * np.logaddexp(0, logit) - hits * logit).sum() + 0.5 * penalty * (w[1:] @ w[1:]))
        error = totals / (1 + np.exp(-logit)) - hits
        return value, np.concatenate([[error.sum()], matrix.T @ error + penalty * w[1:]])

    best = minimize(loss, np.zeros(matrix.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return best[1:], float(best[0])


def _threshold(predicted: np.ndarray, observed: Sequence[_Observation], possible: Mapping[str, int]) -> tuple[float, float]:
    """The highest confidence from which linking has as good an F1 as any, with that F1; what the gold leaves out counts as wrong. Every gold set counts alike, whatever its size."""
    hits, totals = np.array([o.right for o in observed], float), np.array([o.annotated + o.left_out for o in observed], float)
    source = np.array([o.source for o in observed])
    tried: list[tuple[float, float]] = []
    for cut in np.arange(0.05, 0.96, 0.01):
        scores = []
        for name, gold in possible.items():
            made = (predicted >= cut) & (source == name)
            scores.append(2 * hits[made].sum() / max(1.0, totals[made].sum() + gold))
        tried.append((round(float(np.mean(scores)), 4), round(float(cut), 2)))
    best = max(tried)[0]
    f1, cut = max((f for f in tried if f[0] >= best - AS_GOOD), key=lambda f: f[1])
    return cut, f1


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
