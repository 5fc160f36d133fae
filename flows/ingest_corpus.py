"""The flow `ingest_corpus`: from sources to a loaded graph. It reads like the diagram in docs/architecture.md."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.runtime import flow_run

from flows import extraction, loading, reading, resolving, stage_keys
from flows.orchestration import clean_point
from flows.run import Batch, Run, out_of_date
from flows.runs import Change
from ingest import sources
from ingest.errors import ServerAway
from ingest.sources import Scan
from resolution import registry


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
    status = "failed"
    try:
        remember_registry(run, registry_file)
        scan = scan_sources(run, paths, allow_deletions, keep_gone)
        read_documents(run, scan, allow_deletions)
        find_chunks(run)
        find_mentions(run)
        find_relations(run)
        name_mentions(run)
        link_names(run)
        resolve_entities(run)
        load_graph(run)
        index_vectors(run)
        status = "done"
    except BaseException as error:
        run.notes.append(f"Ended early: {error}")
        raise
    finally:
        run.end(status)
    return run.number


@task(cache_policy=NO_CACHE, task_run_name="remember the registry")
def remember_registry(run: Run, file: str | None) -> None:
    """Keep the registry that was given in the home, in place of the one before."""
    if file:
        entries = registry.read_registry(Path(file))
        with run.engine.begin() as connection:
            registry.replace(connection, entries)


@task(cache_policy=NO_CACHE, task_run_name="scan sources")
def scan_sources(run: Run, paths: list[str], allow_deletions: bool, keep_gone: bool | None) -> Scan:
    """Find what is new, changed, moved and gone; stops before anything is written when too much is gone."""
    with run.timings.stage("Scanning", None, "files") as stage, run.engine.connect() as connection:
        given = sources.resolve(paths, sources.remembered(connection), keep_gone)
        scan = sources.scan(
            connection,
            given,
            reading.reader_key(run.settings),
            allow_deletions=allow_deletions,
            exclude=[run.home.path],
            progress=lambda done, total: stage.advance(done - stage.done),
        )
    with run.engine.begin() as connection:
        sources.remember(connection, given)
    kinds = {"new": scan.new, "changed": scan.changed, "moved": scan.moved, "gone": scan.gone, "unchanged": scan.unchanged}
    run.figures["files"] = {kind: len(found) for kind, found in kinds.items()}
    return scan


@task(cache_policy=NO_CACHE, task_run_name="read documents")
def read_documents(run: Run, scan: Scan, allow_deletions: bool) -> None:
    """Read what is new, changed or moved, take out what is gone."""
    before = reading.digests(run)
    with run.timings.stage("Reading", len(scan.new) + len(scan.changed) + len(scan.moved), "files") as stage:
        reading.forget_files(run, scan, [*scan.gone, *(old for old, _ in scan.moved)])
        for file in [*scan.new, *scan.changed, *(new for _, new in scan.moved)]:
            clean_point()
            reading.read_one(run, scan, file, allow_deletions)
            stage.advance()
    after = reading.digests(run)
    moved = reading.moved_documents(run)
    new, gone = after.keys() - before.keys() - set(moved.values()), before.keys() - after.keys() - set(moved)
    changed = [d for d in after.keys() & before.keys() if after[d] != before[d]]
    unchanged = len(after) - len(new) - len(changed) - len(moved)
    run.figures["documents"] = {"new": len(new), "changed": len(changed), "moved": len(moved), "gone": len(gone), "unchanged": unchanged}
    run.record(
        [
            *(Change("document-new", d) for d in sorted(new)),
            *(Change("document-changed", d) for d in sorted(changed)),
            *(Change("document-moved", new_name) for new_name in sorted(moved.values())),
            # A deleted document's name is not kept anywhere, the history included.
            *(Change("document-gone", str(n)) for n in range(len(gone))),
        ]
    )


@task(cache_policy=NO_CACHE, task_run_name="cut chunks")
def find_chunks(run: Run) -> None:
    _in_batches(run, "chunks", "Cutting chunks", _keys(run)["chunks"], extraction.chunk_batch)


@task(cache_policy=NO_CACHE, task_run_name="find mentions")
def find_mentions(run: Run) -> None:
    recognition = extraction.Recognition(run)
    _in_batches(run, "mentions", "Finding mentions", _keys(run)["mentions"], lambda _, batch: recognition.batch(batch))


@task(cache_policy=NO_CACHE, task_run_name="find relations")
def find_relations(run: Run) -> None:
    _in_batches(run, "relations", "Finding relations", _keys(run)["relations"], extraction.relate_batch)


@task(cache_policy=NO_CACHE, task_run_name="name and group mentions")
def name_mentions(run: Run) -> None:
    _in_batches(run, "names", "Naming", _keys(run)["names"], resolving.name_batch)


@task(cache_policy=NO_CACHE, task_run_name="link names")
def link_names(run: Run) -> None:
    resolving.ask_wikidata(run)
    _in_batches(run, "links", "Linking", _keys(run)["links"], resolving.link_batch)


@task(cache_policy=NO_CACHE, task_run_name="resolve entities")
def resolve_entities(run: Run) -> None:
    with run.timings.stage("Resolving", None, "units") as stage:
        result = resolving.resolve_all(run, _keys(run)["resolve"])
        stage.advance(result.units)


@task(
    cache_policy=NO_CACHE,
    task_run_name="load the graph",
    retries=2,
    retry_delay_seconds=[5, 30],
    retry_condition_fn=lambda t, r, s: _is_server_away(s),
)
def load_graph(run: Run) -> None:
    loading.load_graph(run)


@task(cache_policy=NO_CACHE, task_run_name="index vectors")
def index_vectors(run: Run) -> None:
    loading.index_chunks_and_entities(run)


def _is_server_away(state: Any) -> bool:
    return isinstance(state.result(raise_on_failure=False), ServerAway)


def _keys(run: Run) -> Mapping[str, Mapping[str, str]]:
    with run.engine.connect() as connection:
        return stage_keys.all_keys(connection, run.settings, run.knowledge)


def _in_batches(run: Run, stage: str, title: str, keys: Mapping[str, str], do: Callable[[Run, Batch], int]) -> None:
    """Do a stage for the documents that are out of date for it, a task a batch, with a clean point before each."""
    batches = out_of_date(run, stage, keys)
    do_batch = task(do, name=title.lower(), task_run_name=f"{title.lower()} {{batch.number}}", cache_policy=NO_CACHE)
    with run.timings.stage(title, sum(len(b.documents) for b in batches), "documents") as shown:
        for batch in batches:
            clean_point()
            do_batch(run, batch)
            shown.advance(len(batch.documents))
