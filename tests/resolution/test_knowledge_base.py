"""The knowledge base: what an import takes, what a name finds, what a damaged or foreign file says."""

import gzip
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyonym.ingest.errors import Damaged, WrongUse
from polyonym.resolution.linking import knowledge_base
from polyonym.resolution.linking.candidates import Item
from polyonym.resolution.linking.knowledge_base import KnowledgeBase, add, build, prominence, read_items, types_of

SHARED = Path(os.environ.get("POLYONYM_TEST_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))

APPLE = Item("Q312", "Apple Inc.", ("Apple", "Apple Computer"), "American company", ("ORG",), 250, "Q312")
FRUIT = Item("Q89", "apple", (), "fruit of the apple tree", (), 200, "Q89")
STORE = Item("Q421253", "Apple Store", ("Apple",), None, (), 40, "Q421253")
IBM = Item("Q37156", "International Business Machines", (), None, ("ORG",), None, "Q37156")
MERKEL = Item("Q567", "Angela Merkel", (), "German politician", ("PERSON",), 190, "Q567")
ITEMS = [APPLE, FRUIT, STORE, IBM, MERKEL]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "kb" / "kb.sqlite"
    build(path, ITEMS, "test")
    return path


def found(path: Path, name: str) -> list[tuple[str, str]]:
    base = KnowledgeBase(path)
    try:
        return [(c.item.id, c.match) for c in base.candidates([name])[name]]
    finally:
        base.close()


def jsonl(path: Path, rows: list[object], compress: bool = False) -> Path:
    data = b"".join((row if isinstance(row, bytes) else orjson.dumps(row)) + b"\n" for row in rows)
    path.write_bytes(gzip.compress(data) if compress else data)
    return path


def row(number: int, **more: object) -> dict[str, object]:
    return {"qid": f"Q{number}", "label": f"Item {number}", "aliases": [], "description": None, "types": [], **more}


def test_a_name_finds_items_by_label_alias_and_parts(home: Path) -> None:
    assert dict(found(home, "Apple")) == {"Q312": "label", "Q89": "label", "Q421253": "exact alias"}
    assert found(home, "apple")[0] != ("Q89", "label")  # equal to the letter is told apart
    assert dict(found(home, "apple"))["Q89"] == "exact label"
    assert found(home, "Merkel") == [("Q567", "end")]
    assert found(home, "Angela") == [("Q567", "start")]
    assert found(home, "the I.B.M.") == []
    assert found(home, "I.B.M.") == [("Q37156", "initials")]
    assert found(home, "Nobody") == []


def test_equal_names_come_before_parts_and_the_better_known_first(home: Path) -> None:
    add(home, [Item("Q1", "Apple Valley", (), None, ("PLACE",), 300, "Q1")])
    assert [i for i, _ in found(home, "Apple")] == ["Q312", "Q89", "Q421253", "Q1"]


def test_items_come_back_as_they_went_in(home: Path) -> None:
    base = KnowledgeBase(home)
    assert [base.item(i.id) for i in ITEMS] == ITEMS
    assert base.item("Q999") is None
    assert base.count == len(ITEMS)


names = st.text(min_size=1, max_size=20).filter(lambda s: s.strip() != "")


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(names, st.lists(names, max_size=3)), min_size=1, max_size=8))
def test_every_item_is_found_by_each_of_its_names(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, list[str]]]) -> None:
    path = tmp_path_factory.mktemp("kb") / "kb.sqlite"
    items = [Item(f"Q{n}", label, tuple(aliases), None, (), None, f"Q{n}") for n, (label, aliases) in enumerate(rows, 1)]
    build(path, items, "test")
    base = KnowledgeBase(path)
    for item in items:
        for name in (item.label, *item.aliases):
            assert item.id in {c.item.id for c in base.candidates([name])[name]}
    base.close()


