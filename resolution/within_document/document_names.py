"""Names inside one document: its mentions under their normalised names, and which names stand for one thing there.

A document rarely uses one name for two things, so what it says in full decides what its short forms mean: a surname, an acronym,
a shortened organisation's name, "the Court". This is worth more than all that is done across documents.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Column, Connection, Integer, Table, Text, select

from polyonym.ingest.store.tables import Json, delete_where_in, insert_rows, metadata, select_where_in
from polyonym.ingest.text.documents import Document
from polyonym.resolution.names.normal_forms import normalise, region_of
from polyonym.resolution.within_document.document_entities import DocumentName
from polyonym.resolution.within_document.grouping import apply_rules
from polyonym.resolution.within_document.name_groups import Grouping, Name, Span
from polyonym.resolution.within_document.traits import numbered_title, traits_of


class Mention(Protocol):
    """What grouping needs of a mention (see polyonym.ingest.mentions.mentions)."""

    @property
    def document(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...


@dataclass(frozen=True)
class MentionName:
    """The name of its document that a mention goes under, and its 0-based index among the mentions of that name, in reading order."""

    document: str
    start: int
    end: int
    name: str
    ordinal: int


document_names = Table(
    "document_names",
    metadata,
    Column("document", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("group", Text, nullable=False),
    Column("surfaces", Json, nullable=False),
    Column("labels", Json, nullable=False),
    Column("rule", Text, nullable=False),
    Column("evidence", Json, nullable=False),
    Column("traits", Json, nullable=False),
)

mention_names = Table(
    "mention_names",
    metadata,
    Column("document", Text, primary_key=True),
    Column("start", Integer, primary_key=True),
    Column("end", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("ordinal", Integer, nullable=False),
    info={"owners": ("document",)},
)


COREFERENT = "COREF"
"""The label of a mention that is no name ("she", "the firm") and was found by a coreference model."""


def group(
    document: Document, mentions: Sequence[Mention], chains: Sequence[Sequence[Span]] = ()
) -> tuple[list[DocumentName], list[MentionName]]:
    """The document's names with the group that each belongs to, and each mention's name. Both sorted; pure.

    Mentions of other documents must not be among `mentions`; of several with one span the first counts. `chains` are a coreference
    model's (see coreference): names in one chain are grouped, and a mention labelled COREF goes under the first name of its chain, or
    under none.
    """
    ordered = sorted({(m.start, m.end): m for m in reversed(mentions)}.values(), key=lambda m: (m.start, -m.end))
    names, rows = _named(document, [m for m in ordered if m.label != COREFERENT])
    grouping = apply_rules(document.text, names, chains)
    name_of = {(r.start, r.end): r.name for r in rows}
    rows += _coreferent(document.document, [(m.start, m.end) for m in ordered if m.label == COREFERENT], chains, name_of)
    return _rows(document, names, grouping, rows), sorted(rows, key=lambda r: (r.start, -r.end))


def _coreferent(
    document: str, spans: Sequence[Span], chains: Sequence[Sequence[Span]], name_of: Mapping[Span, str]
) -> Iterator[MentionName]:
    """The names of mentions that are none, numbered after the names' own mentions, which so keep their numbers."""
    antecedent = {span: name_of[first] for chain in chains for first in sorted(s for s in chain if s in name_of)[:1] for span in chain}
    count = Counter(name_of.values())
    for span in spans:
        if span in antecedent and span not in name_of:
            yield MentionName(document, *span, antecedent[span], count[antecedent[span]])
            count[antecedent[span]] += 1


def _named(document: Document, mentions: Sequence[Mention]) -> tuple[dict[str, Name], list[MentionName]]:
    labels: dict[str, Counter[str]] = {}
    for m in mentions:
        labels.setdefault(m.name.casefold(), Counter())[m.label] += 1
    starts = {m.start: m for m in reversed(mentions)}
    numbered = _told_apart_by_titles(document.text, mentions)
    names: dict[str, Name] = {}
    rows: list[MentionName] = []
    for m in mentions:
        mine = labels[m.name.casefold()]
        name = normalise(m.name, person=mine["PERSON"] * 2 > mine.total())
        region = _region_after(document.text, m, starts)
        if region and "," not in name and region != name:
            name = f"{name}, {region}"
        elif title := numbered.get((m.start, m.end)):
            name = f"{name}, {title}"
        entry = names.setdefault(name, Name(name))
        rows.append(MentionName(document.document, m.start, m.end, name, entry.count))
        entry.spans.append((m.start, m.end))
        entry.surfaces[m.name] += 1
        entry.labels[m.label] += 1
    return names, rows


