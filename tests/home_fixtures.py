"""Homes for tests: made in a moment, filled by the flows' own steps without Prefect, and compared whole.

Two ways to recognise names: `Recorded` runs the real spaCy pipeline but never twice over one text in a session, `KnownNames`
answers from a table, so that hundreds of series of runs take minutes. All else is the real code, from the files to the graph.

State is kept in SQLite, and in PostgreSQL as well where POLYONYM_TEST_POSTGRES_URL names a server whose databases may be made
and dropped, e.g. postgresql+psycopg://postgres@localhost:5432/postgres.
"""

import atexit
import os
import re
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pytest
from crashing import WordHashes
from sqlalchemy import Engine, NullPool, QueuePool, create_engine, make_url, text

from polyonym.flows.home import tables
from polyonym.flows.home.home import Home, Opened
from polyonym.flows.home.settings import load_settings
from polyonym.flows.inspect import exports
from polyonym.flows.pipeline import loading, refresh, repair, scanning
from polyonym.flows.pipeline.run import Run
from polyonym.flows.pipeline.stages import OF_COMMUNITIES, PROJECTIONS, STAGES, do_stage, load_projection
from polyonym.graph import vectors
from polyonym.graph.check.finding import Finding
from polyonym.graph.relations import SYMMETRIC
from polyonym.graph.stores.model import EDGES, NODES, EdgeKind, NodeKind, edge_id
from polyonym.graph.stores.store import Counts, Marker
from polyonym.ingest.mentions import pipelines, recognition
from polyonym.ingest.mentions.pipelines import Pipelines
from polyonym.ingest.store import database as state
from polyonym.ingest.store.database import open_state
from polyonym.ingest.text.embedding import model_fingerprint

_open_graph = loading.open_graph
POSTGRES = os.environ.get("POLYONYM_TEST_POSTGRES_URL", "")


