"""What retrieval reads of a home, held in memory for many questions: passages, their words, who is mentioned in them, who is related."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sqlalchemy import Connection

from polyonym.graph import communities, projection, vectors
from polyonym.graph.communities import Edge
from polyonym.graph.stores.model import EDGES, NODES
from polyonym.ingest.text import chunks
from polyonym.ingest.text.chunks import Chunk
from polyonym.resolution import entities
from polyonym.resolution.judgements.judgements import whole_name

_KINDS = {kind.name: kind for kind in (*NODES, *EDGES)}


@dataclass(frozen=True)
class Index:
    """A home's passages and graph. Passages have numbers, their places in `chunks`, and so have entities, in `entities`.

    `names` gives for each normal form of a name the entities that bear it, those with most mentions first. `walk` is the square matrix
    (entities, then chunks) of the ways that a random walk takes: from an entity to the passages that mention it and to what it is related to,
    from a passage to what it mentions; each column sums to 1 or is empty. `passages` counts for each entity the passages that mention it.
    """

    chunks: tuple[Chunk, ...]
    titles: Mapping[str, str]  # by document
    dates: Mapping[str, str | None]  # by document
    entities: Mapping[str, int]
    shown_names: Mapping[str, str]  # by entity
    names: Mapping[str, tuple[str, ...]]
    walk: sparse.csr_matrix
    passages: npt.NDArray[np.int64]
    vectors_folder: Path

    @classmethod
    def read(cls, connection: Connection, vectors_folder: Path) -> "Index":
        """The index of the state as it is now. The vectors stay in their folder."""
        passages = tuple(sorted(chunks.load(connection), key=lambda c: (c.document, c.ordinal)))
        documents = [e.properties for e in projection.elements(connection, _KINDS["Document"])]
        graph = communities.read_graph(connection)
        numbers = {entity_id: i for i, entity_id in enumerate(sorted(graph.nodes))}
        mentioned = _mentioned(connection, {c.chunk: i for i, c in enumerate(passages)}, numbers)
        return cls(
            passages,
            {d["id"]: d["title"] for d in documents},
            {d["id"]: d["date"] for d in documents},
            numbers,
            {entity_id: node.name for entity_id, node in graph.nodes.items()},
            _bearers(connection),
            _walk(numbers, len(passages), mentioned, graph.edges),
            np.bincount([entity for entity, _ in mentioned], minlength=len(numbers)).astype(np.int64),
            vectors_folder,
        )

    def by_words(self, text: str, limit: int) -> list[int]:
        """Passages by BM25 over the document's title and the passage, best first; only those that share a word with the text."""
        words = bm25s.tokenize([text], stopwords="en", return_ids=False, show_progress=False)[0]
        if self._words is None or not words:
            return []
        return best(self._words.get_scores(words), limit)

    def by_meaning(self, vector: npt.ArrayLike, limit: int) -> list[int]:
        """Passages by the cosine of their vectors with this one (dimension,), best first."""
        nearest = vectors.search(self.vectors_folder, "chunks", vector, limit)
        return [self._numbers[chunk] for chunk, _ in nearest if chunk in self._numbers]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {c.chunk: i for i, c in enumerate(self.chunks)}

    @cached_property
    def _words(self) -> Any:
        """The passages' words, as bm25s.BM25; None where there are none. Made at the first search by words: it takes seconds."""
        texts = [f"{self.titles[c.document]}\n{c.text}" for c in self.chunks]
        if not any(text.strip() for text in texts):
            return None
        words = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
        words.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
        return words


def best(scores: npt.NDArray[Any], limit: int) -> list[int]:
    """The places of the `limit` highest scores above 0, highest first, ties by place."""
    order = np.argsort(-scores, kind="stable")[:limit]
    return [int(i) for i in order if scores[i] > 0]


def _bearers(connection: Connection) -> dict[str, tuple[str, ...]]:
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for m in entities.load_memberships(connection):
        counted[whole_name(m.name)][m.entity_id] += m.mentions
    return {name: tuple(sorted(bearers, key=lambda i: (-bearers[i], i))) for name, bearers in counted.items()}


def _mentioned(connection: Connection, passages: Mapping[str, int], numbers: Mapping[str, int]) -> Counter[tuple[int, int]]:
    """How often each passage mentions each entity, by (entity number, passage number)."""
    mentions = (e.properties for e in projection.elements(connection, _KINDS["MENTIONS"]))
    return Counter((numbers[m["target"]], passages[m["source"]]) for m in mentions if m["target"] in numbers and m["source"] in passages)


def _walk(
    numbers: Mapping[str, int], chunk_count: int, mentioned: Mapping[tuple[int, int], int], related: Sequence[Edge]
) -> sparse.csr_matrix:
    ways = [(entity, len(numbers) + chunk, float(count)) for (entity, chunk), count in mentioned.items()]
    ways += [(numbers[a], numbers[b], weight) for a, b, weight in related if a in numbers and b in numbers]
    size = len(numbers) + chunk_count
    rows, columns, weights = zip(*sorted(ways), strict=True) if ways else ((), (), ())
    half = sparse.csr_matrix((weights, (rows, columns)), shape=(size, size), dtype=np.float64)
    whole = half + half.T
    degrees = np.asarray(whole.sum(axis=0)).ravel()
    return sparse.csr_matrix(whole @ sparse.diags(np.divide(1.0, degrees, out=np.zeros(size), where=degrees > 0)))
