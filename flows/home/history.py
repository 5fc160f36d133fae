"""Runs: the history of what each run did. Counts and ids only, so that nothing of a deleted document stays in it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sqlalchemy import Column, Connection, Integer, Table, Text, func, select

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.store.tables import Json, insert_rows, metadata, select_where_in
from polyonym.ingest.text.documents import content_hash


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


def begin(connection: Connection, started: str, kind: str) -> int:
    """Open a run of a kind (ingest, communities, correction, repair) and return its number. Runs that a kill left open are closed as
    "killed"."""
    connection.execute(runs.update().where(runs.c.status == "running").values(status="killed"))
    last = connection.execute(select(runs.c.run).order_by(runs.c.run.desc()).limit(1)).scalar()
    number = (last or 0) + 1
    insert_rows(connection, runs, [asdict(RunRecord(number, started, figures={"kind": kind}))])
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
    insert_rows(connection, run_changes, ({"run": number, **vars(c)} for c in changes))


def gone_id(document: str) -> str:
    """What stands in the history for a document that is gone: a hash, since its name is not kept either."""
    return f"gone:{content_hash(document)[:12]}"


def forget_documents(connection: Connection, names: Sequence[str]) -> None:
    """Take the names of these documents out of the history; what happened to them stays countable."""
    of_documents = run_changes.c.kind.startswith("document-")
    ids = select(run_changes.c.id).where(of_documents).distinct()
    for name in sorted({row.id for row in select_where_in(connection, ids, run_changes.c.id, names)}):
        connection.execute(run_changes.update().where(of_documents, run_changes.c.id == name).values(id=gone_id(name)))


def load(connection: Connection) -> list[RunRecord]:
    """All runs, oldest first."""
    return [RunRecord(*row) for row in connection.execute(select(runs).order_by(runs.c.run))]


def changes(connection: Connection, numbers: Sequence[int]) -> Iterator[Change]:
    """What these runs changed, in order."""
    statement = select(run_changes).where(run_changes.c.run.in_(numbers)).order_by(run_changes.c.run, run_changes.c.kind, run_changes.c.id)
    for row in connection.execute(statement):
        yield Change(row.kind, row.id, row.other)


def counts(connection: Connection) -> dict[int, dict[str, int]]:
    """For every run, how many changes of each kind it made."""
    statement = select(run_changes.c.run, run_changes.c.kind, func.count().label("number")).group_by(run_changes.c.run, run_changes.c.kind)
    by_run: dict[int, dict[str, int]] = defaultdict(dict)
    for row in connection.execute(statement.order_by(run_changes.c.run, run_changes.c.kind)):
        by_run[row.run][row.kind] = row.number
    return by_run


_COMES, _GOES = ("new", "gained"), ("gone", "lost", "merged")


def difference(connection: Connection, first: int, second: int) -> dict[str, list[Change]]:
    """What changed from the end of run `first` to the end of run `second`, by kind, as if one run had done it.

    Raises WrongUse for a run that is not there.
    """
    known = {r.run for r in load(connection)}
    for number in (first, second):
        if number not in known:
            raise WrongUse(f"There is no run {number}. `polyonym runs` lists them.")
    if first > second:
        raise WrongUse(f"Run {first} is later than run {second}; give the earlier one first.")
    return folded(changes(connection, [n for n in known if first < n <= second]))


def folded(happened: Iterable[Change]) -> dict[str, list[Change]]:
    """What remains of changes that are given in order, by kind: of each thing at most one, and nothing of what came and went again."""
    by_thing: dict[tuple[str, ...], list[Change]] = {}
    splits: dict[tuple[str, str], Change] = {}
    for change in happened:
        if change.kind == "entity-split":
            splits[change.id, change.other] = change
        else:
            earlier = by_thing.pop(("document", change.other), []) if change.kind == "document-moved" else []
            by_thing.setdefault(_thing(change), []).extend([*earlier, change])
    net = {thing: rest for thing, happened_to_it in by_thing.items() if (rest := _left_of(happened_to_it))}
    fresh = {c.id for c in net.values() if c.kind == "entity-new"}
    left = [_into_living(c, by_thing) if c.kind == "entity-merged" else c for c in net.values()]
    left += [c for c in splits.values() if c.other in fresh and c.id not in fresh]
    result: dict[str, list[Change]] = {}
    for change in left:
        # Under what name a document stood before is told by a hash, which is for folding alone.
        result.setdefault(change.kind, []).append(replace(change, other="") if change.kind == "document-moved" else change)
    return dict(sorted(result.items()))


def _thing(change: Change) -> tuple[str, ...]:
    """What a change happened to. A document goes by the same id before and after its name was taken out of the history."""
    thing = change.kind.partition("-")[0]
    if thing == "link":
        return (thing, change.id, change.other)
    return (thing, gone_id(change.id) if thing == "document" and not change.id.startswith("gone:") else change.id)


def _what(change: Change) -> str:
    return change.kind.partition("-")[2]


def _left_of(happened: Sequence[Change]) -> Change | None:
    """What remains of all that happened to one thing, in order; None when it is as it was."""
    first, last = happened[0], happened[-1]
    came, went = _what(first) in _COMES, _what(last) in _GOES
    if came or went:
        return None if came and went else last if went else replace(last, kind=first.kind, other=first.other)
    if last.kind == "document-new":  # it was gone and came back, maybe as another
        return replace(last, kind="document-changed")
    return next((c for c in reversed(happened) if _what(c) not in (*_COMES, *_GOES)), None)


def _into_living(merged: Change, by_thing: dict[tuple[str, ...], list[Change]]) -> Change:
    """A merge, with what it was merged into at the end: that may have been merged as well, or have gone."""
    other = merged.other
    while last := by_thing.get(("entity", other)):
        if last[-1].kind == "entity-gone":
            return Change("entity-gone", merged.id)
        if last[-1].kind != "entity-merged":
            break
        other = last[-1].other
    return replace(merged, other=other)
