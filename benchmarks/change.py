"""What a small change of a corpus costs, and whether the home then equals a fresh one.

    python benchmarks/change.py CORPUS --work DIR [--kb FILE] [--part 0.01]

Ingests a copy of CORPUS (JSON lines, gzipped) into DIR/changed, then changes a part of its documents (half of them edited, a
quarter deleted, a quarter added: a deleted text comes back under a new id, with a sentence more) and ingests again; then the
changed corpus into DIR/fresh. Prints both times, with each stage's, the time of a further run that finds nothing to do, and how the
exports of the two homes differ, ids of entities and communities apart. Exit 1 if they do.

The start-up, which the size of the corpus has no part in, is measured as well: what a run takes over a corpus of ten documents, one
of which has changed. It loads the same models and starts the same server.
"""

import argparse
import gzip
import json
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline import COMMAND, Cost, measure, show

from polyonym.graph.relations import SYMMETRIC

SENTENCES = ("Alexander Graham Bell wrote about it to the University of Chicago in 1901.", "It was changed in Geneva.")
COMPARED = ("documents", "rejected", "chunks", "mentions", "entities", "relations", "decisions", "review")

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--kb", type=Path)
    parser.add_argument("--part", type=float, default=0.01)
    arguments = parser.parse_args()
    if not arguments.corpus.exists():
        sys.exit(f"The corpus is not there ({arguments.corpus}): nothing measured.")
    changed, fresh, corpus = arguments.work / "changed", arguments.work / "fresh", arguments.work / "corpus.jsonl.gz"
    arguments.work.mkdir(parents=True)
    shutil.copy(arguments.corpus, corpus)
    first = ingest("first run", corpus, changed, arguments.kb)
    change(corpus, arguments.part)
    second = ingest("after the change", corpus, changed)
    nothing = ingest("nothing to do", corpus, changed)
    ingest("fresh", corpus, fresh, arguments.kb)
    start = start_up(arguments.work / "small", corpus)
    for name, cost in (("the start-up", start), ("a run with nothing to do", nothing)):
        print(f"the change, without {name}: {100 * (second.wall - cost.wall) / first.wall:.2f} % of the first run by the clock")
    sys.exit(1 if differences(changed, fresh) else 0)


def ingest(name: str, corpus: Path, home: Path, kb: Path | None = None) -> Cost:
    if kb:
        show("kb import", measure([*COMMAND, "kb", "import", str(kb), "--home", str(home)]))
    cost = measure([*COMMAND, "ingest", str(corpus), "--home", str(home)])
    show(name, cost)
    report = json.loads((home / "report.json").read_text())
    for stage in report["stages"]:
        print(f"  {stage['stage']:24}{stage['seconds']:9.1f} s{stage['steps']:10,}")
    print(f"  {json.dumps(report['counts'])}", flush=True)
    return cost


def start_up(folder: Path, corpus: Path) -> Cost:
    """What a run takes over ten documents of which one has changed."""
    folder.mkdir()
    rows, small = read(corpus)[:10], folder / "corpus.jsonl.gz"
    for text in ("", f" {SENTENCES[0]}"):
        write(small, [rows[0] | {"text": rows[0]["text"] + text}, *rows[1:]])
        cost = ingest("start-up", small, folder / "home")
    return cost


def read(corpus: Path) -> list[Row]:
    with gzip.open(corpus, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write(corpus: Path, rows: list[Row]) -> None:
    with gzip.open(corpus, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def change(corpus: Path, part: float) -> None:
    """Edit, delete and add, evenly over the corpus, which is written anew."""
    rows = read(corpus)
    step = round(4 / (3 * part))  # of each three touched rows two are edited; the third is deleted and comes back as a new document
    written = []
    for number, row in enumerate(rows):
        turn, touched = divmod(number, step)
        if touched:
            written.append(row)
        elif turn % 3 < 2:
            written.append(row | {"text": f"{row['text']} {SENTENCES[turn % 2]}"})
        else:
            written.append(row | {"id": f"{row['id']}-again", "text": f"{SENTENCES[0]} {row['text']}"})
    write(corpus, written)


def differences(left: Path, right: Path) -> int:
    """Number of kinds that differ; the first rows of each are printed."""
    found = 0
    keys = {home: entity_keys(home) for home in (left, right)}
    for kind in COMPARED:
        a, b = (sorted(by_content(row, keys[home]) for row in exported(kind, home)) for home in (left, right))
        print(f"  {kind:12}{len(a):9,} and{len(b):9,}: {'equal' if a == b else 'they differ'}", flush=True)
        if a != b:
            found += 1
            for side, rows in (("changed", set(a) - set(b)), ("fresh", set(b) - set(a))):
                print(f"    {len(rows):,} only in {side}", *(f"      {row[:400]}" for row in sorted(rows)[:5]), sep="\n")
    return found


def exported(kind: str, home: Path) -> Iterator[Row]:
    with subprocess.Popen([*COMMAND, "export", kind, "--home", str(home)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode:
        sys.exit(f"export {kind} ended with {process.returncode}")


def entity_keys(home: Path) -> dict[str, str]:
    """Of each entity's id, its mentions."""
    mentions = defaultdict(list)
    for row in exported("mentions", home):
        mentions[row["entity_id"]].append([row["document"], row["start"], row["end"]])
    return {entity: json.dumps(sorted(spans)) for entity, spans in mentions.items()}


def by_content(row: Row, keys: dict[str, str]) -> str:
    """A row as text, its entities named by their mentions."""
    named = {k: keys.get(v, v) if isinstance(v, str) else v for k, v in row.items()}
    if row.get("type") == SYMMETRIC:  # which of the two stands first is up to their ids
        named["source"], named["target"] = sorted((named["source"], named["target"]))
    return json.dumps(named, ensure_ascii=False)


if __name__ == "__main__":
    main()
