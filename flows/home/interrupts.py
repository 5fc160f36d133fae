"""How a person ends a run: the first Ctrl-C asks it to end at its next clean point, the second ends it at once."""

import os
import signal
from contextlib import suppress
from types import FrameType

import psutil

from polyonym.ingest.errors import ExitCode, Stop

_interrupts = 0


class Interrupted(Stop):
    """The user asked the run to end; what is done is kept, and the next run goes on from there."""

    exit_code = ExitCode.STOPPED


def end_with_children(process: psutil.Process) -> None:
    """Kill a process and all below it."""
    with suppress(psutil.NoSuchProcess):
        for each in (*process.children(recursive=True), process):
            each.kill()


def watch_interrupts() -> None:
    """From now on the first Ctrl-C (or SIGTERM) asks the run to end at its next clean point, a second one ends it at once."""

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        global _interrupts
        _interrupts += 1
        if _interrupts > 1:
            for child in psutil.Process().children():  # Prefect's server, and workers
                end_with_children(child)
            os._exit(ExitCode.STOPPED)
        # Straight to standard error: the signal may have come while the console was writing, and that cannot be entered twice.
        os.write(2, b"\nStopping at the next clean point; once more stops at once (nothing is lost either way).\n")

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)


def clean_point() -> None:
    """Where a run can end without losing work. Raises Interrupted when the user has asked for it."""
    if _interrupts:
        raise Interrupted("Stopped as asked. What is done is kept; the same command goes on from here.")
