"""What the benchmarks on gold sets share: the knowledge base, parts of a set, and the baseline that links to the lowest id."""

import json
import time
from collections.abc import Iterable
from pathlib import Path

from polyonym.resolution.linking.knowledge_base import KnowledgeBase, build, read_items


def knowledge_base(data: Path, work: Path) -> Path:
    """The database of DATA/kb/kb.jsonl.gz, kept in `work` from one call to the next."""
    path = work / "knowledge_base.sqlite"
    if not path.exists():
        begun = time.perf_counter()
        count = build(path, read_items(data / "kb" / "kb.jsonl.gz", []), "kb.jsonl.gz")
        print(f"{count:,} items imported in {time.perf_counter() - begun:.0f} s")
    return path


def part(data: Path, work: Path, name: str, which: str) -> Path:
    """The file of a part of a gold set: "odd" lines (1, 3, 5 …), "even" lines, "all", or its "own": what no other OKE set has."""
    file = data / "gold" / f"{name}.jsonl"
    if which == "all":
        return file
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    if which == "own":
        others = {
            _text_of(line)
            for other in ("oke-2015-train", "oke-2015-eval")
            for line in (data / "gold" / f"{other}.jsonl").open(encoding="utf-8")
        }
        kept = [line for line in lines if _text_of(line) not in others]
    else:
        kept = lines[0 if which == "odd" else 1 :: 2]
    made = work / f"{name}-{which}.jsonl"
    made.write_text("".join(kept), encoding="utf-8")
    return made


def _text_of(line: str) -> str:
    return str(json.loads(line)["text"]).strip()


def lowest_ids(names: Iterable[str], base: KnowledgeBase) -> dict[str, str | None]:
    """For each name the lowest id that has it, as it is spelled, as label or alias; None without one."""
    return {
        name: min((c.item.id for c in found if name in (c.item.label, *c.item.aliases)), key=lambda q: int(q[1:]), default=None)
        for name, found in base.candidates(sorted(set(names))).items()
    }
