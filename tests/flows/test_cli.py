"""The command itself, as a user runs it: exit codes, JSON on standard output, guards, and two runs at once. Real processes, with Prefect."""

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
import typer
from sqlalchemy import create_engine, text
from typer.testing import CliRunner

from polyonym.flows.cli import app, register
from polyonym.flows.home import history as run_history
from polyonym.flows.home.home import Home
from polyonym.flows.inspect.exports import KINDS
from polyonym.flows.orchestration.schedule import Schedule, missed
from polyonym.ingest.store.database import open_state

register()
ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from polyonym.flows.cli import main; main()"]
ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if not key.startswith(("POLYONYM_", "PREFECT_"))},
    "POLYONYM_PROCESSES": "1",
    "COLUMNS": "200",
}
TEXTS = {
    "brief.txt": "Mette Lindqvist leads Velmora Group in Hamburg. Lindqvist joined Velmora in 2019.",
    "news/grid.txt": "The North Sea Grid Authority (NSGA) fined Velmora Group. The NSGA sits in Esbjerg.\n\nMette Lindqvist objected.",
    "news/court.txt": "Lindqvist told the court in Hamburg that Siemens had left.",
    "empty.txt": "",
}
pytestmark = pytest.mark.slow


class Ended:
    """What came of a command."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


def started(*words: object, before: Sequence[str] = (), **options: Any) -> "subprocess.Popen[str]":
    given = {"env": ENVIRONMENT, "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([*before, *COMMAND, *map(str, words)], **given)


def polyonym(*words: object, code: int = 0, **options: Any) -> Ended:
    """Run a command, which must end with `code`."""
    process = started(*words, **options)
    out, err = process.communicate(timeout=600)
    assert process.returncode == code, f"polyonym {' '.join(map(str, words))} ended with {process.returncode}:\n{err}\n{out[-2000:]}"
    return Ended(process.returncode, out, err)


def answered(*words: object) -> Ended:
    """What a command tells that only reads, run in this process: starting another one takes longer than most of them."""
    ended = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    return Ended(0, ended.stdout, ended.stderr)


def write(folder: Path, documents: Mapping[str, str]) -> Path:
    for name, content in documents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `docs` and a `home` that has read them; tests work on copies."""
    folder = tmp_path_factory.mktemp("filled")
    write(folder / "docs", TEXTS)
    report = polyonym("ingest", folder / "docs", "--home", folder / "home", "--json").json
    assert report["status"] == "done" and report["counts"]["documents"] == 3 and report["written"]["nodes"] > 3
    assert report["documents"] == {"new": 3, "changed": 0, "moved": 0, "gone": 0, "unchanged": 0}
    assert [row["document"] for row in report["set_aside"]] == ["empty.txt"]
    assert (folder / "home" / "report.html").exists() and json.loads((folder / "home" / "report.json").read_bytes()) == report
    return folder


