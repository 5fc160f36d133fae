"""Names and spans as they stand in documents, to be shown as evidence."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, and_, select

from polyonym.ingest.mentions.mentions import mentions
from polyonym.ingest.store import stage_marks
from polyonym.ingest.text import documents
from polyonym.resolution.decisions import Decision
from polyonym.resolution.entities import memberships
from polyonym.resolution.within_document.document_entities import DocumentName
from polyonym.resolution.within_document.document_names import document_names

_SIDE = 170

Span = tuple[str, int, int]  # (document, start, end)


@dataclass(frozen=True)
class Evidence:
    """A span of a document in its sentence: before, marked and after, white space made single."""

    document: str
    start: int
    end: int
    before: str
    marked: str
    after: str


class Quotes:
    """Names and spans as they stand in documents."""

    def __init__(self, connection: Connection, spelling: dict[str, str] | None = None) -> None:
        self.connection = connection
        self.texts: dict[str, str] = {}
        self.spelling = spelling or {}

    def spelled(self, names: Collection[str]) -> tuple[str, ...]:
        """Normalised names as documents spell them: as given, else as the first document that has it."""
        for name in names:
            if name not in self.spelling:
                m = memberships.c  # it has an index of names
                same = and_(m.document == document_names.c.document, m.name == document_names.c.name)
                statement = select(document_names).join(memberships, same).where(m.name == name).order_by(m.document).limit(1)
                self.spelling[name] = next((DocumentName(**row._mapping).surface for row in self.connection.execute(statement)), name)
        return tuple(self.spelling[n] for n in names)

    def of_decision(self, decision: Decision) -> list[Evidence]:
        """The spans of a decision, the first of each document."""
        first = {s["document"]: s for s in reversed(decision.spans)}
        return list(self.of((d, s["start"], s["end"]) for d, s in reversed(first.items())))

    def of(self, spans: Iterable[Span]) -> Iterator[Evidence]:
        """Spans in their sentences; those of documents that were changed and not worked through since are left out."""
        return (self._quoted(*span) for span in spans if self._text(span[0]))

    def _text(self, document: str) -> str:
        if document not in self.texts:
            present = stage_marks.is_marked(self.connection, "resolve", document)
            self.texts[document] = next((d.text for d in documents.load(self.connection, [document])), "") if present else ""
        return self.texts[document]

    def _quoted(self, document: str, start: int, end: int) -> Evidence:
        text = self._text(document)
        first, last = self._sentence(document, start, end)
        before = " ".join(text[first:start].split())
        after = " ".join(text[end:last].split())
        if before and text[start - 1].isspace():
            before += " "
        if after and text[end].isspace():
            after = " " + after
        return Evidence(document, start, end, _end_of(before), " ".join(text[start:end].split()), _begin_of(after))

    def _sentence(self, document: str, start: int, end: int) -> tuple[int, int]:
        c = mentions.c
        statement = select(c.sentence_start, c.sentence_end).where(c.document == document, c.start_at < end, c.end_at > start)
        bounds = list(self.connection.execute(statement.order_by(c.start_at)))
        return min((b[0] for b in bounds), default=start), max((b[1] for b in bounds), default=end)


def _end_of(text: str) -> str:
    return text if len(text) <= _SIDE else "… " + text[-_SIDE:].partition(" ")[2]


def _begin_of(text: str) -> str:
    return text if len(text) <= _SIDE else text[:_SIDE].rpartition(" ")[0] + " …"
