"""The flow `ingest_corpus`: from sources to a loaded graph. It reads like the diagram in docs/architecture.md."""

from pathlib import Path

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.runtime import flow_run

from polyonym.flows.home.interrupts import Interrupted
from polyonym.flows.orchestration import artifacts
from polyonym.flows.orchestration.environment import RETRIED
from polyonym.flows.pipeline import ingesting, loading
from polyonym.flows.pipeline.run import Run, as_prefect_task

remember_registry = task(ingesting.remember_registry, name="remember the registry", cache_policy=NO_CACHE)
scan_sources = task(ingesting.scan_sources, name="scan sources", cache_policy=NO_CACHE)
read_documents = task(ingesting.read_documents, name="read documents", cache_policy=NO_CACHE)
find_chunks = task(ingesting.find_chunks, name="cut chunks", cache_policy=NO_CACHE)
find_mentions = task(ingesting.find_mentions, name="find mentions", cache_policy=NO_CACHE)
find_relations = task(ingesting.find_relations, name="find relations", cache_policy=NO_CACHE)
name_mentions = task(ingesting.name_mentions, name="name and group mentions", cache_policy=NO_CACHE)
link_names = task(ingesting.link_names, name="link names", cache_policy=NO_CACHE)
resolve_entities = task(ingesting.resolve_entities, name="resolve entities", cache_policy=NO_CACHE)
load_graph = task(loading.load_graph, name="load the graph", cache_policy=NO_CACHE, **RETRIED)
index_vectors = task(loading.index_chunks_and_entities, name="index vectors", cache_policy=NO_CACHE)

STEPS = (find_chunks, find_mentions, find_relations, name_mentions, link_names, resolve_entities, load_graph, index_vectors)


def _run_name() -> str:
    given = flow_run.get_parameters()
    return f"ingest {', '.join(Path(p).name for p in given['paths']) or 'nothing'} into {Path(given['home']).name}"


@flow(name="ingest_corpus", flow_run_name=_run_name, validate_parameters=False, persist_result=False)
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
    status = "failed"
    try:
        ingesting.check_settings(run.settings, run.embedder)
        scan = scan_sources(run, paths, allow_deletions, keep_gone)  # first: it may stop the run, with nothing changed
        remember_registry(run, registry_file)
        read_documents(run, scan)
        progress = artifacts.begin_progress("From documents to the graph")
        for done, step in enumerate(STEPS, 1):
            step(run)
            artifacts.show_progress(progress, done, len(STEPS))
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
