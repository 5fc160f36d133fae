"""The Python interface: a home as one object, for notebooks and programs."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Connection, Engine

from polyonym.flows.home.home import Home as HomeFolder
from polyonym.flows.home.settings import Settings, load_settings
from polyonym.flows.home.signature import signed
from polyonym.flows.inspect import asking, explain, explanation_text, exports, search
from polyonym.flows.inspect.asking import Answer
from polyonym.flows.inspect.explanation import Explanation
from polyonym.flows.inspect.search import Hit
from polyonym.flows.pipeline import corrections
from polyonym.flows.pipeline.loading import open_graph
from polyonym.flows.pipeline.refresh import refresh
from polyonym.ingest.errors import Damaged, HomeHeld, ServerAway, Stop, WrongUse
from polyonym.resolution.judgements.judgements import Judgement
from polyonym.retrieval.records import Mode

if TYPE_CHECKING:
    import pandas
    import pyarrow

_Make = Callable[[Engine], Judgement]
_STOPS: dict[int, type[Stop]] = {stop.exit_code: stop for stop in (WrongUse, HomeHeld, ServerAway, Damaged)}


@dataclass(frozen=True)
class Alias:
    """A name of an entity as it stands in texts, and how often it does."""

    name: str
    count: int


@dataclass(frozen=True)
class Entity:
    """One node: one real-world thing, with all the names that the documents give it, commonest first."""

    entity_id: str
    name: str
    type: str
    wikidata_id: str | None
    registry_id: str | None
    description: str | None
    aliases: tuple[Alias, ...]
    documents: int
    mentions: int


@dataclass(frozen=True)
class Mention:
    """A name where it stands: `text` is the document's text[start:end], in code points.

    `wikidata_id` is the link made, None without one; `candidate` the best item even when no link is made, and `confidence` the
    probability that it is right.
    """

    document: str
    start: int
    end: int
    text: str
    name: str
    label: str
    entity_id: str
    wikidata_id: str | None
    candidate: str | None
    confidence: float


class Rows:
    """The rows of an export, to go through as often as wanted, or to take as a table."""

    def __init__(self, home: "Home", kind: str) -> None:
        self._home = home
        self.kind = kind

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with self._home._reading() as connection:
            yield from exports.export(connection, self.kind)

    def __repr__(self) -> str:
        return f"Rows({self.kind!r})"

    def to_pandas(self) -> "pandas.DataFrame":
        """The rows as a pandas data frame. Raises WrongUse where pandas is not installed."""
        try:
            import pandas
        except ImportError as error:
            raise WrongUse("pandas is not installed: pip install pandas") from error
        return pandas.DataFrame(list(self))

    def to_arrow(self) -> "pyarrow.Table":
        """The rows as an Arrow table."""
        import pyarrow

        return pyarrow.Table.from_pylist(list(self))


class Explanations(list[Explanation]):
    """Why names are one node, an explanation for each entity that is meant. Printed, they read as on the command line."""

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(highlight=False, width=120)
        with console.capture() as shown:
            for explanation in self:
                explanation_text.show(explanation, console)
        return shown.get()


class Home:
    """A home: the folder that holds all that runs leave. It is made by the first `ingest`.

    Reading sees the last committed state, also while a run goes on. Whatever cannot be done raises a Stop, with one message that says what
    to do: WrongUse, HomeHeld (another run writes), ServerAway or Damaged.
    """

    def __init__(self, path: str | Path, config: str | Path | None = None) -> None:
        """`config` is a settings file to use in place of the home's polyonym.toml. Raises WrongUse for settings that are wrong."""
        self._folder = HomeFolder(Path(path))
        self._config = Path(config) if config is not None else None
        _ = self._settings

    def __repr__(self) -> str:
        return f"Home({str(self._folder.path)!r})"

    @property
    def path(self) -> Path:
        """The home's folder."""
        return self._folder.path

    @property
    def _settings(self) -> Settings:
        return load_settings(self._folder.path, self._config)

    def _open(self) -> Engine:
        return self._folder.open(self._settings)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._open().connect() as connection:
            yield connection

    def ingest(
        self, *paths: str | Path, registry: str | Path | None = None, allow_deletions: bool = False, keep_gone: bool | None = None
    ) -> dict[str, Any]:
        """Read documents and bring the graph up to date; returns the report. Only what changed since the last run is done again.

        `paths` are folders, files or globs, `registry` a file of things that you know. A source that is missing, or of which more than a
        fifth is gone, stops the run unless `allow_deletions`; with `keep_gone` documents stay whose files are gone. Progress is shown
        on standard error. It runs as a process of its own, so that this one keeps its signals, its memory and its event loop.
        """
        command = [sys.executable, "-m", "polyonym.flows.cli", "ingest", *map(str, paths), *self._options(), "--json"]
        command += ["--registry", str(registry)] if registry is not None else []
        command += ["--allow-deletions"] if allow_deletions else []
        command += [] if keep_gone is None else ["--keep-gone" if keep_gone else "--drop-gone"]
        with tempfile.TemporaryFile() as messages:
            ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=None if sys.stderr.isatty() else messages, check=False)
            messages.seek(0)
            told = messages.read().decode("utf-8", "replace").strip().rsplit("\n", 1)[-1]
        if ended.returncode:
            raise _STOPS.get(ended.returncode, Stop)(told or f"The run ended with exit code {ended.returncode}; its message is above.")
        report: dict[str, Any] = orjson.loads(ended.stdout)
        return report

    def _options(self) -> list[str]:
        return ["--home", str(self._folder.path), *(["--config", str(self._config)] if self._config else [])]

    def entities(self) -> list[Entity]:
        """All entities, those with most mentions first."""
        return sorted(map(_entity, self.export("entities")), key=lambda e: (-e.mentions, e.name, e.entity_id))

    def mentions(self, document: str | None = None, entity_id: str | None = None) -> Iterator[Mention]:
        """All mentions, of one document and of one entity where these are given, in the order of documents and of texts."""
        for row in self.export("mentions"):
            if document in (None, row["document"]) and entity_id in (None, row["entity_id"]):
                yield Mention(**{name: row[name] for name in Mention.__dataclass_fields__})

    def explain(self, what: str) -> Explanations:
        """Why names are one node. `what` is a name as it stands in a document, an entity's id, a registry or a Wikidata id.

        Raises WrongUse, with names that are near, when nothing is called like this.
        """
        with self._reading() as connection:
            return Explanations(explain.explain(connection, what))

    def search(self, text: str, limit: int = 5) -> list[Hit]:
        """The `limit` chunks, entities and communities nearest in meaning to a text."""
        with self._reading() as connection:
            return search.search(self._folder, self._settings, connection, text, limit)

    def ask(self, question: str, mode: str = "adaptive", limit: int = 5) -> Answer:
        """The passages that answer a question, at most `limit`, and what the question was taken to name. Raises WrongUse for another mode."""
        if mode not in list(Mode):
            raise WrongUse(f"There is no mode {mode!r}: give one of {', '.join(Mode)}.")
        with self._reading() as connection:
            return asking.opened(self._folder, self._settings, connection)(question, Mode(mode), limit)

    def query(self, cypher: str) -> list[dict[str, Any]]:
        """The rows of a reading Cypher query, by column. Raises WrongUse for one that is wrong, or would write."""
        self._open()
        with open_graph(self._folder, self._settings) as graph:
            answer = graph.query(cypher)
        return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]

    def export(self, kind: str) -> Rows:
        """The rows of an export: documents, chunks, mentions, entities, relations, decisions, review, … Raises WrongUse for another kind."""
        if kind not in exports.KINDS:
            raise WrongUse(f"There is no export {kind!r}: give one of {', '.join(exports.KINDS)}.")
        return Rows(self, kind)

    def judge_same(self, a: str, b: str, note: str = "") -> str:
        """Say that two names are one thing; it is obeyed at once, and by all later runs. Returns the judgement's id, for `undo`."""
        return self._judge(lambda engine: corrections.same_or_different(engine, "same", a, b, note, *signed()))

    def judge_different(self, a: str, b: str, note: str = "") -> str:
        """Say that two names are two things. Returns the judgement's id."""
        return self._judge(lambda engine: corrections.same_or_different(engine, "different", a, b, note, *signed()))

    def judge_link(self, name: str, wikidata_id: str | None, note: str = "") -> str:
        """Say which Wikidata item a name stands for; None: for none. Returns the judgement's id."""
        return self._judge(lambda engine: corrections.link(engine, name, wikidata_id or "none", note, *signed()))

    def split(self, entity: str, mentions: Sequence[str], note: str = "") -> str:
        """Say that some mentions of an entity, each "DOCUMENT:START-END", are another thing. Returns the judgement's id."""
        return self._judge(lambda engine: corrections.split(engine, entity, mentions, note, *signed()))

    def rename(self, entity: str, name: str, note: str = "") -> str:
        """Give an entity the name by which it is shown. Returns the judgement's id."""
        return self._judge(lambda engine: corrections.rename(engine, entity, name, note, *signed()))

    def undo(self, judgement: str) -> None:
        """Take a judgement back. Raises WrongUse when there is none of this id."""
        self._judge(lambda engine: corrections.undo(engine, judgement))

    def _judge(self, make: _Make) -> str:
        with self._folder.held():
            judgement = make(self._open())
            refresh(self._folder.path, self._config)
        return judgement.judgement


def _entity(row: dict[str, Any]) -> Entity:
    values = {name: row[name] for name in Entity.__dataclass_fields__}
    return Entity(**values | {"aliases": tuple(Alias(**alias) for alias in row["aliases"])})
