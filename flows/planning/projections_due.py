"""What a run would find to do in the graph, the indexes, the communities and the summaries although no document changes."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from polyonym.flows.home.home import Opened
from polyonym.flows.home.settings import Settings
from polyonym.flows.pipeline import loading, summarising
from polyonym.graph import communities, vectors
from polyonym.graph.load import check_owner, distrust
from polyonym.graph.projection import rests_on
from polyonym.graph.stores.model import EDGES, NODES
from polyonym.graph.stores.neo4j import Neo4j
from polyonym.graph.summaries import summaries
from polyonym.ingest.errors import Damaged, Stop
from polyonym.ingest.store.changes import counters_of, watermark
from polyonym.ingest.store.tables import get_fact
from polyonym.ingest.text.embedding import model_fingerprint

BEHIND = "what has changed, or an earlier run was cut short"
OTHER_WRITER = "who writes them (llm_url, llm_model, llm_tokens) changed, or no run has written any"
UNANSWERED = "the language model has not answered for all"


@dataclass(frozen=True)
class Due:
    """Why each is to be brought up to date, "" where it is; `vectors` has how many of each index."""

    graph: str
    vectors: Mapping[str, int]
    communities: str
    summaries: str

    @property
    def counts(self) -> dict[str, int]:
        """How much there is of each, for a person; what is up to date is left out."""
        reasons = {"load of the graph": self.graph, "division into communities": self.communities, "round of summaries": self.summaries}
        counts = {what: 1 for what, why in reasons.items() if why}
        return counts | {f"vectors of {name}": count for name, count in self.vectors.items() if count}


def look(it: Opened, connection: Connection) -> Due:
    """Compare what each was last made from with what there is now. Nothing is written; a graph server that is away is a reason to load."""
    return Due(
        _graph(it, connection),
        {name: _vectors(it, name, wanted) for name, wanted in loading.wanted_vectors(connection).items()},
        _communities(connection, it.settings),
        _summaries(connection, it.settings),
    )


def _graph(it: Opened, connection: Connection) -> str:
    now = counters_of(connection, {table for kind in (*NODES, *EDGES) for table in rests_on(kind)})
    try:
        with loading.open_graph(it.home, it.settings) as graph:
            if watermark(connection, graph.projection) != now:
                return BEHIND
            if isinstance(graph, Neo4j):
                graph.patience = 0.0  # a question is not worth waiting for
            marker = graph.marker()
            check_owner(marker, get_fact(connection, "home_id", ""))
            return distrust(connection, graph, marker)
    except Stop as stop:
        return str(stop)


def _vectors(it: Opened, name: str, wanted: Mapping[str, str]) -> int:
    """How many vectors of an index are to be made or taken out; all of one that is not there or cannot be read."""
    try:
        manifest = vectors.manifest(it.home.vectors, name)
    except Damaged:
        return len(wanted)
    if (
        manifest is None
        or manifest.model != model_fingerprint(it.settings.embedding_model)
        or not (it.home.vectors / manifest.file).exists()
    ):
        return len(wanted)
    made = {i: content for i, (_, content) in manifest.entries.items()}
    return len({i for i, _ in wanted.items() ^ made.items()})


def _communities(connection: Connection, settings: Settings) -> str:
    before, now = watermark(connection, "communities"), communities.made_from(connection, settings.community_size)
    if before == now:
        return ""
    return BEHIND if before.get("size") == now["size"] else "community_size changed, or no run has divided the graph"


def _summaries(connection: Connection, settings: Settings) -> str:
    before, writer = watermark(connection, "summaries"), summarising.summary_key(settings)
    if before.get("writer") != writer:
        return OTHER_WRITER
    if before == {"writer": writer}:
        return UNANSWERED
    return "" if before == summaries.made_from(connection) | {"writer": writer} else BEHIND
