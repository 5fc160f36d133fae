"""What all documents together say of two entities: relations between their mentions, and peoples with their countries."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import prod
from operator import attrgetter
from typing import Any

from sqlalchemy import Column, Connection, Float, Integer, Select, Table, Text, and_, case, delete, except_, func, literal, select

from polyonym.graph.difference import by_code_point, rows_of
from polyonym.ingest.relations import PATTERNS, relations
from polyonym.ingest.store import fingerprint, stage_marks
from polyonym.ingest.store.changes import counters_of, owners_since, set_watermark, watermark
from polyonym.ingest.store.tables import delete_where_in, insert_rows, metadata, select_where_in
from polyonym.ingest.text.documents import documents
from polyonym.resolution.entities import entities, memberships
from polyonym.resolution.linking.links import links
from polyonym.resolution.names.normal_forms import demonym_of
from polyonym.resolution.within_document.document_names import mention_names

SYMMETRIC = "co_occurs"
"""The type of relation that has no direction: its smaller entity id stands first."""
DEMONYM = "demonym_of"
"""The type of relation from a people ("German") to its country."""

Relation = tuple[str, str, str, str]
"""(source, target, type, predicate)."""

evidence = Table(
    "evidence",
    metadata,
    Column("document", Text, nullable=False, index=True),
    Column("source", Text, nullable=False, index=True),
    Column("target", Text, nullable=False, index=True),
    Column("type", Text, nullable=False),
    Column("predicate", Text, nullable=False),
    Column("start_at", Integer, nullable=False),
    Column("end_at", Integer, nullable=False),
    Column("sentence", Text, nullable=False),
    Column("pattern", Text, nullable=False),
    Column("date", Text, nullable=False),
    Column("source_confidence", Float, nullable=False),
    Column("target_confidence", Float, nullable=False),
    info={"owners": ("source", "target")},
)
"""Every piece of evidence that relates two entities, as the documents' relations and names say: kept up to date by `gather`.

A sentence that several documents hold, a mail and those that quote it for instance, is one piece of evidence in all of them: pieces
are counted by their `sentence`. So the count does not depend on which document came first, and stays while one that holds it is left.
"""

_RESTS_ON = (relations, mention_names, memberships, entities, links)

UNLINKED, IN_DOUBT = 0.9, 0.7
"""How sure it is that a name belongs to its entity where no link says how sure that is, and where its link was left in doubt."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A piece of evidence: where it stands, in which sentence (a hash of its words), the time that it is of ("" where none is known), and
    the probability that it says so."""

    document: str
    start: int
    end: int
    sentence: str
    date: str
    confidence: float


@dataclass(frozen=True, slots=True)
class EntityRelation:
    """A relation between two entities with its evidence in order; `weight` says how many sentences that is."""

    source: str
    target: str
    type: str
    predicate: str
    evidence: tuple[Evidence, ...]

    @property
    def weight(self) -> int:
        return len({piece.sentence for piece in self.evidence})

    @property
    def confidence(self) -> float:
        """The probability that at least one sentence says so; one that several documents hold counts once, by its best piece."""
        best: dict[str, float] = {}
        for piece in self.evidence:
            best[piece.sentence] = max(best.get(piece.sentence, 0.0), piece.confidence)
        return round(1 - prod(1 - confidence for _, confidence in sorted(best.items())), 3)


def gather(connection: Connection) -> None:
    """Bring the evidence up to date, for the documents whose relations or names have changed and between peoples and countries.

    Of the relations between mentions a piece of evidence that ties an entity to itself is left out, and so is one whose mention
    belongs to no entity. A people is tied to the one place that bears its country's name; its evidence is the people's first
    mention in each document.
    """
    code = fingerprint.of_code("graph/relations.py")
    now, before = counters_of(connection, _RESTS_ON) | {"code": code}, watermark(connection, "evidence")
    if now == before:
        return
    changed = owners_since(connection, (relations, mention_names, memberships, links), before) if before.get("code") == code else None
    if changed is None:
        connection.execute(delete(evidence))
    else:
        delete_where_in(connection, evidence.c.document, sorted(changed))
    pieces = rows_of(connection, _told_by_mentions(connection), relations.c.document, changed)
    insert_rows(connection, evidence, (row._asdict() for row in pieces))
    _replace_demonyms(connection)
    set_watermark(connection, "evidence", now)


def wrong_evidence(connection: Connection) -> list[str]:
    """The documents whose evidence is not what their relations and names say."""
    by_mentions = _told_by_mentions(connection).subquery()
    stated = select(evidence).where(evidence.c.type != DEMONYM).subquery()
    stored_pieces, wanted_pieces = (select(*rows.c, func.count()).group_by(*rows.c) for rows in (stated, by_mentions))
    wrong = {
        row[0]
        for difference in (except_(stored_pieces, wanted_pieces), except_(wanted_pieces, stored_pieces))
        for row in connection.execute(difference)
    }
    peoples = set(connection.execute(select(evidence).where(evidence.c.type == DEMONYM)).tuples())
    return sorted(wrong | {row[0] for row in peoples ^ set(_told_by_names(connection))})


def entity_relations(connection: Connection, sources: Collection[str] | None = None) -> Iterator[EntityRelation]:
    """Relations between entities (those that start at `sources`), ascending by source, target, type, predicate."""
    e = evidence.c
    order = [by_code_point(connection, column) for column in (e.source, e.target, e.type, e.predicate, e.document)]
    rest = [by_code_point(connection, column) for column in (e.pattern, e.date)]
    rows = rows_of(connection, select(evidence).order_by(*order, e.start_at, e.end_at, *rest), e.source, sources)
    for key, pieces in groupby(rows, key=attrgetter("source", "target", "type", "predicate")):
        yield EntityRelation(*key, tuple(map(_piece, pieces)))


def current_relations(connection: Connection) -> Iterator[EntityRelation]:
    """All `entity_relations`, but for the evidence of documents whose present text has yet to be read or resolved: its offsets would point
    into a text that is gone."""
    current = stage_marks.held(connection, "relations").keys() & stage_marks.held(connection, "resolve").keys()
    for stored in entity_relations(connection):
        if pieces := tuple(piece for piece in stored.evidence if piece.document in current):
            yield replace(stored, evidence=pieces)


def _piece(row: Any) -> Evidence:
    """The share of the pattern's relations that are right, times how sure both mentions are."""
    confidence = PATTERNS.get(row.pattern, 1.0) * row.source_confidence * row.target_confidence
    return Evidence(row.document, row.start_at, row.end_at, row.sentence, row.date, round(confidence, 3))


