"""The beginning of a run: are the settings usable, what is new, changed, moved and gone, and what do the new files say."""

from collections import Counter
from functools import partial
from pathlib import Path

from polyonym.flows.home import history
from polyonym.flows.home.interrupts import clean_point
from polyonym.flows.home.knowledge import configured_weights
from polyonym.flows.home.progress import Stage
from polyonym.flows.home.settings import Settings
from polyonym.flows.pipeline import loading, reading
from polyonym.flows.pipeline.run import Run
from polyonym.ingest.mentions.gazetteer import read_patterns
from polyonym.ingest.sources import sources
from polyonym.ingest.sources.sources import File, Scan
from polyonym.ingest.text import documents
from polyonym.ingest.text.embedding import Embedder
from polyonym.resolution.clustering.resolve import moves
from polyonym.resolution.linking import registry


def check_settings(settings: Settings, embedder: Embedder) -> None:
    """Raises WrongUse, before anything is written, when a file or model of the settings cannot be used."""
    read_patterns(settings.patterns_file)
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
    for number, said in enumerate(run.settings.sources, 1):
        if not any(sources.matches_path(said.paths, path) for path in scan.paths.values()):
            run.notes.append(f"No file matches the paths of [[sources]] table {number} of the settings: {', '.join(said.paths)}.")
    kinds = {"new": scan.new, "changed": scan.changed, "moved": scan.moved, "gone": scan.gone, "unchanged": scan.unchanged}
    run.figures["files"] = {kind: len(of_kind) for kind, of_kind in kinds.items()}
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
            reading.read_one(run, scan, file, arrived, partial(_tell, stage, file))
            stage.advance()
    with run.engine.connect() as connection:
        changes = Counter(change.kind for change in history.changes(connection, [run.number]))
        total = len(documents.digests(connection))
    counts = {kind: changes[f"document-{kind}"] for kind in ("new", "changed", "moved", "gone")}
    run.figures["documents"] = counts | {"unchanged": total - counts["new"] - counts["changed"] - counts["moved"]}


def _tell(stage: Stage, file: File, documents: int) -> None:
    if documents > 1:
        stage.tell(f"{file.name}: {documents:,} documents")
