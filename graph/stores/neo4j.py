"""Neo4j as the graph store, over Bolt.

Every node of ours has the label `Polyonym` beside its own, and a third, such as `PolyonymDocument`, by which it is written and on
which constraints and indexes lie: a database that holds other data as well keeps it, whatever its labels and ids are, and nothing
of ours binds that data. Every batch is a transaction of its own, and harmless to repeat, so a server that goes away and comes back
during a load costs some waiting.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from tenacity import Retrying, retry_if_exception, stop_before_delay, wait_exponential

from polyonym.graph.stores.model import EDGES, MARKER, NODES, EdgeKind, NodeKind, delete_statement, read_statement, write_statement
from polyonym.graph.stores.query import Answer, check_reading, node, plain, relationship
from polyonym.graph.stores.store import Counts, Marker
from polyonym.ingest.errors import ServerAway, Stop, WrongUse
from polyonym.ingest.store.database import without_password

OURS = "Polyonym"
_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
_AT_ONCE = 10_000
_LONGEST_PAUSE = 5.0
_ASKING = 10.0  # seconds that a question waits for a server that is away; a load waits for as long as `patience` says
_LABELS = tuple(kind.label for kind in (*NODES, MARKER))
_MARKS = (OURS, *(f"{OURS}{label}" for label in _LABELS))
_INDEXES = (("Entity", "name"), ("Entity", "wikidata_id"), ("Chunk", "document"))

T = TypeVar("T")


class Neo4j:
    """A polyonym.graph.load.GraphStore on a server. `patience` is how many seconds a load waits for it when it goes away."""

    projection = "neo4j"
    lasting = True

    def __init__(self, url: str, user: str, password: str, database: str = "", patience: float = 120.0) -> None:
        import neo4j

        self.url, self.user, self.database = without_password(url), user, database or None
        self.patience, self._asking = patience, min(patience, _ASKING)
        if url.partition("://")[0] not in _SCHEMES:
            raise self._unusable("it begins with none of " + ", ".join(f"{scheme}://" for scheme in _SCHEMES))
        try:
            self._driver = neo4j.GraphDatabase.driver(
                url, auth=(user, password), connection_timeout=10.0, telemetry_disabled=True, notifications_min_severity="OFF"
            )
        except (ValueError, neo4j.exceptions.ConfigurationError) as error:
            raise self._unusable(str(error)) from error

    def close(self) -> None:
        """Hang up."""
        self._driver.close()

    def marker(self) -> Marker | None:
        """The marker, None when there is none (or several: then nobody knows whose the rest is)."""
        rows = self._fetch(f"MATCH (x:{MARKER.label}:{OURS}) RETURN x.id AS home, x.version AS version", self.patience)
        return Marker(rows[0]["home"], rows[0]["version"]) if len(rows) == 1 else None

    def begin(self, marker: Marker, fresh: bool) -> None:
        """Make constraints and indexes, with `fresh` delete everything of ours, and set the marker."""
        if fresh:
            # The marker first: if this is cut short, the next load sees none and starts over as well.
            self._write(f"MATCH (x:{MARKER.label}:{OURS}) DETACH DELETE x")
            self._empty(f"MATCH (:{OURS})-[x]->() WITH x LIMIT {_AT_ONCE} DELETE x RETURN count(*) AS count")
            self._empty(f"MATCH (x:{OURS}) WITH x LIMIT {_AT_ONCE} DETACH DELETE x RETURN count(*) AS count")
        self._replace_bare_schema()
        for label in _LABELS:
            name = f"polyonym_own_{label.lower()}_id"
            self._write(f"CREATE CONSTRAINT {name} IF NOT EXISTS FOR (x:{OURS}{label}) REQUIRE x.id IS UNIQUE")
        for label, name in _INDEXES:
            self._write(f"CREATE INDEX polyonym_own_{label.lower()}_{name} IF NOT EXISTS FOR (x:{OURS}{label}) ON (x.{name})")
        self._write(write_statement(MARKER, "MERGE", OURS), {"rows": [{"id": marker.home, "version": marker.version}]})

    def _replace_bare_schema(self) -> None:
        """Take back what earlier versions made on labels that other data may bear too, and give their nodes the labels of ours alone."""
        constraints = {f"polyonym_{label.lower()}_id": label for label in _LABELS}
        indexes = [f"polyonym_{label.lower()}_{name}" for label, name in _INDEXES]
        present = {row["name"] for row in self._fetch("SHOW INDEXES YIELD name RETURN name", self.patience)}  # a constraint has one
        for name in present.intersection(indexes):
            self._write(f"DROP INDEX {name} IF EXISTS")
        for name, label in constraints.items():
            if name in present:
                self._empty(
                    f"MATCH (x:{label}:{OURS}) WHERE NOT x:{OURS}{label} WITH x LIMIT {_AT_ONCE} SET x:{OURS}{label} RETURN count(*) AS count"
                )
                self._write(f"DROP CONSTRAINT {name} IF EXISTS")

    def apply(self, verb: str, kind: NodeKind | EdgeKind, rows: list[dict[str, Any]]) -> None:
        """Write rows of one kind, in a transaction of their own; "new" may be there already, from a load that died."""
        self._write(delete_statement(kind, OURS) if verb == "gone" else write_statement(kind, "MERGE", OURS), {"rows": rows})

    def finish(self) -> None:
        """Nothing: every batch was durable when it was acknowledged."""

    def abandon(self) -> None:
        """Nothing: what was acknowledged stays."""

    def query(self, cypher: str) -> Answer:
        """Run a reading query. Raises WrongUse when it is wrong, ServerAway when the server does not answer."""
        import neo4j

        statement = check_reading(cypher)

        def ask() -> Answer:
            with self._driver.session(database=self.database, default_access_mode=neo4j.READ_ACCESS) as session:
                result = session.run(statement)
                return Answer(list(result.keys()), [[_value(v) for v in record.values()] for record in result])

        return self._patiently(ask, self._asking)

    def counts(self) -> Counts:
        """Nodes and relationships of ours."""
        types = "|".join(kind.type for kind in EDGES)
        nodes = self._fetch(f"MATCH (x:{OURS}) RETURN count(x) AS count", self._asking)[0]["count"]
        return Counts(nodes, self._fetch(f"MATCH (:{OURS})-[x:{types}]->(:{OURS}) RETURN count(x) AS count", self._asking)[0]["count"])

    def read(self, kind: NodeKind | EdgeKind) -> Iterator[dict[str, Any]]:
        """Everything of one kind that the store holds."""
        import neo4j

        with self._driver.session(database=self.database, fetch_size=10_000) as session:
            result = self._patiently(lambda: session.run(read_statement(kind, OURS)), self._asking)
            try:
                yield from (record.data() for record in result)
            except (neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError) as error:
                raise self._told(error) from error

    def _empty(self, statement: str) -> None:
        while self._fetch(statement, self.patience)[0]["count"]:
            pass

    def _write(self, statement: str, parameters: dict[str, Any] | None = None) -> None:
        self._fetch(statement, self.patience, parameters)

    def _fetch(self, statement: str, patience: float, parameters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        def ask() -> list[dict[str, Any]]:
            with self._driver.session(database=self.database) as session:
                return session.run(statement, parameters).data()

        return self._patiently(ask, patience)

    def _patiently(self, work: Callable[[], T], patience: float) -> T:
        """Do `work`, again and again with growing pauses while the server is away or busy, for `patience` seconds at most."""
        import neo4j

        pauses = wait_exponential(multiplier=0.25, max=_LONGEST_PAUSE)
        try:
            return Retrying(retry=retry_if_exception(_passing), stop=stop_before_delay(patience), wait=pauses, reraise=True)(work)
        except (neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError) as error:
            if not _passing(error):
                raise self._told(error) from error
            raise ServerAway(
                f"Neo4j at {self.url} did not answer for {patience:.0f} seconds: {error}. "
                "Start it and run again; what it has acknowledged is not written twice."
            ) from error

    def _unusable(self, why: str) -> WrongUse:
        return WrongUse(f"POLYONYM_GRAPH_URL {self.url!r} cannot be used: {why}. An example is bolt://localhost:7687.")

    def _told(self, error: Exception) -> Stop:
        import neo4j

        if isinstance(error, neo4j.exceptions.AuthError):
            return WrongUse(
                f"Neo4j at {self.url} does not let the user {self.user!r} in: {error.message}. "
                "Set POLYONYM_GRAPH_USER and POLYONYM_GRAPH_PASSWORD."
            )
        if isinstance(error, neo4j.exceptions.ConstraintError):
            return WrongUse(
                f"Neo4j at {self.url} holds other data under our labels, with ids that are not unique: {error.message}. "
                "Give this home a database of its own (POLYONYM_GRAPH_DATABASE)."
            )
        if isinstance(error, neo4j.exceptions.ClientError):
            return WrongUse(f"Neo4j at {self.url} refuses: {error.message}")
        return ServerAway(f"Neo4j at {self.url} failed: {error}")


def _passing(error: BaseException) -> bool:
    """Whether it may go well the next time. A commit in doubt counts: everything that we write can be written twice."""
    import neo4j

    if isinstance(error, neo4j.exceptions.ServiceUnavailable | neo4j.exceptions.SessionExpired):
        return True
    return isinstance(error, neo4j.exceptions.Neo4jError | neo4j.exceptions.DriverError) and error.is_retryable()


def _value(value: Any) -> Any:
    """A value of Neo4j's as an answer gives it."""
    import neo4j

    if isinstance(value, neo4j.graph.Node):
        return node((label for label in value.labels if label not in _MARKS), dict(value))
    if isinstance(value, neo4j.graph.Relationship):
        return relationship(value.type, dict(value))
    if isinstance(value, neo4j.graph.Path):
        return {"nodes": [_value(n) for n in value.nodes], "relationships": [_value(r) for r in value.relationships]}
    if isinstance(value, dict):
        return {key: _value(inner) for key, inner in value.items()}
    return [_value(inner) for inner in value] if isinstance(value, list) else plain(value)
