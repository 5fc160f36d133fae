"""The example corpus: its gold is true to the texts that the readers give, and the hard cases are still in it."""

import gzip
import importlib.util
import io
import json
import re
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from polyonym.ingest.readers import Read, Unreadable
from polyonym.ingest.text.languages import detect
from polyonym.resolution.linking.registry import read_registry
from polyonym.resolution.names.entity_types import TYPES

EXAMPLES = Path(__file__).parents[2] / "examples"
CORPUS = EXAMPLES / "corpus"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


make_gold, make_binary_formats = script("make_gold"), script("make_binary_formats")


@pytest.fixture(scope="module")
def gold() -> dict[str, dict[str, Any]]:
    lines = (EXAMPLES / "gold.jsonl").read_text(encoding="utf-8").splitlines()
    return {document["doc_id"]: document for document in map(json.loads, lines)}


@pytest.fixture(scope="module")
def corpus() -> dict[str, Read | Unreadable]:
    return dict(make_gold.read_corpus())


@pytest.fixture(scope="module")
def keys_of(gold: dict[str, dict[str, Any]]) -> dict[str, set[str]]:
    """Every name as it stands in the texts, with the things that it names."""
    found: dict[str, set[str]] = {}
    for document in gold.values():
        for mention in document["mentions"]:
            found.setdefault(re.sub(r"\s+", " ", mention["text"]), set()).add(mention["qid"])
    return found


def test_gold_stands_on_the_texts_of_the_readers(gold: dict[str, dict[str, Any]], corpus: dict[str, Read | Unreadable]) -> None:
    for name, document in gold.items():
        read = corpus[name]
        assert isinstance(read, Read) and (document["text"], document["title"]) == (read.text, read.title), (
            f"{name}: run examples/make_gold.py"
        )
        end = 0
        for mention in document["mentions"]:
            assert mention["start"] >= end and mention["text"] == document["text"][mention["start"] : mention["end"]]
            assert mention["type"] in TYPES and re.fullmatch(r"Q[1-9]\d*|ex:[a-z0-9-]+", mention["qid"])
            end = mention["end"]


def test_gold_is_what_the_list_of_names_says(gold: dict[str, dict[str, Any]]) -> None:
    assert list(make_gold.gold()) == list(gold.values()), "run examples/make_gold.py and look at the difference"


def test_gold_covers_all_that_is_read_and_names_in_every_document(
    gold: dict[str, dict[str, Any]], corpus: dict[str, Read | Unreadable]
) -> None:
    assert set(gold) == {name for name, read in corpus.items() if isinstance(read, Read)} - {"news/2023-10-12-communique-saint-nazaire.txt"}
    assert len(gold) >= 40
    assert all(document["mentions"] for document in gold.values())
    assert all(120 <= len(document["text"].split()) <= 400 for document in gold.values())


def test_what_is_set_aside_is_exactly_what_should_be(corpus: dict[str, Read | Unreadable]) -> None:
    reasons = {name: result.reason for name, result in corpus.items() if isinstance(result, Unreadable)}
    assert set(reasons) == {"inbox/empty-note.txt", "filings/osb-final-report-esbjerg-fire.pdf"}
    assert "empty" in reasons["inbox/empty-note.txt"] and "broken PDF" in reasons["filings/osb-final-report-esbjerg-fire.pdf"]
    languages = {name: detect(result.text) for name, result in corpus.items() if isinstance(result, Read)}
    # English alone has a pipeline unless a user configures more.
    assert {name: code for name, code in languages.items() if code != "en"} == {"news/2023-10-12-communique-saint-nazaire.txt": "fr"}


def test_every_format_is_there() -> None:
    suffixes = {"".join(s for s in path.suffixes if not s[1:].isdigit()) for path in CORPUS.rglob("*") if path.is_file()}
    assert suffixes == {".txt", ".md", ".html", ".pdf", ".docx", ".eml", ".csv", ".jsonl", ".parquet", ".txt.gz", ".jsonl.gz"}