def test_the_version_is_that_of_the_content_whatever_the_way(tmp_path: Path) -> None:
    build(tmp_path / "a", ITEMS, "one")
    build(tmp_path / "b", reversed(ITEMS), "other")
    build(tmp_path / "c", [*ITEMS[1:], Item("Q312", "Old name")], "third")
    versions = [KnowledgeBase(tmp_path / f).version for f in "abc"]
    assert versions[0] == versions[1] != versions[2]
    add(tmp_path / "c", [APPLE])
    assert KnowledgeBase(tmp_path / "c").version == versions[0]
    assert found(tmp_path / "c", "Old name") == []
    assert dict(found(tmp_path / "c", "Apple"))["Q312"] == "label"
    add(tmp_path / "d", ITEMS)
    assert KnowledgeBase(tmp_path / "d").version == versions[0]


def test_a_second_import_replaces_and_a_failed_one_leaves_the_first(home: Path) -> None:
    before = KnowledgeBase(home)

    def breaking() -> object:
        yield IBM
        raise WrongUse("stop")

    with pytest.raises(WrongUse):
        build(home, breaking(), "broken")  # type: ignore[arg-type]
    assert found(home, "Merkel") and sorted(p.name for p in home.parent.iterdir()) == [home.name]
    assert build(home, [IBM], "second") == 1
    assert found(home, "Merkel") == []
    assert before.item("Q567") == MERKEL  # who has it open reads on in the old one
    before.close()


def test_an_import_reads_what_is_right_and_says_what_is_not(tmp_path: Path) -> None:
    rows = [
        row(1, types=["Q5", "Q43229", "Q999999"], sitelinks=7),
        b"{broken",
        [1],
        row(2, label=" "),
        {"label": "x"},
        row(3, aliases="x"),
        row(4),
        row(4, label="twice"),
        row(5),
        row(6),
    ]
    for compress in (False, True):
        skipped: list[str] = []
        shares: list[float] = []
        items = list(read_items(jsonl(tmp_path / "kb.jsonl", rows, compress), skipped, shares.append))
        assert [i.id for i in items] == ["Q1", "Q4", "Q4", "Q5", "Q6"]
        assert items[0].types == ("PERSON", "ORG") and items[0].popularity == 7
        assert [s.split(":")[0] for s in skipped] == ["line 2", "line 3", "line 4", "line 5", "line 6"]
        assert "`aliases`" in skipped[-1] and shares[-1] == 1.0
    assert build(tmp_path / "kb.sqlite", items, "test") == 4  # of two with one id the first counts
    assert found(tmp_path / "kb.sqlite", "twice") == []


def test_too_many_malformed_lines_stop_an_import(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "kb.jsonl", [row(1), *[b"no json"] * (knowledge_base.BAD_LINES + 1)])
    with pytest.raises(WrongUse, match=r"line 2: "):
        list(read_items(file, []))


@pytest.mark.parametrize("rows", [[], [{"id": "r1", "name": "Apple"}] * 3, [row(1), b"no json", [1]]])
def test_a_file_of_something_else_leaves_the_knowledge_base_that_is_there(home: Path, tmp_path: Path, rows: list[object]) -> None:
    with pytest.raises(WrongUse, match="Nothing was imported"):
        build(home, read_items(jsonl(tmp_path / "other.jsonl", rows), []), "other")
    assert found(home, "Merkel")


@pytest.mark.parametrize("cut", [10, 60])
def test_a_file_that_is_no_knowledge_base_is_refused(tmp_path: Path, cut: int) -> None:
    whole = jsonl(tmp_path / "kb.jsonl.gz", [row(n) for n in range(1, 50)], compress=True)
    whole.write_bytes(whole.read_bytes()[:cut])
    with pytest.raises(WrongUse, match="kb"):
        list(read_items(whole, []))
    with pytest.raises(WrongUse, match="missing"):
        list(read_items(tmp_path / "missing.jsonl", []))


