"""spaCy pipelines, loaded once a process, over one or more processes.

Workers are started fresh (`spawn`), never forked: the caller may run threads of torch or of an orchestrator, which do
not survive a fork.
"""

from __future__ import annotations

import gc
import importlib.util
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.store import fingerprint

if TYPE_CHECKING:
    from spacy.language import Language

Task = Callable[["Language", Sequence[str]], list[bytes]]
"""A function at a module's top level: what to make of each of some texts. It must give a text the same whatever stands beside it."""

_BATCH = 20_000  # characters a message to a worker: enough to hide its cost, few enough to spread the last ones


def pipeline_version(name: str) -> str:
    """A fingerprint of an installed spaCy pipeline (a package, or a folder), without loading it.

    Raises WrongUse when there is none of that name.
    """
    try:
        if (Path(name) / "meta.json").is_file() or importlib.util.find_spec(name) is not None:
            return fingerprint.of_model(name)
    except (ImportError, ValueError):
        pass
    raise WrongUse(
        f"The spaCy pipeline {name!r} is not installed. Install its package (pip install {name.replace('_', '-')}), or set another one."
    )


@lru_cache(maxsize=4)
def load_pipeline(name: str) -> Language:
    """The whole pipeline, loaded once a process. Raises WrongUse when it is not installed or does not load."""
    pipeline_version(name)
    import spacy

    try:
        pipeline = spacy.load(name)
    except (OSError, ValueError, ImportError) as error:
        raise WrongUse(f"The spaCy pipeline {name!r} does not load: {error}") from error
    gc.freeze()  # what was imported and loaded stays: the collector need not walk through it again and again
    return pipeline


_WORTH_WORKERS = 200_000
"""Characters that are run here before workers are started."""


def _run(task: Task, pipeline: str, texts: Sequence[str]) -> list[bytes]:
    nlp = load_pipeline(pipeline)
    with nlp.memory_zone():  # words met in these texts leave the string store again
        return task(nlp, texts)


class Pipelines:
    """Runs tasks over texts. With one process they run here; with more, in workers that live until `close`.

    Workers take seconds to start, so the first texts run here; and where the system has no semaphores to share with them
    (a container without /dev/shm), all do.
    """

    def __init__(self, processes: int = 1) -> None:
        self._processes = max(1, processes)
        self._pool: ProcessPoolExecutor | None = None
        self._seen = 0  # characters

    def run(self, task: Task, pipeline: str, texts: Sequence[str]) -> list[bytes]:
        """`task`'s result for each text, in order. `pipeline` is a spaCy package's name or a folder.

        Raises WrongUse when a worker is killed: the system does that where memory runs out.
        """
        batches = list(_batches(texts))
        pool = self._workers(len(batches))
        self._seen += sum(map(len, texts))
        if pool is None:
            return [result for batch in batches for result in _run(task, pipeline, batch)]
        try:
            futures = [pool.submit(_run, task, pipeline, batch) for batch in batches]
            return [result for future in futures for result in future.result()]
        except BrokenProcessPool as error:
            self.close()
            raise WrongUse(
                f"One of the {self._processes} processes that run spaCy was killed, most likely because memory ran out: each holds the whole "
                "pipeline. What is done is kept. Free memory, or set processes = 1 in polyonym.toml (POLYONYM_PROCESSES=1); then run the "
                "same command again."
            ) from error

    def _workers(self, batches: int) -> ProcessPoolExecutor | None:
        """The workers, started once they are worth it; None when the texts are to run here."""
        if self._processes == 1 or batches < 2 or self._seen < _WORTH_WORKERS:
            return None
        if self._pool is None:
            try:
                self._pool = ProcessPoolExecutor(self._processes, mp_context=multiprocessing.get_context("spawn"), initializer=_one_thread)
            except (OSError, ImportError):
                self._processes = 1
        return self._pool

    def close(self) -> None:
        """End the workers; a later `run` starts new ones."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def __enter__(self) -> Pipelines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _one_thread() -> None:
    # Each worker has a core to itself; numeric libraries that start threads of their own would only fight over it.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
