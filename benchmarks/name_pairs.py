"""How well `polyonym.resolution.names.comparison.compare` tells same from different on the labelled pairs, beside Jaro-Winkler and rigour.

    python benchmarks/name_pairs.py [--errors] [--pairs FILE] [--rigour PYTHON]

PYTHON is the interpreter of an environment of its own in which rigour 2.6 is installed (it needs ICU; never a dependency here):
`python -m venv V && V/bin/pip install rigour==2.6.1`. Its score (`analyze_names`, `pair_symbols`, `compare_parts`) is taken at its best
threshold on these very pairs; ours at the threshold that `compare` is used with.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from rapidfuzz.distance import JaroWinkler  # noqa: E402

from polyonym.resolution.names.comparison import SAME, compare  # noqa: E402
from polyonym.resolution.names.normal_forms import normalise  # noqa: E402

Pair = tuple[str, str, bool, str, str]


def read(path: Path) -> list[Pair]:
    """The labelled pairs: name, name, whether they are the same, type, kind."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("# "))
    return [(a, b, label == "same", type_, kind) for a, b, label, type_, kind in rows]


_RIGOUR = """
import json, sys
from rigour.names import NamePart, NameTypeTag, align_person_name_order, analyze_names, compare_parts, pair_symbols
TAGS = {"PERSON": NameTypeTag.PER, "ORG": NameTypeTag.ORG, "PLACE": NameTypeTag.ENT, "": NameTypeTag.ENT}
def score(x, y, person, extra):
    if x.comparable == y.comparable:
        return 1.0
    best = 0.0
    for pairing in pair_symbols(x, y):
        used = {p for e in pairing for p in (*e.qps, *e.rps)}
        left, right = [p for p in x.parts if p not in used], [p for p in y.parts if p not in used]
        left, right = align_person_name_order(left, right) if person else (NamePart.tag_sort(left), NamePart.tag_sort(right))
        total = weight = 0.0
        for e in [*pairing, *compare_parts(left, right)]:
            size = max(sum(len(p.comparable) for p in e.qps), sum(len(p.comparable) for p in e.rps))
            size *= 1.0 if e.qps and e.rps else extra
            total, weight = total + size * e.score, weight + size
        best = max(best, total / weight if weight else 0.0)
    return best
def best(a, b, tag, extra):
    return max((score(x, y, tag == NameTypeTag.PER, extra) for x in analyze_names(tag, [a]) for y in analyze_names(tag, [b])), default=0.0)
pairs = json.load(sys.stdin)
print(json.dumps({extra: [best(a, b, TAGS[t], extra) for a, b, _, t, _ in pairs] for extra in (1.0, 0.8, 0.5, 0.2)}))
"""


def rigour_scores(pairs: list[Pair], python: str) -> dict[str, list[float]]:
    """rigour's scores, from its own environment, by the weight that a word without a counterpart has: symbols paired first, the rest by
    `compare_parts`, weighted by letters."""
    done = subprocess.run([python, "-c", _RIGOUR], input=json.dumps(pairs), capture_output=True, text=True, check=True)
    scores: dict[str, list[float]] = json.loads(done.stdout)
    return scores


def best_threshold(pairs: list[Pair], scores: list[float]) -> tuple[float, float]:
    """The threshold with the best accuracy, and that accuracy."""
    return max((sum((s >= t) == p[2] for p, s in zip(pairs, scores, strict=True)) / len(pairs), t) for t in sorted({*scores, 1.01}))[::-1]


def report(name: str, pairs: list[Pair], scores: list[float], threshold: float) -> None:
    """One line: accuracy, and the same among the same and the different pairs."""
    right = [(s >= threshold) == p[2] for p, s in zip(pairs, scores, strict=True)]
    same = [r for p, r in zip(pairs, right, strict=True) if p[2]]
    different = [r for p, r in zip(pairs, right, strict=True) if not p[2]]
    print(
        f"{name:28} accuracy {sum(right) / len(right):.3f}  same {sum(same) / len(same):.3f}  different {sum(different) / len(different):.3f}  from {threshold:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, default=ROOT / "benchmarks" / "data" / "name_pairs.tsv")
    parser.add_argument("--errors", action="store_true", help="print our wrong answers")
    parser.add_argument("--rigour", help="the interpreter of an environment with rigour")
    args = parser.parse_args()
    pairs = read(args.pairs)
    print(f"{len(pairs)} pairs, {sum(p[2] for p in pairs)} of them the same")
    for typed in (True, False):
        found = [compare(a, b, t if typed else "", t if typed else "") for a, b, _, t, _ in pairs]
        report(
            "ours, types " + ("given" if typed else "unknown"),
            pairs,
            [f.score if f.same else min(f.score, SAME - 0.01) for f in found],
            SAME,
        )
        wrong: dict[str, int] = defaultdict(int)
        for p, f in zip(pairs, found, strict=True):
            if f.same != p[2]:
                wrong[p[4]] += 1
                if args.errors:
                    print(f"  {'same' if p[2] else 'different'} [{p[4]}] {p[0]!r} {p[1]!r}: {f.score} {f.kind} {f.reasons} {f.forbids}")
    baseline = [JaroWinkler.similarity(normalise(a), normalise(b)) for a, b, *_ in pairs]
    report("Jaro-Winkler, normalised", pairs, baseline, best_threshold(pairs, baseline)[0])
    if args.rigour:
        for extra, scores in rigour_scores(pairs, args.rigour).items():
            report(f"rigour, extra words {extra}", pairs, scores, best_threshold(pairs, scores)[0])


if __name__ == "__main__":
    main()
