"""How well names become nodes on the gold sets, without a knowledge base: mentions → group → solve, beside exact name and type.

    python benchmarks/clustering.py [SET...] --mentions FOLDER [--half odd|even] [--demonyms]

Gold sets are looked for in POLYONYM_TEST_DATA (default: ../shared/data beside the repository), the scorer in `../eval/score.py` from
there. Mentions come from FOLDER/<set>.jsonl, one mention a line with document, start, end, text, label.
"""

import argparse
import importlib.util
import json
import os
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from polyonym.ingest.text.documents import Document  # noqa: E402
from polyonym.resolution.clustering.clusters import solve  # noqa: E402
from polyonym.resolution.clustering.contexts import content_words  # noqa: E402
from polyonym.resolution.judgements.judgements import Constraints  # noqa: E402
from polyonym.resolution.within_document.document_entities import DocumentEntity  # noqa: E402
from polyonym.resolution.within_document.document_names import group  # noqa: E402

DATA = Path(os.environ.get("POLYONYM_TEST_DATA", ROOT.parent / "shared" / "data"))
SETS = ("gum-a", "meantime-a", "ecbplus-a", "reuters-128", "news-fair-v2-no-coref", "wiki-fair-v2-no-coref", "oke-2016-train")


@dataclass(frozen=True)
class Mention:
    document: str
    start: int
    end: int
    text: str
    label: str

    @property
    def name(self) -> str:
        return self.text


def scorer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("score", DATA.parent / "eval" / "score.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(name: str, folder: Path, half: str) -> tuple[list[dict[str, Any]], dict[str, list[Mention]]]:
    """The gold documents (all, or every second: odd, even) and their mentions."""
    gold = [json.loads(line) for line in (DATA / "gold" / f"{name}.jsonl").open(encoding="utf-8")]
    gold = gold[0::2] if half == "odd" else gold[1::2] if half == "even" else gold
    wanted = {d["doc_id"] for d in gold}
    mentions: dict[str, list[Mention]] = defaultdict(list)
    for line in (folder / f"{name}.jsonl").open(encoding="utf-8"):
        m = json.loads(line)
        if m["document"] in wanted:
            mentions[m["document"]].append(Mention(m["document"], m["start"], m["end"], m["text"], m["label"]))
    return gold, mentions


def resolve(gold: list[dict[str, Any]], mentions: dict[str, list[Mention]], demonyms: bool = False) -> dict[tuple[str, int, int], str]:
    """Each mention's node, by mentions → group → solve."""
    texts = {d["doc_id"]: d["text"] for d in gold}
    document_entities: list[DocumentEntity] = []
    name_of: dict[tuple[str, int, int], tuple[str, str]] = {}
    head_of: dict[tuple[str, str], str] = {}
    for d in gold:
        document = Document(d["doc_id"], "", "", d.get("title", ""), "en", d["text"])
        names, rows = group(document, mentions[d["doc_id"]])
        for n in names:
            head_of[n.document, n.name] = n.group
        for r in rows:
            name_of[r.document, r.start, r.end] = (r.document, r.name)
        heads = sorted({n.group for n in names})
        document_entities += [DocumentEntity(d["doc_id"], head, tuple(n for n in names if n.group == head)) for head in heads]
    words: dict[str, frozenset[str]] = {}

    def context(document: str) -> frozenset[str]:
        if document not in words:
            words[document] = content_words(texts[document])
        return words[document]

    node = {
        key: str(i)
        for i, c in enumerate(solve(document_entities, Constraints(), context, demonyms).clusters)
        for key in c.document_entities
    }
    return {span: node[d, head_of[d, n]] for span, (d, n) in name_of.items()}


def baseline(mentions: dict[str, list[Mention]]) -> dict[tuple[str, int, int], str]:
    """One node per exact name and label, a leading determiner and a final possessive trimmed as the scorer trims them."""
    trim = scorer().trim
    nodes = {}
    for m in (m for ms in mentions.values() for m in ms):
        start, end = trim(m.text, 0, len(m.text))
        nodes[m.document, m.start, m.end] = f"{m.text[start:end]}\t{m.label}"
    return nodes


def score(gold: list[dict[str, Any]], mentions: dict[str, list[Mention]], nodes: dict[tuple[str, int, int], str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        g, p = Path(folder) / "gold.jsonl", Path(folder) / "mentions.jsonl"
        g.write_text("".join(json.dumps(d) + "\n" for d in gold))
        rows = (
            {
                "document": m.document,
                "start": m.start,
                "end": m.end,
                "text": m.text,
                "label": m.label,
                "entity_id": nodes[m.document, m.start, m.end],
            }
            for ms in mentions.values()
            for m in ms
        )
        p.write_text("".join(json.dumps(r) + "\n" for r in rows))
        result: dict[str, Any] = scorer().score(g, p)
        return result


def line(name: str, result: dict[str, Any]) -> str:
    b, p = result["b3"], result["pair"]
    return f"{name:32} {b[2]:.3f} {p[2]:.3f} {100 * result['redundant']:5.1f} {100 * result['fused']:4.1f}   B3 {b[0]:.3f}/{b[1]:.3f}  pair {p[0]:.3f}/{p[1]:.3f}  nodes {result['nodes']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--mentions", type=Path, required=True)
    parser.add_argument("--half", choices=("odd", "even", "all"), default="all")
    parser.add_argument("--demonyms", action="store_true")
    args = parser.parse_args()
    print(f"{'':32} B3 F  pair F redundant fused")
    for name in args.sets:
        gold, mentions = read(name, args.mentions, args.half)
        print(line(f"{name} baseline", score(gold, mentions, baseline(mentions))))
        print(line(f"{name}", score(gold, mentions, resolve(gold, mentions, args.demonyms))), flush=True)


if __name__ == "__main__":
    main()
