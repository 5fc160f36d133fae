"""One run: what its stages share, from the opened home to the changes that it records."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from polyonym.flows.home import history
from polyonym.flows.home.home import Home
from polyonym.flows.home.knowledge import Knowledge
from polyonym.flows.home.progress import Timings
from polyonym.flows.home.settings import Settings, load_settings
from polyonym.flows.inspect import overview
from polyonym.ingest.mentions.gazetteer import Matcher, read_patterns
from polyonym.ingest.mentions.pipelines import Pipelines
from polyonym.ingest.store import stage_marks
from polyonym.ingest.text import documents
from polyonym.ingest.text.embedding import Embedder

DOCUMENTS_AT_ONCE = 200
CHARACTERS_AT_ONCE = 5_000_000
"""Of the long texts in a batch: a text longer than this is a batch of its own."""
LONG = 50_000
"""Characters from which a text counts as long."""


def now() -> str:
    """The time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


AsTask = Callable[[Callable[["Run", "Batch"], int], str], Callable[["Run", "Batch"], int]]


@dataclass
class Written:
    """How much a run wrote into the projections: all 0 when nothing changed."""

    nodes: int = 0
    relationships: int = 0
    vectors: int = 0
    summaries: int = 0


class Run:
    """What the stages of a run share. Not a dataclass: Prefect would walk through all its fields with every task."""

    def __init__(self, home: Home, settings: Settings, engine: Engine, number: int | None = None, kind: str = "ingest") -> None:
        """A new run of a kind (see history.begin), or a flow more of the run `number`."""
        self.home = home
        self.settings = settings
        self.engine = engine
        self._open = engine.connect()  # SQLite folds its journal in when the last connection closes: costly after each transaction
        with engine.begin() as connection:
            self.number = number or history.begin(connection, now(), kind)
            self.figures: dict[str, Any] = history.resume(connection, self.number)
        self.divides_afresh = False  # without regard to the communities before
        self.as_task: AsTask = lambda do, name: do  # how a batch is run; the flows make a Prefect task of it
        self.timings = Timings([(s["stage"], s["seconds"], s["steps"]) for s in self.figures.get("stages", ())])
        self.written = Written(**self.figures.get("written", {}))
        self.notes: list[str] = list(self.figures.get("notes", ()))  # what a person should know, for the summary and the report

    @classmethod
    def open(cls, home: Path, config: Path | None, number: int | None = None, kind: str = "ingest") -> "Run":
        """Open (or make) the home for a run. The caller holds it."""
        place = Home(home)
        settings = load_settings(home, config)
        return cls(place, settings, place.make(settings), number, kind)

    @cached_property
    def pipelines(self) -> Pipelines:
        return Pipelines(self.settings.processes)

    @cached_property
    def embedder(self) -> Embedder:
        return embedder(self.settings.embedding_model)

    @cached_property
    def gazetteer(self) -> Matcher | None:
        """The names that are known beforehand: those of the registry and of the patterns file."""
        registry = self.knowledge.registry
        names = [*(registry.names() if registry else []), *read_patterns(self.settings.patterns_file)]
        return Matcher([(name, label or "OTHER") for name, label in names]) if names else None

    @cached_property
    def knowledge(self) -> Knowledge:
        return Knowledge(self.home, self.settings, self.engine)

    def end(self, status: str) -> None:
        """Close the run, and what it opened."""
        self.figures |= {
            "written": vars(self.written),
            "stages": [{"stage": n, "seconds": round(s, 4), "steps": k} for n, s, k in self.timings.rows],
            "notes": self.notes,
        }
        with self.engine.begin() as connection:
            self.figures["counts"] = overview.counts(connection)
            history.end(connection, self.number, now(), status, self.figures)
        if "pipelines" in self.__dict__:
            self.pipelines.close()
        if "knowledge" in self.__dict__:
            self.knowledge.close()
        self._open.close()


@cache
def embedder(model: str) -> Embedder:
    """The embedding model: the flows of one process load it once."""
    return Embedder(model)


def as_prefect_task(do: Callable[["Run", "Batch"], int], name: str) -> Callable[["Run", "Batch"], int]:
    """A batch's work as a Prefect task, named after its stage and number."""
    from prefect import task
    from prefect.cache_policies import NO_CACHE

    made: Callable[[Run, Batch], int] = task(do, name=name, task_run_name=name + " {batch.number}", cache_policy=NO_CACHE)
    return made


class Batch:
    """Documents that one task works on, with the keys under which the stage is marked. Not a dataclass, for the same reason as Run."""

    def __init__(self, number: int, documents: list[str], keys: Mapping[str, str]) -> None:
        self.number = number
        self.documents = documents
        self.keys = keys


def out_of_date(run: Run, stage: str, keys: Mapping[str, str]) -> list[Batch]:
    """The documents for which a stage has to be done, in batches."""
    with run.engine.connect() as connection:
        todo = stage_marks.outdated(connection, stage, keys)
        long = documents.long_texts(connection, LONG) if todo else {}
    batches: list[list[str]] = []
    characters = 0
    for document in todo:
        characters += long.get(document, 0)
        if not batches or len(batches[-1]) == DOCUMENTS_AT_ONCE or characters > CHARACTERS_AT_ONCE:
            batches.append([])
            characters = long.get(document, 0)
        batches[-1].append(document)
    return [Batch(n, names, {d: keys[d] for d in names}) for n, names in enumerate(batches, 1)]