def relation_weights(connection: Connection) -> dict[Relation, int]:
    """The weights of all `entity_relations`, in no order."""
    e = evidence.c
    count = func.count(e.sentence.distinct())
    statement = select(e.source, e.target, e.type, e.predicate, count).group_by(e.source, e.target, e.type, e.predicate)
    return {(source, target, type_, predicate): weight for source, target, type_, predicate, weight in rows_of(connection, statement)}


def ties_among(connection: Connection, entity_ids: Sequence[str]) -> dict[tuple[str, str], int]:
    """How many pieces of evidence tie each two of these entities (a few hundred at most), the smaller id first."""
    e = evidence.c
    statement = select(e.source, e.target, func.count(e.sentence.distinct())).group_by(e.source, e.target, e.type, e.predicate)
    ties: dict[tuple[str, str], int] = defaultdict(int)
    for source, target, weight in connection.execute(statement.where(e.source.in_(entity_ids), e.target.in_(entity_ids))):
        ties[min(source, target), max(source, target)] += weight
    return ties


def _told_by_mentions(connection: Connection) -> Select[Any]:
    """The rows of `evidence` that the relations between mentions make, by document."""
    of_source, of_target = memberships.alias("of_source"), memberships.alias("of_target")
    source_name, target_name = mention_names.alias("source_name"), mention_names.alias("target_name")
    source_link, target_link = links.alias("source_link"), links.alias("target_link")
    joined = (
        relations.join(source_name, _named(source_name, relations.c.source_start, relations.c.source_end))
        .join(target_name, _named(target_name, relations.c.target_start, relations.c.target_end))
        .join(of_source, and_(of_source.c.document == source_name.c.document, of_source.c.name == source_name.c.name))
        .join(of_target, and_(of_target.c.document == target_name.c.document, of_target.c.name == target_name.c.name))
        .outerjoin(source_link, and_(source_link.c.document == source_name.c.document, source_link.c.name == source_name.c.name))
        .outerjoin(target_link, and_(target_link.c.document == target_name.c.document, target_link.c.name == target_name.c.name))
    )
    a, b = by_code_point(connection, of_source.c.entity_id), by_code_point(connection, of_target.c.entity_id)
    swapped = and_(relations.c.type == SYMMETRIC, a > b)
    r = relations.c
    columns = (
        r.document,
        case((swapped, of_target.c.entity_id), else_=of_source.c.entity_id).label("source"),
        case((swapped, of_source.c.entity_id), else_=of_target.c.entity_id).label("target"),
        r.type,
        func.coalesce(r.predicate, "").label("predicate"),
        r.start_at,
        r.end_at,
        r.sentence,
        r.pattern,
        r.date,
        case((swapped, _sureness(target_link)), else_=_sureness(source_link)).label("source_confidence"),
        case((swapped, _sureness(source_link)), else_=_sureness(target_link)).label("target_confidence"),
    )
    return select(*columns).select_from(joined).where(a != b)


