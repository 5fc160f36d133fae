"""Fitting: it learns what the gold shows, a confidence is a frequency, the same examples give the same weights."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.text.documents import Document
from polyonym.resolution.evaluation.calibration import Example, Fitted, fit, reliability, save_weights, start_weights
from polyonym.resolution.linking.candidates import Candidate, Item
from polyonym.resolution.linking.linker import link_documents
from polyonym.resolution.linking.ranking import load_weights
from polyonym.resolution.within_document.document_entities import DocumentName


class Towns:
    """Two towns for each name, one in Rivenland, one in Sundmark; the well known one is as often meant as the other."""

    version = "1"

    def __init__(self, count: int) -> None:
        self.held = {}
        for n in range(count):
            name = f"Town{n:03}"
            pair = [
                Item(f"Q{100 + 2 * n}", name, description="town in Rivenland"),
                Item(f"Q{90_000_001 + 2 * n}", name, description="town in Sundmark"),
            ]
            self.held[name] = pair

    def candidates(self, names: Sequence[str]) -> dict[str, list[Candidate]]:
        return {n: [Candidate(i, n, "exact label") for i in self.held.get(n, ())] for n in names}


def examples(count: int, seed: int = 7) -> list[Example]:
    """Documents that name one town each. Nine in ten say its country; a third of all names are no town's at all."""
    chance = random.Random(seed)
    made = []
    for n in range(count):
        which = chance.randrange(2)
        country = ("Rivenland", "Sundmark")[which] if chance.random() < 0.9 else "somewhere"
        known = chance.random() < 0.67
        surface = f"Town{n:03}"
        document = Document(f"set/{n}", "s", "f", "", "en", f"{surface} lies in {country}.")
        name = DocumentName(document.document, surface.casefold(), surface.casefold(), {surface: 1}, {"GPE": 1})
        gold = (f"Q{100 + 2 * n}", f"Q{90_000_001 + 2 * n}")[which] if known else ""
        made.append(Example(document, [name], {name.name: {gold: 1}}, "towns"))
    return made


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    return fit(examples(400), [Towns(400)], "test")


def test_it_learns_what_tells_them_apart(fitted: Fitted) -> None:
    assert fitted.accuracy > 0.85  # the start, by prominence alone, is right in half
    assert fitted.weights.features["description words"] > 0
    assert fitted.mentions == 400
    tried = examples(400, seed=8)
    made = link_documents([e.document for e in tried], {e.document.document: e.names for e in tried}, None, [Towns(400)], fitted.weights)
    right = [
        k.candidate in e.gold[k.name]
        for k, e in zip(made, sorted(tried, key=lambda e: e.document.document), strict=True)
        if "" not in e.gold[k.name]
    ]
    assert sum(right) / len(right) > 0.85


def test_a_confidence_is_a_frequency(fitted: Fitted) -> None:
    assert sum(b.mentions for b in fitted.curve) == 400
    for part in fitted.curve:
        spread = 3 * (part.confidence * (1 - part.confidence) / part.mentions) ** 0.5
        assert abs(part.confidence - part.right) <= spread + 0.05, part


def test_it_is_the_same_in_any_order(fitted: Fitted) -> None:
    shuffled = examples(400)
    random.Random(1).shuffle(shuffled)
    assert fit(shuffled, [Towns(400)], "test") == fitted


def test_every_gold_set_counts_alike(fitted: Fitted) -> None:
    """A large set in which linking never pays does not outweigh a small one in which it does."""
    small = examples(400)[:60]
    barren = [replace(e, source="barren", gold={n: {"": 1} for n in e.gold}) for e in examples(400)[60:]]
    both = fit([*small, *barren], [Towns(400)], "test")
    assert both.f1 > 0.2


def test_weights_are_written_as_they_are_read(fitted: Fitted, tmp_path: Path) -> None:
    path = tmp_path / "weights-9.json"
    save_weights(fitted.weights, path)
    kept = load_weights(path)
    assert replace(kept, version=fitted.weights.version) == fitted.weights
    assert kept.version.startswith("test")
    save_weights(replace(fitted.weights, threshold=0.9), path)
    assert load_weights(path).version != kept.version


def test_gold_without_candidates_is_refused() -> None:
    with pytest.raises(WrongUse, match="knowledge base"):
        fit(examples(30), [Towns(5)], "test")


def test_the_weights_that_come_with_the_package_fit() -> None:
    held = load_weights()
    assert 0 < held.threshold < 1 and 0 < held.doubt <= 1
    assert held.features["label"] > 0 and held.features["prominence"] > 0
    assert held.features != start_weights("x").features


def test_the_curve_is_what_it_counts() -> None:
    predicted, hits, totals = np.array([0.05, 0.95, 0.95, 1.0]), np.array([0.0, 1.0, 3.0, 2.0]), np.array([2.0, 1.0, 4.0, 2.0])
    low, high = reliability(predicted, hits, totals)
    assert (low.low, low.mentions, low.right) == (0.0, 2, 0.0)
    assert (high.high, high.mentions, high.right) == (1.0, 7, 6 / 7)
    assert high.confidence == pytest.approx((0.95 * 5 + 2) / 7)
