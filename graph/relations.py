"""What all documents together say of two entities: relations between their mentions, and peoples with their countries."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, and_, case, func, select

from graph.difference import by_code_point, rows_of
from ingest.relations import relations
from ingest.state import select_where_in
from resolution.document_names import mention_names
from resolution.entities import entities, memberships
from resolution.names import demonym_of

SYMMETRIC = "co_occurs"
"""The type of relation that has no direction: its smaller entity id stands first."""
DEMONYM = "demonym_of"
"""The type of relation from a people ("German") to its country."""

RESTS_ON = (relations, mention_names, memberships, entities)
"""The tables that `entity_relations` reads."""


@dataclass(frozen=True, slots=True)
class EntityRelation:
    """`evidence` has (document, start, end) for every piece, in order."""

    source: str
    target: str
    type: str
    predicate: str
    evidence: tuple[tuple[str, int, int], ...]

    @property
    def weight(self) -> int:
        return len(self.evidence)


def entity_relations(connection: Connection) -> Iterator[EntityRelation]:
    """Relations between entities, ascending by source, target, type, predicate.

    Of the relations between mentions a piece of evidence that ties an entity to itself is left out, and so is one whose mention
    belongs to no entity. A people is tied to the one place that bears its country's name; its evidence is the people's first
    mention in each document.
    """
    told = (_between_mentions(connection), _demonyms(connection))
    yield from merge(*told, key=lambda r: (r.source, r.target, r.type, r.predicate))


def _demonyms(connection: Connection) -> list[EntityRelation]:
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
    tied = {(people, *places[country]) for country, found in peoples.items() for people in found if len(places[country]) == 1}
    evidence = _first_mentions(connection, {people: names[people] for people, _ in tied})
    return sorted(
        (EntityRelation(people, place, DEMONYM, "", evidence[people]) for people, place in tied), key=lambda r: (r.source, r.target)
    )


def _first_mentions(connection: Connection, names: dict[str, set[str]]) -> dict[str, tuple[tuple[str, int, int], ...]]:
    """Of each entity, in each of its documents, the first mention under one of these names."""
    m, n = memberships.c, mention_names.c
    named = and_(n.document == m.document, n.name == m.name)
    statement = select(m.entity_id, m.name, m.document, n.start, n.end).join_from(memberships, mention_names, named)
    first: dict[str, dict[str, tuple[str, int, int]]] = defaultdict(dict)
    for entity, name, document, start, end in select_where_in(connection, statement, m.entity_id, sorted(names)):
        if name in names[entity]:
            span = (document, start, end)
            first[entity][document] = min(span, first[entity].get(document, span))
    return {entity: tuple(sorted(found.values())) for entity, found in first.items()}


def ties_among(connection: Connection, entity_ids: Sequence[str]) -> dict[tuple[str, str], int]:
    """How many pieces of evidence tie each two of these entities (a few hundred at most), the smaller id first."""
    ties: dict[tuple[str, str], int] = defaultdict(int)
    for r in _between_mentions(connection, entity_ids):
        ties[min(r.source, r.target), max(r.source, r.target)] += r.weight
    return ties


def _between_mentions(connection: Connection, among: Sequence[str] | None = None) -> Iterator[EntityRelation]:
    found = rows_of(connection, _relation_rows(connection, among))
    for (source, target, type_, predicate), rows in groupby(found, key=lambda row: row[:4]):
        evidence = tuple((row[4], row[5], row[6]) for row in rows)
        yield EntityRelation(source, target, type_, predicate, evidence)


def _relation_rows(connection: Connection, among: Sequence[str] | None) -> Any:
    """(source, target, type, predicate, document, start, end) of every piece of evidence, sorted."""
    of_source, of_target = memberships.alias("of_source"), memberships.alias("of_target")
    source_name, target_name = mention_names.alias("source_name"), mention_names.alias("target_name")
    joined = (
        relations.join(source_name, _named(source_name, relations.c.source_start, relations.c.source_end))
        .join(target_name, _named(target_name, relations.c.target_start, relations.c.target_end))
        .join(of_source, and_(of_source.c.document == source_name.c.document, of_source.c.name == source_name.c.name))
        .join(of_target, and_(of_target.c.document == target_name.c.document, of_target.c.name == target_name.c.name))
    )
    a, b = by_code_point(connection, of_source.c.entity_id), by_code_point(connection, of_target.c.entity_id)
    swapped = and_(relations.c.type == SYMMETRIC, a > b)
    source, target = (
        case((swapped, of_target.c.entity_id), else_=of_source.c.entity_id),
        case((swapped, of_source.c.entity_id), else_=of_target.c.entity_id),
    )
    predicate = func.coalesce(relations.c.predicate, "")
    columns = (source, target, relations.c.type, predicate, relations.c.document, relations.c.start_at, relations.c.end_at)
    order = [*(by_code_point(connection, c) for c in columns[:5]), relations.c.start_at, relations.c.end_at]
    wanted = [] if among is None else [of_source.c.entity_id.in_(among), of_target.c.entity_id.in_(among)]
    return select(*columns).select_from(joined).where(a != b, *wanted).order_by(*order)


def _named(names: Any, start: Any, end: Any) -> Any:
    return and_(names.c.document == relations.c.document, names.c.start == start, names.c.end == end)
