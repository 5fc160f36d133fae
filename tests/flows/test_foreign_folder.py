"""The program in a folder that holds packages of somebody else's with names like ours, like Prefect's and like Python's own."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

_SAFE = [
    sys.executable,
    "-P",
    "-c",
    "from polyonym.flows.cli import main; main()",
]  # as the installed script: its own folder is no import path
_ENVIRONMENT = {
    key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH" and not key.startswith(("POLYONYM_", "PREFECT_"))
}
_ENVIRONMENT["POLYONYM_PROCESSES"] = "1"
_OURS = ("flows", "graph", "ingest", "resolution", "retrieval")


def _foreign(folder: Path, packages: tuple[str, ...]) -> Path:
    for package in packages:
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").write_text("raise SystemExit(f'{__name__} of the folder was imported')\n")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with documents, and with packages that none of our processes may import."""
    folder = _foreign(tmp_path, (*_OURS, "prefect", "spacy", "typing_extensions"))
    (folder / "polyonym").mkdir()  # as where this project was cloned into
    (folder / "docs").mkdir()
    (folder / "docs" / "a.txt").write_text("Mette Lindqvist leads Velmora Group in Hamburg. Lindqvist joined Velmora in 2019.")
    return folder


def test_polyonym_is_imported_beside_packages_of_others(tmp_path: Path) -> None:
    code = "import polyonym; from polyonym.flows.cli import main; print(polyonym.Home.__name__)"
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=_foreign(tmp_path, _OURS), env=_ENVIRONMENT, check=True, capture_output=True, text=True
    )
    assert said.stdout == "Home\n"


@pytest.fixture
def served(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A home made by `ingest`, long ago, and then served."""
    ended = subprocess.run([*_SAFE, "ingest", "docs"], cwd=folder, env=_ENVIRONMENT, check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    engine = create_engine(f"sqlite:///{folder / 'polyonym-home' / 'state.db'}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE runs SET started = '2020-01-01T00:00:00+00:00'"))
    engine.dispose()
    with subprocess.Popen(
        [*_SAFE, "serve", "docs", "--every", "5s"],
        cwd=folder,
        env=_ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        yield process
        process.kill()


@pytest.mark.slow
def test_what_is_ingested_and_served_in_a_folder_imports_nothing_of_it(folder: Path, served: "subprocess.Popen[str]") -> None:
    engine = create_engine(f"sqlite:///{folder / 'polyonym-home' / 'state.db'}")
    until = time.monotonic() + 200
    statuses: list[str] = []
    while statuses.count("done") < 3 and served.poll() is None and time.monotonic() < until:
        time.sleep(0.5)
        with engine.connect() as connection:
            statuses = [str(status) for (status,) in connection.execute(text("SELECT status FROM runs ORDER BY run"))]
    served.terminate()
    said = served.communicate(timeout=120)[0]
    assert statuses[:3] == ["done"] * 3, said  # the first run, the one that is caught up, and one by the schedule
    assert "was imported" not in said
