"""`polyonym check`: a home in order has no findings; what is damaged is found, and made again from the state."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result
from small_state import fill
from typer.testing import CliRunner

from flows import loading, summarizing
from flows.cli import app, quality  # noqa: F401  (it registers the command)
from flows.home import Home
from flows.run import Run
from flows.settings import load_settings
from ingest import mentions
from ingest.mentions import Mention
from resolution import entities

pytestmark = pytest.mark.slow  # each test embeds a little

TEXTS = {"a.txt": "Ingrid Halvorsen leads Halden ASA.", "b.txt": "Ingrid Halvorsen saw Norway."}
LABELS = {"Ingrid Halvorsen": "PERSON", "Halden ASA": "ORG", "Norway": "GPE"}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("check") / "home"
    home.mkdir()
    fill(home / "state.db", TEXTS, LABELS).dispose()
    run = Run.open(home, None)
    loading.load_graph(run)
    loading.index_chunks_and_entities(run)
    summarizing.divide(run, fresh=True)
    summarizing.summarise(run)
    summarizing.load_communities(run)
    run.end("done")
    return home


@pytest.fixture
def home(loaded: Path, tmp_path: Path) -> Iterator[Path]:
    copy = tmp_path / "home"
    shutil.copytree(loaded, copy)
    yield copy


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


def test_a_state_that_breaks_a_promise_is_told_and_not_called_repaired(home: Path) -> None:
    with Home(home).open(load_settings(home)).begin() as connection:
        mentions.replace(connection, ["gone.txt"], [Mention("gone.txt", 0, 1, "X", "ORG", 0, 1, ("pattern",))])
    result = check(home, "--repair")
    assert result.exit_code == 1
    left = json.loads(result.stdout)["left"]
    assert any(f["where"] == "state" and "gone.txt" in f["examples"][0] for f in left)
