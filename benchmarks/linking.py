"""Links to the knowledge base on gold sets, document by document, beside "the lowest id that has the name"; and the fit of the weights.

    python benchmarks/linking.py [--data DIR] [--work DIR] [--fit WEIGHTS.json] [--weights WEIGHTS.json] [--errors N]

DIR holds gold/*.jsonl and kb/kb.jsonl.gz (default: POLYONYM_TEST_DATA, else ../shared/data). Mentions and names are found with the default
settings. Printed for each set that nothing is fitted on: the share of gold mentions that are found, of these the share whose item is among the
candidates; accuracy as if a link were always made / wrong among the most confident 80 % / F1 of the links over all gold mentions; for the
baseline accuracy and F1. These are the figures of one document at a time, before clusters join names across documents (gold_sets.py has those).

At the end the reliability curve of the confidences over the gold mentions with a candidate, and its expected calibration error: the mean distance
of a bin's mean confidence from the share that is right. And how many subjects of passages that are each about another thing get an item of another's.

--fit fits on FITTED below and on the half of SUBJECTS that is not reported, prints cross-validation and reliability, and writes the weights.
--errors N prints N wrong candidates of each set.
"""

import argparse
import gzip
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from gold_data import knowledge_base, lowest_ids, part

from polyonym.flows.home.settings import Settings
from polyonym.flows.inspect.calibration import examples, subjects
from polyonym.ingest.text.documents import Document, content_hash
from polyonym.resolution.evaluation.calibration import Bin, Example, fit, gold_of, reliability, save_weights
from polyonym.resolution.linking.knowledge_base import KnowledgeBase
from polyonym.resolution.linking.linker import link_documents
from polyonym.resolution.linking.links import Link
from polyonym.resolution.linking.pools import pools
from polyonym.resolution.linking.ranking import Weights, load_weights

ROOT = Path(__file__).resolve().parents[1]
NEWS, WIKI = "news-fair-v2-no-coref", "wiki-fair-v2-no-coref"
# Set and part of it: odd lines (1, 3, 5 …), even lines, all, or the documents whose text no other OKE set has.
FITTED = (("oke-2015-train", "all"), ("derczynski", "all"), (NEWS, "odd"), ("oke-2016-train", "own"), ("gum-a", "odd"))
SUBJECTS = ("wiki_leads_en", "namesakes")
"""Corpora of passages that are each about another thing; the half whose ids have an even hash is fitted on, the other reported."""
REPORTED = (("reuters-128", "all"), ("oke-2015-eval", "all"), (NEWS, "even"), (WIKI, "all"), ("gum-a", "all"), ("gum-a", "even"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("POLYONYM_TEST_DATA", ROOT.parent / "shared" / "data")))
    parser.add_argument("--work", type=Path, default=None, help="folder for the knowledge base, kept from one call to the next")
    parser.add_argument("--fit", type=Path, default=None)
    parser.add_argument("--weights", type=Path, default=None)
    parser.add_argument("--errors", type=int, default=0)
    arguments = parser.parse_args()
    if not (arguments.data / "gold").is_dir():
        sys.exit(f"The gold sets are not there ({arguments.data}/gold): nothing measured. Say where with --data.")
    work = arguments.work or Path(tempfile.mkdtemp(prefix="polyonym-linking-"))
    work.mkdir(parents=True, exist_ok=True)
    base = KnowledgeBase(knowledge_base(arguments.data, work))
    if arguments.fit:
        begun = time.perf_counter()
        gold = examples([part(arguments.data, work, *one) for one in FITTED], Settings())
        gold += [e for corpus in SUBJECTS for e in subjects(passages(arguments.data, corpus, 0), Settings())]
        fitted = fit(gold, [base], arguments.fit.stem.removeprefix("weights-"))
        save_weights(fitted.weights, arguments.fit)
        print(
            f"fitted on {len(gold)} documents, {fitted.mentions} mentions in {time.perf_counter() - begun:.0f} s, written to {arguments.fit}"
        )
        print(f"cross-validated by document: accuracy {fitted.accuracy:.3f}, link F1 {fitted.f1:.3f} at {fitted.weights.threshold:.2f}")
        print(curve(fitted.curve))
    weights = load_weights(arguments.weights or arguments.fit)
    print(f"\nweights {weights.version}: accuracy / wrong80 / link F1")
    print(f"{'set':<30}{'found':>12}{'in pool':>9} | {'lowest id':>13} | {'links':>21}{'P':>7}{'R':>7} | {'ms a name':>9}")
    bins: list[tuple[float, float, int]] = []
    for one in REPORTED:
        gold = examples([part(arguments.data, work, *one)], Settings())
        bins += report(f"{one[0]} {one[1]}", gold, base, weights)
        if arguments.errors:
            errors(gold, base, weights, arguments.errors)
    import numpy as np

    known = reliability(*(np.array(column, dtype=float) for column in zip(*bins, strict=True)))
    error = sum(b.mentions * abs(b.confidence - b.right) for b in known) / sum(b.mentions for b in known)
    print(f"\nreliability on these, expected calibration error {error:.3f}")
    print(curve(known))
    for corpus in SUBJECTS:
        report_subjects(corpus, subjects(passages(arguments.data, corpus, 1), Settings()), base, weights)


