"""Search by meaning over the vector indexes: chunks, entities and communities, with where each comes from."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection

from polyonym.flows.home.home import Home
from polyonym.flows.home.settings import Settings
from polyonym.graph import communities, vectors
from polyonym.graph.summaries import summaries
from polyonym.ingest.errors import WrongUse
from polyonym.ingest.text import chunks
from polyonym.ingest.text.embedding import Embedder, model_fingerprint
from polyonym.resolution import entities


@dataclass(frozen=True)
class Hit:
    """Something near to what was searched for. `score` is the cosine similarity, `source` says where it stands."""

    kind: str  # entity, community or chunk
    score: float
    id: str
    text: str
    source: str


def search(home: Home, settings: Settings, connection: Connection, text: str, limit: int) -> list[Hit]:
    """The `limit` nearest things of each kind, best first within each. Raises WrongUse when another model made the indexes."""
    names = ("entities", "communities", "chunks")
    need_same_model(home, settings, names)
    vector = Embedder(settings.embedding_model).encode([text])[0]
    nearest = {name: vectors.search(home.vectors, name, vector, limit) for name in names}
    return [
        *_entities(connection, nearest["entities"]),
        *_communities(connection, nearest["communities"]),
        *_chunks(connection, nearest["chunks"]),
    ]


def need_same_model(home: Home, settings: Settings, names: Iterable[str]) -> None:
    """Raises WrongUse when one of these indexes was made by another model than the one that the settings name."""
    for name in names:
        manifest = vectors.manifest(home.vectors, name)
        if manifest is not None and manifest.model != model_fingerprint(settings.embedding_model):
            raise WrongUse(
                f"The index of {name} was not made by the model that the settings name, {settings.embedding_model}: their vectors "
                "cannot be compared. Run `polyonym ingest` again, which embeds everything anew, or set POLYONYM_EMBEDDING_MODEL back."
            )


def _entities(connection: Connection, nearest: list[tuple[str, float]]) -> list[Hit]:
    ids = [i for i, _ in nearest]
    by_id = {e.entity_id: e for e in entities.load(connection, ids)}
    where: dict[str, set[str]] = {}
    for member in entities.members_of(connection, ids):
        where.setdefault(member.entity_id, set()).add(member.document)
    hits = []
    for i, score in nearest:
        if entity := by_id.get(i):
            link = entity.registry_id or entity.wikidata_id
            what = f"{entity.name} ({entity.type}{', ' + link if link else ''})" + (f": {entity.description}" if entity.description else "")
            hits.append(Hit("entity", round(score, 3), i, what, _some(sorted(where.get(i, ())))))
    return hits


def _communities(connection: Connection, nearest: list[tuple[str, float]]) -> list[Hit]:
    by_id = {c.community_id: c for c in communities.load(connection).communities}
    written = summaries.load(connection)
    hits = []
    for i, score in nearest:
        if community := by_id.get(i):
            sentences = written.get(i, ())
            text = f"{community.title}: {' '.join(s.sentence for s in sentences[:2])}" if sentences else community.title
            hits.append(Hit("community", round(score, 3), i, text, _some([s.chunk for s in sentences])))
    return hits


def _chunks(connection: Connection, nearest: list[tuple[str, float]]) -> list[Hit]:
    by_id = {c.chunk: c for c in chunks.by_id(connection, [i for i, _ in nearest])}
    hits = []
    for i, score in nearest:
        if chunk := by_id.get(i):
            text = " ".join(chunk.text.split())
            hits.append(
                Hit(
                    "chunk",
                    round(score, 3),
                    i,
                    text if len(text) <= 300 else text[:297] + "…",
                    f"{chunk.document} {chunk.start}-{chunk.end}",
                )
            )
    return hits


def _some(items: list[str], most: int = 4) -> str:
    return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")
