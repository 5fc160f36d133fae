"""What a person looks at first: the counts of a home, which names became one node, and which near names stayed apart."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, FromClause, func, select

from polyonym.graph.communities import communities
from polyonym.ingest.mentions.mentions import mentions
from polyonym.ingest.relations import CO_OCCURS, relations
from polyonym.ingest.text.chunks import chunks
from polyonym.ingest.text.documents import documents, rejected
from polyonym.resolution import entities
from polyonym.resolution.entities import Entity
from polyonym.resolution.names.normal_forms import normalise


@dataclass(frozen=True)
class Node:
    """An entity with its spellings, commonest first."""

    entity: Entity
    names: tuple[tuple[str, int], ...]

    @property
    def distinct(self) -> int:
        """How many spellings differ in more than case."""
        return len({name.casefold() for name, _ in self.names})


def counts(connection: Connection) -> dict[str, int]:
    """How many there are of each kind of thing. That two things are only named together is no relation."""
    tables: dict[str, FromClause] = {
        "documents": documents,
        "set aside": rejected,
        "chunks": chunks,
        "mentions": mentions,
        "entities": entities.entities,
        "relations": select(relations).where(relations.c.type != CO_OCCURS).subquery(),
        "communities": communities,
    }
    result = {kind: connection.execute(select(func.count()).select_from(table)).scalar_one() for kind, table in tables.items()}
    linked = select(func.count()).select_from(entities.entities).where(entities.entities.c.wikidata_id.is_not(None))
    registered = select(func.count()).select_from(entities.entities).where(entities.entities.c.registry_id.is_not(None))
    result["linked to Wikidata"] = connection.execute(linked).scalar_one()
    result["in the registry"] = connection.execute(registered).scalar_one()
    return result


def nodes(connection: Connection) -> list[Node]:
    """All entities with their spellings, most mentioned first."""
    names: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for alias in entities.load_aliases(connection):
        names[alias.entity_id].append((alias.name, alias.count))
    unsorted = [Node(e, tuple(names[e.entity_id])) for e in entities.load(connection)]
    return sorted(unsorted, key=lambda n: (-n.entity.mentions, n.entity.name, n.entity.entity_id))


def united(all_nodes: list[Node]) -> list[Node]:
    """The nodes that several spellings became, those with most spellings first."""
    return sorted(
        (n for n in all_nodes if n.distinct > 1), key=lambda n: (-n.distinct, -n.entity.mentions, n.entity.name, n.entity.entity_id)
    )


def apart(all_nodes: list[Node]) -> list[tuple[str, list[Node]]]:
    """Names that two or more nodes share, in whole or in their last or first word, with those nodes; most nodes first.

    These are the places where a careless merge would have made one node out of several.
    """
    groups: dict[str, dict[str, Node]] = defaultdict(dict)
    for node in all_nodes:
        for surface, _ in node.names:
            words = normalise(surface).split()
            for key in {" ".join(words), words[0], words[-1]} if words else set():
                if len(key) > 3:
                    groups[key][node.entity.entity_id] = node
    shared = [(key, list(sharing.values())) for key, sharing in groups.items() if len(sharing) > 1]
    return sorted(shared, key=lambda g: (-len(g[1]), -sum(n.entity.mentions for n in g[1]), g[0]))


def as_row(node: Node) -> dict[str, Any]:
    """A node as JSON."""
    e = node.entity
    row = {"entity_id": e.entity_id, "name": e.name, "type": e.type, "wikidata_id": e.wikidata_id, "registry_id": e.registry_id}
    return row | {"documents": e.documents, "mentions": e.mentions, "names": [{"name": n, "count": c} for n, c in node.names]}
