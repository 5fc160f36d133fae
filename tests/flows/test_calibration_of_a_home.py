"""What weights are fitted on: the names that the default pipeline finds in gold documents, with the gold's items."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from polyonym.flows.cli import app, quality  # noqa: F401  (it registers the command)
from polyonym.flows.home.home import Home
from polyonym.flows.home.settings import Settings
from polyonym.flows.inspect.calibration import curve, examples
from polyonym.ingest.errors import WrongUse
from polyonym.resolution.evaluation.calibration import Fitted
from polyonym.resolution.linking.candidates import Item
from polyonym.resolution.linking.knowledge_base import build
from polyonym.resolution.linking.ranking import load_weights
from polyonym.resolution.linking.registry import Registry

TEXT = "Angela Merkel met Barack Obama in Berlin. Later Merkel flew to Paris with Obama, and Siemens was glad."
KEYS = {"Angela Merkel": "Q567", "Barack Obama": "Q76", "Berlin": "Q64", "Siemens": "nil:siemens"}


def gold_set(path: Path, name: str, text: str, keys: dict[str, str]) -> Path:
    found = [{"start": text.index(n), "end": text.index(n) + len(n), "text": n, "qid": q} for n, q in keys.items()]
    file = path / f"{name}.jsonl"
    file.write_text(json.dumps({"doc_id": "1", "title": "Visit", "text": text, "mentions": found}) + "\n", encoding="utf-8")
    return file


def test_names_carry_the_items_of_their_mentions_and_a_text_counts_once(tmp_path: Path) -> None:
    first = gold_set(tmp_path, "first", TEXT, KEYS)
    again = gold_set(tmp_path, "again", TEXT, {"Berlin": "Q1"})
    (example,) = examples([first, again], Settings(processes=1))
    assert example.document.document == "first/1"
    assert example.document.title == "Visit"
    assert {name: dict(counts) for name, counts in example.gold.items()} == {
        "angela merkel": {"Q567": 1},
        "barack obama": {"Q76": 1},
        "berlin": {"Q64": 1},
        "siemens": {"": 1},
        # What the gold leaves out may have an item all the same.
        "merkel": {None: 1},
        "obama": {None: 1},
        "paris": {None: 1},
    }
    assert (example.source, example.missed) == (str(first), 0)


def test_documents_of_one_id_from_two_files_of_one_name_are_two(tmp_path: Path) -> None:
    files = []
    for folder, text in (("a", TEXT), ("b", "Paris was quiet. Barack Obama rested.")):
        (tmp_path / folder).mkdir()
        files.append(gold_set(tmp_path / folder, "gold", text, {"Barack Obama": "Q76"}))
    both = examples(files, Settings(processes=1))
    assert len({e.document.document for e in both}) == 2
    assert [sorted(e.gold) for e in both] == [
        ["angela merkel", "barack obama", "berlin", "merkel", "obama", "paris", "siemens"],
        ["barack obama", "paris"],
    ]
    assert {e.document.document for e in examples(files[::-1], Settings(processes=1))} == {e.document.document for e in both}


def test_gold_outside_the_judged_span_is_neither_missed_nor_learnt(tmp_path: Path) -> None:
    text = "Angela Merkel spoke. Zorblax was absent, and so was Quux."
    file = gold_set(tmp_path, "a", text, {"Angela Merkel": "Q567", "absent": "Q1", "Quux": "Q2"})
    row = json.loads(file.read_text())
    file.write_text(json.dumps(row | {"evaluation_span": [0, 20]}))
    (example,) = examples([file], Settings(processes=1))
    assert {name: dict(counts) for name, counts in example.gold.items()} == {"angela merkel": {"Q567": 1}}
    assert example.missed == 0


def test_the_curve_counts_what_the_sources_offer(tmp_path: Path) -> None:
    held = examples([gold_set(tmp_path, "a", TEXT, KEYS)], Settings(processes=1))
    items = [Item("Q567", "Angela Merkel", types=("PERSON",)), Item("Q76", "Barack Obama", types=("PERSON",)), Item("Q9", "Berlin")]
    accuracy, bins = curve(held, [Registry(items)], load_weights())
    assert accuracy == 2 / 3
    assert sum(b.mentions for b in bins) == 3  # Merkel and Obama alone have a candidate as well, but the gold leaves them out
    assert round(sum(b.right * b.mentions for b in bins), 6) == 2


def test_gold_without_wikidata_ids_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="no Wikidata ids"):
        examples([gold_set(tmp_path, "a", TEXT, {"Berlin": "chain:1"})], Settings(processes=1))


def test_a_set_to_try_the_weights_on_is_looked_at_before_the_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path / "home")
    home.make(Settings()).dispose()
    build(home.knowledge_base, [Item("Q64", "Berlin")], "test")
    monkeypatch.setattr("polyonym.flows.inspect.calibration.examples", lambda *_: pytest.fail("the fit began"))
    words = ["calibrate", str(gold_set(tmp_path, "a", TEXT, KEYS)), "--try-on", str(tmp_path / "nope.jsonl"), "--home", str(home.path)]
    assert "nope.jsonl cannot be read" in str(CliRunner().invoke(app, words).exception)


def test_two_sets_of_one_name_to_try_the_weights_on_are_both_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path / "home")
    home.make(Settings()).dispose()
    build(home.knowledge_base, [Item("Q64", "Berlin")], "test")
    monkeypatch.setattr("polyonym.flows.inspect.calibration.examples", lambda paths, _: paths)
    monkeypatch.setattr("polyonym.flows.inspect.calibration.curve", lambda tried, *_: (float(tried[0].parent.name), []))
    monkeypatch.setattr("polyonym.resolution.evaluation.calibration.fit", lambda *_: Fitted(load_weights(), 0.5, 0.5, 1, []))
    files = []
    for folder in ("0.25", "0.75"):
        (tmp_path / folder).mkdir()
        files.append(str(gold_set(tmp_path / folder, "gold", TEXT, KEYS)))
    tries = [word for file in files for word in ("--try-on", file)]
    told = CliRunner().invoke(app, ["calibrate", files[0], *tries, "--home", str(home.path), "--json"])
    assert {name: row["accuracy"] for name, row in json.loads(told.stdout)["tried_on"].items()} == {files[0]: 0.25, files[1]: 0.75}
