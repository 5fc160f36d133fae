"""The Prefect server that a run or a schedule needs: the user's, else one of our own for as long as it is needed."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import requests

from polyonym.flows.home import interrupts
from polyonym.flows.home.home import Home
from polyonym.flows.orchestration import environment
from polyonym.ingest.errors import ServerAway

_START = 120.0  # seconds until a server that we started has to answer


@dataclass(frozen=True)
class PrefectServer:
    """A server that may still be starting: that takes seconds, in which the caller can do what needs none."""

    url: str  # of its API
    log: Path
    process: subprocess.Popen[bytes] | None = None  # None: it is the user's

    def wait(self) -> None:
        """Return when it answers. Raises ServerAway when it does not, Interrupted when the user does not want to wait."""
        deadline = time.monotonic() + _START
        while not _answers(self.url):
            interrupts.clean_point()
            if self.process is None:
                raise ServerAway(
                    f"The Prefect server at {self.url} (PREFECT_API_URL) does not answer. Start it, or unset the variable: then one is started for you."
                )
            if self.process.poll() is not None:
                raise ServerAway(f"The Prefect server could not be started; {self.log} says why.")
            if time.monotonic() > deadline:
                raise ServerAway(
                    "Prefect's server did not start within two minutes. Is the machine very busy? Nothing is lost: run the same command again, "
                    "or set PREFECT_API_URL to a server that runs."
                )
            time.sleep(0.1)


@contextmanager
def prefect_server(home: Home, schedules: bool = False) -> Iterator[PrefectServer]:
    """The user's server (PREFECT_API_URL), else one for this home that is started and lasts as long as the context.

    Only with `schedules` ours looks after deployments. Call `environment.prepare` before.
    """
    log = home.prefect / "server.log"
    if url := os.environ.get("PREFECT_API_URL"):
        yield PrefectServer(url, log)
        return
    port = _free_port()
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-ui"]
    variables = environment.environment(home) | os.environ | ({} if schedules else {"PREFECT__SERVER_EPHEMERAL": "1"})
    with log.open("ab") as log_file:
        # In a session of its own: a Ctrl-C in the terminal is ours, and we need the server to end in order.
        process = subprocess.Popen(command, stdout=log_file, stderr=log_file, start_new_session=True, env=variables)
    try:
        yield PrefectServer(f"http://127.0.0.1:{port}/api", log, process)
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            interrupts.end_with_children(psutil.Process(process.pid))


def _answers(url: str) -> bool:
    try:
        return requests.get(f"{url}/health", timeout=2).ok
    except requests.RequestException:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def drop_late_runs(deployment: str, but: str | None = None) -> int:
    """Cancel the deployment's runs that are overdue (all but the one of this id); returns how many there were."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import (
        DeploymentFilter,
        DeploymentFilterName,
        FlowRunFilter,
        FlowRunFilterState,
        FlowRunFilterStateName,
    )
    from prefect.states import Cancelled

    late = FlowRunFilter(state=FlowRunFilterState(name=FlowRunFilterStateName(any_=["Late", "AwaitingConcurrencySlot"])))
    of_ours = DeploymentFilter(name=DeploymentFilterName(any_=[deployment]))
    with get_client(sync_client=True) as client:
        overdue = [r for r in client.read_flow_runs(flow_run_filter=late, deployment_filter=of_ours) if str(r.id) != but]
        for run in overdue:
            client.set_flow_run_state(run.id, Cancelled(message="Overdue: caught up by one run for all."), force=True)
    return len(overdue)
