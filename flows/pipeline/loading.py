"""From the state to its projections: the graph store and the vector indexes, each by the difference."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine

from polyonym.flows.home.home import Home
from polyonym.flows.home.interrupts import clean_point
from polyonym.flows.home.settings import Settings
from polyonym.flows.pipeline.run import Run
from polyonym.graph import load, profiles, vectors
from polyonym.graph.stores.embedded import Embedded
from polyonym.graph.stores.neo4j import Neo4j
from polyonym.graph.stores.store import GraphStore
from polyonym.graph.summaries import summaries
from polyonym.ingest.store import model_outputs
from polyonym.ingest.store.changes import forget_owners
from polyonym.ingest.store.tables import get_fact, set_fact
from polyonym.ingest.text import chunks
from polyonym.ingest.text.documents import content_hash
from polyonym.ingest.text.embedding import encode_kept


def home_id(engine: Engine) -> str:
    """The home's own id, made at its first load; it marks the graph store as this home's."""
    with engine.begin() as connection:
        known: str | None = get_fact(connection, "home_id")
        if known is None:
            known = uuid4().hex
            set_fact(connection, "home_id", known)
    return known


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


def load_graph(run: Run, advance: Callable[[int], None]) -> None:
    """Write into the graph store what it lacks, and delete from it what is no more."""
    with open_graph(run.home, run.settings) as graph:
        written = load.load(run.engine, graph, home_id(run.engine), advance)
        counts = graph.counts()
    run.written.nodes += written.nodes
    run.written.relationships += written.relationships
    run.figures["graph"] = {"nodes": counts.nodes, "relationships": counts.relationships}


def wanted_vectors(connection: Connection) -> dict[str, dict[str, str]]:
    """What each vector index should hold: id to content hash."""
    return {
        "chunks": chunks.contents(connection),
        "entities": _hashes({profile.entity_id: profile.text for profile in profiles.profiles(connection)}),
        "communities": _hashes(summaries.descriptions(connection)),
    }


def index_chunks(run: Run, advance: Callable[[int], None]) -> None:
    """Bring the vector index of chunks up to date."""
    with run.engine.connect() as connection:
        contents = chunks.contents(connection)
    _index(run, "chunks", contents, lambda ids: _texts_of_chunks(run, ids), advance)


def index_entities(run: Run, advance: Callable[[int], None]) -> None:
    """Bring the vector index of entities, by their profiles, up to date."""
    with run.engine.connect() as connection:
        texts = {profile.entity_id: profile.text for profile in profiles.profiles(connection)}
    _index(run, "entities", _hashes(texts), lambda ids: [texts[i] for i in ids], advance)


def index_communities(run: Run, advance: Callable[[int], None]) -> None:
    """Bring the vector index of communities, by their titles and summaries, up to date. It is the last projection."""
    with run.engine.connect() as connection:
        texts = summaries.descriptions(connection)
    _index(run, "communities", _hashes(texts), lambda ids: [texts[i] for i in ids], advance)
    with run.engine.begin() as connection:
        forget_owners(connection)  # all that follows them is up to date


def _hashes(texts: Mapping[str, str]) -> dict[str, str]:
    return {i: content_hash(text) for i, text in texts.items()}


def _texts_of_chunks(run: Run, ids: list[str]) -> list[str]:
    with run.engine.connect() as connection:
        texts = chunks.texts(connection, ids)
    return [texts[i] for i in ids]


def _index(run: Run, name: str, wanted: dict[str, str], texts: Callable[[list[str]], list[str]], advance: Callable[[int], None]) -> None:
    """Bring one vector index up to `wanted` (id to content hash). Vectors already made are kept until the index is swapped in,
    so that a kill costs no embedding twice."""
    owner = f"index:{name}"

    def embed(ids: list[str]) -> NDArray[np.float32]:
        return encode_kept(run.engine, run.embedder, texts(ids), owner, advance)

    run.written.vectors += vectors.update(run.home.vectors, name, wanted, embed, run.embedder.fingerprint)
    with run.engine.begin() as connection:
        model_outputs.use(connection, {owner: []})
        model_outputs.prune(connection)