def test_navigation_scripts_and_markup_do_not_reach_the_text(corpus: dict[str, Read | Unreadable]) -> None:
    text = "".join(r.text for n, r in corpus.items() if isinstance(r, Read) and n.endswith((".html", ".md", ".eml")))
    for frame in (
        "Glasgow",
        "Chicago",
        "Odense",
        "Tracking Pixel",
        "Fjordbank",
        "Caledonian",
        "loadQuotes",
        "Gotland",
        "track.example",
        "halden.example",
        "|---",
    ):
        assert any(frame in path.read_text(encoding="utf-8") for path in CORPUS.rglob("*.*") if path.suffix in (".html", ".md", ".eml")), (
            frame
        )
        assert frame not in text


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("ex:velmora-group", ["Velmora Group plc", "Velmora Group", "Velmora", "VLMR"]),
        ("ex:pellworth", ["Pellworth Storage Inc.", "Pellworth Storage Incorporated", "PELLWORTH STORAGE INCORPORATED", "PWST"]),
        ("ex:linovar", ["Linovar GmbH", "Linovar Gesellschaft mit beschränkter Haftung", "Kabelwerk Osterholt"]),
        ("ex:nsga", ["North Sea Grid Authority", "NSGA", "Authority"]),
        ("ex:juliette-moreau", ["Juliette Moreau", "J. R. Moreau", "Moreau, Juliette Renée", "Moreau"]),
        ("ex:william-harcourt", ["William Harcourt", "Bill Harcourt", "W. Harcourt", "Harcourt"]),
        ("ex:mette-lindqvist", ["Mette Lindqvist", "Mette Lindquist", "Lindqvist, Mette"]),
        ("ex:malgorzata-wojcik", ["Małgorzata Wójcik", "M. Wojcik"]),
        ("ex:elektromar", ["Elektromar AD", "Електромар АД"]),
        ("ex:nikos-markatos", ["Nikos Markatos", "Νίκος Μαρκάτος", "Markatos, Nikos"]),
        ("Q145", ["United Kingdom", "UK", "Britain"]),
        ("Q30", ["United States", "U.S."]),
    ],
)
def test_names_of_one_thing(key: str, names: list[str], keys_of: dict[str, set[str]]) -> None:
    assert all(key in keys_of[name] for name in names)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("Thomas Brandt", {"ex:thomas-brandt-engineer", "ex:thomas-brandt-lawyer"}),
        ("Halden", {"ex:halden-asa", "ex:halden-town"}),
        ("Halvorsen", {"ex:ingrid-halvorsen", "ex:lars-halvorsen"}),
        ("Moreau", {"ex:juliette-moreau", "ex:philippe-moreau"}),
        ("Boston", {"Q100", "ex:boston-lincolnshire"}),
        ("Danish", {"ex:danish", "ex:danish-language"}),
        ("Osterholt", {"ex:linovar", "ex:osterholt-family"}),
        ("Velmora Energy", {"ex:velmora-energy"}),
        ("T-200", {"ex:t-200"}),
        ("T-210", {"ex:t-210"}),
    ],
)
def test_things_of_one_name(name: str, keys: set[str], keys_of: dict[str, set[str]]) -> None:
    assert keys_of[name] == keys


def test_one_press_release_stands_there_twice(gold: dict[str, dict[str, Any]]) -> None:
    from rapidfuzz.fuzz import ratio

    first, second = gold["news/2024-03-05-nordsund-linovar.txt"]["text"], gold["tables/press-wire.jsonl/PW-0790"]["text"]
    assert first != second and ratio(first[: len(second)], second) > 80


def test_registry_is_read_and_speaks_of_the_gold(gold: dict[str, dict[str, Any]]) -> None:
    items = read_registry(EXAMPLES / "registry.jsonl")
    types = {m["qid"]: m["type"] for document in gold.values() for m in document["mentions"]}
    assert 15 <= len(items) <= 20
    for item in items:
        assert item.types == (types[item.wikidata_id or item.id],), item.id
        assert item.description
    assert {i.wikidata_id for i in items if i.wikidata_id} == {"Q8880", "Q1055", "Q183", "Q35"}


def test_binary_formats_hold_what_their_sources_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Compared unpacked: the packed bytes depend on the installed zlib."""
    monkeypatch.setattr(make_binary_formats, "CORPUS", tmp_path)
    make_binary_formats.main()
    made = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert len(made) == 10
    for name, data in made.items():
        assert unpacked(name, data) == unpacked(name, (CORPUS / name).read_bytes()), f"{name}: run examples/make_binary_formats.py"


def unpacked(name: str, data: bytes) -> Any:
    if name.endswith(".gz"):
        return gzip.decompress(data)
    if name.endswith(".docx"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read("word/document.xml")
    if name.endswith(".parquet"):
        import pyarrow.parquet as pq

        return pq.read_table(io.BytesIO(data)).to_pylist()
    return data


def test_contradictory_lists_of_names_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "names.toml"
    path.write_text('[everywhere]\n"ex:a" = ["ORG", "Alma"]\n"ex:b" = ["ORG", "Alma"]\n[in]\n', encoding="utf-8")
    with pytest.raises(ValueError, match="Alma stands for ex:a and ex:b"):
        make_gold.load_names(path)
    path.write_text('[everywhere]\n"ex:a" = ["ORG", "Alma"]\n[in."d"]\n"Alma" = "ex:b"\n', encoding="utf-8")
    with pytest.raises(ValueError, match="no such key: ex:b"):
        make_gold.load_names(path)


def test_occurrences_are_counted_in_order_and_the_longer_name_wins(tmp_path: Path) -> None:
    path = tmp_path / "names.toml"
    path.write_text(
        '[everywhere]\n"ex:a" = ["ORG", "Alma Mining", "Alma"]\n"ex:b" = ["PLACE"]\n[in."d"]\n"Alma" = ["ex:b", "", "ex:a"]\n',
        encoding="utf-8",
    )
    names = make_gold.load_names(path)
    found = make_gold.find("Alma, Alma\nMining, Alma and Alma's Almanac", "d", names)
    assert [(m["text"], m["qid"]) for m in found] == [("Alma", "ex:b"), ("Alma\nMining", "ex:a"), ("Alma", "ex:a")]
    for text in ("Alma", "Alma Alma Alma Alma", "nobody"):
        with pytest.raises(ValueError, match="Alma occurs"):
            make_gold.find(text, "d", names)
