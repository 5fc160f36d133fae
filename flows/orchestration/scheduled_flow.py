"""The flow that a schedule runs: one run at a time on a home, overdue ones folded into it.

Prefect sends this file's functions, with the globals that they use, to another process: those must be modules, functions and classes.
"""

from pathlib import Path

from prefect import flow
from prefect.runtime import deployment, flow_run
from rich.markup import escape

from polyonym.flows.home import failures, interrupts, progress
from polyonym.flows.home.home import Home
from polyonym.flows.orchestration.flows import ingest_and_summarize
from polyonym.flows.orchestration.server import drop_late_runs
from polyonym.ingest.errors import HomeHeld


def _run_name() -> str:
    return f"scheduled run of {Path(flow_run.get_parameters()['home']).name}"


@flow(name="scheduled_ingest", flow_run_name=_run_name, validate_parameters=False, persist_result=False)
def scheduled_ingest(paths: list[str], home: str, config: str | None = None, registry_file: str | None = None) -> None:
    """Ingest and summarise. When another run holds the home, this one is left out: the other does its work.

    What stops a run is told on standard error, since nobody may look at Prefect, and raised, so that Prefect shows it as failed.
    """
    interrupts.watch_interrupts()
    if deployment.name:
        drop_late_runs(deployment.name, but=str(flow_run.id))
    try:
        with Home(Path(home)).held():
            ingest_and_summarize(paths, home, config, registry_file)
    except HomeHeld as held:
        progress.console.print(f"Left out: {escape(str(held))}", soft_wrap=True)
    except Exception as error:
        progress.console.print(
            f"[bold red]The run of {flow_run.scheduled_start_time:%Y-%m-%d %H:%M} UTC failed:[/bold red] {escape(str(failures.as_stop(error)))}",
            soft_wrap=True,
        )
        raise
