"""The embedded graph store: one Ladybug file in the home, with nothing to install or start.

Ladybug lets one process write while others open the file, but those then fail or see half of a change (measured: every
sixth opening failed while a writer was at its checkpoints). So the file that readers open is never written to: a load
works on a copy beside it, makes that durable, and swaps it in. Readers see the last load that ended, whole; a load that
died leaves nothing but files that the next one deletes.

`graph.json` says what the file must be, by checksum. It is written before the swap, with the old and the new file in it, so
that at every moment the file is one that it names, or damaged.
"""

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson

from polyonym.graph.stores.model import EDGES, MARKER, NODES, EdgeKind, NodeKind, delete_statement, read_statement, write_statement
from polyonym.graph.stores.query import Answer, check_reading, node, plain, relationship
from polyonym.graph.stores.store import Counts, Marker
from polyonym.ingest.errors import Damaged, WrongUse
from polyonym.ingest.store import files

_POOL = 512 * 1024 * 1024
_ADDRESS_SPACE = 1 << 38
_DISK = re.compile(r"IO exception|No space|[Cc]heckpoint failed")
_SPARE = 16 * 1024 * 1024  # of the disk, never used
_EXPECTED = re.compile(r" expecting \{[^}]*\}")  # the parser lists every word that it knows


class Embedded:
    """A polyonym.graph.load.GraphStore in a folder of the home."""

    projection = "embedded"
    lasting = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "graph.lbug"
        self._names = folder / "graph.json"
        self._beside = folder / "loading.lbug"
        self._loading: _Loading | None = None

    def marker(self) -> Marker | None:
        """The marker, None when there is no graph. Raises Damaged when the file is not as the last load left it."""
        if not self.file.exists():
            return None
        if _digest(self.file) not in self._digests():
            raise self._damaged("differs from its checksum")
        rows = list(self._rows(read_statement(MARKER)))
        return Marker(rows[0]["id"], rows[0]["version"]) if rows else None

    def begin(self, marker: Marker, fresh: bool) -> None:
        """Copy the store beside itself, or start an empty one there."""
        with self._disk():
            self.folder.mkdir(parents=True, exist_ok=True)
            self._sweep()
            self._need(2 * self.file.stat().st_size if self.file.exists() else 0)
            if not fresh:
                shutil.copyfile(self.file, self._beside)
            self._loading = _Loading(self._beside, marker, fresh)

    def apply(self, verb: str, kind: NodeKind | EdgeKind, rows: list[dict[str, Any]]) -> None:
        """Write rows of one kind into the copy."""
        assert self._loading is not None
        with self._disk():
            self._need(0)
            self._loading.apply(verb, kind, rows)

    def finish(self) -> None:
        """Make the copy durable and swap it in."""
        assert self._loading is not None
        with self._disk():
            self._need(self._beside.stat().st_size)
            self._loading.close()
            self._loading = None
            files.sync(self._beside)  # before it is named
            self._name([*self._current(), _described(self._beside)])
            files.swap_in(self._beside, self.file)
            self._sweep()

    def abandon(self) -> None:
        """Delete the copy."""
        if self._loading is not None:
            self._loading.abandon()
            self._loading = None
        self._sweep()

    def query(self, cypher: str) -> Answer:
        """Run a reading query on the last load that ended. Raises WrongUse when it is wrong, Damaged when the file is."""
        statement = check_reading(cypher)
        with self._reading() as connection:
            try:
                result = connection.execute(statement)
            except RuntimeError as error:
                raise WrongUse(f"The query cannot be run: {_EXPECTED.sub('', str(error))}") from error
            return Answer(result.get_column_names(), [[_value(v) for v in row] for row in result])

    def counts(self) -> Counts:
        """Nodes and relationships, (0, 0) when there is no graph."""
        if not self.file.exists():
            return Counts(0, 0)
        nodes = sum(row["count"] for row in self._rows("MATCH (x) RETURN count(x) AS count"))
        return Counts(nodes, sum(row["count"] for row in self._rows("MATCH ()-[x]->() RETURN count(x) AS count")))

    def read(self, kind: NodeKind | EdgeKind) -> Iterator[dict[str, Any]]:
        """Everything of one kind that the store holds, nothing when there is no graph."""
        if self.file.exists():
            yield from self._rows(read_statement(kind))

    def _rows(self, statement: str) -> Iterator[dict[str, Any]]:
        with self._reading() as connection:
            result = connection.execute(statement)
            columns = result.get_column_names()
            for row in result:
                yield dict(zip(columns, row, strict=True))

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        if not self.file.exists():
            raise WrongUse(f"There is no graph in {self.folder} yet. Make one with: polyonym ingest PATH")
        self._trust()
        try:
            database, connection = _open(self.file, read_only=True)
        except RuntimeError as error:
            raise self._damaged(f"cannot be opened: {error}") from error
        try:
            yield connection
        finally:
            connection.close()
            database.close()

    def _trust(self) -> None:
        """Compare the file with its checksum where it was touched since it was written, or moved with its home."""
        status = self.file.stat()
        if [status.st_size, status.st_mtime_ns] not in [[f["size"], f["changed"]] for f in self._named()] and (
            _digest(self.file) not in self._digests()
        ):
            raise self._damaged("differs from its checksum")

    def _digests(self) -> list[str]:
        return [f["sha256"] for f in self._named()]

    def _named(self) -> list[dict[str, Any]]:
        try:
            described: list[dict[str, Any]] = orjson.loads(self._names.read_bytes())["files"]
        except FileNotFoundError:
            return []
        except (ValueError, KeyError, TypeError) as error:
            raise Damaged(f"{self._names} is damaged. Run `polyonym check --repair`: the graph is made again from the state.") from error
        return described

    def _current(self) -> list[dict[str, Any]]:
        """What is named and is the file that is there now."""
        try:
            named = self._named()
        except Damaged:
            return []
        digest = _digest(self.file) if named and self.file.exists() else ""
        return [f for f in named if f["sha256"] == digest]

    def _name(self, described: list[dict[str, Any]]) -> None:
        files.write(self._names, orjson.dumps({"files": described}))

    def _sweep(self) -> None:
        """Delete what a load left beside the store."""
        for path in [*self.folder.glob(f"{self._beside.name}*"), *self.folder.glob("*.part")]:
            path.unlink(missing_ok=True)

    def _damaged(self, what: str) -> Damaged:
        return Damaged(f"The graph {self.file} {what}. Run `polyonym check --repair`: it is made again from the state.")

    def _need(self, room: int) -> None:
        """Ladybug may end the process when the disk is full, so it is not let get so far."""
        if shutil.disk_usage(self.folder).free < room + _SPARE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @contextmanager
    def _disk(self) -> Iterator[None]:
        """Turns what a full or broken disk raises, here or inside Ladybug, into a clear message."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not _DISK.search(str(error)):
                raise
            full = self.folder.exists() and shutil.disk_usage(self.folder).free < _SPARE
            reason = os.strerror(errno.ENOSPC) if full else (isinstance(error, OSError) and error.strerror) or str(error)
            raise WrongUse(
                f"The graph cannot be written in {self.folder}: {reason}. The last one is kept as it was. "
                "Make room (a load needs twice the size of the graph and 16 MB) or mend the folder's rights, then run again."
            ) from error


class _Loading:
    """A load into a file that nobody else has open."""

    def __init__(self, file: Path, marker: Marker, fresh: bool) -> None:
        self.file = file
        self.database, self.connection = _open(file, read_only=False)
        self.copying: _Copying | None = None
        if fresh:
            for kind in (*NODES, MARKER, *EDGES):
                self.connection.execute(_definition(kind))
        self.connection.execute("MATCH (x:Home) DELETE x")
        self.connection.execute("CREATE (:Home {id: $id, version: $version})", {"id": marker.home, "version": marker.version})

    def apply(self, verb: str, kind: NodeKind | EdgeKind, rows: list[dict[str, Any]]) -> None:
        if self.copying is not None and self.copying.kind != kind:
            self._copy()
        if verb == "new":
            # One COPY a kind: each rewrites the table, and is many times faster than rows that are created one by one.
            if self.copying is None:
                self.copying = _Copying(kind, self.file.with_name(f"{self.file.name}.{kind.name}.arrow"))
            self.copying.add(rows)
        elif verb == "gone":
            self.connection.execute(delete_statement(kind), {"rows": rows})
        elif kind.content:
            self.connection.execute(write_statement(kind, "MATCH"), {"rows": rows})

    def close(self) -> None:
        self._copy()
        self.connection.execute("CHECKPOINT")
        self.connection.close()
        self.database.close()

    def abandon(self) -> None:
        if self.copying is not None:
            with suppress(OSError):  # on a full disk the file cannot even be ended
                self.copying.writer.close()
        self.connection.close()
        self.database.close()

    def _copy(self) -> None:
        if self.copying is not None:
            copying, self.copying = self.copying, None
            with copying.table() as table:
                self.connection.execute(f"COPY {copying.kind.name} FROM $rows", {"rows": table})


class _Copying:
    """Rows of one kind on their way into an empty table, kept in a file so that memory does not grow with them."""

    def __init__(self, kind: NodeKind | EdgeKind, path: Path) -> None:
        import pyarrow as pa

        types = {"STRING": pa.string(), "INT64": pa.int64(), "DOUBLE": pa.float64(), "STRING[]": pa.list_(pa.string())}
        ends = {"source": "STRING", "target": "STRING"} if isinstance(kind, EdgeKind) else {}
        self.kind, self.path = kind, path
        self.schema = pa.schema([(name, types[type_]) for name, type_ in {**ends, **kind.properties}.items()])
        self.writer = pa.ipc.new_file(path, self.schema)

    def add(self, rows: list[dict[str, Any]]) -> None:
        import pyarrow as pa

        self.writer.write_table(pa.Table.from_pylist(rows, self.schema))

    @contextmanager
    def table(self) -> Iterator[Any]:
        """All rows, as an Arrow table over the mapped file."""
        import pyarrow as pa

        self.writer.close()
        with pa.memory_map(str(self.path)) as mapped:
            yield pa.ipc.open_file(mapped).read_all()
        self.path.unlink()


def _open(file: Path, read_only: bool) -> tuple[Any, Any]:
    import ladybug

    database = ladybug.Database(file, buffer_pool_size=_POOL, max_db_size=_ADDRESS_SPACE, read_only=read_only)
    return database, ladybug.Connection(database)


def _definition(kind: NodeKind | EdgeKind) -> str:
    columns = "".join(f", `{name}` {type_}" for name, type_ in kind.properties.items() if name != "id")
    if isinstance(kind, NodeKind):
        return f"CREATE NODE TABLE {kind.label}(id STRING PRIMARY KEY{columns})"
    return f"CREATE REL TABLE {kind.type}(FROM {kind.source} TO {kind.target}{columns})"


def _value(value: Any) -> Any:
    """A value of Ladybug's as an answer gives it."""
    if isinstance(value, dict):
        if "_NODES" in value:
            return {"nodes": [_value(n) for n in value["_NODES"]], "relationships": [_value(r) for r in value["_RELS"]]}
        if "_LABEL" in value:
            properties = {name: inner for name, inner in value.items() if not name.startswith("_")}
            return relationship(value["_LABEL"], properties) if "_SRC" in value else node([value["_LABEL"]], properties)
        return {key: _value(inner) for key, inner in value.items()}
    return [_value(inner) for inner in value] if isinstance(value, list) else plain(value)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _described(file: Path) -> dict[str, Any]:
    status = file.stat()
    return {"sha256": _digest(file), "size": status.st_size, "changed": status.st_mtime_ns}
