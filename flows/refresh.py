"""What follows a correction: everything from names on, for what the correction touched, without looking at the sources."""

from pathlib import Path

from flows import loading, reading, reporting, resolving, stage_keys, summarizing
from flows.run import Run, out_of_date
from ingest import sources


def refresh(home: Path, config: Path | None) -> Run:
    """Bring entities, graph, indexes and communities up to date with the state. The caller holds the home."""
    run = Run.open(home, config)
    status = "failed"
    try:
        with run.engine.connect() as connection:  # a source that went may have freed a name that another document then bears alone
            scan = sources.scan(connection, [], reading.reader_key(run.settings))
        reading.rename_documents(run, scan.renamed)
        for stage, do in (("names", resolving.name_batch), ("links", resolving.link_batch)):
            for batch in out_of_date(run, stage, keys_of(run, stage)):
                do(run, batch)
        resolving.resolve_all(run, keys_of(run, "resolve"))
        loading.load_graph(run)
        loading.index_chunks_and_entities(run)
        summarizing.divide(run, fresh=False)
        summarizing.summarise(run)
        summarizing.load_communities(run)
        status = "done"
    finally:
        run.end(status)
    reporting.write(home, config)
    return run


def keys_of(run: Run, stage: str) -> dict[str, str]:
    """The keys that every document's `stage` should be marked with."""
    with run.engine.connect() as connection:
        return dict(stage_keys.all_keys(connection, run.settings, run.knowledge)[stage])
