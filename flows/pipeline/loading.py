"""From the state to its projections: the graph store and the vector indexes, each by the difference."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from polyonym.flows.home.home import Home
from polyonym.flows.home.interrupts import clean_point
from polyonym.flows.home.settings import Settings
from polyonym.flows.pipeline.run import Run
from polyonym.graph import load, profiles, vectors
from polyonym.graph.stores.embedded import Embedded
from polyonym.graph.stores.neo4j import Neo4j
from polyonym.graph.stores.store import GraphStore
from polyonym.ingest.store import model_outputs
from polyonym.ingest.store.tables import get_fact, set_fact
from polyonym.ingest.text import chunks
from polyonym.ingest.text.documents import content_hash
from polyonym.ingest.text.embedding import encode_kept


def home_id(engine: Engine) -> str:
    """The home's own id, made at its first load; it marks the graph store as this home's."""
    with engine.begin() as connection:
        held: str | None = get_fact(connection, "home_id")
        if held is None:
            held = uuid4().hex
            set_fact(connection, "home_id", held)
    return held


@contextmanager
def open_graph(home: Home, settings: Settings) -> Iterator[GraphStore]:
    """The graph store of the settings: a Neo4j where a URL is set, else the embedded one inside the home."""
    if settings.graph_url:
        server = Neo4j(settings.graph_url, settings.graph_user, settings.graph_password.get_secret_value(), settings.graph_database)
        with closing(server):
            yield server
    else:
        yield Embedded(home.graph)


def stopping(advance: Callable[[int], None]) -> Callable[[int], None]:
    """Steps that take long and are safe to leave at any moment: they end when the user asks for it."""

    def tell(steps: int) -> None:
        clean_point()
        advance(steps)

    return tell


def load_graph(run: Run) -> None:
    """Write into the graph store what it lacks, and delete from it what is no more."""
    with open_graph(run.home, run.settings) as graph, run.timings.stage("Loading the graph", None, "nodes and edges") as stage:
        written = load.load(run.engine, graph, home_id(run.engine), stopping(stage.advance))
        counts = graph.counts()
    run.written.nodes += written.nodes
    run.written.relationships += written.relationships
    run.figures["graph"] = {"nodes": counts.nodes, "relationships": counts.relationships}


def index_chunks_and_entities(run: Run) -> None:
    """Bring the vector indexes of chunks and of entities up to date."""
    with run.engine.connect() as connection:
        contents = chunks.contents(connection)
    index(run, "chunks", "Embedding chunks", contents, lambda ids: _texts_of_chunks(run, ids))
    with run.engine.connect() as connection:
        texts = {card.entity_id: card.text for card in profiles.cards(connection)}
    index(run, "entities", "Embedding entities", {i: content_hash(t) for i, t in texts.items()}, lambda ids: [texts[i] for i in ids])


def _texts_of_chunks(run: Run, ids: list[str]) -> list[str]:
    with run.engine.connect() as connection:
        texts = chunks.texts(connection, ids)
    return [texts[i] for i in ids]


def index(run: Run, name: str, title: str, wanted: dict[str, str], texts: Callable[[list[str]], list[str]]) -> None:
    """Bring one vector index up to `wanted` (id to content hash). Vectors already made are kept until the index is swapped in,
    so that a kill costs no embedding twice."""
    owner = f"index:{name}"
    with run.timings.stage(title, None, "vectors") as stage:

        def embed(ids: list[str]) -> NDArray[np.float32]:
            return encode_kept(run.engine, run.embedder, texts(ids), owner, stopping(stage.advance))

        run.written.vectors += vectors.update(run.home.vectors, name, wanted, embed, run.embedder.name)
    with run.engine.begin() as connection:
        model_outputs.use(connection, {owner: []})
        model_outputs.prune(connection)
