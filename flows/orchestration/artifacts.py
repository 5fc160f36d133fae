"""What Prefect shows of a run: how far it is, what each stage did, and what the run changed."""

from typing import Any
from uuid import UUID

from prefect.artifacts import create_progress_artifact, create_table_artifact, update_progress_artifact
from sqlalchemy import Connection

from polyonym.flows.pipeline.run import Run
from polyonym.flows.report import report


def begin_progress(what: str) -> UUID:
    """An artifact that shows how far a flow is, in percent."""
    made = create_progress_artifact(progress=0.0, key="progress", description=what)
    assert isinstance(made, UUID)
    return made


def show_progress(artifact: UUID, done: int, steps: int) -> None:
    """Set how far a flow is: `done` of so many steps."""
    update_progress_artifact(artifact, progress=100.0 * done / steps)


def publish(run: Run) -> None:
    """A table of the stages, and one of what the run changed: the diff of the run report, the first of each kind."""
    stages = [{"stage": name, "done": steps, "seconds": round(seconds, 1)} for name, seconds, steps in run.timings.rows]
    create_table_artifact(table=stages, key="stages", description=f"Run {run.number}: what each stage did")
    with run.engine.connect() as connection:
        changed = _changes(connection, run.number)
    create_table_artifact(table=changed, key="changes", description=f"Run {run.number}: what it changed")


def _changes(connection: Connection, number: int) -> list[dict[str, Any]]:
    rows = []
    for kind, of_kind in report.changes(connection, number).items():
        what = kind.replace("-", " ")
        rows += [{"change": what, "what": c["id"], "other": c["other"], "name now": c["name"] or ""} for c in of_kind["first"]]
        if more := of_kind["count"] - len(of_kind["first"]):
            rows.append({"change": what, "what": f"… and {more:,} more", "other": "", "name now": ""})
    return rows
