"""The registry: files that are read, files that are refused with line and field, what a name finds."""

from pathlib import Path

import pytest
from home_fixtures import MakePlace, make_place
from sqlalchemy import Engine

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.store.database import open_state
from polyonym.resolution.linking import registry
from polyonym.resolution.linking.candidates import Item
from polyonym.resolution.linking.registry import Registry, read_registry

__all__ = ["make_place"]  # a fixture

ROWS = """{"id": "r1", "name": "Linovar GmbH", "aliases": ["Kabelwerk Osterholt"], "type": "ORG", "description": "cables", "wikidata_id": "Q42"}

{"id": "r0", "name": "Jane Roe", "type": "person"}
"""
CSV = """id,name,aliases,type,description,wikidata_id
r1,Linovar GmbH,"Kabelwerk Osterholt; Linovar | KWO",ORG,"cables, long ones",Q42
r0,Jane Roe,,PER,,
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_both_forms_are_read_sorted_by_id(tmp_path: Path) -> None:
    items = read_registry(write(tmp_path / "r.jsonl", "\ufeff" + ROWS))
    assert items == [
        Item("r0", "Jane Roe", (), None, ("PERSON",), None, None, "registry"),
        Item("r1", "Linovar GmbH", ("Kabelwerk Osterholt",), "cables", ("ORG",), None, "Q42", "registry"),
    ]
    items = read_registry(write(tmp_path / "r.csv", CSV))
    assert [i.id for i in items] == ["r0", "r1"]
    assert items[1].aliases == ("Kabelwerk Osterholt", "Linovar", "KWO") and items[1].description == "cables, long ones"
    assert items[0].types == ("PERSON",)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("r.jsonl", '{"id": "a", "name": "A"}\n{"id": "b"}\n', "line 2: `name`"),
        ("r.jsonl", '{"id": "", "name": "A"}', "line 1: `id`"),
        ("r.jsonl", '{"id": ["a"], "name": "A"}', "line 1: `id` is ['a']"),
        ("r.jsonl", '\n\n{"id": "a", "name": "A"}\n{"id": "a", "name": "B"}', "line 4: `id` 'a' stands in line 3"),
        ("r.jsonl", '{"id": "a", "name": "A", "aliases": [1]}', "line 1: `aliases`"),
        ("r.jsonl", '{"id": "a", "name": "A", "type": "COMPANY"}', "line 1: `type` is 'COMPANY'; use one of PERSON"),
        ("r.jsonl", '{"id": "a", "name": "A", "wikidata_id": "42"}', "line 1: `wikidata_id` is '42'"),
        ("r.jsonl", '{"id": "a", "name": "A"', "line 1: not valid JSON"),
        ("r.jsonl", "[1]", "line 1: not a JSON object"),
        ("r.csv", "name,aliases\nA,\n", "line 1: no column `id`"),
        ("r.csv", "id,name\na,A,B\n", "line 2: 3 cells in a table of 2 columns"),
        ("r.csv", 'id,name,type\nb,B,ORG\n"a,A\n', "line 3: broken quoting"),
        ("r.csv", "id,name\na,\n", "line 2: `name`"),
    ],
)
def test_a_wrong_file_is_refused_with_line_and_field(tmp_path: Path, file: str, text: str, message: str) -> None:
    with pytest.raises(WrongUse) as caught:
        read_registry(write(tmp_path / file, text))
    assert message in str(caught.value) and file in str(caught.value)


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="none"):
        read_registry(tmp_path / "none.csv")
    (tmp_path / "r.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(WrongUse, match="cannot be read"):
        read_registry(tmp_path / "r.jsonl")


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffID;Name;Aliases;Type\nr1;Größe GmbH;VLM|Velmora;org\n".encode(),
        "id,name,aliases,type\nr1,Größe GmbH,VLM;Velmora,ORG\n".encode("cp1252"),
        "Our firms\n\nid\tname\ttype\taliases\nr1\tGröße GmbH\tORG\tVLM | Velmora\n".encode(),
    ],
)
def test_a_registry_is_read_as_any_table(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "r.csv").write_bytes(content)
    assert read_registry(tmp_path / "r.csv") == [Item("r1", "Größe GmbH", ("VLM", "Velmora"), None, ("ORG",), None, None, "registry")]


def test_numbers_are_ids_too(tmp_path: Path) -> None:
    items = read_registry(write(tmp_path / "r.jsonl", '{"id": 7, "name": "Linovar", "aliases": "KWO|Linovar GmbH"}'))
    assert items == [Item("7", "Linovar", ("KWO", "Linovar GmbH"), None, (), None, None, "registry")]


def test_names_meet_in_their_normal_form(tmp_path: Path) -> None:
    known = Registry(read_registry(write(tmp_path / "r.csv", CSV)))
    assert [i.id for i in known.matching(["LINOVAR G.m.b.H."])] == ["r1"]
    assert [i.id for i in known.matching(["Roe, Jane"])] == []
    assert [i.id for i in known.matching(["kabelwerk osterholt", "Jane Roe"])] == ["r0", "r1"]
    answers = known.candidates(["Linovar", "KWO", "Nobody"])
    assert [(c.item.id, c.matched, c.match) for c in answers["Linovar"]] == [("r1", "Linovar GmbH", "label")]
    assert [(c.matched, c.match) for c in answers["KWO"]] == [("KWO", "alias")]
    assert answers["Nobody"] == []
    assert ("KWO", "ORG") in known.names() and known.names() == sorted(known.names())


@pytest.fixture
def state(tmp_path: Path) -> Engine:
    return open_state(f"sqlite:///{tmp_path / 'state.sqlite'}")


def test_the_home_remembers_it_and_its_version_tells_a_change(state: Engine, tmp_path: Path) -> None:
    items = read_registry(write(tmp_path / "r.csv", CSV))
    with state.begin() as connection:
        assert registry.load(connection).items == []
        registry.replace(connection, items)
    with state.connect() as connection:
        kept = registry.load(connection)
    assert kept.items == items and kept.version == Registry(reversed(items)).version
    with state.begin() as connection:
        registry.replace(connection, items[:1])
        assert registry.load(connection).items == items[:1]
        assert registry.load(connection).version != kept.version


def test_a_thing_of_the_registry_is_shown_under_its_name_there(make_place: MakePlace) -> None:
    place = make_place(names={"Velmora": "ORG", "Velmora Group": "ORG"}, fast=True)
    place.write({"a.txt": "Velmora Group grew.", "b.txt": "Velmora grew. Velmora fell."})
    registry = write(place.home.parent / "r.jsonl", '{"id": "r1", "name": "Velmora Holding SE", "aliases": ["Velmora", "Velmora Group"]}\n')
    place.ingest(registry=registry)
    assert [(e["name"], e["registry_id"], e["mentions"]) for e in place.export("entities")] == [("Velmora Holding SE", "r1", 3)]


def test_a_short_form_of_an_unknown_firm_is_not_the_registrys(make_place: MakePlace) -> None:
    place = make_place(names={"Halberd Foods": "ORG", "Halberd Robotics": "ORG", "Halberd": "ORG"}, fast=True)
    place.write({"a.txt": "Halberd Foods bakes. Halberd grew.", "b.txt": "Halberd Robotics builds. Halberd fell."})
    registry = write(place.home.parent / "r.jsonl", '{"id": "r1", "name": "Halberd Robotics plc", "aliases": ["Halberd"], "type": "ORG"}\n')
    place.ingest(registry=registry)
    shown = {e["name"]: (e["registry_id"], e["mentions"]) for e in place.export("entities")}
    assert shown == {"Halberd Robotics plc": ("r1", 2), "Halberd Foods": (None, 2)}
    assert [row["names"] for row in place.export("review")] == [["halberd"]]
