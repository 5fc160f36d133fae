"""What sentence embeddings would add to the ranking of candidates, over the features that `polyonym.resolution.linking.features` has.

    python benchmarks/context_embeddings.py [--data DIR] [--work DIR]

To the score of each of a name's best TOP candidates, FACTOR times the cosine of two vectors of the default embedding model is added: the item's
(label and description), and the document's (title and beginning) or the name's (what stands around its first places, the nearest). FACTOR is chosen
by accuracy on the sets that the weights of linking are fitted on (linking.FITTED); at 0 linking is as it is. Printed for every set: accuracy as if a
link were always made, without and with either.
"""

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gold_data import knowledge_base, part
from linking import FITTED, REPORTED, ROOT
from numpy.typing import NDArray

from polyonym.flows.home.settings import Settings
from polyonym.flows.inspect.calibration import examples
from polyonym.ingest.text.embedding import Embedder
from polyonym.resolution.linking.candidates import Item
from polyonym.resolution.linking.knowledge_base import KnowledgeBase
from polyonym.resolution.linking.pools import pools
from polyonym.resolution.linking.ranking import load_weights

TOP, BEGINNING, SIDE, PLACES = 15, 400, 120, 2
FACTORS = [float(f) for f in np.arange(0.0, 8.1, 0.5)]
CONTEXTS = ("document", "name")


@dataclass
class Question:
    """A name whose item the gold knows, with its best candidates: `right` holds the mentions that each would be right for, of `mentions`."""

    items: list[str]
    contexts: dict[str, list[str]]  # texts, by kind of context
    scores: NDArray[np.float64]
    right: NDArray[np.float64]
    mentions: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("POLYONYM_TEST_DATA", ROOT.parent / "shared" / "data")))
    parser.add_argument("--work", type=Path, default=None, help="folder for the knowledge base, kept from one call to the next")
    arguments = parser.parse_args()
    if not (arguments.data / "gold").is_dir():
        sys.exit(f"The gold sets are not there ({arguments.data}/gold): nothing measured. Say where with --data.")
    work = arguments.work or Path(tempfile.mkdtemp(prefix="polyonym-contexts-"))
    work.mkdir(parents=True, exist_ok=True)
    base, embedder = KnowledgeBase(knowledge_base(arguments.data, work)), Embedder()

    def asked(*parts: tuple[str, str]) -> list[Question]:
        return questions([part(arguments.data, work, *one) for one in parts], base)

    fitted = asked(*FITTED)
    vectors = embed(fitted, embedder)
    best = {kind: max(FACTORS, key=lambda f: (accuracy(fitted, vectors, kind, f), -f)) for kind in CONTEXTS}
    print(f"{'set':<28}{'as it is':>10}" + "".join(f"{f'{kind} x {best[kind]:g}':>16}" for kind in CONTEXTS) + "   ms a text")
    show("fitted on", fitted, vectors, best)
    for one in REPORTED:
        found = asked(one)
        begun = time.perf_counter()
        vectors = embed(found, embedder)
        show(" ".join(one), found, vectors, best, 1000 * (time.perf_counter() - begun) / len(vectors))


def questions(files: Sequence[Path], base: KnowledgeBase) -> list[Question]:
    gold = examples(files, Settings())
    held = {e.document.document: e for e in gold}
    weights, made = load_weights(), []
    for pool in pools([e.document for e in gold], {d: e.names for d, e in held.items()}, [base], weights):
        e = held[pool.head.document]
        true = {key: n for name in pool.names for key, n in e.gold.get(name.name, {}).items() if key}
        if not true or not pool.items:
            made += [Question([], {}, np.zeros(0), np.zeros(0), sum(true.values()))] if true else []
            continue
        ranked = pool.rank(weights)
        order, text = ranked.order[:TOP], " ".join(e.document.text.split())
        contexts = {"document": [f"{e.document.title}. {text[:BEGINNING]}"], "name": around(text, pool.head.surface)}
        right = np.array([true.get(pool.items[i].item.id, 0) for i in order], float)
        items = [described(pool.items[i].item) for i in order]
        made.append(Question(items, contexts, np.array(ranked.scores[:TOP]), right, sum(true.values())))
    return made


def around(text: str, name: str) -> list[str]:
    places = list(re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text))[:PLACES]
    return [text[max(0, p.start() - SIDE) : p.end() + SIDE] for p in places] or [name]


def described(item: Item) -> str:
    return f"{item.label}. {item.description or ''}".strip()


def embed(asked: Sequence[Question], embedder: Embedder) -> dict[str, NDArray[np.float32]]:
    texts = sorted({t for q in asked for t in (*q.items, *(t for kind in q.contexts.values() for t in kind))})
    return dict(zip(texts, embedder.encode(texts), strict=True))


def accuracy(asked: Sequence[Question], vectors: dict[str, NDArray[np.float32]], kind: str, factor: float) -> float:
    right = 0.0
    for q in asked:
        if q.items:
            near = np.array([max(float(vectors[i] @ vectors[c]) for c in q.contexts[kind]) for i in q.items]) if factor else 0.0
            right += q.right[int(np.argmax(np.round(q.scores + factor * near, 3)))]
    return right / sum(q.mentions for q in asked)


def show(
    name: str, asked: Sequence[Question], vectors: dict[str, NDArray[np.float32]], factors: dict[str, float], each: float | None = None
) -> None:
    figures = [accuracy(asked, vectors, CONTEXTS[0], 0.0), *(accuracy(asked, vectors, kind, f) for kind, f in factors.items())]
    print(f"{name:<28}{figures[0]:>10.3f}" + "".join(f"{f:>16.3f}" for f in figures[1:]) + (f"{each:>12.1f}" if each else ""), flush=True)


if __name__ == "__main__":
    main()
