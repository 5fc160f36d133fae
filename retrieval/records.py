"""What a question is made into and what is found for it: the records that flow through this package."""

from dataclasses import dataclass
from enum import StrEnum


class Mode(StrEnum):
    """A way of finding passages."""

    ADAPTIVE = "adaptive"  # dual where the question names something that the graph knows, else vector
    VECTOR = "vector"  # by words and by meaning, fused
    GRAPH = "graph"  # from the named things along mentions and relations
    DUAL = "dual"  # words, meaning and graph, fused
    FLAT = "flat"  # by meaning alone
    BM25 = "bm25"  # by words alone


@dataclass(frozen=True)
class NamedThing:
    """A name in the question and the entities that it may mean, those with most mentions first. `start` and `end` are code points of the
    question, `how` says in words what the name was taken for."""

    name: str
    start: int
    end: int
    entity_ids: tuple[str, ...]
    how: str


@dataclass(frozen=True)
class Question:
    """A question and the things that it names, in the order of the text."""

    text: str
    names: tuple[NamedThing, ...] = ()


@dataclass(frozen=True)
class Hit:
    """A passage that was found: the document's text[start:end], code points.

    `score` says how well it answers, higher is better, comparable within one answer only; `found_by` names the searches that brought it.
    """

    chunk: str
    document: str
    start: int
    end: int
    text: str
    date: str | None
    score: float
    found_by: tuple[str, ...]
