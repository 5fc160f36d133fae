"""Whether each projection holds what the state says: the graph store and the vector indexes. One that differs can be made again from the state."""

from collections.abc import Callable, Mapping

from sqlalchemy import Connection, Engine

from polyonym.graph.check.finding import Finding, findings
from polyonym.graph.difference import difference, properties_hash
from polyonym.graph.load import check_owner, distrust, wanted
from polyonym.graph.stores.model import EDGES, NODES, EdgeKind, NodeKind, edge_id
from polyonym.graph.stores.store import GraphStore
from polyonym.ingest.errors import Damaged

TOO_MANY = "too many"

OTHER = "with another content"
"""What is said of a graph that has more, or other things, than the state: either may be right."""


def check_graph(engine: Engine, store: GraphStore, home: str) -> list[Finding]:
    """The store's marker, every node and edge by id and content, the counts, and what is acknowledged, against the state.

    Raises WrongUse when the store is another home's, ServerAway when it does not answer.
    """
    with engine.connect() as connection:
        try:
            marker = store.marker()
            check_owner(marker, home)
            if reason := distrust(connection, store, marker):
                return [Finding("graph", reason)]
            return _compare_graph(connection, store)
        except Damaged as error:
            return [Finding("graph", f"store damaged: {error}")]


def check_index(name: str, wanted: Mapping[str, str], holdings: Callable[[], Mapping[str, str]]) -> list[Finding]:
    """A vector index, id to content hash, against what it should hold; `held` may raise Damaged."""
    where = f"index {name}"
    try:
        holds = holdings()
    except Damaged as error:
        return [Finding(where, f"index damaged: {error}")]
    return [
        *findings(where, "vectors missing", sorted(wanted.keys() - holds.keys())),
        *findings(where, "orphaned vectors", sorted(holds.keys() - wanted.keys())),
        *findings(where, "vectors of an older content", sorted(i for i in wanted.keys() & holds.keys() if wanted[i] != holds[i])),
    ]


def _compare_graph(connection: Connection, store: GraphStore) -> list[Finding]:
    different: list[Finding] = []
    nodes = sum(_compare_kind(connection, store, kind, different) for kind in NODES) + 1
    relationships = sum(_compare_kind(connection, store, kind, different) for kind in EDGES)
    if different:
        return different
    counts = store.counts()
    if (counts.nodes, counts.relationships) != (nodes, relationships):
        text = f"wrong count: {counts.nodes} nodes and {counts.relationships} relationships instead of {nodes} and {relationships}"
        return [Finding("graph", text)]
    changes = (c.id for kind in (*NODES, *EDGES) for c in difference(connection, store.projection, wanted(connection, kind), kind.name))
    return findings("graph", "nodes or relationships acknowledged wrongly", changes)


def _compare_kind(connection: Connection, store: GraphStore, kind: NodeKind | EdgeKind, different: list[Finding]) -> int:
    """How many of a kind there should be; what differs is added to `different`."""
    there: dict[str, str] = {}
    twice: list[str] = []
    for properties in store.read(kind):
        id_ = properties["id"] if isinstance(kind, NodeKind) else edge_id(kind, properties)
        if id_ in there:
            twice.append(id_)
        there[id_] = properties_hash(properties)
    missing, other, count = [], [], 0
    for item in wanted(connection, kind):
        count += 1
        hash_ = there.pop(item.id, None)
        if hash_ is None:
            missing.append(item.id)
        elif hash_ != item.hash:
            other.append(item.id)
    for what, ids in (("missing", missing), (TOO_MANY, sorted(there)), ("stored twice", sorted(twice)), (OTHER, other)):
        different += findings("graph", f"{kind.name} {what}", ids)
    return count
