"""The flow `summarize_communities`: communities of the entity graph, their titles and summaries. It can be run alone."""

from pathlib import Path

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.runtime import flow_run

from polyonym.flows.home.interrupts import Interrupted
from polyonym.flows.orchestration import artifacts
from polyonym.flows.orchestration.environment import RETRIED
from polyonym.flows.pipeline import summarising
from polyonym.flows.pipeline.run import Run

divide = task(summarising.divide, name="divide the graph", cache_policy=NO_CACHE)
summarise = task(summarising.summarise, name="summarise communities", cache_policy=NO_CACHE)
load_communities = task(summarising.load_communities, name="load communities", cache_policy=NO_CACHE, **RETRIED)


def _run_name() -> str:
    return f"summarize the communities of {Path(flow_run.get_parameters()['home']).name}"


@flow(name="summarize_communities", flow_run_name=_run_name, validate_parameters=False, persist_result=False)
def summarize_communities(home: str, config: str | None = None, fresh: bool = False, run_number: int | None = None) -> int:
    """Divide the entity graph, title and summarise what changed, load it; returns the run's number. The caller holds the home.

    With `run_number` it goes on with that run, as its downstream flow.
    """
    run = Run.open(Path(home), Path(config) if config else None, run_number, "communities")
    status = "failed"
    try:
        divide(run, fresh)
        summarise(run)
        load_communities(run)
        artifacts.publish(run)
        status = "done"
    except Interrupted:
        status = "stopped"
        raise
    except BaseException as error:
        run.notes.append(f"Ended early: {error}")
        raise
    finally:
        run.end(status)
    return run.number
