"""Loading a graph store with the difference, whichever store it is.

Every load has a version. The store carries it in a marker node beside the home's id, the state carries what it believes
the store to hold; where the two disagree (a store restored from a copy, a home restored from one, a store that was
emptied) the acknowledgements are worth nothing and the load starts over.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace

from sqlalchemy import BigInteger, Column, Connection, Engine, Table, Text, delete, select

from polyonym.graph.difference import Change, Wanted, acknowledge, difference, forget, properties_hash
from polyonym.graph.projection import Owners, changed_owners, elements, rests_on
from polyonym.graph.stores.model import EDGES, NODES, EdgeKind, NodeKind, identity
from polyonym.graph.stores.store import GraphStore, Marker
from polyonym.ingest.errors import Damaged, WrongUse
from polyonym.ingest.store import fingerprint
from polyonym.ingest.store.changes import Counters, counters_of, set_watermark, watermark
from polyonym.ingest.store.tables import get_fact, metadata, set_fact

BATCH = 5000
"""Rows written in one transaction of a store."""

_MODEL = fingerprint.of_code("graph/stores/model.py", "graph/projection.py", "graph/difference.py")
"""What the graph is made of, and what is known of it: a store that was filled by other rules is filled anew."""

versions = Table(
    "projection_versions",
    metadata,
    Column("projection", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),  # of the last load that ended
    Column("upcoming", BigInteger, nullable=False),  # of a load that began; equal to `version` when it ended
)


@dataclass(frozen=True)
class Version:
    """What the state knows of a projection: the last load that ended, and the last that began."""

    version: int = 0
    upcoming: int = 0


@dataclass
class Written:
    """How many nodes and relationships a load wrote or deleted."""

    nodes: int = 0
    relationships: int = 0


def load(
    engine: Engine, store: GraphStore, home: str, progress: Callable[[int], None] = lambda _: None, start_over: bool = False
) -> Written:
    """Bring `store` to what the state says, writing the difference only; `progress` is told of every batch's size.

    Only what belongs to documents, entities and communities that have changed since the last load is compared, where that is known.

    With `start_over` the store is emptied first and filled anew, as it is without being asked when its marker is missing or
    of another load than the last, and when the model of the graph has changed. Raises WrongUse when the store belongs to another home, Damaged when an embedded store
    is broken (not with `start_over`), ServerAway when a server stays away.
    """
    marker = _marker(store, start_over)
    check_owner(marker, home)
    with engine.begin() as connection:
        now = counters_of(connection, {table for kind in (*NODES, *EDGES) for table in rests_on(kind)})
        known = read_version(connection, store.projection)
        fresh = start_over or bool(distrust(connection, store, marker))
        if fresh:
            forget(connection, store.projection)
            write_version(connection, store.projection, Version())
            set_fact(connection, _model_fact(store), _MODEL)
        before = {} if fresh else watermark(connection, store.projection)
    unfinished = store.lasting and not fresh and known.upcoming != known.version
    version = known.upcoming if unfinished else 1 + max(known.version, known.upcoming, marker.version if marker else 0)
    loading = _Loading(engine, store, Marker(home, version), progress)
    try:
        with engine.connect() as reading:
            loading.run(reading, fresh, {kind.name: changed_owners(reading, kind, before) for kind in (*NODES, *EDGES)})
        loading.end(now)
    except BaseException:
        loading.abandon()
        raise
    return loading.written


def check_owner(marker: Marker | None, home: str) -> None:
    """Raises WrongUse when the marker is another home's."""
    if marker is not None and marker.home != home:
        raise WrongUse(
            f"The graph store belongs to another home ({marker.home}; this one is {home}). "
            "Give this home a database of its own (POLYONYM_GRAPH_URL, POLYONYM_GRAPH_DATABASE)."
        )


def distrust(connection: Connection, store: GraphStore, marker: Marker | None) -> str:
    """Why what is acknowledged says nothing of what the store holds, so that the next load starts over; "" when it does."""
    known = read_version(connection, store.projection)
    if marker is None:
        return "nothing was loaded yet, or the store was emptied: it has no marker"
    if marker.version != known.version and not (store.lasting and marker.version == known.upcoming):
        return f"the store was filled by load {marker.version}, the last load of this home was {known.version}"
    if get_fact(connection, _model_fact(store)) != _MODEL:
        return "the store was filled by another version of polyonym, which had other nodes or relationships"
    return ""


