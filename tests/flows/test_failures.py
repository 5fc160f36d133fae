"""What a command ends with when something fails: one message, an exit code, and nothing half written."""

import errno
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from home_fixtures import MakePlace, Place, make_place
from sqlalchemy.exc import DatabaseError, OperationalError
from typer.testing import CliRunner

from polyonym.flows.cli import app, main, showing  # noqa: F401  (it registers the command)
from polyonym.flows.home.home import Home
from polyonym.flows.home.settings import load_settings
from polyonym.flows.inspect import exports
from polyonym.ingest.errors import ExitCode, WrongUse
from polyonym.ingest.store.database import open_state

__all__ = ["make_place"]  # a fixture

Told = Callable[..., tuple[int, str]]


@pytest.fixture
def place(make_place: MakePlace) -> Place:
    """A home with three documents, before any stage."""
    place = make_place(names={"Apple": "ORG"}, fast=True)
    place.write({f"{n}.txt": f"Apple rose {n} times. " * 2000 for n in range(3)})
    place.ingest(dies_after=0)
    return place


@pytest.fixture
def told(place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    """Runs a command in this process: its exit code and its message."""

    def run(*words: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["polyonym", *map(str, words), "--home", str(place.home)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), " ".join(capsys.readouterr().err.split())

    return run


@pytest.mark.parametrize("words", [("export", "documents"), ("judgements", "export"), ("calibrate", "gold.jsonl")])
@pytest.mark.parametrize(("output", "message"), [("nodir/out", "there is no folder"), ("folder", "is there and is no file")])
def test_an_output_that_cannot_be_written_is_wrong_use(
    told: Told, tmp_path: Path, words: tuple[str, ...], output: str, message: str
) -> None:
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.iterdir())
    code, said = told(*words, "-o", tmp_path / output)
    assert code == 2 and message in said
    assert sorted(tmp_path.iterdir()) == before


def of_sqlite(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("it failed")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 2, "make room"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), 2, "make room"),
        (OSError(errno.EIO, "Input/output error"), 2, "make room"),
        (OperationalError("SELECT secret", {}, of_sqlite(sqlite3.SQLITE_READONLY)), 2, "mend the rights"),
        (OperationalError("SELECT secret", {}, of_sqlite(sqlite3.SQLITE_FULL)), 2, "make room"),
        (DatabaseError("SELECT secret", {}, of_sqlite(sqlite3.SQLITE_CORRUPT)), 5, "is damaged: it failed"),
        (of_sqlite(sqlite3.SQLITE_IOERR | 1 << 8), 2, "make room"),
        (MemoryError(), 2, "Memory ran out"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 12 bytes"), 2, "Memory ran out"),
        (httpx.ConnectError("Connection refused"), 4, "server does not answer any more: Connection refused"),
        (OperationalError("SELECT secret", {}, Exception("server closed the connection")), 4, "server closed the connection"),
        (WrongUse("postgresql://me:hunter2@host/db and http://me:hunter2@host"), 2, "postgresql://me:***@host/db and http://me:***@host"),
    ],
)
def test_what_a_person_can_mend_is_told_as_such(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, message: str
) -> None:
    def fail(*_: object) -> object:
        yield {"a": 1}
        raise error

    monkeypatch.setattr(exports, "export", fail)
    before = sorted(tmp_path.iterdir())
    ended, said = told("export", "documents", "-o", tmp_path / "out")
    assert ended == code and message in said and "secret" not in said and "hunter2" not in said
    assert sorted(tmp_path.iterdir()) == before