def test_damage_is_told_with_the_way_out(home: Path) -> None:
    whole = home.read_bytes()
    for broken in (b"", b"no database at all" * 1000, whole[:5000], whole + b"more"):
        home.write_bytes(broken)
        with pytest.raises(Damaged, match="polyonym kb import"):
            KnowledgeBase(home)
    middle = len(whole) // 2 // 4096 * 4096
    home.write_bytes(whole[:middle] + b"\xff" * 4096 + whole[middle + 4096 :])
    with pytest.raises(Damaged, match="polyonym kb import"):
        base = KnowledgeBase(home)
        base.candidates([name for item in ITEMS for name in (item.label, *item.aliases)])
        assert [base.item(i.id) for i in ITEMS] != ITEMS


def test_a_missing_or_foreign_one_is_told(home: Path, tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="There is no knowledge base"):
        KnowledgeBase(tmp_path / "none")
    with sqlite3.connect(home) as connection:
        connection.execute("UPDATE meta SET value = 'another' WHERE key = 'names'")
    with pytest.raises(WrongUse, match="Import it again"):
        KnowledgeBase(home)
    with pytest.raises(WrongUse, match="Import it again"):
        add(home, [IBM])
    with sqlite3.connect(home) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    with pytest.raises(Damaged, match="newer version"):
        KnowledgeBase(home)


_LOOK_UP_TWICE = """
import sys
from pathlib import Path
from polyonym.resolution.linking.knowledge_base import KnowledgeBase
for _ in range(2):
    print(*[c.item.id for c in KnowledgeBase(Path(sys.argv[1])).candidates(["Apple"])["Apple"]])
"""


def test_several_processes_read_at_once(home: Path) -> None:
    command = [sys.executable, "-c", _LOOK_UP_TWICE, str(home)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [reader.communicate()[0] for reader in readers] == ["Q312 Q89 Q421253\n" * 2] * 2


def test_popularity_and_id_are_on_one_scale() -> None:
    ages = [prominence(Item(f"Q{n}", "x", wikidata_id=f"Q{n}")) for n in (30, 5000, 100_000, 10_000_000, 130_000_000)]
    assert ages == sorted(ages, reverse=True) and ages[-1] >= 0
    known = [prominence(Item("Q1", "x", popularity=n)) for n in (0, 2, 25, 300)]
    assert known == sorted(known)
    # What an id of that age has on average, it has in sitelinks: within a factor of three.
    for number, sitelinks in ((500, 200), (100_000, 25), (10_000_000, 2)):
        assert abs(prominence(Item(f"Q{number}", "x")) - prominence(Item("Q1", "x", popularity=sitelinks))) < 1.1


def test_classes_are_mapped_to_our_types() -> None:
    assert types_of(["Q515", "Q5", "nonsense"]) == ("PERSON", "PLACE")
    assert types_of(["ORG"]) == ("ORG",)


@pytest.mark.slow
def test_the_large_one_is_imported_in_a_minute_and_answers_at_once(tmp_path: Path) -> None:
    file = SHARED / "kb" / "kb.jsonl.gz"
    if not file.exists():
        pytest.skip(f"no knowledge base at {file}: set POLYONYM_TEST_DATA")
    skipped: list[str] = []
    start = time.process_time()
    count = build(tmp_path / "kb.sqlite", read_items(file, skipped), file.name)
    assert (count, skipped) == (271_286, [])
    assert time.process_time() - start < 240  # a minute on an idle machine
    start = time.perf_counter()
    base = KnowledgeBase(tmp_path / "kb.sqlite")
    assert time.perf_counter() - start < 5
    asked = [item.label for item, _ in zip(read_items(file, []), range(20_000), strict=False)][::10]
    base.candidates(asked)
    start = time.process_time()
    answers = base.candidates(asked)
    assert (time.process_time() - start) / len(asked) < 0.01
    assert all(any(c.item.label == name for c in answers[name]) for name in asked)
