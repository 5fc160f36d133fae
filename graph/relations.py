"""What all documents together say of two entities: relations between their mentions, and peoples with their countries."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Select, and_, case, func, select

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


Relation = tuple[str, str, str, str]
"""(source, target, type, predicate)."""


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


def relation_weights(connection: Connection) -> Counter[Relation]:
    """The weights of all `entity_relations`, in no order: a third of the time where nobody asks for the evidence."""
    weights = _weights(connection)
    weights.update({(r.source, r.target, r.type, r.predicate): r.weight for r in _demonyms(connection)})
    return weights


def ties_among(connection: Connection, entity_ids: Sequence[str]) -> dict[tuple[str, str], int]:
    """How many pieces of evidence tie each two of these entities (a few hundred at most), the smaller id first."""
    ties: dict[tuple[str, str], int] = defaultdict(int)
    for (source, target, _, _), weight in _weights(connection, entity_ids).items():
        ties[min(source, target), max(source, target)] += weight
    return ties


def _weights(connection: Connection, among: Sequence[str] | None = None) -> Counter[Relation]:
    told = _evidence(connection, among).subquery().c
    return Counter(map(tuple, rows_of(connection, select(told.source, told.target, told.type, told.predicate))))


def _between_mentions(connection: Connection) -> Iterator[EntityRelation]:
    told = _evidence(connection)
    order = [by_code_point(connection, told.selected_columns[name]) for name in ("source", "target", "type", "predicate", "document")]
    ordered = told.order_by(*order, relations.c.start_at, relations.c.end_at)
    for (source, target, type_, predicate), rows in groupby(rows_of(connection, ordered), key=itemgetter(0, 1, 2, 3)):
        yield EntityRelation(source, target, type_, predicate, tuple(map(itemgetter(4, 5, 6), rows)))


def _evidence(connection: Connection, among: Sequence[str] | None = None) -> Select[Any]:
    """(source, target, type, predicate, document, start_at, end_at) of every piece of evidence."""
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
    r = relations.c
    columns = (
        case((swapped, of_target.c.entity_id), else_=of_source.c.entity_id).label("source"),
        case((swapped, of_source.c.entity_id), else_=of_target.c.entity_id).label("target"),
        r.type,
        func.coalesce(r.predicate, "").label("predicate"),
        r.document,
        r.start_at,
        r.end_at,
    )
    wanted = [] if among is None else [of_source.c.entity_id.in_(among), of_target.c.entity_id.in_(among)]
    return select(*columns).select_from(joined).where(a != b, *wanted)


def _named(names: Any, start: Any, end: Any) -> Any:
    return and_(names.c.document == relations.c.document, names.c.start == start, names.c.end == end)
