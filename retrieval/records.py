"""What a question is made into, what is found for it, and what comes back: the records that flow through this package."""

from dataclasses import dataclass, field
from enum import StrEnum


class Mode(StrEnum):
    """A way of finding evidence. The first four are for use, the others for comparison with them."""

    ADAPTIVE = "adaptive"  # chosen by the kind of the question
    VECTOR = "vector"  # chunks by meaning and by words
    GRAPH = "graph"  # from the named things along relations
    DUAL = "dual"  # both, fused
    FLAT = "flat"  # exact nearest chunks
    HNSW = "hnsw"  # approximate nearest chunks
    BM25 = "bm25"  # chunks by words alone
    NAIVE = "naive"  # Cypher made from the question, no communities
    COMMUNITY = "community"  # reports from coarse to fine
    ITERATIVE = "iterative"  # each round asks with what the last one brought


class EvidenceKind(StrEnum):
    """What a piece of evidence is."""

    PASSAGE = "passage"
    RELATION = "relation"
    PATH = "path"
    REPORT = "report"


@dataclass(frozen=True)
class Filters:
    """What the answer may rest on; empty means everything. Applied before anything is searched."""

    sources: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    types: tuple[str, ...] = ()  # entity types, as PERSON
    start: str | None = None  # ISO 8601 dates, both included
    end: str | None = None


@dataclass(frozen=True)
class NamedThing:
    """A name in the question and the entities that it may mean, the likeliest first. `start` and `end` are code points of the question."""

    name: str
    start: int
    end: int
    entity_ids: tuple[str, ...]
    how: str  # in words: "same name", "alias", "misspelling of Velmora Energy"
    confidence: float  # that the first entity is the one meant


@dataclass(frozen=True)
class Question:
    """A question, understood."""

    text: str
    names: tuple[NamedThing, ...] = ()
    filters: Filters = field(default_factory=Filters)
    kind: str = "factoid"
    kind_confidence: float = 0.0
    reasons: tuple[str, ...] = ()  # why this kind, these things, this window, in words

    @property
    def seeds(self) -> tuple[str, ...]:
        """Every entity that the question may name, each once, in the order of the names."""
        return tuple(dict.fromkeys(entity_id for name in self.names for entity_id in name.entity_ids))


@dataclass(frozen=True)
class Step:
    """One relation of a path, with the sentence that states it. Code points of the document's text."""

    source: str  # entity ids
    target: str
    source_name: str
    target_name: str
    relation: str  # its type, as located_in
    document: str
    start: int
    end: int
    date: str | None
    confidence: float


@dataclass(frozen=True)
class Hit:
    """A piece of evidence that was found, with where it stands and how well it answers."""

    kind: EvidenceKind
    id: str  # of the chunk, relation, path or community
    text: str
    document: str
    start: int
    end: int
    date: str | None
    confidence: float  # of the evidence itself, 0 to 1
    score: float  # how well it answers; higher is better; comparable within one answer only
    found_by: tuple[str, ...] = ()  # the searches that brought it, as "bm25"
    path: tuple[Step, ...] = ()
