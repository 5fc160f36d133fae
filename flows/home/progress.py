"""Progress as a person wants to see it: one line a stage, with a bar, counts and a rate; plain lines where no terminal is."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

SECONDS_BETWEEN_LINES = 30

console = Console(stderr=True, highlight=False)


class _Rate(ProgressColumn):
    """Steps a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed and speed >= 10 else f"{speed:.1f}/s" if speed else "", style="progress.data.speed")


@dataclass
class Stage:
    """One stage while it runs. `advance` counts its steps."""

    name: str
    total: int | None
    done: int = 0
    _bar: Progress | None = None
    _task: object = None
    _told: float = field(default_factory=time.monotonic)

    def advance(self, steps: int = 1) -> None:
        self.done += steps
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done)  # type: ignore[arg-type]

    def tell(self, what: str) -> None:
        """Say how far a long step is: beside the bar, or on a line of its own every half minute."""
        if self._bar is not None:
            self._bar.update(self._task, what=what)  # type: ignore[arg-type]
        elif time.monotonic() - self._told >= SECONDS_BETWEEN_LINES:
            self._told = time.monotonic()
            console.print(f"{self.name}: {what}")


@dataclass
class Timings:
    """What each stage did and how long it took: (name, seconds, steps), in order."""

    rows: list[tuple[str, float, int]] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Stage]:
        """Time a stage and show its progress on standard error. `total` is the number of steps, None when unknown."""
        started = time.monotonic()
        stage = Stage(name, total)
        if console.is_terminal:
            columns = [
                SpinnerColumn(finished_text="•"),
                TextColumn(f"{name:<24}"),
                BarColumn(24),
                MofNCompleteColumn(),
                TextColumn(unit),
                _Rate(),
                TextColumn("{task.fields[what]}"),
            ]
            with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as bar:
                stage._bar, stage._task = bar, bar.add_task(name, total=total, what="")
                yield stage
                bar.update(stage._task, total=stage.done, completed=stage.done, what="")
        else:
            yield stage
        seconds = time.monotonic() - started
        self.rows.append((name, seconds, stage.done))
        if not console.is_terminal and stage.done:
            rate = f", {stage.done / seconds:,.0f}/s" if seconds > 2 else ""
            console.print(f"{name}: {stage.done:,} {unit} in {seconds:.1f} s{rate}".replace("  ", " "))
