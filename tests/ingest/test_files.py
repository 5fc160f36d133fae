"""Files that are never seen half written."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from polyonym.ingest.store import files


def test_a_file_takes_the_place_of_another_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    files.write(path, b"one")
    with files.replacing(path) as file:
        file.write(b"two")
        file.flush()
        assert path.read_bytes() == b"one"
    assert path.read_bytes() == b"two" and list(tmp_path.iterdir()) == [path]


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    files.write(path, b"one")
    with pytest.raises(ZeroDivisionError), files.replacing(path) as file:
        file.write(b"t" * 100_000)
        raise ZeroDivisionError
    assert path.read_bytes() == b"one" and list(tmp_path.iterdir()) == [path]


def test_a_kill_leaves_what_was_there_and_the_next_try_goes_well(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    files.write(path, b"one")
    code = "import os, signal, sys; from pathlib import Path; from polyonym.ingest.store import files\n"
    code += "with files.replacing(Path(sys.argv[1])) as file: file.write(b't' * 100_000); os.kill(os.getpid(), signal.SIGKILL)"
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == -signal.SIGKILL
    assert path.read_bytes() == b"one"
    files.write(path, b"two")
    assert path.read_bytes() == b"two" and os.listdir(tmp_path) == ["a.json"]
