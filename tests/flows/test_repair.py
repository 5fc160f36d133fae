"""`polyonym check`: a home in order has no findings; what is damaged is found, and made again from the state."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from home_fixtures import MakePlace, Place, contents, difference, make_place
from small_state import fill
from typer.testing import CliRunner

from polyonym.flows.cli import app, quality  # noqa: F401  (it registers the command)
from polyonym.flows.home import history, interrupts
from polyonym.flows.home.home import Home
from polyonym.flows.home.interrupts import Interrupted
from polyonym.flows.home.settings import load_settings
from polyonym.flows.pipeline.run import Run
from polyonym.flows.pipeline.stages import OF_COMMUNITIES, PROJECTIONS, load_projection
from polyonym.ingest.mentions import mentions
from polyonym.ingest.mentions.mentions import Mention
from polyonym.resolution import entities

__all__ = ["make_place"]  # a fixture
pytestmark = pytest.mark.slow  # each test embeds a little

TEXTS = {"a.txt": "Ingrid Halvorsen leads Halden ASA.", "b.txt": "Ingrid Halvorsen saw Norway."}
LABELS = {"Ingrid Halvorsen": "PERSON", "Halden ASA": "ORG", "Norway": "GPE"}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("check") / "home"
    home.mkdir()
    fill(home / "state.db", TEXTS, LABELS).dispose()
    run = Run.open(home, None)
    for projection in (*PROJECTIONS, *OF_COMMUNITIES):
        load_projection(run, projection)
    run.end("done")
    return home


@pytest.fixture
def home(loaded: Path, tmp_path: Path) -> Iterator[Path]:
    copy = tmp_path / "home"
    shutil.copytree(loaded, copy)
    yield copy


@pytest.fixture(autouse=True)
def signals_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "watch_interrupts", lambda: None)


def check(home: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["check", "--home", str(home), "--json", *options])


def test_a_home_in_order(home: Path) -> None:
    result = check(home)
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"found": [], "left": []})


@pytest.mark.parametrize("damage", ["index damaged", "index gone", "graph gone", "graph damaged", "state went on"])
def test_projections_are_found_wrong_and_made_again(home: Path, damage: str) -> None:
    (index,) = (home / "vectors").glob("entities-*")
    if damage == "index damaged":
        index.write_bytes(index.read_bytes()[:-7] + b"garbage")
    elif damage == "index gone":
        index.unlink()
    elif damage == "graph gone":
        shutil.rmtree(home / "graph")
    elif damage == "graph damaged":
        (home / "graph" / "graph.lbug").write_bytes(b"nothing of the kind")
    else:
        with Home(home).open(load_settings(home)).begin() as connection:
            connection.execute(entities.entities.update().values(name="Another name"))
    found = check(home)
    assert found.exit_code == 1
    assert json.loads(found.stdout)["found"] == json.loads(found.stdout)["left"] != []
    repaired = check(home, "--repair")
    assert (repaired.exit_code, json.loads(repaired.stdout)["left"]) == (0, [])
    assert check(home).exit_code == 0


def test_an_interrupted_repair_is_stopped_and_done_by_the_next(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(home / "graph")
    monkeypatch.setattr(interrupts, "_interrupts", 0)
    with monkeypatch.context() as patch:
        patch.setattr(interrupts, "watch_interrupts", lambda: patch.setattr(interrupts, "_interrupts", 1))
        assert isinstance(check(home, "--repair").exception, Interrupted)
    with Home(home).open(load_settings(home)).connect() as connection:
        last = history.load(connection)[-1]
    assert (last.status, last.figures["kind"]) == ("stopped", "repair")
    assert check(home, "--repair").exit_code == 0


def test_what_cannot_be_repaired_is_told_and_not_called_repaired(home: Path) -> None:
    with Home(home).open(load_settings(home)).begin() as connection:
        connection.exec_driver_sql("UPDATE documents SET text = 'Else.'")
    result = check(home, "--repair")
    assert result.exit_code == 1
    assert "reads the files of the altered texts again" in " ".join(result.stderr.split())
    left = json.loads(result.stdout)["left"]
    assert any(f["where"] == "documents" and not f["repairable"] for f in left)


def test_what_a_document_that_is_gone_has_left_is_taken_out(home: Path) -> None:
    with Home(home).open(load_settings(home)).begin() as connection:
        mentions.replace(connection, ["gone.txt"], [Mention("gone.txt", 0, 1, "X", "ORG", 0, 1, ("pattern",))])
    assert "gone.txt" in check(home).stdout
    assert check(home, "--repair").exit_code == 0 and check(home).exit_code == 0


def run_over_three(make_place: MakePlace) -> Place:
    """A home with everything in it: a run over three documents."""
    place = make_place(names={**LABELS, "Oslo": "GPE"})
    place.write({**TEXTS, "c.txt": "Halden ASA left Oslo for Norway. Ingrid Halvorsen stayed in Oslo."})
    place.ingest()
    assert place.check() == []
    return place


def everything(place: Place) -> dict[str, Any]:
    return contents(place) | {"communities": place.export("communities")}


@pytest.mark.parametrize(
    ("damage", "where"),
    [
        ("DELETE FROM memberships WHERE document = 'a.txt'", "state"),
        ("DELETE FROM memberships WHERE name = 'norway'", "state"),
        ("UPDATE memberships SET mentions = 9 WHERE name = 'norway' AND document = 'b.txt'", "state"),
        ("UPDATE entities SET mentions = 9 WHERE name = 'Norway'", "state"),
        ("DELETE FROM entities WHERE name = 'Norway'", "state"),
        ("DELETE FROM mentions WHERE text = 'Norway' AND document = 'b.txt'", "state"),
        ("UPDATE chunks SET text = 'Else.' WHERE document = 'b.txt'", "state"),
        ("DELETE FROM chunks WHERE document = 'b.txt'", "graph"),
        ("DELETE FROM relations WHERE document = 'b.txt'", "state"),
        ("DELETE FROM aliases WHERE name = 'Norway'", "graph"),
        ("DELETE FROM links WHERE name = 'norway'", "state"),
        ("DELETE FROM document_names WHERE document = 'b.txt'", "state"),
        ("DELETE FROM unit_keys WHERE document = 'b.txt'", "state"),
        ("DELETE FROM community_members WHERE entity_id = (SELECT entity_id FROM entities WHERE name = 'Norway')", "graph"),
        ("DELETE FROM summaries", "summaries"),
        ("UPDATE communities SET parent = 'c-gone'", "communities"),
        ("UPDATE community_members SET community_id = 'c-gone'", "communities"),
        ("INSERT INTO community_members SELECT community_id, 'e-gone', level FROM communities", "communities"),
    ],
)
def test_what_does_not_fit_in_the_state_is_made_again(make_place: MakePlace, damage: str, where: str) -> None:
    place = run_over_three(make_place)
    before = everything(place)
    with place.engine.begin() as connection:
        connection.exec_driver_sql(damage)
    found = place.check()
    assert any(f.where == where and f.repairable for f in found), found
    assert place.repair() == []
    assert not difference(before, everything(place))


def test_a_document_that_was_lost_is_read_again_by_the_next_ingest(make_place: MakePlace) -> None:
    place = run_over_three(make_place)
    before = everything(place)
    with place.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM documents WHERE document = 'b.txt'")
    assert all(f.repairable for f in place.check())
    assert place.repair() == []
    assert "b.txt" not in {row["document"] for row in place.export("mentions")}
    place.ingest()
    assert place.check() == []
    assert not difference(before, everything(place))


def test_a_text_that_was_altered_is_read_again_by_the_next_ingest(make_place: MakePlace) -> None:
    place = run_over_three(make_place)
    before = everything(place)
    with place.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE documents SET text = 'Nobody saw Norway.' WHERE document = 'b.txt'")
    [left] = place.repair()
    assert (left.where, left.examples, left.repairable) == ("documents", ("b.txt",), False)
    place.ingest()
    assert place.check() == []
    assert not difference(before, everything(place))
