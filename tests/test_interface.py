"""The Python interface, as a notebook uses it: the real pipeline, from documents to answers."""

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import polyonym

PUBLIC = [
    "Alias",
    "Answer",
    "Damaged",
    "Entity",
    "Explanation",
    "Explanations",
    "Hit",
    "Home",
    "HomeHeld",
    "Mention",
    "Rows",
    "ServerAway",
    "Stop",
    "WrongUse",
]


def test_the_public_names_are_these() -> None:
    assert polyonym.__all__ == PUBLIC and dir(polyonym) == PUBLIC
    assert all(getattr(polyonym, name) for name in PUBLIC)
    with pytest.raises(AttributeError, match="no attribute 'Graph'"):
        _ = polyonym.Graph


def test_importing_costs_no_model_and_needs_no_folder_of_ours(tmp_path: Path) -> None:
    for folder in ("flows", "graph", "ingest"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("raise ImportError('not ours')")
    code = "import polyonym, sys; polyonym.Home; print(sorted({'torch', 'spacy', 'prefect'} & sys.modules.keys()))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[polyonym.Home]:
    folder = tmp_path_factory.mktemp("interface")
    (folder / "docs").mkdir()
    (folder / "docs" / "a.txt").write_text("Velmora Energy built a wind farm near Hamburg. Karin Holm leads Velmora Energy.", "utf-8")
    (folder / "docs" / "b.txt").write_text("Karin Holm of Velmora Energy spoke in Hamburg about the wind farm.", "utf-8")
    made = polyonym.Home(folder / "home")
    report = made.ingest(folder / "docs")
    assert report["status"] == "done" and report["documents"]["new"] == 2
    yield made


@pytest.mark.slow
def test_a_home_is_read(home: polyonym.Home) -> None:
    entities = {e.name: e for e in home.entities()}
    holm = entities["Karin Holm"]
    assert (holm.type, holm.documents, holm.mentions, holm.aliases) == ("PERSON", 2, 2, (polyonym.Alias("Karin Holm", 2),))
    assert [(m.document, m.text) for m in home.mentions(entity_id=holm.entity_id)] == [("a.txt", "Karin Holm"), ("b.txt", "Karin Holm")]
    assert {m.document for m in home.mentions("b.txt")} == {"b.txt"}
    assert "Karin Holm" in str(home.explain("Karin Holm")) and home.explain("Karin Holm")[0].entity.entity_id == holm.entity_id
    assert home.search("who leads the company", limit=1)
    assert home.query("MATCH (e:Entity {name: 'Karin Holm'}) RETURN e.mentions AS mentions") == [{"mentions": 2}]
    with pytest.raises(polyonym.WrongUse, match="no export 'nodes'"):
        home.export("nodes")
    rows = home.export("entities")
    assert len(list(rows)) == len(list(rows)) == rows.to_arrow().num_rows == len(entities)


@pytest.mark.slow
def test_a_judgement_is_obeyed_at_once_and_taken_back(home: polyonym.Home) -> None:
    judgement = home.judge_link("Karin Holm", "Q42", "seen")
    assert {e.name: e.wikidata_id for e in home.entities()}["Karin Holm"] == "Q42"
    home.undo(judgement)
    assert {e.name: e.wikidata_id for e in home.entities()}["Karin Holm"] is None


@pytest.mark.slow
def test_what_cannot_be_done_is_said_in_one_message(home: polyonym.Home, tmp_path: Path) -> None:
    with pytest.raises(polyonym.WrongUse, match="no home of polyonym yet"):
        polyonym.Home(tmp_path / "none").entities()
    with pytest.raises(polyonym.WrongUse, match="nowhere"):
        home.ingest(tmp_path / "nowhere")


def test_every_package_is_installed() -> None:
    root = Path(__file__).parents[1]
    listed = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]
    folders = {
        file.parent.relative_to(root)
        for top in ("flows", "graph", "ingest", "resolution", "retrieval")
        for file in (root / top).rglob("*.py")
    }
    assert sorted(listed) == sorted(["polyonym", *("polyonym." + folder.as_posix().replace("/", ".") for folder in folders)])
