"""What a node and an edge of the graph are, and the Cypher that writes them into any store.

Relationships carry single values only, no lists: the embedded store rewrites a whole relationship table with lists in
it for every change (measured: 30 s instead of 1 s for one hundred changed among 150,000). So a mention is a relationship
of its own, and the evidence of a relation is one JSON text.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NodeKind:
    """A label with its properties: name to type (STRING, INT64, DOUBLE or STRING[]). `id` is unique within the label."""

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
    NodeKind("Document", {"id": "STRING", "title": "STRING", "language": "STRING", "source": "STRING", "date": "STRING"}),
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
        {"type": "STRING", "predicate": "STRING", "weight": "INT64", "confidence": "DOUBLE", "evidence": "STRING"},
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

    In a store that may hold other data too, `mark` tells our nodes from it: each bears, beside its own label, `mark` and `mark` before
    its label (Document, Polyonym, PolyonymDocument). Statements that write go by the last, so that nobody else's nodes are meant.
    """
    if isinstance(kind, EdgeKind):
        start = f"{_ends(kind, mark)} {verb} {_edge(kind)}"
    else:
        labels = f" ON CREATE SET x:{kind.label}:{mark}" if mark and verb == "MERGE" else ""
        start = f"UNWIND $rows AS row {verb} {_node(kind, mark)}{labels}"
    return start + (" SET " + ", ".join(f"x.`{name}` = row.`{name}`" for name in kind.content) if kind.content else "")


def delete_statement(kind: NodeKind | EdgeKind, mark: str = "") -> str:
    """Cypher that deletes `$rows` of one kind; what is not there is passed over. `mark` is as for `write_statement`."""
    if isinstance(kind, NodeKind):
        return f"UNWIND $rows AS row MATCH {_node(kind, mark)} DETACH DELETE x"
    return f"{_ends(kind, mark)} MATCH {_edge(kind)} DELETE x"


def read_statement(kind: NodeKind | EdgeKind, mark: str = "") -> str:
    """Cypher that returns everything of one kind, a column a property (and `source`, `target` of an edge)."""
    columns = [f"x.`{name}` AS `{name}`" for name in kind.properties]
    label = f":{mark}" if mark else ""
    if isinstance(kind, NodeKind):
        return f"MATCH (x:{kind.label}{label}) RETURN {', '.join(columns)}"
    columns += ["a.id AS source", "b.id AS target"]
    return f"MATCH (a:{kind.source}{label})-[x:{kind.type}]->(b:{kind.target}{label}) RETURN {', '.join(columns)}"


def _node(kind: NodeKind, mark: str) -> str:
    return f"(x:{mark}{kind.label} {{id: row.id}})"


def _ends(kind: EdgeKind, mark: str) -> str:
    # Two MATCH clauses: written as one with a comma, the embedded store computes the cross product.
    return f"UNWIND $rows AS row MATCH (a:{mark}{kind.source} {{id: row.source}}) MATCH (b:{mark}{kind.target} {{id: row.target}})"


def _edge(kind: EdgeKind) -> str:
    keys = ", ".join(f"`{name}`: row.`{name}`" for name in kind.keys)
    return f"(a)-[x:{kind.type} {{{keys}}}]->(b)" if keys else f"(a)-[x:{kind.type}]->(b)"
