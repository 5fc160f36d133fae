"""What follows a correction: everything from names on, for what the correction touched, without looking at the sources."""

from collections.abc import Callable
from pathlib import Path

from polyonym.flows.home.interrupts import Interrupted, clean_point
from polyonym.flows.home.knowledge import names_to_ask
from polyonym.flows.pipeline import extraction, loading, reading, resolving, stage_keys, summarising
from polyonym.flows.pipeline.run import Batch, Run, out_of_date
from polyonym.flows.report import report
from polyonym.ingest.sources import sources
from polyonym.resolution.linking.wikidata import client as wikidata

Do = Callable[[Run, Batch], int]


def refresh(home: Path, config: Path | None, number: int | None = None) -> Run:
    """Bring entities, graph, indexes and communities up to date with the state. The caller holds the home.

    It is a run of its own, or goes on with the run `number` that the correction has begun. Raises Interrupted when the user asks for it.
    """
    run = Run.open(home, config, number, "correction")
    status = "failed"
    try:
        bring_up_to_date(run)
        status = "done"
    except Interrupted as stop:
        status = "stopped"
        raise Interrupted(
            "Stopped as asked. The correction is kept, but not obeyed everywhere yet: the next `polyonym ingest PATH...`, or the next "
            "correction, finishes the work."
        ) from stop
    finally:
        run.end(status)
    report.write(home, config)
    return run


def bring_up_to_date(run: Run) -> None:
    """The steps of `refresh`. Raises Interrupted at a clean point when the user asks for it."""
    clean_point()
    _rename(run)
    # What a changed setting has put out of date waits for the next ingest: names rest on the mentions as they are.
    for batch in out_of_date(run, "names", _keys(run, "names", True)):
        clean_point()
        resolving.name_batch(run, batch)
    with run.engine.begin() as connection:
        wikidata.purge(connection, names_to_ask(connection))
    for batch in out_of_date(run, "links", _keys(run, "links", True)):
        clean_point()
        resolving.link_batch(run, batch)
    clean_point()
    resolving.resolve_all(run, _keys(run, "resolve", True))
    loading.load_graph(run)
    loading.index_chunks_and_entities(run)
    clean_point()
    summarising.divide(run, fresh=False)
    summarising.summarise(run)
    summarising.load_communities(run)


def _rename(run: Run) -> None:
    """A source that went may have freed a name that another document then bears alone."""
    with run.engine.connect() as connection:
        renamed = sources.scan(connection, [], reading.reader_key(run.settings)).renamed
    names = set(reading.rename_documents(run, renamed))
    if not names:
        return
    steps: tuple[tuple[str, Do], ...] = (
        ("chunks", extraction.chunk_batch),
        ("mentions", lambda _, batch: extraction.Recognition(run).batch(batch)),
        ("relations", extraction.relate_batch),
    )
    for stage, do in steps:
        for batch in out_of_date(run, stage, {d: key for d, key in _keys(run, stage, False).items() if d in names}):
            do(run, batch)


def _keys(run: Run, stage: str, of_held_mentions: bool) -> stage_keys.Keys:
    """The keys that every document's `stage` should be marked with."""
    with run.engine.connect() as connection:
        return stage_keys.keys_of(stage, connection, run.settings, run.knowledge, of_held_mentions)
