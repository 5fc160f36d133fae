"""Tables in a home: what is said of files in the settings, and what is told of how their tables were read."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from home_fixtures import MakePlace, Place, make_place
from typer.testing import CliRunner

from polyonym.flows.cli import app, showing
from polyonym.flows.home.settings import load_settings
from polyonym.flows.report.page import render
from polyonym.flows.report.report import gather
from polyonym.ingest.errors import WrongUse
from polyonym.ingest.sources import table_layouts
from polyonym.resolution.linking.ranking import load_weights

__all__ = ["make_place", "showing"]  # a fixture, and the commands that are registered

NAMES = {"Karin Holm": "PERSON", "Velmora": "ORG"}
PEOPLE = "Staff\n\nnr;name;boss;memo\na1;Karin Holm;Jens Aagaard;leads Velmora since May\na2;Ann Bee;Karin Holm;left Velmora in March\n"


def say(place: Place, tables: str) -> None:
    """Put [[sources]] tables into the settings of a home."""
    place.set()
    with (place.home / "polyonym.toml").open("a", encoding="utf-8") as file:
        file.write("\n" + tables)


def texts(place: Place) -> dict[str, str]:
    return {d["document"]: d["text"] for d in place.export("documents")}


def test_what_is_said_of_a_file_holds_for_it_alone(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write({"a/staff.csv": PEOPLE, "b/staff.csv": PEOPLE})
    place.ingest()
    whole = "name: Karin Holm\nboss: Jens Aagaard\nmemo: leads Velmora since May"
    assert list(texts(place).values()).count(whole) == 2
    say(place, '[[sources]]\npaths = ["a/*.csv"]\ntext_columns = ["memo"]\nid_column = "nr"\n')
    assert place.ingest().figures["files"]["changed"] == 1
    assert texts(place)["a/staff.csv/a1"] == "leads Velmora since May"
    assert [t for d, t in texts(place).items() if d.startswith("b/") and t == whole]
    say(place, '[[sources]]\npaths = ["b"]\ntext_columns = ["boss", "name"]\n[[sources]]\npaths = ["staff.csv"]\nlanguage = "de"\n')
    place.ingest()
    assert "name: Karin Holm\nboss: Jens Aagaard" in texts(place).values()
    assert {r["document"].split("/")[0] for r in place.export("rejected") if "language (de)" in r["reason"]} == {"a"}


def test_a_column_that_is_not_there_is_told(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write({"staff.csv": PEOPLE})
    say(place, '[[sources]]\npaths = ["staff.csv", "*.tsv"]\nid_column = "number"\n[[sources]]\npaths = ["gone/**"]\n')
    run = place.ingest()
    assert place.export("rejected") == [{"document": "staff.csv", "reason": "no id column 'number'; columns: nr, name, boss, memo"}]
    assert [n for n in run.notes if "[[sources]]" in n] == ["No file matches the paths of [[sources]] table 2 of the settings: gone/**."]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ('paths = ["a"]\ntext_column = "b"', "[[sources]] table 1: 'text_column' is no key. Did you mean text_columns?"),
        ('text_columns = ["b"]', "[[sources]] table 1, paths: Field required"),
        ("paths = []", "[[sources]] table 1, paths: "),
        ('paths = ["a"]\nlanguage = "German"', "[[sources]] table 1, language: "),
        ('paths = "a"', "[[sources]] table 1, paths: "),
    ],
)
def test_a_wrong_table_of_settings_is_refused_with_its_number_and_key(tmp_path: Path, said: str, message: str) -> None:
    (tmp_path / "polyonym.toml").write_text(f"[[sources]]\n{said}\n")
    with pytest.raises(WrongUse) as caught:
        load_settings(tmp_path)
    assert message in str(caught.value) and "polyonym.toml" in str(caught.value)


def layouts(place: Place) -> list[dict[str, Any]]:
    with place.engine.connect() as connection:
        return table_layouts.load(connection)


def test_how_tables_were_read_is_told_and_goes_with_their_files(make_place: MakePlace) -> None:
    place = make_place(names=NAMES)
    place.write({"staff.csv": PEOPLE, "a.txt": "Karin Holm leads Velmora."})
    place.ingest()
    layout = {
        "separator": "semicolon",
        "head": "line 3",
        "passed_over": "1",
        "id": "",
        "text": ["name", "boss", "memo"],
        "encoding": "utf-8",
    }
    assert layouts(place) == [{"source": str(place.source), "file": "staff.csv", **layout}]
    [source] = orjson.loads(CliRunner().invoke(app, ["sources", "--home", str(place.home), "--json"]).stdout)
    assert source["tables"] == [{"file": "staff.csv", **layout}]
    assert "separated by semicolon" in " ".join(CliRunner().invoke(app, ["sources", "--home", str(place.home)]).stdout.split())
    with place.engine.connect() as connection:
        report = gather(connection, load_weights())
    assert report["tables"] == layouts(place)
    assert "names of columns in line 3" in render(report)
    (place.source / "staff.csv").rename(place.source / "people.csv")
    place.ingest()
    assert [layout["file"] for layout in layouts(place)] == ["people.csv"]
    (place.source / "people.csv").unlink()
    place.ingest(allow_deletions=True)
    assert layouts(place) == []