def wanted(connection: Connection, kind: NodeKind | EdgeKind, owners: Owners = None) -> Iterator[Wanted]:
    """What a graph store should hold of one kind (and these owners), with hashes, by owner and id."""
    for element in elements(connection, kind, owners):
        yield Wanted(kind.name, element.id, properties_hash(element.properties), element.properties, element.owner)


def read_version(connection: Connection, projection: str) -> Version:
    """What the state knows of a projection's loads."""
    v = versions.c
    row = connection.execute(select(v.version, v.upcoming).where(v.projection == projection)).first()
    return Version() if row is None else Version(*row)


def write_version(connection: Connection, projection: str, version: Version) -> None:
    """Keep what is known of a projection's loads."""
    connection.execute(delete(versions).where(versions.c.projection == projection))
    connection.execute(versions.insert(), {"projection": projection, **asdict(version)})


def _model_fact(store: GraphStore) -> str:
    return f"graph_model:{store.projection}"


def _marker(store: GraphStore, start_over: bool) -> Marker | None:
    try:
        return store.marker()
    except Damaged:
        if start_over:
            return None
        raise


class _Loading:
    """One load. It begins at the first change, so that a load without any leaves the store alone."""

    def __init__(self, engine: Engine, store: GraphStore, marker: Marker, progress: Callable[[int], None]) -> None:
        self.engine, self.store, self.marker, self.progress = engine, store, marker, progress
        self.written = Written()
        self.writing: Connection | None = None

    def run(self, reading: Connection, fresh: bool, changed: Mapping[str, Owners]) -> None:
        if fresh:
            self._begin(fresh)
        gone: list[Change] = []
        for kind in NODES:
            self._write(kind, _postponing(self._changes(reading, kind, changed[kind.name]), gone))
        for edge in EDGES:
            self._write(edge, self._changes(reading, edge, changed[edge.name]))
        # Nodes go last: by now their edges have gone, and every new edge has found its ends.
        for kind in NODES:
            self._write(kind, [change for change in gone if change.kind == kind.name])

    def end(self, made_from: Counters) -> None:
        connection = self.writing or self.engine.connect()
        if self.writing is not None:
            self.store.finish()
            write_version(connection, self.store.projection, Version(self.marker.version, self.marker.version))
        set_watermark(connection, self.store.projection, made_from)
        connection.commit()
        connection.close()

    def abandon(self) -> None:
        if self.writing is not None:
            self.writing.close()
            self.store.abandon()

    def _begin(self, fresh: bool) -> Connection:
        connection = self.writing = self.engine.connect()
        if self.store.lasting:
            # The state learns of the version before the store does: a store ahead of the state was never filled from it.
            known = read_version(connection, self.store.projection)
            write_version(connection, self.store.projection, replace(known, upcoming=self.marker.version))
            connection.commit()
        self.store.begin(self.marker, fresh)
        return connection

    def _changes(self, reading: Connection, kind: NodeKind | EdgeKind, owners: Owners) -> Iterator[Change]:
        return difference(reading, self.store.projection, wanted(reading, kind, owners), kind.name, owners)

    def _write(self, kind: NodeKind | EdgeKind, changes: Iterable[Change]) -> None:
        waiting: dict[str, list[Change]] = {"gone": [], "changed": [], "new": []}
        for change in changes:
            batch = waiting[change.verb]
            batch.append(change)
            if len(batch) == BATCH:
                self._apply(kind, batch)
                batch.clear()
        for batch in waiting.values():
            if batch:
                self._apply(kind, batch)

    def _apply(self, kind: NodeKind | EdgeKind, batch: list[Change]) -> None:
        writing = self.writing or self._begin(fresh=False)
        rows = [identity(kind, c.id) if c.verb == "gone" else c.properties for c in batch]
        self.store.apply(batch[0].verb, kind, rows)
        acknowledge(writing, self.store.projection, batch)
        if self.store.lasting:
            writing.commit()
        if isinstance(kind, NodeKind):
            self.written.nodes += len(batch)
        else:
            self.written.relationships += len(batch)
        self.progress(len(batch))


def _postponing(changes: Iterable[Change], gone: list[Change]) -> Iterator[Change]:
    """All but what is gone, which is put aside."""
    for change in changes:
        if change.verb == "gone":
            gone.append(change)
        else:
            yield change
