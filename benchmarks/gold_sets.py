"""Resolution on gold sets: each set as its own corpus with default settings, beside three baselines on the same mentions.

    python benchmarks/gold_sets.py [--data DIR] [--sets gum-a,reuters-128] [--work DIR] [--errors N]

DIR holds gold/*.jsonl and kb/kb.jsonl.gz (default: POLYONYM_TEST_DATA, else ../shared/data). Prints B³ F / pairwise F / redundant /
fused and, where gold has Wikidata ids, accuracy / wrong among the surest 80 % / link F1, for

  polyonym   sources to entities by the flow's own steps (what a run does after that changes no entity)
  exact      one node for each (name, label); link: the lowest id with that name
  wratio     all pairs of names at rapidfuzz WRatio >= 80, single link
  weighted   0.6 Jaro-Winkler + 0.4 cosine of contexts over the knowledge base's first five hits, accepted above 0.7
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from gold_data import knowledge_base, lowest_ids, part
from rapidfuzz import fuzz, process
from rapidfuzz.distance import JaroWinkler

from polyonym.flows.inspect import exports
from polyonym.flows.pipeline import scanning
from polyonym.flows.pipeline.run import Run
from polyonym.flows.pipeline.stages import ENTITIES, LINKS, MENTIONS, NAMES, do_stage
from polyonym.ingest.text.embedding import Embedder
from polyonym.resolution.clustering.disjoint_sets import DisjointSets
from polyonym.resolution.evaluation.evaluation import against_gold
from polyonym.resolution.evaluation.gold import read_gold
from polyonym.resolution.linking.knowledge_base import KnowledgeBase

SETS = (
    "gum-a",
    "meantime-a",
    "ecbplus-a",
    "reuters-128",
    "oke-2015-eval",
    "news-fair-v2-no-coref",
    "wiki-fair-v2-no-coref",
    "oke-2015-train",
    "oke-2016-train",
    "derczynski",
)
EVEN_LINES = ("news-fair-v2-no-coref",)  # the odd ones were fitted on
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("POLYONYM_TEST_DATA", "../shared/data")))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--work", type=Path, default=None)
    parser.add_argument("--baselines", action="store_true", help="run the three baselines as well")
    arguments = parser.parse_args()
    if not (arguments.data / "gold").is_dir():
        sys.exit(f"The gold sets are not there ({arguments.data}/gold): nothing measured. Say where with --data.")
    work = arguments.work or Path(tempfile.mkdtemp(prefix="polyonym-benchmark-"))
    work.mkdir(parents=True, exist_ok=True)
    base = knowledge_base(arguments.data, work)
    knowledge = KnowledgeBase(base)
    print(
        f"{'set':<24}{'who':<10}{'found':>7}{'exact':>7} | {'B3 F':>6}{'pair F':>7}{'redund':>7}{'fused':>7} | {'acc':>6}{'wrong80':>8}{'link F':>7}"
    )
    for name in arguments.sets.split(","):
        gold = part(arguments.data, work, name, "even" if name in EVEN_LINES else "all")
        rows = ingest(gold, base, work / name)
        report(name, "polyonym", gold, rows)
        if arguments.baselines:
            report(name, "exact", gold, exact(rows, knowledge))
            report(name, "wratio", gold, wratio(rows))
            report(name, "weighted", gold, weighted(rows, gold, knowledge))


def ingest(gold: Path, base: Path, home: Path) -> list[Row]:
    """The mentions that a run over the set gives."""
    shutil.rmtree(home, ignore_errors=True)
    (home / "kb").mkdir(parents=True)
    (home / "kb" / base.name).symlink_to(base.resolve())
    run = Run.open(home, None)
    scan = scanning.scan_sources(run, [str(gold)], False, None)
    scanning.read_documents(run, scan)
    for stage in (MENTIONS, NAMES, LINKS, ENTITIES):
        do_stage(run, stage)
    with run.engine.connect() as connection:
        rows = list(exports.export(connection, "mentions"))
    run.end("done")
    (home / "mentions.jsonl").write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")
    return rows


def report(name: str, who: str, gold: Path, rows: list[Row]) -> None:
    found = against_gold(read_gold(gold), rows).scores
    links = f"{found.accuracy:6.3f}{found.wrong80:8.3f}{found.link[2]:7.3f}" if found.link and found.accuracy is not None else ""
    print(
        f"{name:<24}{who:<10}{found.found:7.3f}{found.exact:7.3f} | {found.b3[2]:6.3f}{found.pair[2]:7.3f}{100 * found.redundant:6.1f}%{100 * found.fused:6.1f}% | {links}",
        flush=True,
    )


def exact(rows: list[Row], knowledge: KnowledgeBase) -> list[Row]:
    lowest = lowest_ids((r["text"] for r in rows), knowledge)
    return [
        r | {"entity_id": f"{r['text']}\t{r['label']}", "wikidata_id": lowest[r["text"]], "candidate": lowest[r["text"]], "confidence": 1.0}
        for r in rows
    ]


def wratio(rows: list[Row]) -> list[Row]:
    names = sorted({r["text"] for r in rows})
    sets = DisjointSets(len(names))
    for start in range(0, len(names), 1000):
        near = process.cdist(names[start : start + 1000], names, scorer=fuzz.WRatio, score_cutoff=80 - 1e-6, workers=-1)
        for i, j in zip(*np.nonzero(near), strict=True):
            sets.unite(start + int(i), int(j))
    group = {n: str(sets.find(i)) for i, n in enumerate(names)}
    return [r | {"entity_id": group[r["text"]], "wikidata_id": None, "candidate": None, "confidence": 0.0} for r in rows]


def weighted(rows: list[Row], gold: Path, knowledge: KnowledgeBase) -> list[Row]:
    texts = {str(d["doc_id"]): d["text"] for d in map(json.loads, gold.open(encoding="utf-8"))}
    found = knowledge.candidates(sorted({r["text"] for r in rows}))
    contexts = {(r["document"], r["start"]): texts[r["document"].split("/", 1)[1]][max(0, r["start"] - 100) : r["end"] + 100] for r in rows}
    items = {c.item.id: f"{c.item.label}. {c.item.description or ''}" for cs in found.values() for c in cs[:5]}
    wanted = sorted({*contexts.values(), *items.values()})
    vector = dict(zip(wanted, Embedder().encode(wanted), strict=True))
    made, cache = [], defaultdict(list)
    for r in rows:
        context = vector[contexts[r["document"], r["start"]]]
        scored = [
            (0.6 * JaroWinkler.similarity(r["text"], c.item.label) + 0.4 * float(context @ vector[items[c.item.id]]), c.item.id)
            for c in found[r["text"]][:5]
        ]
        score, best = max(scored, default=(0.0, None))
        link = best if score > 0.7 else None
        cache[link].append(r)
        made.append(r | {"entity_id": link or f"{r['text']}\t{r['label']}", "wikidata_id": link, "candidate": best, "confidence": score})
    return made


if __name__ == "__main__":
    main()
