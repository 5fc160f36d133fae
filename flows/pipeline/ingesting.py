"""From sources to entities, step by step: what is out of date is done, in batches, and nothing else."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from polyonym.flows.home import history
from polyonym.flows.home.interrupts import clean_point
from polyonym.flows.home.knowledge import configured_weights
from polyonym.flows.home.settings import Settings
from polyonym.flows.pipeline import extraction, loading, reading, resolving, stage_keys
from polyonym.flows.pipeline.run import Batch, Run, out_of_date
from polyonym.ingest.sources import sources
from polyonym.ingest.sources.sources import Scan
from polyonym.ingest.text import documents
from polyonym.ingest.text.embedding import Embedder
from polyonym.resolution.clustering.resolve import moves
from polyonym.resolution.linking import registry


def check_settings(settings: Settings, embedder: Embedder) -> None:
    """Raises WrongUse, before anything is written, when a file or model of the settings cannot be used."""
    extraction.read_patterns(settings.patterns_file)
    configured_weights(settings)
    embedder.count_tokens([""])


def remember_registry(run: Run, file: str | None) -> None:
    """Keep the registry that was given in the home, in place of the one before."""
    if file:
        entries = registry.read_registry(Path(file))
        with run.engine.begin() as connection:
            registry.replace(connection, entries)


def scan_sources(run: Run, paths: list[str], allow_deletions: bool, keep_gone: bool | None) -> Scan:
    """Find what is new, changed, moved and gone; stops before anything is written when too much is gone."""
    with run.timings.stage("Scanning", None, "files") as stage, run.engine.connect() as connection:
        tell = loading.stopping(stage.advance)
        given = sources.resolve(paths, sources.remembered(connection), keep_gone)
        scan = sources.scan(
            connection,
            given,
            reading.reader_key(run.settings),
            allow_deletions=allow_deletions,
            exclude=[run.home.path],
            progress=lambda done, total: tell(done - stage.done),
        )
        if not allow_deletions:
            reading.check_losses(connection, scan, run.settings)
    with run.engine.begin() as connection:
        sources.remember(connection, given)
    kinds = {"new": scan.new, "changed": scan.changed, "moved": scan.moved, "gone": scan.gone, "unchanged": scan.unchanged}
    run.figures["files"] = {kind: len(found) for kind, found in kinds.items()}
    return scan


def read_documents(run: Run, scan: Scan) -> None:
    """Read what is new, changed or moved, take out what is gone."""
    with run.timings.stage("Reading", len(scan.new) + len(scan.changed) + len(scan.moved), "files") as stage:
        reading.rename_documents(run, scan.renamed)
        reading.forget_files(run, scan, [*scan.gone, *(old for old, _ in scan.moved)])
        with run.engine.connect() as connection:
            arrived = {new: old for old, new in moves(connection).items()}
        for file in [*scan.new, *scan.changed, *(new for _, new in scan.moved)]:
            clean_point()
            reading.read_one(run, scan, file, arrived)
            stage.advance()
    with run.engine.connect() as connection:
        changes = Counter(change.kind for change in history.changes(connection, [run.number]))
        held = len(documents.digests(connection))
    told = {kind: changes[f"document-{kind}"] for kind in ("new", "changed", "moved", "gone")}
    run.figures["documents"] = told | {"unchanged": held - told["new"] - told["changed"] - told["moved"]}


def find_chunks(run: Run) -> None:
    _in_batches(run, "chunks", "Cutting chunks", extraction.chunk_batch)


def find_mentions(run: Run) -> None:
    recognition = extraction.Recognition(run)
    _in_batches(run, "mentions", "Finding mentions", lambda _, batch: recognition.batch(batch))


def find_relations(run: Run) -> None:
    _in_batches(run, "relations", "Finding relations", extraction.relate_batch)
    run.pipelines.close()  # no more texts are parsed, and what follows needs the room


def name_mentions(run: Run) -> None:
    _in_batches(run, "names", "Naming", resolving.name_batch)


def link_names(run: Run) -> None:
    resolving.ask_wikidata(run)
    _in_batches(run, "links", "Linking", resolving.link_batch)


def resolve_entities(run: Run) -> None:
    with run.timings.stage("Resolving", None, "units") as stage:
        result = resolving.resolve_all(run, _keys(run, "resolve"))
        stage.advance(result.units)


def _keys(run: Run, stage: str) -> stage_keys.Keys:
    with run.engine.connect() as connection:
        return stage_keys.keys_of(stage, connection, run.settings, run.knowledge)


def _in_batches(run: Run, stage: str, title: str, do: Callable[[Run, Batch], int]) -> None:
    """Do a stage for the documents that are out of date for it, a task a batch, with a clean point before each."""
    batches = out_of_date(run, stage, _keys(run, stage))
    do_batch = run.as_task(do, title.lower())
    with run.timings.stage(title, sum(len(b.documents) for b in batches), "documents") as shown:
        for batch in batches:
            clean_point()
            do_batch(run, batch)
            shown.advance(len(batch.documents))
