"""What work will take, told from what it took earlier: from the run that was nearest in size, in proportion."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from polyonym.flows.home.history import RunRecord
from polyonym.flows.pipeline.stages import LINKS, SUMMARIES

_RUNS = 20
Figures = Mapping[str, Any]


class Earlier:
    """The figures of the last runs. A size of nothing takes nothing; what no run has done before is not known (None)."""

    def __init__(self, history: Sequence[RunRecord]) -> None:
        self._runs: list[Figures] = [run.figures for run in history[: -_RUNS - 1 : -1] if run.status == "done"]  # the latest first

    def __bool__(self) -> bool:
        return bool(self._runs)

    def seconds(self, stage: str, steps: int) -> float | None:
        """Of a stage that has so many steps to do."""
        return _in_proportion([(_steps(run, stage), _seconds(run, stage)) for run in self._runs], steps)

    def seconds_for(self, stage: str, documents: int) -> float | None:
        """Seconds estimated for a stage when the number of its steps is unknown: in proportion to the documents that change."""
        return _in_proportion([(_touched(run), _seconds(run, stage)) for run in self._runs], documents)

    def seconds_last(self, stage: str) -> float | None:
        """Of a stage that always looks at everything."""
        return next((_seconds(run, stage) for run in self._runs if _steps(run, stage)), None)

    def summaries(self, documents: int) -> float | None:
        """How many summaries a run writes that changes so many documents."""
        return _in_proportion([(_touched(run), _written(run)) for run in self._runs], documents)

    def seconds_for_summaries(self, summaries: int) -> float | None:
        """Of choosing or asking for so many summaries."""
        return _in_proportion([(_written(run), _seconds(run, SUMMARIES.title)) for run in self._runs], summaries)


def _in_proportion(measured: Sequence[tuple[int, float]], size: int) -> float | None:
    if not size:
        return 0.0
    known = [(then, value) for then, value in measured if then]
    if not known:
        return None
    then, value = min(known, key=lambda t: abs(math.log(t[0] / size)))
    return value * size / then


def _rows(run: Figures, stage: str) -> list[Figures]:
    return [row for row in run.get("stages", ()) if row["stage"] == stage]


def _seconds(run: Figures, stage: str) -> float:
    return sum((float(row["seconds"]) for row in _rows(run, stage)), 0.0)


def _steps(run: Figures, stage: str) -> int:
    return sum(row["steps"] for row in _rows(run, stage))


def _written(run: Figures) -> int:
    summaries: int = run.get("written", {}).get("summaries", 0)
    return summaries


def _touched(run: Figures) -> int:
    """How many documents a run resolved again or took out."""
    gone: int = run.get("documents", {}).get("gone", 0)
    return _steps(run, LINKS.title) + gone
