"""What Prefect shows of a run: how far it is, what each stage did, and what the run changed."""

from collections import Counter
from uuid import UUID

from prefect.artifacts import create_progress_artifact, create_table_artifact, update_progress_artifact

from flows import runs
from flows.run import Run


def begin_progress(what: str) -> UUID:
    """An artifact that shows how far a flow is, in percent."""
    made = create_progress_artifact(progress=0.0, key="progress", description=what)
    assert isinstance(made, UUID)
    return made


def show_progress(artifact: UUID, done: int, steps: int) -> None:
    """Set how far a flow is: `done` of so many steps."""
    update_progress_artifact(artifact, progress=100.0 * done / steps)


def publish(run: Run) -> None:
    """A table of the stages, and one of what the run changed by kind."""
    stages = [{"stage": name, "done": steps, "seconds": round(seconds, 1)} for name, seconds, steps in run.timings.rows]
    create_table_artifact(table=stages, key="stages", description=f"Run {run.number}: what each stage did")
    with run.engine.connect() as connection:
        counted = Counter(change.kind for change in runs.changes(connection, [run.number]))
    changed = [{"change": kind.replace("-", " "), "count": count} for kind, count in sorted(counted.items())]
    create_table_artifact(table=changed, key="changes", description=f"Run {run.number}: what it changed")
