"""The check of a home: the state's promises, and each projection against the state; and how what differs is put right."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection, Engine, delete, select, update

from polyonym.flows.home.home import Home
from polyonym.flows.home.interrupts import Interrupted
from polyonym.flows.home.settings import Settings
from polyonym.flows.pipeline import loading, reading, refresh
from polyonym.flows.pipeline.run import Run
from polyonym.flows.pipeline.stages import GRAPH, STAGES
from polyonym.graph import load, vectors
from polyonym.graph.check.finding import Finding
from polyonym.graph.check.projections import OTHER, TOO_MANY, check_graph, check_index
from polyonym.graph.check.references import left_documents
from polyonym.graph.check.state import check_state
from polyonym.graph.check.texts import altered_documents, unsound_documents
from polyonym.graph.communities import communities, members
from polyonym.graph.relations import gather
from polyonym.ingest.errors import Damaged
from polyonym.ingest.sources import sources
from polyonym.ingest.store import stage_marks
from polyonym.ingest.store.changes import set_watermark
from polyonym.ingest.store.tables import get_fact, set_fact
from polyonym.ingest.text import documents
from polyonym.resolution.entities import aliases, entities, memberships

INDEXES = ("chunks", "entities", "communities")


def check(home: Home, settings: Settings, engine: Engine) -> list[Finding]:
    """All that is not as it should be. Raises WrongUse when the graph store is another home's, ServerAway when it stays away."""
    with engine.connect() as connection:
        findings = check_state(connection)
        home_id: str = get_fact(connection, "home_id", "")
        wanted = loading.wanted_vectors(connection)
    with loading.open_graph(home, settings) as graph:
        findings += check_graph(engine, graph, home_id)
    for name in INDEXES:
        findings += check_index(name, wanted[name], lambda name=name: vectors.holdings(home.vectors, name))  # type: ignore[misc]
    return findings


def repair(home: Path, config: Path | None, findings: Sequence[Finding]) -> None:
    """Put right what `findings` name, as far as the state has it; it is a run of its own. The caller holds the home.

    Raises Interrupted when the user asks for it; the next one goes on from there.
    """
    if not findings:
        return
    run = Run.open(home, config, kind="repair")
    status = "failed"
    try:
        put_right(run, findings)
        status = "done"
    except Interrupted:
        status = "stopped"
        raise
    finally:
        run.end(status)


def put_right(run: Run, findings: Sequence[Finding]) -> None:
    """The steps of `repair`: what is wrong in the state first, since all else is made from it.

    A text that is not what was read is read again by the next ingest.
    """
    where = {f.where for f in findings}
    with run.engine.begin() as connection:
        altered = altered_documents(connection)
        reading.forget(connection, sorted(left_documents(connection)))
        _read_again(connection, altered)
        _drop_loose_ends(connection)
        broken = unsound_documents(connection, altered)
        if any(f.where == "graph" and f.what.endswith((TOO_MANY, OTHER)) for f in findings):  # it may be the state that is wrong
            broken = documents.digests(connection).keys() - altered
            where |= {"communities", "summaries"}
        set_watermark(connection, "evidence", {})
        gather(connection)
        for stage in STAGES:
            stage_marks.unmark(connection, stage.name, sorted(broken))
        if "communities" in where:
            _divide_again(connection)
        if "summaries" in where:
            set_watermark(connection, "summaries", {})
    refresh.extract_again(run, broken)
    for name in INDEXES:
        _discard_damaged(run.home.vectors, name)
    if "graph" in where:
        with loading.open_graph(run.home, run.settings) as graph, run.timings.stage(f"{GRAPH.title} anew") as stage_shown:
            written = load.load(run.engine, graph, loading.home_id(run.engine), stage_shown.advance, start_over=True)
        run.written.nodes += written.nodes
        run.written.relationships += written.relationships
    refresh.bring_up_to_date(run)


def _read_again(connection: Connection, altered: set[str]) -> None:
    """Have the files of these documents, and those of which nothing is held, taken for changed by the next ingest."""
    sound = documents.files(connection) - {(d.source, d.file) for d in documents.load(connection, sorted(altered))}
    sources.record(connection, [replace(f, reader="") for f in sources.known_files(connection) if (f.source, f.file) not in sound])


def _drop_loose_ends(connection: Connection) -> None:
    """Delete what refers to nothing, or is referred to by nothing, and would be in the way of what is made anew."""
    for column, target in (
        (memberships.c.entity_id, entities.c.entity_id),
        (entities.c.entity_id, memberships.c.entity_id),
        (aliases.c.entity_id, entities.c.entity_id),
        (members.c.community_id, communities.c.community_id),
    ):
        connection.execute(delete(column.table).where(column.not_in(select(target))))


def _divide_again(connection: Connection) -> None:
    """Have the partition made again, from what is left of it; no community is taken for what it was."""
    parents = communities.alias()
    lost = communities.c.parent.not_in(select(parents.c.community_id))
    connection.execute(update(communities).where(lost).values(parent=None))  # the graph is loaded before communities are found
    connection.execute(update(communities).values(content=""))
    set_fact(connection, "communities", "")
    set_watermark(connection, "communities", {})


def _discard_damaged(folder: Path, name: str) -> None:
    """An index that cannot be trusted is made anew; one that can is brought up to date, which costs no vector twice."""
    try:
        vectors.holdings(folder, name)
    except Damaged:
        vectors.discard(folder, name)
