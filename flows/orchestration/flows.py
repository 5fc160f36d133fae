"""The flows: `ingest_corpus` goes from sources to a loaded graph, `summarize_communities` is downstream of it.

Both go through the table of stages, which reads like the diagram in docs/architecture.md.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.runtime import flow_run
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

from polyonym.flows.home.interrupts import Interrupted
from polyonym.flows.orchestration import artifacts
from polyonym.flows.orchestration.environment import RETRIED
from polyonym.flows.pipeline import scanning
from polyonym.flows.pipeline.run import Run, as_prefect_task
from polyonym.flows.pipeline.stages import OF_COMMUNITIES, PROJECTIONS, STAGES, do_stage, load_projection
from polyonym.flows.report import report

scan_sources = task(scanning.scan_sources, name="scan sources", cache_policy=NO_CACHE)
remember_registry = task(scanning.remember_registry, name="remember the registry", cache_policy=NO_CACHE)
read_documents = task(scanning.read_documents, name="read documents", cache_policy=NO_CACHE)
bring_up_to_date = task(do_stage, name="stage", task_run_name="{stage.title}", cache_policy=NO_CACHE)
project = task(load_projection, name="projection", task_run_name="{projection.title}", cache_policy=NO_CACHE, **RETRIED)


def _ingest_name() -> str:
    given = flow_run.get_parameters()
    return f"ingest {', '.join(Path(p).name for p in given['paths']) or 'nothing'} into {Path(given['home']).name}"


def _communities_name() -> str:
    return f"summarize the communities of {Path(flow_run.get_parameters()['home']).name}"


@flow(name="ingest_corpus", flow_run_name=_ingest_name, validate_parameters=False, persist_result=False)
def ingest_corpus(
    paths: list[str],
    home: str,
    config: str | None = None,
    registry_file: str | None = None,
    allow_deletions: bool = False,
    keep_gone: bool | None = None,
) -> int:
    """Bring the home's graph up to date with these sources; returns the run's number. The caller holds the home."""
    run = Run.open(Path(home), Path(config) if config else None)
    run.as_task = as_prefect_task
    with _ending(run):
        scanning.check_settings(run.settings, run.embedder)
        scan = scan_sources(run, paths, allow_deletions, keep_gone)  # first: it may stop the run, with nothing changed
        remember_registry(run, registry_file)
        read_documents(run, scan)
        progress = artifacts.begin_progress("From documents to the graph")
        steps = len(STAGES) + len(PROJECTIONS)
        for done, stage in enumerate(STAGES, 1):
            bring_up_to_date(run, stage)
            artifacts.show_progress(progress, done, steps)
        for done, projection in enumerate(PROJECTIONS, 1 + len(STAGES)):
            project(run, projection)
            artifacts.show_progress(progress, done, steps)
        artifacts.publish(run)
    return run.number


@flow(name="summarize_communities", flow_run_name=_communities_name, validate_parameters=False, persist_result=False)
def summarize_communities(home: str, config: str | None = None, fresh: bool = False, run_number: int | None = None) -> int:
    """Divide the entity graph, title and summarise what changed, load it; returns the run's number. The caller holds the home.

    With `run_number` it goes on with that run, as its downstream flow; `fresh` divides without regard to the communities before.
    """
    run = Run.open(Path(home), Path(config) if config else None, run_number, "communities")
    run.divides_afresh = fresh
    with _ending(run):
        for projection in OF_COMMUNITIES:
            project(run, projection)
        artifacts.publish(run)
    return run.number


@contextmanager
def _ending(run: Run) -> Iterator[None]:
    """Close the run, however it ends, with what became of it."""
    status = "failed"
    try:
        yield
        status = "done"
    except Interrupted:
        status = "stopped"
        raise
    except BaseException as error:
        run.notes.append(f"Ended early: {error}")
        raise
    finally:
        run.end(status)


def ingest_and_summarize(
    paths: list[str],
    home: str,
    config: str | None = None,
    registry_file: str | None = None,
    allow_deletions: bool = False,
    keep_gone: bool | None = None,
) -> dict[str, Any]:
    """What a run does: the ingestion, then the communities as a downstream flow, then the report, which is returned."""
    # Prefect's heartbeat is a thread that costs a second a flow, for a server that ends with us.
    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        number = ingest_corpus(paths, home, config, registry_file, allow_deletions, keep_gone)
        summarize_communities(home, config, run_number=number)
    return report.write(Path(home), Path(config) if config else None)


def summarize(home: str, config: str | None = None, fresh: bool = False) -> dict[str, Any]:
    """Divide and summarise alone; writes the report and returns it."""
    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        summarize_communities(home, config, fresh)
    return report.write(Path(home), Path(config) if config else None)
