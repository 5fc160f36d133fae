"""The check of a home: the state's promises, and each projection against the state; and how projections are put right."""

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Engine

from flows import loading, summarizing
from flows.home import Home
from flows.run import Run
from flows.settings import Settings
from graph import cards, store, summaries, vectors
from graph.check import Finding, check_graph, check_index, check_state
from ingest import chunks
from ingest.documents import content_hash
from ingest.errors import Damaged
from ingest.state import get_fact

INDEXES = ("chunks", "entities", "communities")


def check(home: Home, settings: Settings, engine: Engine) -> list[Finding]:
    """All that is not as it should be. Raises WrongUse when the graph store is another home's, ServerAway when it stays away."""
    with engine.connect() as connection:
        findings = check_state(connection)
        home_id: str = get_fact(connection, "home_id", "")
        wanted = {
            "chunks": chunks.contents(connection),
            "entities": {card.entity_id: content_hash(card.text) for card in cards.cards(connection)},
            "communities": {i: content_hash(text) for i, text in summaries.descriptions(connection).items()},
        }
    with loading.open_graph(home, settings) as graph:
        findings += check_graph(engine, graph, home_id)
    for name in INDEXES:
        findings += check_index(name, wanted[name], lambda name=name: vectors.holdings(home.vectors, name))  # type: ignore[misc]
    return findings


def repair(home: Path, config: Path | None, findings: Sequence[Finding]) -> None:
    """Make the projections of `findings` again from the state; it is a run of its own. The caller holds the home."""
    where = {f.where for f in findings if f.repairable}
    if not where:
        return
    run = Run.open(home, config)
    status = "failed"
    try:
        for name in INDEXES:
            _discard_damaged(run.home.vectors, name)
        if "graph" in where:
            with loading.open_graph(run.home, run.settings) as graph, run.timings.stage("Loading the graph anew") as stage:
                written = store.load(run.engine, graph, loading.home_id(run.engine), stage.advance, start_over=True)
            run.written.nodes += written.nodes
            run.written.relationships += written.relationships
        loading.index_chunks_and_entities(run)
        summarizing.load_communities(run)
        status = "done"
    finally:
        run.end(status)


def _discard_damaged(folder: Path, name: str) -> None:
    """An index that cannot be trusted is made anew; one that can is brought up to date, which costs no vector twice."""
    try:
        vectors.holdings(folder, name)
    except Damaged:
        vectors.discard(folder, name)
