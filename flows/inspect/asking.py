"""Asks a home: opens what retrieval reads, understands the question, and searches in one mode."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from sqlalchemy import Connection

from polyonym.flows.home.home import Home
from polyonym.flows.home.settings import Settings
from polyonym.flows.inspect.search import need_same_model
from polyonym.ingest.errors import WrongUse
from polyonym.ingest.text.embedding import Embedder
from polyonym.retrieval import question, searches
from polyonym.retrieval.index import Index
from polyonym.retrieval.records import Hit, Mode, Question


@dataclass(frozen=True)
class Answer:
    """What a question was taken to mean, and the passages that answer it, the best first."""

    question: Question
    evidence: tuple[Hit, ...]


def opened(home: Home, settings: Settings, connection: Connection) -> Callable[[str, Mode, int], Answer]:
    """A function of (question, mode, most passages) that answers from the state as it is now.

    The model is loaded at the first question that needs it. Raises WrongUse when another model made the index of chunks, and the function
    when a question is empty.
    """
    need_same_model(home, settings, ("chunks",))
    index = Index.read(connection, home.vectors)

    @cache
    def model() -> Embedder:
        return Embedder(settings.embedding_model)

    def ask(text: str, mode: Mode, limit: int) -> Answer:
        if not text.strip():
            raise WrongUse('The question is empty. Ask in words, as in `polyonym ask "Who leads Velmora Group?"`.')
        understood = question.understand(index, text)
        vector = model().encode([text])[0] if "meaning" in searches.searches_of(mode, understood) else None
        return Answer(understood, tuple(searches.search(index, understood, mode, vector, limit)))

    return ask
