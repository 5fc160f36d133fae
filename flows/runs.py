"""Runs: the history of what each run did. Counts and ids only, so that nothing of a deleted document stays in it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Column, Connection, Integer, Table, Text, select

from ingest.documents import content_hash
from ingest.errors import WrongUse
from ingest.state import Json, insert_rows, metadata, select_where_in


@dataclass(frozen=True)
class RunRecord:
    """One run: when, what came of it (running, done, stopped, failed), and its figures."""

    run: int
    started: str
    ended: str | None = None
    status: str = "running"
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """One thing that a run changed: `kind` is e.g. entity-new, entity-gone, entity-merged, link-gained, document-changed."""

    kind: str
    id: str
    other: str = ""


runs = Table(
    "runs",
    metadata,
    Column("run", Integer, primary_key=True, autoincrement=False),
    Column("started", Text, nullable=False),
    Column("ended", Text),
    Column("status", Text, nullable=False),
    Column("figures", Json, nullable=False),
)

run_changes = Table(
    "run_changes",
    metadata,
    Column("run", Integer, nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("other", Text, nullable=False),
)


def begin(connection: Connection, started: str) -> int:
    """Open a run; runs that a kill left open are closed as "killed". Returns its number."""
    connection.execute(runs.update().where(runs.c.status == "running").values(status="killed"))
    last = connection.execute(select(runs.c.run).order_by(runs.c.run.desc()).limit(1)).scalar()
    number = (last or 0) + 1
    insert_rows(connection, runs, [asdict(RunRecord(number, started))])
    return number


def resume(connection: Connection, number: int) -> dict[str, Any]:
    """Mark a run as running (again); returns its figures so far."""
    connection.execute(runs.update().where(runs.c.run == number).values(status="running"))
    figures: dict[str, Any] = connection.execute(select(runs.c.figures).where(runs.c.run == number)).scalar_one()
    return figures


def end(connection: Connection, number: int, ended: str, status: str, figures: dict[str, Any]) -> None:
    """Close a run with its figures."""
    connection.execute(runs.update().where(runs.c.run == number).values(ended=ended, status=status, figures=figures))


def record(connection: Connection, number: int, changes: Iterable[Change]) -> None:
    """Add to what a run changed."""
    insert_rows(connection, run_changes, ({"run": number, **asdict(c)} for c in changes))


def gone_id(document: str) -> str:
    """What stands in the history for a document that is gone: a hash, since its name is not kept either."""
    return f"gone:{content_hash(document)[:12]}"


def forget_documents(connection: Connection, names: Sequence[str]) -> None:
    """Take the names of these documents out of the history; what happened to them stays countable."""
    of_documents = run_changes.c.kind.startswith("document-")
    told = select(run_changes.c.id).where(of_documents).distinct()
    for name in sorted({row.id for row in select_where_in(connection, told, run_changes.c.id, names)}):
        connection.execute(run_changes.update().where(of_documents, run_changes.c.id == name).values(id=gone_id(name)))


def load(connection: Connection) -> list[RunRecord]:
    """All runs, oldest first."""
    return [RunRecord(*row) for row in connection.execute(select(runs).order_by(runs.c.run))]


def changes(connection: Connection, numbers: Sequence[int]) -> Iterator[Change]:
    """What these runs changed, in order."""
    statement = select(run_changes).where(run_changes.c.run.in_(numbers)).order_by(run_changes.c.run, run_changes.c.kind, run_changes.c.id)
    for row in connection.execute(statement):
        yield Change(row.kind, row.id, row.other)


_OPPOSITE = {"new": "gone", "gone": "new", "gained": "lost", "lost": "gained"}


def difference(connection: Connection, first: int, second: int) -> dict[str, list[Change]]:
    """What changed from the end of run `first` to the end of run `second`, by kind; what came and went again is left out.

    Raises WrongUse for a run that is not there.
    """
    known = {r.run for r in load(connection)}
    for number in (first, second):
        if number not in known:
            raise WrongUse(f"There is no run {number}. `polyonym runs` lists them.")
    if first > second:
        raise WrongUse(f"Run {first} is later than run {second}; give the earlier one first.")
    net: dict[tuple[str, str, str], Change] = {}
    for change in changes(connection, [n for n in known if first < n <= second]):
        thing, _, what = change.kind.partition("-")
        id_ = gone_id(change.id) if thing == "document" and not change.id.startswith("gone:") else change.id
        opposite = (f"{thing}-{_OPPOSITE.get(what, '')}", id_, change.other)
        if opposite in net:
            del net[opposite]
        else:
            net[(change.kind, id_, change.other)] = change
    result: dict[str, list[Change]] = {}
    for change in net.values():
        result.setdefault(change.kind, []).append(change)
    return dict(sorted(result.items()))
