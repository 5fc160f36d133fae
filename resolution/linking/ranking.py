"""From features to a decision: the weights, the probability that the best candidate is right, and what it takes for a link."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import exp
from pathlib import Path

import msgspec
import numpy as np

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.text.documents import content_hash
from polyonym.resolution.linking.features import FEATURES
from polyonym.resolution.linking.statements import AGREEMENT
from polyonym.resolution.names.tables import DATA

# Two stages, each linear. The first ranks: a candidate's score is the sum of weight × feature, its share of the pool the softmax of the scores (conditional
# logit; McFadden 1974). The second asks how far the winner can be trusted, since nothing may fit: logistic regression on what follows.
CONFIDENCE_FEATURES = (
    "score",
    "margin",  # the winner's score less the second's, at most 6
    "share",
    "alone",  # no other candidate
    "pool",  # log of the number of candidates
    *(f"top {f}" for f in ("exact label", "label", "exact alias", "alias", "start", "end", "words", "demonym", "common noun", "prominence", "same PERSON", "same ORG", "same PLACE", "same GROUP", "barred", "person name", "no person name",
                           "label words here", "label words near", "label here", "label title", "description count",
                           "missing words", "similarity", "further words")),
    "labels PERSON", "labels ORG", "labels PLACE", "labels GROUP",
    "bearers", "names beginning with it", "common given name", "common surname", *AGREEMENT, "untold qualifier", "described",
    "one word", "three words", "capitals", "digits", "lower case", "mentions", "several names", "demonym",
)  # fmt: skip
TOP = [FEATURES.index(f.removeprefix("top ")) for f in CONFIDENCE_FEATURES if f.startswith("top ")]


@dataclass(frozen=True)
class Weights:
    """One version of everything that was fitted. `confidence` is logit-linear in CONFIDENCE_FEATURES, `bias` its intercept."""

    version: str
    features: dict[str, float]
    confidence: dict[str, float]
    bias: float
    threshold: float  # a link needs this confidence
    doubt: float  # how near the second-best's share may come to the best's, as a ratio, before both are in doubt

    def __post_init__(self) -> None:
        unknown = sorted(set(self.features) ^ set(FEATURES) | set(self.confidence) ^ set(CONFIDENCE_FEATURES))
        if unknown:
            raise WrongUse(
                f"The weights {self.version} don't fit this version of polyonym ({', '.join(unknown)}). Fit them anew with `polyonym calibrate GOLD...`."
            )


def load_weights(path: Path | None = None) -> Weights:
    """The weights of a file, without one the newest that came with the package. Raises WrongUse for a file that holds none."""
    path = path or _newest()
    try:
        content = path.read_text(encoding="utf-8")
        weights = msgspec.json.decode(content, type=Weights)
    except (OSError, ValueError) as error:
        raise WrongUse(f"{path} holds no weights for linking: {error}. Write some with `polyonym calibrate GOLD... -o FILE`.") from error
    return replace(weights, version=f"{weights.version}-{content_hash(content)[:8]}")  # links go stale by it, so it must tell any change


def _newest() -> Path:
    numbered = {int(match[1]): path for path in DATA.iterdir() if (match := re.fullmatch(r"weights-(\d+)\.json", path.name))}
    return numbered[max(numbered)]


@dataclass(frozen=True)
class Ranked:
    """A pool in order: positions of the candidates, best first, with their scores and shares (all in that order)."""

    order: list[int]
    scores: list[float]
    shares: list[float]


def rank(matrix: Sequence[Sequence[float]], ties: Sequence[object], weights: Weights) -> Ranked:
    """Order candidates by score; equal ones by `ties`. `matrix` is candidates × FEATURES."""
    vector = _vector(tuple(weights.features[f] for f in FEATURES))
    scores = np.round(np.asarray(matrix, dtype=np.float64) @ vector, 3)
    order = sorted(range(len(matrix)), key=lambda i: (-scores[i], ties[i]))
    powers = np.exp(scores - scores.max())
    shares = powers / powers.sum()
    return Ranked(order, [float(scores[i]) for i in order], [float(shares[i]) for i in order])


@cache
def _vector(values: tuple[float, ...]) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def confidence(values: Sequence[float], weights: Weights) -> float:
    """The probability that the winner is right, rounded to three decimals."""
    logit = weights.bias + sum(weights.confidence[f] * v for f, v in zip(CONFIDENCE_FEATURES, values, strict=True))
    return round(1.0 / (1.0 + exp(-max(-30.0, min(30.0, logit)))), 3)


def exclusive(confidences: Sequence[float]) -> list[float]:
    """The probabilities of claims to one item, each below 1, once it is known that at most one of them is right."""
    odds = [p / (1.0 - p) for p in confidences]
    return [o / (1.0 + sum(odds)) for o in odds]
