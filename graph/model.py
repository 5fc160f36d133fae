"""What a node and an edge of the graph are, and the Cypher that writes them into any store.

Relationships carry single values only, no lists: the embedded store rewrites a whole relationship table with lists in
it for every change (measured: 30 s instead of 1 s for one hundred changed among 150,000). So a mention is a relationship
of its own, and the evidence of a relation is one JSON text.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, and_, case, func, select

from graph.difference import by_code_point, rows_of
from ingest.relations import relations
from resolution.document_names import mention_names
from resolution.entities import memberships


@dataclass(frozen=True)
class NodeKind:
    """A label with its properties: name to type (STRING, INT64 or STRING[]). `id` is unique within the label."""

    label: str
    properties: dict[str, str]

    @property
    def name(self) -> str:
        return self.label

    @property
    def content(self) -> tuple[str, ...]:
        """The properties that may change while the node stays the same."""
        return tuple(name for name in self.properties if name != "id")


@dataclass(frozen=True)
class EdgeKind:
    """A type of relationship. The parts of `identity` (of source, target and properties) tell one from all others."""

    type: str
    source: str
    target: str
    identity: tuple[str, ...]
    properties: dict[str, str]

    @property
    def keys(self) -> tuple[str, ...]:
        """The properties that tell parallel edges apart."""
        return tuple(name for name in self.identity if name in self.properties)

    @property
    def name(self) -> str:
        return self.type

    @property
    def content(self) -> tuple[str, ...]:
        """The properties that may change while the edge stays the same."""
        return tuple(name for name in self.properties if name not in self.identity)


NODES = (
    NodeKind("Document", {"id": "STRING", "title": "STRING", "language": "STRING", "source": "STRING"}),
    NodeKind("Chunk", {"id": "STRING", "document": "STRING", "start_at": "INT64", "end_at": "INT64", "tokens": "INT64", "text": "STRING"}),
    NodeKind(
        "Entity",
        {
            "id": "STRING",
            "name": "STRING",
            "type": "STRING",
            "wikidata_id": "STRING",
            "registry_id": "STRING",
            "aliases": "STRING[]",
            "description": "STRING",
            "mentions": "INT64",
            "documents": "INT64",
        },
    ),
    NodeKind("Community", {"id": "STRING", "level": "INT64", "title": "STRING", "summary": "STRING"}),
)
EDGES = (
    EdgeKind("HAS_CHUNK", "Document", "Chunk", ("target", "source"), {}),
    EdgeKind(
        "MENTIONS",
        "Chunk",
        "Entity",
        ("source", "target", "start_at", "end_at"),
        {"start_at": "INT64", "end_at": "INT64", "text": "STRING"},
    ),
    EdgeKind(
        "RELATED",
        "Entity",
        "Entity",
        ("source", "target", "type", "predicate"),
        {"type": "STRING", "predicate": "STRING", "weight": "INT64", "evidence": "STRING"},
    ),
    EdgeKind("IN_COMMUNITY", "Entity", "Community", ("source", "target"), {"level": "INT64"}),
    EdgeKind("PART_OF", "Community", "Community", ("source", "target"), {}),
)
_SEPARATOR = "\t"
MARKER = NodeKind("Home", {"id": "STRING", "version": "INT64"})
"""The one marker node: the id of the home that the graph belongs to, and the version of the load that filled it."""


def edge_id(kind: EdgeKind, properties: dict[str, Any]) -> str:
    """The name of an edge: what tells it from others, joined by a character that sorts before all that an id holds."""
    return _SEPARATOR.join([str(properties[part]) for part in kind.identity])


def identity(kind: NodeKind | EdgeKind, id_: str) -> dict[str, Any]:
    """The properties that a node's or an edge's name stands for: enough to find it in a store."""
    if isinstance(kind, NodeKind):
        return {"id": id_}
    parts = id_.split(_SEPARATOR, len(kind.identity) - 1)
    return {name: int(part) if kind.properties.get(name) == "INT64" else part for name, part in zip(kind.identity, parts, strict=True)}


def write_statement(kind: NodeKind | EdgeKind, verb: str, mark: str = "") -> str:
    """Cypher that writes `$rows` of one kind; `verb` is MATCH (all are there) or MERGE (who knows).

    `mark` is a label that every node of ours bears beside its own, in a store that knows such.
    """
    start = f"UNWIND $rows AS row {verb} {_node(kind, mark)}" if isinstance(kind, NodeKind) else f"{_ends(kind)} {verb} {_edge(kind)}"
    return start + (" SET " + ", ".join(f"x.`{name}` = row.`{name}`" for name in kind.content) if kind.content else "")


def delete_statement(kind: NodeKind | EdgeKind) -> str:
    """Cypher that deletes `$rows` of one kind; what is not there is passed over."""
    if isinstance(kind, NodeKind):
        return f"UNWIND $rows AS row MATCH {_node(kind, '')} DETACH DELETE x"
    return f"{_ends(kind)} MATCH {_edge(kind)} DELETE x"


def read_statement(kind: NodeKind | EdgeKind, mark: str = "") -> str:
    """Cypher that returns everything of one kind, a column a property (and `source`, `target` of an edge)."""
    columns = [f"x.`{name}` AS `{name}`" for name in kind.properties]
    label = f":{mark}" if mark else ""
    if isinstance(kind, NodeKind):
        return f"MATCH (x:{kind.label}{label}) RETURN {', '.join(columns)}"
    columns += ["a.id AS source", "b.id AS target"]
    return f"MATCH (a:{kind.source}{label})-[x:{kind.type}]->(b:{kind.target}{label}) RETURN {', '.join(columns)}"


def _node(kind: NodeKind, mark: str) -> str:
    return f"(x:{kind.label}{f':{mark}' if mark else ''} {{id: row.id}})"


def _ends(kind: EdgeKind) -> str:
    # Two MATCH clauses: written as one with a comma, the embedded store computes the cross product.
    return f"UNWIND $rows AS row MATCH (a:{kind.source} {{id: row.source}}) MATCH (b:{kind.target} {{id: row.target}})"


def _edge(kind: EdgeKind) -> str:
    keys = ", ".join(f"`{name}`: row.`{name}`" for name in kind.keys)
    return f"(a)-[x:{kind.type} {{{keys}}}]->(b)" if keys else f"(a)-[x:{kind.type}]->(b)"


@dataclass(frozen=True, slots=True)
class EntityRelation:
    """What all documents together say of two entities: `evidence` has (document, start, end) for every piece, in order."""

    source: str
    target: str
    type: str
    predicate: str
    evidence: tuple[tuple[str, int, int], ...]

    @property
    def weight(self) -> int:
        return len(self.evidence)


SYMMETRIC = "co_occurs"
"""The type of relation that has no direction: its smaller entity id stands first."""


def entity_relations(connection: Connection) -> Iterator[EntityRelation]:
    """Relations between entities, from the relations between their mentions; ascending by source, target, type, predicate.

    A piece of evidence that ties an entity to itself is left out, and so is one whose mention belongs to no entity.
    """
    for (source, target, type_, predicate), rows in groupby(rows_of(connection, _relation_rows(connection)), key=lambda row: row[:4]):
        evidence = tuple((row[4], row[5], row[6]) for row in rows)
        yield EntityRelation(source, target, type_, predicate, evidence)


def _relation_rows(connection: Connection) -> Any:
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
    return select(*columns).select_from(joined).where(a != b).order_by(*order)


def _named(names: Any, start: Any, end: Any) -> Any:
    return and_(names.c.document == relations.c.document, names.c.start == start, names.c.end == end)