class Compiled(dict[Any, Any]):
    """Statements compiled for one kind of database, found by whichever home's engine asks: SQLAlchemy's keys begin with the engine's own
    dialect, so that every home would compile all of them again."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key[1:], default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key[1:], value)


_COMPILED: dict[str, Compiled] = defaultdict(Compiled)


class Recorded(Pipelines):
    """The real pipelines, run once for each text of the session."""

    _known: dict[tuple[str, str, str], bytes] = {}  # noqa: RUF012  (shared on purpose)

    def __init__(self) -> None:
        super().__init__(1)

    def run(self, task: pipelines.Task, pipeline: str, texts: Sequence[str]) -> list[bytes]:
        name = f"{task.__module__}.{task.__qualname__}"
        missing = list(dict.fromkeys(t for t in texts if (name, pipeline, t) not in self._known))
        self._known.update(zip([(name, pipeline, t) for t in missing], super().run(task, pipeline, missing), strict=True))
        return [self._known[name, pipeline, t] for t in texts]


class KnownNames(Recorded):
    """A recogniser that knows these names, with their labels; all but recognition is left to the real pipeline.

    Of several labels, as "ORG|PERSON", each passage has one, chosen by its text: recognisers err, but the same way every time.
    """

    def __init__(self, labels: Mapping[str, str]) -> None:
        super().__init__()
        self._labels = labels
        self._names = re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, sorted(labels, key=lambda n: (-len(n), n)))) + r")(?!\w)")

    def run(self, task: pipelines.Task, pipeline: str, texts: Sequence[str]) -> list[bytes]:
        if task is not recognition.recognise:
            return super().run(task, pipeline, texts)
        found = ([(m.start(), m.end(), self._label(m.group(), t)) for m in self._names.finditer(t)] for t in texts)
        return [orjson.dumps([names, [(s, e) for s, e, _ in names]]) for names in found]

    def _label(self, name: str, passage: str) -> str:
        labels = self._labels[name].split("|")
        return labels[zlib.crc32(passage.encode()) % len(labels)]


class Place:
    """A home and the folder that it is fed from."""

    def __init__(self, home: Path, source: Path, state_url: str = "", names: Mapping[str, str] | None = None, fast: bool = False) -> None:
        """`names` are the labels of KnownNames; without them the real recogniser is used. `fast`: the graph is kept in memory, and
        communities are left out of runs."""
        self.home, self.source, self.state_url, self.labels = home, source, state_url, names
        self.remembered = RememberedGraph() if fast else None
        home.mkdir(parents=True)
        source.mkdir(parents=True, exist_ok=True)
        self.set(processes=1)

    @contextmanager
    def graph_store(self) -> Iterator[Any]:
        """The home's graph store: the real one, or the one in memory."""
        if self.remembered:
            yield self.remembered
        else:
            it = self.opened()
            with _open_graph(it.home, it.settings) as store:
                yield store

    def set(self, **settings: Any) -> None:
        """Write the settings of the home."""
        lines = (f"{k} = {_toml(v)}" for k, v in {"state_url": self.state_url, "processes": 1, **settings}.items())
        (self.home / "polyonym.toml").write_text("\n".join(lines), encoding="utf-8")

    def write(self, documents: Mapping[str, str]) -> None:
        """Write files of the source."""
        for name, content in documents.items():
            path = self.source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="")

    @cached_property
    def engine(self) -> Engine:
        """The home's state, made if it is not there. Statements are compiled once for all homes of a session, and connections are kept:
        a run of a few documents would spend a fifth of its time on opening them."""
        file = self.home / "state.db"
        if not self.state_url and not file.exists():
            file.write_bytes(_empty_state())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(state, "NullPool", QueuePool)
            engine = Home(self.home).make(load_settings(self.home))
        return engine.execution_options(compiled_cache=_COMPILED[engine.dialect.name])

    def rest(self) -> None:
        """Let go of the state, so that its files are those of a home at rest."""
        if "engine" in self.__dict__:
            self.engine.dispose()
            del self.engine

    def opened(self) -> Opened:
        """The home opened for reading."""
        return Opened(Home(self.home), load_settings(self.home), self.engine)

    def run(self, number: int | None = None) -> Run:
        """A new run, or more of the run `number`, with the test's models."""
        run = Run(Home(self.home), load_settings(self.home), self.engine, number)
        run.embedder = WordHashes()  # type: ignore[assignment]
        run.embedder.fingerprint = model_fingerprint(run.settings.embedding_model)  # so that it can be told when another is set
        run.pipelines = KnownNames(self.labels) if self.labels else Recorded()
        return run

    def ingest(
        self,
        *paths: Path,
        allow_deletions: bool = True,
        keep_gone: bool | None = None,
        registry: Path | None = None,
        dies_after: int | None = None,
    ) -> Run:
        """A whole run: what `polyonym ingest` does, without Prefect and without the report.

        With `dies_after` it goes no further than so many steps behind the reading of the files, and is not closed.
        """
        with self._running(dies_after is not None) as run:
            scanning.check_settings(run.settings, run.embedder)
            scan = scanning.scan_sources(run, [str(p) for p in paths or (self.source,)], allow_deletions, keep_gone)
            scanning.remember_registry(run, str(registry) if registry else None)
            scanning.read_documents(run, scan)
            for step in STEPS[:dies_after]:
                step(run)
            if dies_after is None:
                self._communities(run, fresh=False)
        return run

    def refresh(self, number: int | None = None) -> Run:
        """What follows a correction, without the report; `number` is that of the run that the correction has begun."""
        with self._running(number=number) as run:
            refresh.bring_up_to_date(run)
        return run

    def check(self) -> list[Finding]:
        """What `polyonym check` finds."""
        it = self.opened()
        return repair.check(it.home, it.settings, it.engine)

    def repair(self) -> list[Finding]:
        """What `polyonym check --repair` does; returns what is left."""
        found = self.check()
        with self._running() as run:
            repair.put_right(run, found)
        return self.check()

    def fresh_communities(self) -> None:
        """`polyonym communities --fresh`."""
        with self._running(communities=True) as run:
            self._communities(run, fresh=True)

    @contextmanager
    def _running(self, dies: bool = False, communities: bool = False, number: int | None = None) -> Iterator[Run]:
        with Home(self.home).held(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(loading, "open_graph", lambda home, settings: self.graph_store())
            if self.remembered and not communities:
                patch.setattr(refresh, "OF_COMMUNITIES", ())
                patch.setattr("home_fixtures.OF_COMMUNITIES", ())
            run = self.run(number)
            status = "failed"
            try:
                yield run
                status = "done"
            finally:
                if not dies:
                    run.end(status)

    @staticmethod
    def _communities(run: Run, fresh: bool) -> None:
        run.divides_afresh = fresh
        for projection in OF_COMMUNITIES:
            load_projection(run, projection)

    def export(self, kind: str) -> list[dict[str, Any]]:
        """The rows of an export."""
        with self.engine.connect() as connection:
            return list(exports.export(connection, kind))


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + "}"
    return orjson.dumps(value).decode()


class RememberedGraph:
    """A graph store in memory, stricter than the real ones: what is new must not be there, what changes must, edges need their ends."""

    projection = "remembered"
    lasting = False

    def __init__(self) -> None:
        self._marker: Marker | None = None
        self._rows: dict[str, dict[str, dict[str, Any]]] = {}
        self._loading: tuple[Marker, dict[str, dict[str, dict[str, Any]]]] | None = None

    def marker(self) -> Marker | None:
        return self._marker

    def begin(self, marker: Marker, fresh: bool) -> None:
        self._loading = (marker, {} if fresh else {kind: dict(rows) for kind, rows in self._rows.items()})

    def apply(self, verb: str, kind: NodeKind | EdgeKind, rows: list[dict[str, Any]]) -> None:
        assert self._loading
        held = self._loading[1].setdefault(kind.name, {})
        for row in rows:
            name = row["id"] if isinstance(kind, NodeKind) else edge_id(kind, row)
            assert (name in held) == (verb != "new"), f"{verb} {kind.name} {name}"
            if isinstance(kind, EdgeKind):
                ends = ((kind.source, row["source"]), (kind.target, row["target"]))
                assert all(end in self._loading[1].get(label, {}) for label, end in ends), f"{verb} {kind.name} {name} without its ends"
            if verb == "gone":
                del held[name]
            else:
                held[name] = row

    def finish(self) -> None:
        assert self._loading
        (self._marker, self._rows), self._loading = self._loading, None

    def abandon(self) -> None:
        self._loading = None

    def counts(self) -> Counts:
        sizes = {kind: len(rows) for kind, rows in self._rows.items()}
        return Counts(1 + sum(sizes.get(n.name, 0) for n in NODES), sum(sizes.get(e.name, 0) for e in EDGES))

    def read(self, kind: NodeKind | EdgeKind) -> Iterator[dict[str, Any]]:
        yield from self._rows.get(kind.name, {}).values()


STEPS: tuple[Callable[[Run], None], ...] = (
    *(partial(do_stage, stage=stage) for stage in STAGES),
    *(partial(load_projection, projection=projection) for projection in PROJECTIONS),
)

MakePlace = Callable[..., Place]


@pytest.fixture(params=["sqlite", "postgresql"])
def make_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakePlace]:
    """Makes places: `make_place()` a home of its own with its own source, `make_place(source=…)` another home on that source."""
    with places(tmp_path, request.param) as make:
        yield make


