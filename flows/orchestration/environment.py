"""How Prefect is set up for us: everything inside the home, no telemetry, a quiet log, a server only for as long as a run lasts."""

import os
from typing import Any

import psutil

from polyonym.flows.home.home import Home
from polyonym.flows.home.interrupts import end_with_children
from polyonym.flows.home.proxies import spare_loopback
from polyonym.ingest.errors import ServerAway


def _is_server_away(_task: Any, _run: Any, state: Any) -> bool:
    return isinstance(state.result(raise_on_failure=False), ServerAway)


RETRIED: dict[str, Any] = {"retries": 2, "retry_delay_seconds": [5, 30], "retry_condition_fn": _is_server_away}
"""How a task is done again whose server stayed away."""


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
        "PYTHONSAFEPATH": "1",  # processes that are started import nothing of the folder in which a person stands
    }


def prepare(home: Home, verbose: bool = False) -> None:
    """Set Prefect's environment. Call it before Prefect is imported; a PREFECT_API_URL of the user's is respected."""
    home.prefect.mkdir(parents=True, exist_ok=True)
    spare_loopback()
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