@pytest.fixture
def shared_server(prefect_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands use a Prefect server that is there, not one of their own."""
    monkeypatch.setitem(ENVIRONMENT, "PREFECT_API_URL", prefect_url)


@pytest.fixture
def place(filled: Path, tmp_path: Path) -> Iterator[Path]:
    """A home that was moved together with its documents, as homes at rest may be; standing in its folder, so that `docs` is `docs`."""
    shutil.copytree(filled / "home", tmp_path / "home")
    shutil.copytree(filled / "docs", tmp_path / "docs")
    yield tmp_path


def test_what_is_there_can_be_read_as_json(filled: Path, tmp_path: Path) -> None:
    home = ("--home", filled / "home")
    status = polyonym("status", *home, "--json").json
    assert status["counts"]["documents"] == 3 and status["last_run"]["status"] == "done" and status["pending"] == {}
    [source] = answered("sources", *home, "--json").json
    assert source["source"] == str(filled / "docs") and (source["documents"], source["set_aside"]) == (3, 1)
    assert {"key": "chunk_tokens", "value": 200, "default": 200}.items() <= next(
        row for row in answered("settings", *home, "--json").json if row["key"] == "chunk_tokens"
    ).items()
    assert {"united", "apart"} == answered("names", *home, "--json").json.keys()
    assert answered("explain", "Mette Lindqvist", *home, "--json").json
    [run] = answered("runs", *home, "--json").json
    assert (run["run"], run["status"]) == (1, "done")
    rows = answered("query", "MATCH (e:Entity) RETURN e.name AS name ORDER BY name", *home, "--json").json
    assert {"name": "Mette Lindqvist"} in rows
    assert polyonym("search", "who leads Velmora", *home, "--json").json
    answer = answered("ask", "Who leads Velmora Group?", "--mode", "graph", *home, "--json").json
    assert [name["name"] for name in answer["question"]["names"]] == ["Velmora Group"]
    assert answer["evidence"][0]["document"] in {"brief.txt", "news/grid.txt"}
    assert "Hamburg" in answered("ask", "Who leads Velmora Group?", "--mode", "graph", *home).out
    asked = tmp_path / "questions.jsonl"
    asked.write_text(
        '{"id": 1, "question": "Who leads Velmora Group?", "gold": ["brief.txt"]}\n{"id": 2, "question": "x", "gold": ["y"]}\n'
    )
    compared = answered("compare", asked, "--mode", "graph", "--mode", "bm25", "--runs", tmp_path / "runs", *home, "--json").json
    assert (compared["questions"], compared["unknown"], len(compared["modes"])) == (1, ["2"], 2)
    assert compared["modes"][0]["recall@5"] == 1 and (tmp_path / "runs" / "graph.run").read_text().startswith("1 Q0 ")
    asked.write_text('{"question": "Who?", "gold": ["brief.txt"]}\n{"question": "Whom?", "gold": ["brief.txt"], "kind": "who"}\n')
    rows = answered("compare", asked, "--mode", "bm25", *home, "--json").json["modes"]
    assert [(row["kind"], row["n"]) for row in rows] == [("all", 2), ("who", 1)]
    assert answered("judgements", *home, "--json").json == []
    assert answered("plan", filled / "docs", *home, "--json").json["work"] == []


def test_every_export_is_sorted_json_lines(filled: Path, tmp_path: Path) -> None:
    for kind in KINDS:
        answered("export", kind, "-o", tmp_path / kind, "--home", filled / "home")
        rows = [json.loads(line) for line in (tmp_path / kind).read_text(encoding="utf-8").splitlines()]
        assert len({tuple(row) for row in rows}) <= 1, "the same keys in the same order"
    assert polyonym("export", "chunks", "--home", filled / "home").out == (tmp_path / "chunks").read_text(encoding="utf-8")
    mentions = [json.loads(line) for line in (tmp_path / "mentions").read_text(encoding="utf-8").splitlines()]
    assert all(TEXTS[m["document"]][m["start"] : m["end"]] == m["text"] for m in mentions)
    entities = {json.loads(line)["entity_id"] for line in (tmp_path / "entities").read_text(encoding="utf-8").splitlines()}
    assert {m["entity_id"] for m in mentions} == entities


@pytest.mark.usefixtures("shared_server")
def test_a_second_run_writes_nothing_and_a_change_is_carried_through(filled: Path, tmp_path: Path) -> None:
    """Also: a home can be moved, and takes the documents from their old place."""
    shutil.copytree(filled / "home", tmp_path / "home")
    report = polyonym("ingest", filled / "docs", "--home", tmp_path / "home", "--json").json
    assert report["written"] == {"nodes": 0, "relationships": 0, "vectors": 0, "summaries": 0}
    assert report["files"] == {"new": 0, "changed": 0, "moved": 0, "gone": 0, "unchanged": 4}
    polyonym("judge", "same", "Velmora Group", "Siemens", "--note", "a test", "--home", tmp_path / "home")
    nodes = polyonym("export", "entities", "--home", tmp_path / "home").lines
    assert [{"Velmora Group", "Siemens"} <= {a["name"] for a in n["aliases"]} for n in nodes].count(True) == 1
    [judged] = polyonym("judgements", "export", "--home", tmp_path / "home").lines
    assert (judged["kind"], judged["note"]) == ("same", "a test")
    refused = polyonym("judge", "different", "Siemens", "Velmora Group", "--home", tmp_path / "home", code=2)
    assert "contradicts" in refused.err and judged["judgement"] in refused.err
    polyonym("undo", judged["judgement"], "--home", tmp_path / "home")
    polyonym("remove", "news/court.txt", "--home", tmp_path / "home")
    documents = {row["document"] for row in polyonym("export", "documents", "--home", tmp_path / "home").lines}
    assert documents == {"brief.txt", "news/grid.txt"}
    assert b"court" not in (tmp_path / "home" / "lock").read_bytes()
    changes = polyonym("diff", 2, 5, "--home", tmp_path / "home", "--json").json
    assert len(changes["document-gone"]) == 1 and "Siemens" not in json.dumps(changes)


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, set[str]]]:
    """Every command below a group, with its parameters."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), {parameter.name for parameter in command.params}


def test_every_command_prints_json_and_takes_a_settings_file() -> None:
    found = dict(commands(typer.main.get_command(app)))
    assert {name for name, given in found.items() if "as_json" not in given} == {"serve", "export", "judgements export"}
    assert {name for name, given in found.items() if "home" in given and "config" not in given} == {"kb find"}, "it needs no settings"


def test_an_import_of_a_knowledge_base_prints_json(tmp_path: Path) -> None:
    file = tmp_path / "kb.jsonl"
    file.write_text('{"qid": "Q312", "label": "Apple"}\n{"label": "no id"}\n')
    ended = CliRunner().invoke(app, ["kb", "import", str(file), "--home", str(tmp_path / "home"), "--json"])
    told = json.loads(ended.stdout)
    assert told["items"] == 1 and len(told["skipped"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--classes", "foo"), "'foo': not a Wikidata id"),
        (("--languages", ""), "No language is given"),
        (("--min-sitelinks", "9"), "None of the 1 entities"),
    ],
)
def test_a_choice_that_keeps_nothing_builds_no_knowledge_base(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    file, home = tmp_path / "dump.json", tmp_path / "home"
    file.write_text('{"id": "Q1", "labels": {"en": {"value": "One"}}, "sitelinks": {"enwiki": {}}}\n')
    words = ("kb", "build", str(file), "--home", str(home))
    assert CliRunner().invoke(app, words).exit_code == 0
    before = Home(home).knowledge_base.read_bytes()
    assert message in str(CliRunner().invoke(app, [*words, *arguments]).exception)
    assert Home(home).knowledge_base.read_bytes() == before


# Exit code 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ingest", "nowhere"), "no such file or folder"),
        (("ingest", "docs", "bare"), "bare holds no files"),
        (("ingest", "docs/*.pdf"), "matches no file"),
        (("ingest", "docs/[z-a]*"), "is no pattern of file names"),
        (("ingest", "docs", "--registry", "none.jsonl"), "none.jsonl does not exist"),
        (("ingest", "docs", "--config", "none.toml"), "none.toml does not exist"),
        (("status",), "no home of polyonym yet"),
        (("export", "nothing"), "There is no export"),
        (("explain", "Nobody"), "no home of polyonym yet"),
        (("undo", "j1"), "no home of polyonym yet"),
        (("ingest",), "Missing argument"),
    ],
)
def test_wrong_use_is_told_in_one_message(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    write(tmp_path / "docs", TEXTS)
    (tmp_path / "bare").mkdir()
    ended = polyonym(*words, "--home", tmp_path / "home", code=2, cwd=tmp_path)
    assert message in " ".join(ended.err.split()) and "Traceback" not in ended.err


def test_a_first_run_can_be_planned(tmp_path: Path) -> None:
    write(tmp_path / "docs", TEXTS)
    planned = polyonym("plan", tmp_path / "docs", "--home", tmp_path / "home", "--json").json
    assert planned["files"]["new"] == 4 and planned["seconds"] is None
    assert not (tmp_path / "home").exists()


@pytest.mark.usefixtures("shared_server")
def test_a_source_that_is_gone_stops_the_run_before_anything_is_deleted(place: Path) -> None:
    polyonym("ingest", "docs", "--home", "home", cwd=place)
    before = polyonym("export", "mentions", "--home", "home", cwd=place).out
    assert before
    (place / "docs").rename(place / "away")
    ended = polyonym("ingest", "docs", "--home", "home", code=2, cwd=place)
    assert "is missing" in ended.err and "--allow-deletions" in ended.err
    (place / "away").rename(place / "docs")
    (place / "docs" / "brief.txt").unlink()
    for command in ("ingest", "plan"):
        ended = polyonym(command, "docs", "--home", "home", code=2, cwd=place)
        assert "more than a fifth" in ended.err and "--allow-deletions" in ended.err
    assert polyonym("export", "mentions", "--home", "home", cwd=place).out == before
    report = polyonym("ingest", "docs", "--home", "home", "--allow-deletions", "--json", cwd=place).json
    assert report["documents"]["gone"] == 1


# Exit codes 3 and 5


def test_a_home_that_is_held_names_its_holder(place: Path) -> None:
    with Home(place / "home").held():
        for words in (("ingest", "docs"), ("judge", "same", "Velmora Group", "Siemens"), ("communities",)):
            ended = polyonym(*words, "--home", "home", code=3, cwd=place)
            assert f"process {os.getpid()}" in ended.err
        polyonym("status", "--home", "home", cwd=place)
        polyonym("export", "entities", "--home", "home", cwd=place)


def test_of_two_runs_at_once_one_is_told_who_holds_the_home(tmp_path: Path) -> None:
    """On a home that is not there yet, so that both want to make it."""
    write(tmp_path / "docs", TEXTS)
    both = [started("ingest", tmp_path / "docs", "--home", tmp_path / "home") for _ in range(2)]
    ended = [(process, process.communicate(timeout=600)[1]) for process in both]
    assert sorted(process.returncode for process, _ in ended) == [0, 3], [err for _, err in ended]
    (winner,), ((_, told),) = ([p for p, _ in ended if p.returncode == 0], [e for e in ended if e[0].returncode == 3])
    assert f"process {winner.pid}" in told or "just started" in told


@pytest.mark.parametrize("damage", ["newer", "no database", "cut short"])
def test_a_state_that_cannot_be_trusted_is_refused_and_left_alone(place: Path, damage: str) -> None:
    state = place / "home" / "state.db"
    if damage == "newer":
        engine = create_engine(f"sqlite:///{state}")
        with engine.begin() as connection:
            connection.execute(text("UPDATE facts SET value = '99' WHERE key = 'schema_version'"))
        engine.dispose()
    else:
        state.write_bytes(b"no database at all" * 400 if damage == "no database" else state.read_bytes()[:5000])
    before = state.read_bytes()
    for words in (("status",), ("ingest", "docs")):
        ended = polyonym(*words, "--home", "home", code=5, cwd=place)
        assert ("newer" if damage == "newer" else "damaged") in ended.err and "Traceback" not in ended.err
    assert state.read_bytes() == before


# A home that may only be read


def powerless() -> list[str]:
    """What goes before a command to take from root what an ordinary user may not do: writing where the rights forbid it."""
    if os.geteuid() != 0:
        return []
    words = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    if not shutil.which("setpriv") or subprocess.run([*words, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("root cannot give up its powers here")
    return words


def test_a_read_only_home_is_read_and_left_alone(place: Path) -> None:
    before_command = powerless()
    for path in [place / "home", *(place / "home").rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = {p: p.read_bytes() for p in (place / "home").rglob("*") if p.is_file()}
    try:
        ended = polyonym("ingest", "docs", "--home", "home", code=2, cwd=place, before=before_command)
        assert "cannot be written" in ended.err and "--home" in ended.err and "Traceback" not in ended.err
        for words in (("status",), ("runs",), ("plan", "docs"), ("export", "entities"), ("query", "MATCH (e:Entity) RETURN e.name")):
            assert polyonym(*words, "--home", "home", cwd=place, before=before_command).out
        assert {p: p.read_bytes() for p in (place / "home").rglob("*") if p.is_file()} == before
    finally:
        for path in [place / "home", *(place / "home").rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_disk_that_fills_is_told_and_nothing_is_lost(filled: Path, small_disk: Path) -> None:
    process = started("ingest", filled / "docs", "--home", small_disk / "home")
    assert process.stderr
    next(line for line in process.stderr if line.startswith("Reading"))
    with suppress(OSError), (small_disk / "ballast").open("wb", buffering=0) as ballast:
        while True:
            ballast.write(b"x" * 4096)
    told = process.communicate(timeout=300)[1]
    assert process.returncode == 2 and "make room" in told.lower() and "Traceback" not in told
    for words in (("status",), ("ingest", filled / "docs")):
        polyonym(*words, "--home", small_disk / "home", code=2 if words[0] == "ingest" else 0)
    (small_disk / "ballast").unlink()
    report = polyonym("ingest", filled / "docs", "--home", small_disk / "home", "--json").json
    assert report["status"] == "done" and report["counts"]["documents"] == 3


# Interrupted


@pytest.mark.usefixtures("shared_server")
def test_an_interrupted_run_stops_at_a_clean_point_and_the_next_one_finishes(tmp_path: Path) -> None:
    write(tmp_path / "docs", {f"{n}.txt": f"{TEXTS['news/grid.txt']} Number {n}. " * 3 for n in range(100)})
    process = started("ingest", tmp_path / "docs", "--home", tmp_path / "home")
    assert process.stderr
    told = ""
    for line in process.stderr:
        told += line
        if line.startswith("Reading"):
            process.send_signal(signal.SIGINT)
            break
    out, rest = process.communicate(timeout=600)
    assert process.returncode == 130, told + rest
    assert "clean point" in rest and "the same command goes on from here" in " ".join(rest.split()) and "Traceback" not in rest + out
    [run] = polyonym("runs", "--home", tmp_path / "home", "--json").json
    assert run["status"] == "stopped"
    report = polyonym("ingest", tmp_path / "docs", "--home", tmp_path / "home", "--json").json
    assert report["status"] == "done" and report["counts"]["documents"] == 100
    assert report["files"]["unchanged"] == 100, "what was read is not read again"


def test_a_second_interrupt_stops_at_once_and_loses_nothing(tmp_path: Path) -> None:
    write(tmp_path / "docs", {f"{n}.txt": f"{TEXTS['news/grid.txt']} Number {n}. " * 3 for n in range(100)})
    process = started("ingest", tmp_path / "docs", "--home", tmp_path / "home")
    assert process.stderr
    for line in process.stderr:
        if line.startswith("Reading"):
            process.send_signal(signal.SIGINT)
        if "clean point" in line:
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            break
    process.communicate(timeout=60)  # it ends when the last process that writes there has ended
    assert process.returncode == 130 and not servers(tmp_path / "home")
    report = polyonym("ingest", tmp_path / "docs", "--home", tmp_path / "home", "--json").json
    assert report["status"] == "done" and report["counts"]["documents"] == 100


def servers(home: Path) -> list[psutil.Process]:
    """Prefect's servers that run for a home."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if re.search("prefect[ .]server", " ".join(process.cmdline())) and process.environ().get("PREFECT_HOME", "").startswith(
                str(home)
            ):
                found.append(process)
    return found


def test_a_killed_run_leaves_no_server_behind_for_long(tmp_path: Path) -> None:
    write(tmp_path / "docs", {f"{n}.txt": f"{TEXTS['news/grid.txt']} Number {n}. " * 3 for n in range(100)})
    process = started("ingest", tmp_path / "docs", "--home", tmp_path / "home")
    assert process.stderr and process.stdout
    next(line for line in process.stderr if line.startswith("Reading"))
    process.kill()
    process.wait()
    process.stderr.close()
    process.stdout.close()
    assert polyonym("ingest", tmp_path / "docs", "--home", tmp_path / "home", "--json").json["status"] == "done"
    assert not servers(tmp_path / "home")


# On a schedule


def history(home: Path) -> list[run_history.RunRecord]:
    engine = open_state(f"sqlite:///{home / 'state.db'}")
    with engine.connect() as connection:
        found = run_history.load(connection)
    engine.dispose()
    return found


def wait_for(condition: Callable[[], bool], process: "subprocess.Popen[str]", seconds: float = 240) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None and time.monotonic() < until, process.communicate(timeout=60)
        time.sleep(0.5)


def test_a_schedule_catches_up_once_then_keeps_time_and_ends_cleanly(place: Path) -> None:
    home = place / "home"
    engine = open_state(f"sqlite:///{home / 'state.db'}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE runs SET started = '2020-01-01T00:00:00+00:00'"))
    engine.dispose()
    write(place / "docs", {"new.txt": "Mette Lindqvist left Velmora Group."})
    served = started("serve", "docs", "--every", "15s", "--home", "home", cwd=place)
    wait_for(lambda: len([run for run in history(home) if run.status == "done"]) >= 4, served)
    served.terminate()
    out, err = served.communicate(timeout=120)
    assert served.returncode == 0 and "caught up now, once" in err and "Traceback" not in out + err
    assert not servers(home)
    done = [run for run in history(home) if run.status == "done"]
    assert all(one.ended <= other.started for one, other in itertools.pairwise(done)), "runs of one home never overlap"
    changed = [run.figures["documents"]["new"] for run in done]
    assert changed[:2] == [3, 4] and not any(changed[2:]), "all four are new at the place where they were moved to"


def test_a_scheduled_run_leaves_a_held_home_alone(place: Path) -> None:
    with Home(place / "home").held():
        served = started("serve", "docs", "--every", "5s", "--home", "home", cwd=place)
        assert served.stderr
        assert next(line for line in served.stderr if "Left out" in line)
        assert len(history(place / "home")) == 1
        served.terminate()
        served.communicate(timeout=120)


def test_a_scheduled_run_that_fails_says_why(place: Path) -> None:
    engine = open_state(f"sqlite:///{place / 'home' / 'state.db'}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE runs SET started = '2020-01-01T00:00:00+00:00'"))
    engine.dispose()
    served = started("serve", place / "docs", "--every", "5s", "--home", "home", cwd=place)
    assert served.stderr
    told = ""
    while "Serving" not in told:
        told += (line := served.stderr.readline())
        assert line, told
    (place / "docs").rename(place / "away")
    while told.count("failed: ") < 2:  # the one that is caught up, and one by the schedule
        told += (line := served.stderr.readline())
        assert line, told
    url = next(line.split()[-1] for line in told.splitlines() if "Prefect at" in line)
    states = {run["state_type"] for run in requests.post(f"{url}/flow_runs/filter", json={}, timeout=10).json()}
    served.terminate()
    out, err = served.communicate(timeout=120)
    assert "FAILED" in states and served.returncode == 0
    assert told.count("there is no such file or folder") == 2 and "Traceback" not in told + out + err
    assert all(run.status == "failed" for run in history(place / "home")[1:])


def test_a_schedule_that_is_ended_while_it_starts_leaves_no_server(place: Path) -> None:
    served = started("serve", "docs", "--every", "1h", "--home", "home", cwd=place)
    wait_for(lambda: bool(servers(place / "home")), served)
    served.terminate()
    served.communicate(timeout=60)
    assert served.returncode == 0 and not servers(place / "home")


@pytest.mark.parametrize(
    ("last", "caught_up"),
    [
        ([], False),
        (["done ingest"], False),
        (["killed ingest"], True),
        (["failed ingest"], True),
        (["done communities"], True),
        (["done ingest", "killed ingest", "done communities"], False),
    ],
)
def test_only_an_ingestion_that_was_done_stands_for_the_one_that_was_due(last: list[str], caught_up: bool) -> None:
    """Runs of three in the morning, for a schedule of two o'clock; the day before all went well."""
    held = []
    for number, words in enumerate(["done ingest", *last] if last else []):
        status, what = words.split()
        when = f"2026-03-0{2 if number else 1}T03:00:00+00:00"
        held.append(run_history.RunRecord(number, when, when, status, {"files": {}} if what == "ingest" else {}))
    assert missed(Schedule("0 2 * * *"), held, datetime(2026, 3, 2, 12, tzinfo=UTC)) == caught_up
