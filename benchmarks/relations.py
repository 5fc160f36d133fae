"""How many relations are right, by the construction that says them and by their type: those found in the example corpus, labelled by hand.

usage: python benchmarks/relations.py HOME [--unlabelled]

HOME holds `examples/corpus` and nothing else (`polyonym ingest examples/corpus --home HOME`). A relation between two mentions is right
when its sentence says it of just these two, in this direction. With --unlabelled those without a label are printed, a line each, as
they stand in `benchmarks/data/relations.jsonl`, `right` left open. The shares stand in PATTERNS of `ingest/relations.py`.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson

from polyonym.flows.home import tables
from polyonym.ingest import relations
from polyonym.ingest.mentions import mentions
from polyonym.ingest.store.database import open_state
from polyonym.ingest.text import documents

LABELS = Path(__file__).with_name("data") / "relations.jsonl"
Key = tuple[str, str, str, str, str]


def stated(home: Path) -> Iterator[tuple[Key, str]]:
    """Every relation but co-occurrences: sentence, source, type, predicate and target as their texts are, and its pattern."""
    assert tables.metadata.tables
    with open_state(f"sqlite:///{home / 'state.db'}").connect() as connection:
        texts = {d.document: d.text for d in documents.load(connection)}
        named = {(m.document, m.start): m for m in mentions.load(connection)}
        for r in relations.load(connection):
            if r.type != relations.CO_OCCURS:
                source, target = named[r.document, r.source_start], named[r.document, r.target_start]
                sentence = " ".join(texts[r.document][source.sentence_start : source.sentence_end].split())
                yield (sentence, source.name, r.type, r.predicate, target.name), r.pattern


def main() -> None:
    """Print the shares, or what has no label."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("home", type=Path)
    parser.add_argument("--unlabelled", action="store_true")
    arguments = parser.parse_args()
    fields = ("sentence", "source", "type", "predicate", "target")
    rows = [orjson.loads(line) for line in LABELS.read_bytes().splitlines()] if LABELS.is_file() else []
    labels = {tuple(row[f] for f in fields): bool(row["right"]) for row in rows}
    found = dict(stated(arguments.home))
    if arguments.unlabelled:
        for key in sorted(found.keys() - labels.keys()):
            print(orjson.dumps(dict(zip(fields, key, strict=True)) | {"right": None}).decode())
        return
    right: Counter[str] = Counter()
    judged: Counter[str] = Counter()
    for key, pattern in found.items():
        if key in labels:
            for group in ("all", f"pattern {pattern}", f"type {key[2]}"):
                judged[group] += 1
                right[group] += labels[key]
    for group in sorted(judged):
        print(f"{group:30} {right[group]:4} of {judged[group]:4} right: {right[group] / judged[group]:.2f}")
    print(f"{len(found.keys() - labels.keys())} of {len(found)} have no label")


if __name__ == "__main__":
    main()