def _sureness(link: Any) -> Any:
    """How sure it is that a name belongs to its entity: the confidence of its link; what the registry knows is certain."""
    c = link.c
    linked = (c.wikidata_id.is_not(None), c.confidence)
    return case((c.registry_id.is_not(None), literal(1.0)), linked, (c.verdict == "abstain", literal(IN_DOUBT)), else_=literal(UNLINKED))


def _named(names: Any, start: Any, end: Any) -> Any:
    return and_(names.c.document == relations.c.document, names.c.start == start, names.c.end == end)


def _replace_demonyms(connection: Connection) -> None:
    e = evidence.c
    wanted = set(_told_by_names(connection))
    stored = set(connection.execute(select(evidence).where(e.type == DEMONYM)).tuples())
    for document, source, target, *_ in sorted(stored - wanted):
        connection.execute(delete(evidence).where(e.type == DEMONYM, e.document == document, e.source == source, e.target == target))
    insert_rows(connection, evidence, (dict(zip(e.keys(), row, strict=True)) for row in sorted(wanted - stored)))


def _told_by_names(connection: Connection) -> Iterator[tuple[str, str, str, str, str, int, int, str, str, str, float, float]]:
    """The rows of `evidence` that tie peoples to countries."""
    m = memberships.c
    bearers = select(m.name, m.entity_id).distinct().join_from(memberships, entities, m.entity_id == entities.c.entity_id)
    peoples: dict[str, set[str]] = defaultdict(set)  # entities by their country
    names: dict[str, set[str]] = defaultdict(set)  # of an entity, those that are a people's
    for name, entity in connection.execute(bearers.where(entities.c.type == "GROUP")):
        if country := demonym_of(name):
            peoples[country].add(entity)
            names[entity].add(name)
    places: dict[str, set[str]] = defaultdict(set)
    for name, entity in select_where_in(connection, bearers.where(entities.c.type == "PLACE"), m.name, sorted(peoples)):
        places[name].add(entity)
    tied = sorted(
        {(people, *places[country]) for country, of_country in peoples.items() for people in of_country if len(places[country]) == 1}
    )
    first = _first_mentions(connection, {people: names[people] for people, _ in tied})
    days = _days(connection, sorted({document for spans in first.values() for document, _, _ in spans}))
    for people, place in tied:
        for document, start, end in first[people]:
            yield document, people, place, DEMONYM, "", start, end, document, "", days.get(document) or "", 1.0, 1.0


def _days(connection: Connection, names: Sequence[str]) -> dict[str, str | None]:
    d = documents.c
    return dict(row._tuple() for row in select_where_in(connection, select(d.document, d.date), d.document, names))


def _first_mentions(connection: Connection, names: Mapping[str, Collection[str]]) -> dict[str, list[tuple[str, int, int]]]:
    """Of each entity, in each of its documents, the first mention under one of these names."""
    m, n = memberships.c, mention_names.c
    named = and_(n.document == m.document, n.name == m.name)
    statement = select(m.entity_id, m.name, m.document, n.start, n.end).join_from(memberships, mention_names, named)
    first: dict[str, dict[str, tuple[str, int, int]]] = defaultdict(dict)
    for entity, name, document, start, end in select_where_in(connection, statement, m.entity_id, sorted(names)):
        if name in names[entity]:
            span = (document, start, end)
            first[entity][document] = min(span, first[entity].get(document, span))
    return {entity: sorted(by_document.values()) for entity, by_document in first.items()}