def test_a_defect_names_the_file_with_its_traceback(told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> object:
        raise IndexError("out of range")

    monkeypatch.setattr(exports, "export", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, said = told("export", "documents")
    assert code == 70 and "IndexError: out of range" in said and "Traceback" not in said
    named = re.search(r"The traceback is in (\S+)", said)
    assert named and "in fail" in Path(named[1]).read_text(encoding="utf-8")
    Path(named[1]).unlink()


def test_a_run_that_nobody_does_any_more_is_not_called_running(place: Place) -> None:
    def last_run() -> str:
        ended = CliRunner().invoke(app, ["status", "--home", str(place.home), "--json"])
        return str(json.loads(ended.stdout)["last_run"]["status"])

    assert last_run() == "killed"
    with Home(place.home).held():
        assert last_run() == "running"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("nowhere",), "there is no such file or folder"),
        ((".", "--registry", "none.jsonl"), "The registry none.jsonl cannot be read"),
    ],
)
def test_a_schedule_of_what_is_not_there_is_refused(
    told: Told, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: tuple[str, ...], message: str
) -> None:
    monkeypatch.setattr("polyonym.flows.orchestration.schedule.serve", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    code, said = told("serve", *given, "--every", "15m")
    assert code == 2 and message in said


@pytest.mark.parametrize("at_rest", [True, False])
def test_a_state_that_may_not_be_written_is_read(place: Place, monkeypatch: pytest.MonkeyPatch, at_rest: bool) -> None:
    if place.state_url:
        pytest.skip("a server has rights of its own")
    documents = place.export("documents")
    if at_rest:
        place.rest()
    files = sorted(place.home.iterdir())
    monkeypatch.setattr("os.access", lambda *_: False)
    engine = open_state(f"sqlite:///{place.home / 'state.db'}")
    with engine.connect() as connection:
        assert list(exports.export(connection, "documents")) == documents
    assert sorted(place.home.iterdir()) == files
    with pytest.raises(OperationalError, match="readonly"), engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM documents")


def test_a_state_that_may_not_even_be_opened_is_a_matter_of_rights(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="Mend the rights"):
        open_state(f"sqlite:///{tmp_path}")


@pytest.mark.parametrize(("words", "lines"), [(("export", "documents"), 0), (("export", "documents"), 1), (("status",), 0)])
def test_a_reader_that_has_seen_enough_is_no_failure(place: Place, words: tuple[str, ...], lines: int) -> None:
    if place.state_url:
        pytest.skip("the same for every store")
    process = subprocess.Popen(
        [sys.executable, "-c", "from polyonym.flows.cli import main; main()", *words, "--home", str(place.home)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout and process.stderr
    for _ in range(lines):
        process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0


@pytest.mark.parametrize("url", ["postgresql+psycopg://me:hunter2@host/db", "postgresql+psycopg://host/db?user=me&password=hunter2"])
def test_passwords_in_urls_come_from_the_environment_and_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    config = tmp_path / "other.toml"
    config.write_text(f'state_url = "{url}"\n')
    with pytest.raises(WrongUse, match=r"holds a password.*POLYONYM_STATE_URL") as refused:
        load_settings(tmp_path, config)
    assert "hunter2" not in str(refused.value)
    monkeypatch.setenv("POLYONYM_STATE_URL", url)
    monkeypatch.setattr(sys, "argv", ["polyonym", "settings", "--json", "--home", str(tmp_path)])
    with pytest.raises(SystemExit):
        main()
    shown = capsys.readouterr().out
    assert "host/db" in shown and "hunter2" not in shown
    with pytest.raises(WrongUse) as unusable:
        open_state(url.replace("psycopg", "nothing"))
    assert "hunter2" not in str(unusable.value)


def test_a_misspelt_setting_is_told_wherever_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "polyonym.toml").write_text("comunity_size = 4\n")
    with pytest.raises(WrongUse, match=r"polyonym\.toml: 'comunity_size' is no setting\. Did you mean community_size\?"):
        load_settings(tmp_path)
    (tmp_path / "polyonym.toml").unlink()
    monkeypatch.setenv("POLYONYM_COMUNITY_SIZE", "4")
    with pytest.raises(WrongUse, match=r"POLYONYM_COMUNITY_SIZE is no setting\. Did you mean community_size\?"):
        load_settings(tmp_path)


def test_what_prefect_logs_on_its_way_out_is_not_shown(tmp_path: Path) -> None:
    code = "from polyonym.flows.orchestration import environment; from polyonym.flows.home.home import Home; import sys, logging; from pathlib import Path\n"
    code += "environment.prepare(Home(Path(sys.argv[1]))); from prefect import flow; logging.getLogger('EventsWorker').warning('Still processing')"
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PREFECT_")}
    ended = subprocess.run([sys.executable, "-c", code, tmp_path], check=True, capture_output=True, text=True, env=clean)
    assert ended.stdout + ended.stderr == ""


def test_every_exit_code_is_documented() -> None:
    readme = " ".join((Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8").split())
    shown = " ".join(CliRunner().invoke(app, ["--help"], env={"COLUMNS": "300"}).output.split())
    for code in ExitCode:
        assert f"{code:d} {code.meaning}" in readme
        assert f"{code:d} {code.meaning}" in shown