def passages(data: Path, corpus: str, half: int) -> list[Document]:
    """The passages of one half of a corpus, by the hash of their ids."""
    with gzip.open(data / "corpora" / f"{corpus}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        Document(f"{corpus}/{r['id']}", corpus, corpus, r["title"], "en", r["text"])
        for r in rows
        if int(content_hash(str(r["id"])), 16) % 2 == half and "may refer to" not in r["text"][:200]
    ]


def report_subjects(corpus: str, about: Sequence[Example], base: KnowledgeBase, weights: Weights) -> None:
    """Print how many subjects are linked, and how many to an item that another subject has too."""
    made = linked(about, base, weights)
    items = Counter(link.wikidata_id for e in about if (link := made[e.document.document, str(e.subject)]).wikidata_id)
    shared = sum(n for n in items.values() if n > 1)
    print(
        f"{corpus}, the half that is not fitted on: {len(about)} subjects, {items.total()} linked, {shared} to an item that another has too"
    )


def report(name: str, gold: Sequence[Example], base: KnowledgeBase, weights: Weights) -> list[tuple[float, float, int]]:
    """Print one row; returns (confidence, right, mentions) of every name with a candidate."""
    begun = time.perf_counter()
    made = linked(gold, base, weights)
    each = (time.perf_counter() - begun) / max(1, sum(len(e.names) for e in gold))
    held = {e.document.document: e for e in gold}
    by_name = {(d, name): counts for d, e in held.items() for name, counts in e.gold.items()}
    pooled = sum(
        count
        for pool in pools([e.document for e in gold], {d: e.names for d, e in held.items()}, [base], weights)
        for key, count in gold_of(pool, by_name).items()
        if key in {i.item.id for i in pool.items}
    )
    found = sum(n for e in gold for counts in e.gold.values() for key, n in counts.items() if key)
    total = found + sum(e.missed for e in gold)
    accuracy, wrong, precision, recall, f1 = scores(gold, lambda d, n: made.get((d, n)), total)
    lowest = baseline(gold, base)
    base_accuracy, _, _, _, base_f1 = scores(gold, lambda d, n: lowest.get((d, n)), total)
    print(
        f"{name:<30}{found:>5}/{total:<6}{pooled / found:>9.3f} |{base_accuracy:>7.3f}{base_f1:>7.3f} |{accuracy:>8.3f}{wrong:>7.3f}{f1:>7.3f}"
        f"{precision:>7.3f}{recall:>7.3f} | {1000 * each:>9.2f}",
        flush=True,
    )
    return [
        (link.confidence, held[d].gold[n].get(link.candidate, 0), judged)
        for (d, n), link in made.items()
        if link.candidate and (judged := sum(count for key, count in held[d].gold.get(n, {}).items() if key is not None))
    ]


def linked(gold: Sequence[Example], base: KnowledgeBase, weights: Weights) -> dict[tuple[str, str], Link]:
    made = link_documents([e.document for e in gold], {e.document.document: e.names for e in gold}, None, [base], weights)
    return {(k.document, k.name): k for k in made}


def baseline(gold: Sequence[Example], base: KnowledgeBase) -> dict[tuple[str, str], Link]:
    """A link to the lowest id that has the name as it is spelled; no link without one."""
    names = [n for e in gold for n in e.names]
    lowest = lowest_ids((n.surface for n in names), base)
    return {(n.document, n.name): Link(n.document, n.name, q := lowest[n.surface], float(bool(q)), q) for n in names}


def scores(gold: Sequence[Example], link_of: Callable[[str, str], Link | None], total: int) -> tuple[float, float, float, float, float]:
    """Accuracy over found mentions, wrong among the surest 80 %, and P, R, F1 of the links made."""
    rows: list[tuple[float, bool]] = []
    made = right = 0
    for e in gold:
        for name, counts in e.gold.items():
            link = link_of(e.document.document, name) or Link(e.document.document, name)
            for key, count in counts.items():
                if link.wikidata_id:
                    made, right = made + count, right + count * (link.wikidata_id == key)
                if key:
                    rows += [(link.confidence, link.candidate == key)] * count
    sure = sorted(rows, key=lambda r: -r[0])[: round(0.8 * len(rows))]
    precision, recall = right / max(1, made), right / total
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return sum(r for _, r in rows) / len(rows), sum(not r for _, r in sure) / max(1, len(sure)), precision, recall, f1


def curve(bins: Sequence[Bin]) -> str:
    return "\n".join(
        f"  {b.low:.1f} to {b.high:.1f}  {b.mentions:>6} mentions, mean confidence {b.confidence:.2f}, right {b.right:.2f}" for b in bins
    )


def errors(gold: Sequence[Example], base: KnowledgeBase, weights: Weights, count: int) -> None:
    """Wrong candidates of names whose item the gold knows, drawn at random but always the same."""
    made = linked(gold, base, weights)
    wrong = [
        (e, n, key, k) for e in gold for n, c in e.gold.items() for key in c if key and (k := made[e.document.document, n]).candidate != key
    ]
    random.Random(0).shuffle(wrong)
    for e, name, key, link in wrong[:count]:
        item = base.item(key)
        best = link.candidates[0]["label"] if link.candidates else "nothing"
        print(
            f"    {e.document.document}  {name!r}: {key} {item.label if item else '?'} | {link.candidate} {best} ({link.confidence:.2f}, {link.verdict})"
        )


if __name__ == "__main__":
    main()
