"""What retrieval reads of a home, held in memory for many questions: passages, their words, who is mentioned in them, who is related."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sqlalchemy import Connection

from polyonym.graph import vectors
from polyonym.graph.relations import relation_weights
from polyonym.ingest.text import chunks, documents
from polyonym.ingest.text.chunks import Chunk
from polyonym.resolution import entities
from polyonym.resolution.judgements.judgements import whole_name
from polyonym.resolution.within_document import document_names


@dataclass(frozen=True)
class Index:
    """A home's passages and graph. Passages and entities have numbers: their places in `chunks` and in `entities`.

    `names` gives for each normal form of a name the entities that bear it, those with most mentions first. `walk` is the square matrix
    (entities, then chunks) of the ways that a random walk takes: from an entity to the passages that mention it and to what it is related to,
    from a passage to what it mentions; each column sums to 1 or is empty. `passages` counts for each entity the passages that mention it.
    """

    chunks: tuple[Chunk, ...]
    dates: Mapping[str, str | None]  # by document
    entities: tuple[str, ...]
    shown_names: Mapping[str, str]  # by entity
    names: Mapping[str, tuple[str, ...]]
    walk: sparse.csr_matrix
    passages: npt.NDArray[np.int64]
    _words: Any  # bm25s.BM25, None without passages
    _vectors: Path

    @classmethod
    def read(cls, connection: Connection, vectors_folder: Path) -> "Index":
        """The index of the state as it is now. The vectors stay in their folder."""
        passages = tuple(sorted(chunks.load(connection), key=lambda c: (c.document, c.ordinal)))
        read = {d.document: (d.title, d.date) for d in documents.load(connection)}
        shown_names = {e.entity_id: e.name for e in entities.load(connection)}
        ids = tuple(sorted(shown_names))
        number = {entity_id: i for i, entity_id in enumerate(ids)}
        memberships = list(entities.load_memberships(connection))
        entity_of = {(m.document, m.name): number[m.entity_id] for m in memberships if m.entity_id in number}
        mentioned = _mentioned(connection, passages, entity_of)
        related = {(number[s], number[t]): w for (s, t, _, _), w in relation_weights(connection).items() if s in number and t in number}
        counts = np.bincount([entity for _, entity in mentioned], minlength=len(ids)).astype(np.int64)
        return cls(
            passages,
            {document: date for document, (_, date) in read.items()},
            ids,
            shown_names,
            _bearers(memberships),
            _walk(len(ids), len(passages), mentioned, related),
            counts,
            _bm25([f"{read[c.document][0]}\n{c.text}" for c in passages]),
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
        number = {c.chunk: i for i, c in enumerate(self.chunks)}
        return [number[chunk] for chunk, _ in vectors.search(self._vectors, "chunks", vector, limit) if chunk in number]


def best(scores: npt.NDArray[Any], limit: int) -> list[int]:
    """The places of the `limit` highest scores above 0, highest first, ties by place."""
    order = np.argsort(-scores, kind="stable")[:limit]
    return [int(i) for i in order if scores[i] > 0]


def _bearers(memberships: Sequence[entities.Membership]) -> dict[str, tuple[str, ...]]:
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for m in memberships:
        counted[whole_name(m.name)][m.entity_id] += m.mentions
    return {name: tuple(sorted(bearers, key=lambda i: (-bearers[i], i))) for name, bearers in counted.items()}


def _mentioned(connection: Connection, passages: Sequence[Chunk], entity_of: Mapping[tuple[str, str], int]) -> Counter[tuple[int, int]]:
    """How often each passage mentions each entity, by (chunk number, entity number)."""
    starts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for i, chunk in enumerate(passages):
        starts[chunk.document].append((chunk.start, i))
    mentioned: Counter[tuple[int, int]] = Counter()
    for mention in document_names.load_mentions(connection):
        entity = entity_of.get((mention.document, mention.name))
        place = bisect_right(starts[mention.document], (mention.start, len(passages))) - 1
        if entity is not None and place >= 0:
            mentioned[starts[mention.document][place][1], entity] += 1
    return mentioned


def _walk(
    entity_count: int, chunk_count: int, mentioned: Mapping[tuple[int, int], int], related: Mapping[tuple[int, int], int]
) -> sparse.csr_matrix:
    ways = [(entity, entity_count + chunk, float(count)) for (chunk, entity), count in mentioned.items()]
    ways += [(source, target, float(weight)) for (source, target), weight in related.items() if source != target]
    size = entity_count + chunk_count
    rows, columns, weights = zip(*sorted(ways), strict=True) if ways else ((), (), ())
    half = sparse.csr_matrix((weights, (rows, columns)), shape=(size, size), dtype=np.float64)
    whole = half + half.T
    degrees = np.asarray(whole.sum(axis=0)).ravel()
    return sparse.csr_matrix(whole @ sparse.diags(np.divide(1.0, degrees, out=np.zeros(size), where=degrees > 0)))


def _bm25(texts: Sequence[str]) -> Any:
    if not any(text.strip() for text in texts):
        return None
    words = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    words.index(bm25s.tokenize(list(texts), stopwords="en", show_progress=False), show_progress=False)
    return words
