"""One run: what its stages share, from the opened home to the changes that it records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from flows import runs
from flows.home import Home
from flows.knowledge import Knowledge
from flows.progress import Timings
from flows.runs import Change
from flows.settings import Settings, load_settings
from ingest.embedding import Embedder
from ingest.pipelines import Pipelines


def now() -> str:
    """The time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass
class Written:
    """How much a run wrote into the projections: all 0 when nothing changed."""

    nodes: int = 0
    relationships: int = 0
    vectors: int = 0
    summaries: int = 0


class Run:
    """What the stages of a run share. Not a dataclass: Prefect would walk through all its fields with every task."""

    def __init__(self, home: Home, settings: Settings, engine: Engine) -> None:
        self.home = home
        self.settings = settings
        self.engine = engine
        self.timings = Timings()
        self.started = now()
        self.written = Written()
        self.figures: dict[str, Any] = {}
        self.notes: list[str] = []  # what a person should know, for the summary and the report
        with engine.begin() as connection:
            self.number = runs.begin(connection, self.started)

    @classmethod
    def open(cls, home: Path, config: Path | None) -> "Run":
        """Open (or make) the home for a run. The caller holds it."""
        place = Home(home)
        settings = load_settings(home, config)
        return cls(place, settings, place.make(settings))

    @cached_property
    def pipelines(self) -> Pipelines:
        return Pipelines(self.settings.processes)

    @cached_property
    def embedder(self) -> Embedder:
        return Embedder(self.settings.embedding_model)

    @cached_property
    def knowledge(self) -> Knowledge:
        return Knowledge(self.home, self.settings, self.engine)

    def record(self, changes: Sequence[Change]) -> None:
        """Add to the history what this run changed."""
        with self.engine.begin() as connection:
            runs.record(connection, self.number, changes)

    def end(self, status: str) -> None:
        """Close the run, and what it opened."""
        figures = self.figures | {
            "written": vars(self.written),
            "stages": [{"stage": n, "seconds": round(s, 2), "steps": k} for n, s, k in self.timings.rows],
            "notes": self.notes,
        }
        with self.engine.begin() as connection:
            runs.end(connection, self.number, now(), status, figures)
        if "pipelines" in self.__dict__:
            self.pipelines.close()
        if "knowledge" in self.__dict__:
            self.knowledge.close()


@dataclass(frozen=True)
class Batch:
    """Documents that one task works on, with the keys under which the stage is marked."""

    documents: list[str] = field(default_factory=list)
    keys: Mapping[str, str] = field(default_factory=dict)
