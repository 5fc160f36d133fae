"""The ingestion on a schedule: a Prefect deployment with the server it needs, found or started, and nothing else to set up."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any

from cronsim import CronSim, CronSimError

from polyonym.flows.home import history
from polyonym.flows.home.history import RunRecord
from polyonym.flows.home.home import Home
from polyonym.flows.home.progress import console
from polyonym.flows.home.settings import load_settings
from polyonym.flows.orchestration import environment
from polyonym.flows.orchestration.server import drop_late_runs, prefect_server
from polyonym.ingest.errors import Stop, WrongUse

_EVERY = re.compile(r"(\d+)([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True)
class Schedule:
    """When runs are due: a cron line (UTC), or a period such as 15m. Exactly one is set."""

    cron: str = ""
    every: str = ""

    @property
    def period(self) -> timedelta:
        """The period of `every`. Raises WrongUse when it is none."""
        match = _EVERY.fullmatch(self.every)
        if not match or not int(match[1]):
            raise WrongUse(f"--every {self.every!r} is no period: write a number and s, m, h or d, e.g. 15m.")
        return timedelta(**{_UNITS[match[2]]: int(match[1])})

    def last_due(self, now: datetime) -> datetime:
        """When a run was last due before `now`. Raises WrongUse for a schedule that cannot be read."""
        if not self.cron:
            return now - self.period
        try:
            return next(CronSim(self.cron, now, reverse=True))
        except (CronSimError, StopIteration) as error:
            raise WrongUse(f'--cron {self.cron!r} is no cron line: five fields such as "0 2 * * *".') from error


def missed(schedule: Schedule, history: Sequence[RunRecord], now: datetime) -> bool:
    """Whether an ingestion was due since the last one that came to its end began: it is caught up, once, however many were due.

    Other runs (a correction, communities alone) and those that failed stand for none; a home that has only such was due since the
    first of them.
    """
    done = [run for run in history if run.status == "done" and "files" in run.figures]
    since = done[-1:] or history[:1]
    return bool(since) and datetime.fromisoformat(since[0].started) < schedule.last_due(now)


def serve(home: Home, paths: list[str], schedule: Schedule, registry: str | None, config: str | None, verbose: bool) -> None:
    """Serve until SIGTERM or Ctrl-C. Raises WrongUse for a wrong schedule, ServerAway when no Prefect server can be had."""
    signal.signal(signal.SIGTERM, _end)  # until Prefect's runner listens itself: the server that we start must not stay behind
    schedule.last_due(datetime.now(UTC))
    environment.prepare(home, verbose)
    with prefect_server(home, schedules=True) as server:
        server.wait()
        os.environ["PREFECT_API_URL"] = server.url
        from polyonym.flows.orchestration.scheduled_flow import scheduled_ingest

        parameters: dict[str, Any] = {
            "paths": [str(Path(p).absolute()) for p in paths],
            "home": str(home.path.resolve()),
            "config": str(Path(config).resolve()) if config else None,
            "registry_file": str(Path(registry).resolve()) if registry else None,
        }
        name = f"{home.path.resolve().name}-{abs(hash_of(home.path.resolve()))}"
        drop_late_runs(name)
        console.print(
            f"Serving [bold]{home.path}[/bold] {f'by cron {schedule.cron!r} (UTC)' if schedule.cron else f'every {schedule.every}'}; Prefect at {server.url}"
        )
        if missed(schedule, _history(home, config), datetime.now(UTC)):
            console.print("A run was due while nobody served: it is caught up now, once.")
            _run_once(parameters)
        when: dict[str, Any] = {"cron": schedule.cron} if schedule.cron else {"interval": schedule.period}
        scheduled_ingest.serve(name=name, parameters=parameters, limit=1, global_limit=1, print_starting_message=False, **when)


def hash_of(path: Path) -> int:
    """A number that tells homes of one name apart in one Prefect server."""
    import zlib

    return zlib.crc32(str(path).encode())


def _run_once(parameters: dict[str, Any]) -> None:
    """One run in a process of its own, as the schedule's runs are."""
    code = "import sys, json; from polyonym.flows.orchestration.schedule import catch_up; catch_up(json.loads(sys.argv[1]))"
    child = subprocess.Popen([sys.executable, "-c", code, json.dumps(parameters)])
    asked: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        asked.append(number)
        child.send_signal(number)

    previous = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        child.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    if asked:
        sys.exit(0)


def catch_up(parameters: dict[str, Any]) -> None:
    """The run of `_run_once`, in its process. What stopped it has been told."""
    from polyonym.flows.orchestration.scheduled_flow import scheduled_ingest

    try:
        scheduled_ingest(**parameters)
    except Stop as stop:
        sys.exit(stop.exit_code)


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)


def _history(home: Home, config: str | None) -> list[RunRecord]:
    engine = home.open(load_settings(home.path, Path(config) if config else None))
    with engine.connect() as connection:
        return history.load(connection)
