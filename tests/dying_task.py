"""A task for `Pipelines` that its workers do not survive. It stands in a file of its own, since workers import it by its name."""

import multiprocessing
import os
import signal
from collections.abc import Sequence
from typing import Any


def die_in_a_worker(_nlp: Any, texts: Sequence[str]) -> list[bytes]:
    """Kills a worker as the system does where memory runs out; where no workers are, it does nothing."""
    if multiprocessing.parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return [b"" for _ in texts]
