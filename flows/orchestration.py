"""How Prefect is set up for us: everything inside the home, no telemetry, a quiet log, a server only for as long as a run lasts."""

import os
import signal
from contextlib import suppress
from types import FrameType
from typing import Any

import psutil

from flows.home import Home
from ingest.errors import ServerAway, Stop


class Interrupted(Stop):
    """The user asked the run to end; what is done is kept, and the next run goes on from there."""

    exit_code = 130


def _is_server_away(_task: Any, _run: Any, state: Any) -> bool:
    return isinstance(state.result(raise_on_failure=False), ServerAway)


RETRIED: dict[str, Any] = {"retries": 2, "retry_delay_seconds": [5, 30], "retry_condition_fn": _is_server_away}
"""How a task is done again whose server stayed away."""

_interrupts = 0


def environment(home: Home, verbose: bool = False) -> dict[str, str]:
    """The environment in which Prefect works for a home, where the user has not set it otherwise."""
    return {
        "PREFECT_HOME": str(home.prefect.resolve()),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",  # none is used, and they cost a new home's first run some seconds
        "PREFECT_LOGGING_LEVEL": "INFO" if verbose else "CRITICAL",
        "PREFECT_LOGGING_ROOT_LEVEL": "WARNING" if verbose else "CRITICAL",  # not all of Prefect's loggers are below its own
        "PREFECT_LOGGING_SERVER_LEVEL": "WARNING" if verbose else "CRITICAL",
        "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
        "PREFECT_SHOW_PROMPT": "false",
        "PREFECT_CLI_PROMPT": "false",
        "TOKENIZERS_PARALLELISM": "false",
    }


def prepare(home: Home, verbose: bool = False) -> None:
    """Set Prefect's environment. Call it before Prefect is imported; a PREFECT_API_URL of the user's is respected."""
    home.prefect.mkdir(parents=True, exist_ok=True)
    defaults = environment(home, verbose)
    for key, value in defaults.items():
        os.environ.setdefault(key, value)
    _end_orphaned_servers(defaults["PREFECT_HOME"])


def _end_orphaned_servers(prefect_home: str) -> None:
    """A run that was killed could not stop its server: whoever holds the home next does."""
    if 1 in (os.getpid(), os.getppid()):  # in a container we, or who serves us, may be what orphans look to
        return
    for process in psutil.process_iter():
        try:
            orphaned = process.ppid() == 1 and "prefect" in " ".join(process.cmdline())
            if orphaned and process.environ().get("PREFECT_HOME") == prefect_home:
                end_with_children(process)
        except psutil.Error:  # gone meanwhile, or not ours
            continue


def end_with_children(process: psutil.Process) -> None:
    """Kill a process and all below it."""
    with suppress(psutil.NoSuchProcess):
        for each in (*process.children(recursive=True), process):
            each.kill()


def watch_interrupts() -> None:
    """From now on the first Ctrl-C (or SIGTERM) asks the run to end at its next clean point, a second one ends it at once."""

    def on_signal(number: int, _frame: FrameType | None) -> None:
        global _interrupts
        _interrupts += 1
        if _interrupts > 1:
            for child in psutil.Process().children():  # Prefect's server, and workers
                end_with_children(child)
            os._exit(128 + number)
        # Straight to standard error: the signal may have come while the console was writing, and that cannot be entered twice.
        os.write(2, b"\nStopping at the next clean point; once more stops at once (nothing is lost either way).\n")

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)


def clean_point() -> None:
    """Where a run can end without losing work. Raises Interrupted when the user has asked for it."""
    if _interrupts:
        raise Interrupted("Stopped as asked. What is done is kept; the same command goes on from here.")
