"""What every graph store can do, whichever it is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from polyonym.graph.stores.model import EdgeKind, NodeKind
from polyonym.graph.stores.query import Answer


@dataclass(frozen=True)
class Marker:
    """What the marker node says: whose graph this is, and which load filled it."""

    home: str
    version: int


@dataclass(frozen=True)
class Counts:
    """How many nodes (the marker included) and relationships of ours a store holds."""

    nodes: int
    relationships: int


class GraphStore(Protocol):
    """What the loader, the check and the query command need of a store."""

    @property
    def projection(self) -> str:
        """The name under which acknowledgements are kept."""

    @property
    def lasting(self) -> bool:
        """Whether `apply` is durable when it returns; otherwise all of a load becomes so at once in `finish`."""

    def marker(self) -> Marker | None:
        """The marker that the store carries, None when it has none. Raises Damaged when the store cannot be trusted."""

    def begin(self, marker: Marker, fresh: bool) -> None:
        """Start a load that will carry `marker`; with `fresh` the store is first emptied of everything of ours."""

    def apply(self, verb: str, kind: NodeKind | EdgeKind, rows: list[dict[str, Any]]) -> None:
        """Make rows of one kind, all "new", all "changed" or all "gone", so in the store."""

    def finish(self) -> None:
        """End the load."""

    def abandon(self) -> None:
        """Clean up after a load that failed."""

    def query(self, cypher: str) -> Answer:
        """Run a reading query. Raises WrongUse when it is wrong, or would write."""

    def counts(self) -> Counts: ...

    def read(self, kind: NodeKind | EdgeKind) -> Iterator[dict[str, Any]]:
        """Everything of one kind that the store holds, as `graph.projection.elements` gives properties, in any order."""
