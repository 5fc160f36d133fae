"""What follows a correction: everything from names on, for what the correction touched, without looking at the sources."""

from collections.abc import Collection
from pathlib import Path

from polyonym.flows.home.interrupts import Interrupted, clean_point
from polyonym.flows.home.knowledge import names_to_ask
from polyonym.flows.pipeline import reading
from polyonym.flows.pipeline.run import Run
from polyonym.flows.pipeline.stages import NAMES, OF_COMMUNITIES, PROJECTIONS, STAGES, do_stage, load_projection
from polyonym.flows.report import report
from polyonym.ingest.sources import sources
from polyonym.resolution.linking.wikidata import client


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
    for stage in STAGES[STAGES.index(NAMES) :]:
        do_stage(run, stage, of_held_mentions=True, prepare=False)
        if stage is NAMES:
            with run.engine.begin() as connection:
                client.purge(connection, names_to_ask(connection))
    for projection in (*PROJECTIONS, *OF_COMMUNITIES):
        load_projection(run, projection)


def _rename(run: Run) -> None:
    """A source that went may have freed a name that another document then bears alone."""
    with run.engine.connect() as connection:
        renamed = sources.scan(connection, [], reading.reader_key(run.settings)).renamed
    names = set(reading.rename_documents(run, renamed))
    if names:
        extract_again(run, names)


def extract_again(run: Run, names: Collection[str]) -> None:
    """Chunks, mentions and relations of these documents, from the models' kept outputs."""
    for stage in STAGES[: STAGES.index(NAMES)]:
        do_stage(run, stage, only=names)
