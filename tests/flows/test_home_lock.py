"""Who may write to a home, while others look whether somebody does."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from polyonym.flows.home.home import Home
from polyonym.ingest.errors import HomeHeld


@pytest.fixture
def onlookers(tmp_path: Path) -> Iterator[None]:
    """Two threads that look again and again whether the home is held, as `polyonym status` does."""
    end = threading.Event()

    def look() -> None:
        while not end.is_set():
            Home(tmp_path).is_held()

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    yield
    end.set()
    for thread in threads:
        thread.join()


@pytest.mark.usefixtures("onlookers")
def test_looking_whether_a_home_is_held_keeps_no_run_from_it(tmp_path: Path) -> None:
    for _ in range(40):
        with Home(tmp_path).held():
            assert Home(tmp_path).is_held()


def test_a_second_writer_is_refused_and_told_who_the_first_is(tmp_path: Path) -> None:
    code = "import sys, time; from pathlib import Path; from polyonym.flows.home.home import Home\n"
    code += "with Home(Path(sys.argv[1])).held(): print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdin and first.stdout and first.stdout.readline() == "held\n"
        assert Home(tmp_path).is_held()
        with pytest.raises(HomeHeld, match=f"process {first.pid}"), Home(tmp_path).held():
            pass
        first.stdin.close()
    assert not Home(tmp_path).is_held()
    with Home(tmp_path).held():
        pass