@contextmanager
def places(folder: Path, store: str) -> Iterator[MakePlace]:
    """What `make_place` gives, for places below `folder` with their states in SQLite or PostgreSQL."""
    if store == "postgresql" and not POSTGRES:
        pytest.skip("no PostgreSQL: set POLYONYM_TEST_POSTGRES_URL to the URL of a server whose databases may be made and dropped")
    made: list[str] = []
    held: list[Place] = []

    def make(source: Path | None = None, names: Mapping[str, str] | None = None, fast: bool = False) -> Place:
        number = f"{len(list(folder.iterdir())):04}"
        url = new_database(made) if store == "postgresql" else ""
        held.append(Place(folder / f"home-{number}", source or folder / f"docs-{number}", url, names, fast))
        return held[-1]

    try:
        yield make
    finally:
        for place in held:
            place.rest()
        for name in made:
            _drop(name)


def new_database(made: list[str]) -> str:
    """The URL of a new database that holds a state without anything in it; its name is added to `made`."""
    name = f"polyonym_test_{uuid4().hex[:12]}"
    with _server().connect() as connection:
        connection.execute(text(f'CREATE DATABASE "{name}" TEMPLATE "{_template()}"'))
    made.append(name)
    return _url(name)


@cache
def _empty_state() -> bytes:
    """The file of a state in SQLite that has its tables and nothing in them."""
    assert tables.metadata.tables  # all of them, as imported
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "state.db"
        open_state(f"sqlite:///{file}").dispose()
        return file.read_bytes()


@cache
def _template() -> str:
    """The name of a database with our tables, which take a second to make, for others to be copied from."""
    name = f"polyonym_test_{uuid4().hex[:12]}"
    with _server().connect() as connection:
        connection.execute(text(f'CREATE DATABASE "{name}"'))
    atexit.register(_drop, name)
    assert tables.metadata.tables  # all of them, as imported
    open_state(_url(name)).dispose()
    return name