def _told_apart_by_titles(text: str, mentions: Sequence[Mention]) -> dict[Span, str]:
    """The titles right behind names that stand before two titles of one rank and different numbers ("the 2nd Earl", "the 4th Earl")."""
    held: dict[str, dict[Span, tuple[str, str]]] = {}
    for m in mentions:
        if title := numbered_title(text, m.end):
            held.setdefault(m.name.casefold(), {})[m.start, m.end] = title
    made = {}
    for titles in held.values():
        for rank in {rank for _, rank in titles.values()}:
            if len({number for number, r in titles.values() if r == rank}) > 1:
                made.update({span: f"{number} {r}" for span, (number, r) in titles.items() if r == rank})
    return made


def _region_after(text: str, mention: Mention, starts: dict[int, Mention]) -> str | None:
    """The state or country right after a place's name, unless both stand in a list of places."""
    between = re.compile(r",\s+").match(text, mention.end)
    follower = starts.get(between.end()) if between else None
    if follower is None or mention.label not in ("GPE", "LOC", "FAC", "PLACE") or region_of(mention.name):
        return None
    region = region_of(follower.name)
    in_list = re.compile(r",\s+(?:and\s+)?[A-Z]|\s+and\s+[A-Z]").match(text, follower.end)
    return None if in_list else region


def _rows(document: Document, names: dict[str, Name], grouping: Grouping, mentions: Sequence[MentionName]) -> list[DocumentName]:
    beside = sorted(((m.start, m.end), m.name) for m in mentions)
    return [
        DocumentName(
            document.document,
            n.name,
            grouping.root(n.name),
            dict(sorted(n.surfaces.items())),
            dict(sorted(n.labels.items())),
            n.rule,
            n.evidence or (n.spans[0],),
            traits_of(document.text, n.spans, n.type == "PERSON", sorted(n.surfaces), beside),
        )
        for n in sorted(names.values(), key=lambda n: n.name)
    ]


def replace(connection: Connection, documents: Sequence[str], names: Iterable[DocumentName], mentions: Iterable[MentionName]) -> None:
    """Store the names and the mentions' names of these documents in place of what they held before."""
    delete_where_in(connection, document_names.c.document, documents)
    delete_where_in(connection, mention_names.c.document, documents)
    insert_rows(connection, document_names, map(vars, names))
    insert_rows(connection, mention_names, map(vars, mentions))


def load(connection: Connection, documents: Sequence[str] | None = None) -> Iterator[DocumentName]:
    """The names of these documents (of all without), sorted within batches."""
    statement = select(document_names).order_by(document_names.c.document, document_names.c.name)
    rows: Iterable[Any] = (
        connection.execute(statement) if documents is None else select_where_in(connection, statement, document_names.c.document, documents)
    )
    for row in rows:
        yield DocumentName(*(*row[:6], tuple((a, b) for a, b in row.evidence), row.traits))


def load_mentions(connection: Connection, documents: Sequence[str] | None = None) -> Iterator[MentionName]:
    """The mentions' names of these documents (of all without), sorted within batches."""
    statement = select(mention_names).order_by(mention_names.c.document, mention_names.c.start, mention_names.c.end)
    rows: Iterable[Any] = (
        connection.execute(statement) if documents is None else select_where_in(connection, statement, mention_names.c.document, documents)
    )
    for row in rows:
        yield MentionName(**row._mapping)


def documents_with(connection: Connection, names: Sequence[str]) -> set[str]:
    """The documents in which one of these normalised names stands."""
    rows = select_where_in(connection, select(document_names.c.document, document_names.c.name), document_names.c.name, names)
    return {row.document for row in rows}
