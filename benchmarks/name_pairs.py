"""How well `resolution.comparison.compare` tells same from different on the labelled pairs, beside Jaro-Winkler and rigour.

    python benchmarks/name_pairs.py [--errors] [--pairs FILE] [--rigour PYTHON]

PYTHON is the interpreter of an environment of its own in which rigour 2.6 is installed (it needs ICU; never a dependency here):
`python -m venv V && V/bin/pip install rigour==2.6.1`. Its best score over `analyze_names` and `compare_parts` is taken at its best threshold
on these very pairs; ours at the threshold that `compare` is used with.
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

from resolution.comparison import SAME, compare  # noqa: E402
from resolution.names import normalise  # noqa: E402

Pair = tuple[str, str, bool, str, str]


def read(path: Path) -> list[Pair]:
    """The labelled pairs: name, name, whether they are the same, type, kind."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("# "))
    return [(a, b, label == "same", type_, kind) for a, b, label, type_, kind in rows]


_RIGOUR = '''
import json, sys
from rigour.names import NameTypeTag, analyze_names, compare_parts
TAGS = {"PERSON": NameTypeTag.PER, "ORG": NameTypeTag.ORG, "": NameTypeTag.ENT, "PLACE": NameTypeTag.ENT}
def best(a, b, tag):
    score = 0.0
    for x in analyze_names(tag, [a]):
        for y in analyze_names(tag, [b]):
            if x.comparable == y.comparable:
                return 1.0
            matched = compare_parts(x.parts, y.parts)
            weights = [max(sum(len(p.comparable) for p in m.qps), sum(len(p.comparable) for p in m.rps)) for m in matched]
            total = sum(w * m.score for w, m in zip(weights, matched))
            score = max(score, total / max(1, sum(weights)))
    return score
print(json.dumps([best(a, b, TAGS[t]) for a, b, _, t, _ in json.load(sys.stdin)]))
'''


def rigour_scores(pairs: list[Pair], python: str) -> list[float]:
    """rigour's scores, from its own environment."""
    done = subprocess.run([python, "-c", _RIGOUR], input=json.dumps(pairs), capture_output=True, text=True, check=True)
    scores: list[float] = json.loads(done.stdout)
    return scores


def best_threshold(pairs: list[Pair], scores: list[float]) -> tuple[float, float]:
    """The threshold with the best accuracy, and that accuracy."""
    return max(((sum((s >= t) == p[2] for p, s in zip(pairs, scores, strict=True)) / len(pairs), t) for t in sorted({*scores, 1.01})))[::-1]


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
        report("ours, types " + ("given" if typed else "unknown"), pairs, [f.score if f.same else min(f.score, SAME - 0.01) for f in found], SAME)
        wrong: dict[str, int] = defaultdict(int)
        for p, f in zip(pairs, found, strict=True):
            if f.same != p[2]:
                wrong[p[4]] += 1
                if args.errors:
                    print(f"  {'same' if p[2] else 'different'} [{p[4]}] {p[0]!r} {p[1]!r}: {f.score} {f.kind} {f.reasons} {f.forbids}")
    baseline = [JaroWinkler.similarity(normalise(a), normalise(b)) for a, b, *_ in pairs]
    report("Jaro-Winkler, normalised", pairs, baseline, best_threshold(pairs, baseline)[0])
    if args.rigour:
        scores = rigour_scores(pairs, args.rigour)
        report("rigour", pairs, scores, best_threshold(pairs, scores)[0])


if __name__ == "__main__":
    main()