def _drop(name: str) -> None:
    with _server().connect() as connection:
        connection.execute(text(f'DROP DATABASE "{name}" WITH (FORCE)'))


def _url(name: str) -> str:
    return make_url(POSTGRES).set(database=name).render_as_string(hide_password=False)


def _server() -> Engine:
    return create_engine(POSTGRES, isolation_level="AUTOCOMMIT", poolclass=NullPool)


Key = tuple[tuple[str, int, int], ...]


def entity_keys(place: Place) -> dict[str, Key]:
    """Every entity's id with what it is made of: its mentions, each (document, start, end)."""
    mentions: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    for row in place.export("mentions"):
        mentions[row["entity_id"]].append((row["document"], row["start"], row["end"]))
    return {i: tuple(sorted(found)) for i, found in mentions.items()}


def names_of(place: Place) -> dict[str, str]:
    """Entity id to name."""
    return {row["entity_id"]: row["name"] for row in place.export("entities")}


def entity_of(place: Place, document: str, name: str) -> str:
    """The id of the entity that the mentions of a document with this text belong to; they must agree."""
    found = {row["entity_id"] for row in place.export("mentions") if (row["document"], row["text"]) == (document, name)}
    assert len(found) == 1, f"{name} in {document}: {found}"
    return found.pop()


Parts = Mapping[tuple[str, str], int]
"""What an entity is made of: (document, name) to number of mentions."""


def check_continuity(before: Mapping[str, Parts], after: Mapping[str, Parts], redirects: Mapping[str, str]) -> None:
    """Where more than half of an entity's surviving triples lie in one entity, its id is found there."""
    where = {part: (i, n) for i, parts in after.items() for part, n in parts.items()}
    for old_id, parts in before.items():
        survive: dict[str, int] = defaultdict(int)
        for part, n in parts.items():
            if part in where:
                survive[where[part][0]] += min(n, where[part][1])
        for i, n in survive.items():
            if 2 * n > sum(survive.values()):
                assert redirects.get(old_id, old_id) == i, f"most of {old_id} is now {i}"


_BY_CONTENT = ("documents", "rejected", "chunks", "decisions", "review", "judgements")
_WITH_IDS = ("mentions", "entities", "relations")


def contents(place: Place) -> dict[str, Any]:
    """All that a home shows, with entities named by what they are made of; ids, communities and the history are left out."""
    keys = entity_keys(place)
    assert len(set(keys.values())) == len(keys), "two entities of the same mentions"
    found: dict[str, Any] = {kind: place.export(kind) for kind in _BY_CONTENT}
    found |= {kind: _sorted(_named_by_content(row, keys) for row in place.export(kind)) for kind in _WITH_IDS}
    with place.graph_store() as store:
        for element in (*NODES, *EDGES):
            if element.name not in ("Community", "IN_COMMUNITY", "PART_OF"):
                found[f"graph {element.name}"] = _sorted(_named_by_content(row, keys) for row in store.read(element))
    folder = Home(place.home).vectors
    found["index chunks"] = vectors.holdings(folder, "chunks")
    found["index entities"] = _sorted([keys[i], content] for i, content in vectors.holdings(folder, "entities").items())
    return found


def _named_by_content(row: Mapping[str, Any], keys: Mapping[str, Key]) -> dict[str, Any]:
    named = {k: keys.get(v, v) if isinstance(v, str) else v for k, v in row.items()}
    if row.get("type") == SYMMETRIC:  # which of the two stands first is up to their ids
        named["source"], named["target"] = sorted((named["source"], named["target"]))
    return named


def _sorted(rows: Iterable[Any]) -> list[Any]:
    return sorted(rows, key=repr)


def difference(left: Mapping[str, Any], right: Mapping[str, Any]) -> str:
    """Where two contents differ, in words, "" when they are equal."""
    lines = []
    for kind in left:
        if left[kind] != right[kind]:
            a, b = ({repr(r) for r in (side[kind].items() if isinstance(side[kind], dict) else side[kind])} for side in (left, right))
            lines += [f"{kind}:", *(f"  only left:  {r}" for r in sorted(a - b)[:5]), *(f"  only right: {r}" for r in sorted(b - a)[:5])]
            if a == b:
                lines.append("  the same in another order, or other numbers of equal rows")
    return "\n".join(lines)
