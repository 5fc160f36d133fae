"""From entities to communities and their summaries."""

from collections.abc import Callable

from polyonym.flows.home import history
from polyonym.flows.home.history import Change
from polyonym.flows.home.settings import Settings
from polyonym.flows.pipeline.run import Run
from polyonym.graph import communities
from polyonym.graph.summaries import summaries
from polyonym.graph.summaries.language_model import LanguageModel
from polyonym.ingest.store.changes import Counters, set_watermark, watermark
from polyonym.ingest.text.documents import content_hash


def divide(run: Run, advance: Callable[[int], None]) -> None:
    """Communities by hierarchical Leiden, starting from the ones before unless the run divides afresh."""
    with run.engine.connect() as connection:
        made_from = communities.made_from(connection, run.settings.community_size)
        if not run.divides_afresh and made_from == watermark(connection, "communities"):
            return
        graph = communities.read_graph(connection)
        before = communities.load(connection)
    partition = communities.compute(graph, None if run.divides_afresh else before, run.settings.community_size)
    was, now = ({c.community_id: c.content for c in p.communities} for p in (before, partition))
    changes = [
        *(Change("community-new", i) for i in sorted(now.keys() - was.keys())),
        *(Change("community-gone", i) for i in sorted(was.keys() - now.keys())),
        *(Change("community-changed", i) for i in sorted(now.keys() & was.keys()) if now[i] != was[i]),
    ]
    with run.engine.begin() as connection:
        communities.store(connection, partition)
        set_watermark(connection, "communities", made_from)
        history.record(connection, run.number, changes)  # at once: a run that is killed in between would never tell of them
    advance(len(partition.communities))


def summary_key(settings: Settings) -> str:
    """What summaries rest on, the communities' content apart: who writes them."""
    return content_hash(settings.llm_model, str(settings.llm_tokens)) if settings.llm_url else ""


def summarise(run: Run, advance: Callable[[int], None]) -> None:
    """Summaries of the communities that changed: extractive, or by a language model where an endpoint is set."""
    settings = run.settings
    model = (
        LanguageModel(settings.llm_url, settings.llm_key.get_secret_value(), settings.llm_model, settings.llm_tokens)
        if settings.llm_url
        else None
    )
    writer: Counters = {"writer": summary_key(settings)}
    with run.engine.connect() as connection:
        made_from = summaries.made_from(connection) | writer
        if made_from == watermark(connection, "summaries"):
            return
    outcome = summaries.summarise(run.engine, run.embedder.count_tokens, model, advance)
    with run.engine.begin() as connection:
        set_watermark(connection, "summaries", writer if outcome.notes else made_from)  # what was not answered is asked again
    run.written.summaries += outcome.written
    run.notes += outcome.notes
