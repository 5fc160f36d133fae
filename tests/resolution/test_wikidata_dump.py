"""A knowledge base from a Wikidata dump: what is kept, what is passed over, and going on after a crash."""

import bz2
import gzip
import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wikidata_server import data_folder, entity, recorded_entities, statement

from polyonym.ingest.errors import WrongUse
from polyonym.resolution.linking import knowledge_base
from polyonym.resolution.linking.candidates import Item
from polyonym.resolution.linking.knowledge_base import KnowledgeBase
from polyonym.resolution.linking.wikidata import dump as wikidata_dump
from polyonym.resolution.linking.wikidata.dump import DumpChoice, DumpSummary, Progress, Taxonomy, read_dump, read_subclasses, write_read

PACK: dict[str, Callable[[bytes], bytes]] = {".json": bytes, ".json.gz": gzip.compress, ".json.bz2": bz2.compress}


def write(path: Path, lines: Iterable[Any], frame: bool = True) -> Path:
    """A dump of entities (or of raw lines), in the real one's form."""
    rows = [line if isinstance(line, bytes) else json.dumps(line, separators=(",", ":")).encode() for line in lines]
    text = b"[\n" + b",\n".join(rows) + b"\n]\n" if frame else b"\n".join(rows)
    path.write_bytes(PACK["".join(path.suffixes)](text))
    return path


def items(path: Path) -> list[Item]:
    knowledge = KnowledgeBase(path)
    try:
        with closing(sqlite3.connect(path)) as connection:
            ids = [row[0] for row in connection.execute("SELECT id FROM items")]
        return [item for i in sorted(ids, key=lambda i: int(i[1:])) if (item := knowledge.item(i))]
    finally:
        knowledge.close()


def build_from_dump(dump: Path, kb_path: Path, choice: DumpChoice, progress: Progress | None = None) -> DumpSummary:
    summary = read_dump(dump, kb_path, choice, progress)
    write_read(dump, kb_path)
    return summary


def many(count: int) -> list[dict[str, Any]]:
    return [entity(f"Q{n}", f"Thing {n}", aliases=(f"T{n}",), classes=("Q515",), sitelinks=1 + n % 3) for n in range(1, count + 1)]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wikidata_dump, "LINES_A_PART", 10)
    monkeypatch.setattr(wikidata_dump, "PROGRESS_LINES", 1)
    monkeypatch.setattr(wikidata_dump, "SKIP", 1000)


@pytest.mark.parametrize("ending", sorted(PACK))
def test_a_dump_becomes_a_knowledge_base(tmp_path: Path, ending: str) -> None:
    company = entity(
        "Q312", "Apple Inc.", aliases=("Apple Computer",), description="maker of computers", classes=("Q4830453",), sitelinks=3,
        P1813=[statement({"text": "Apple", "language": "en"})], P414=[statement({"id": "Q82059"}, P249=["AAPL"])],
    )  # fmt: skip
    company["labels"]["de"] = {"language": "de", "value": "Apfel AG"}
    lines = [
        {"type": "property", "id": "P31", "labels": {"en": {"language": "en", "value": "instance of"}}},
        company,
        entity("Q3", "No page", sitelinks=0),
        entity("Q4", "", sitelinks=5),
        entity("Q5", "Berlin", description="Wikimedia disambiguation page", classes=("Q4167410",), sitelinks=4),
        entity("Q6", "Category:Berlin", classes=("Q4167836",), sitelinks=4),
        entity("Q64", "Berlin", classes=("Q515",), sitelinks=2),
    ]
    heard: list[tuple[float, DumpSummary]] = []
    path = tmp_path / "kb.sqlite"
    summary = build_from_dump(
        write(tmp_path / f"latest-all{ending}", lines), path, DumpChoice(("en", "de")), lambda *args: heard.append(args)
    )
    assert (summary.lines, summary.kept, summary.malformed, summary.cut_off) == (7, 2, 0, False)
    assert items(path) == [
        Item("Q64", "Berlin", (), None, ("PLACE",), 2, "Q64"),
        Item("Q312", "Apple Inc.", ("Apfel AG", "Apple Computer", "Apple", "AAPL"), "maker of computers", ("ORG",), 3, "Q312"),
    ]
    assert heard[-1] == (1.0, summary)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["kb.sqlite", f"latest-all{ending}"]
    assert KnowledgeBase(path).source == f"Wikidata dump latest-all{ending}"


def test_languages_classes_and_sitelinks_are_chosen(tmp_path: Path) -> None:
    lines = [
        entity("Q1", "One", classes=("Q515",), sitelinks=1),
        entity("Q2", "Two", classes=("Q5",), sitelinks=9),
        entity("Q3", "", sitelinks=9),
    ]
    lines[2]["labels"] = {"mul": {"language": "mul", "value": "Drei"}}
    dump = write(tmp_path / "dump.json", lines)
    path = tmp_path / "kb.sqlite"

    def kept(**choice: Any) -> list[str]:
        build_from_dump(dump, path, DumpChoice(**choice))
        return [item.id for item in items(path)]

    assert kept() == ["Q1", "Q2", "Q3"]
    assert kept(languages=("en",)) == ["Q1", "Q2"]
    assert kept(min_sitelinks=2) == ["Q2", "Q3"]
    assert kept(classes=("Q515",)) == ["Q1"]
    with pytest.raises(WrongUse, match="None of the 3 entities"):
        kept(classes=("Q56061",))
    above = tmp_path / "subclasses.tsv"
    above.write_text(
        "<http://www.wikidata.org/entity/Q515>\t<http://www.wikidata.org/entity/Q486972>\nQ486972\tQ56061\nQ56061\tQ515\n# a circle\n"
    )
    assert kept(classes=("Q56061",), subclasses=above) == ["Q1"]


@pytest.mark.parametrize("content", [b"", b"Once upon a time\n", json.dumps([entity("Q1", "One"), entity("Q2", "Two")]).encode()])
def test_a_file_that_is_no_dump_leaves_the_knowledge_base_as_it_was(tmp_path: Path, content: bytes) -> None:
    path, wrong = tmp_path / "kb.sqlite", tmp_path / "wrong.json"
    build_from_dump(write(tmp_path / "dump.json", many(2)), path, DumpChoice())
    wrong.write_bytes(content)
    with pytest.raises(WrongUse, match="holds no entity"):
        read_dump(wrong, path, DumpChoice())
    assert len(items(path)) == 2
    assert not (tmp_path / "kb.sqlite.parts").exists()


@pytest.mark.parametrize("languages", [(), ("en", "Englisch"), ("en mul",)])
def test_what_is_no_language_is_refused(languages: tuple[str, ...]) -> None:
    with pytest.raises(WrongUse, match="language"):
        DumpChoice(languages)


def test_writing_tells_its_own_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wikidata_dump, "TOLD_ITEMS", 10)
    dump, path = write(tmp_path / "dump.json", many(40)), tmp_path / "kb.sqlite"
    read_dump(dump, path, DumpChoice())
    heard: list[float] = []
    write_read(dump, path, heard.append)
    assert heard == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_types_come_from_the_nearest_class_above(tmp_path: Path) -> None:
    path = tmp_path / "subclasses.tsv.gz"
    path.write_bytes(gzip.compress(b"Q900000001 Q900000002\nQ900000002 Q515\nQ900000003 Q5\nQ515 Q43229\nQ900000004,Q900000004\n"))
    taxonomy = Taxonomy(read_subclasses(path))
    assert taxonomy.types(["Q900000001"]) == ("PLACE",)
    assert taxonomy.types(["Q900000001", "Q900000003"]) == ("PERSON", "PLACE")
    assert taxonomy.types(["Q900000004", "Q999999999"]) == ()
    assert taxonomy.below(["Q900000001"], ["Q43229"])
    assert not taxonomy.below(["Q900000003"], ["Q43229"])
    empty = tmp_path / "empty.tsv"
    empty.write_text("class\tsuperclass\n")
    for wrong in (empty, tmp_path / "absent.tsv"):
        with pytest.raises(WrongUse, match=wrong.name):
            read_subclasses(wrong)


def test_malformed_lines_are_counted_and_end_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wikidata_dump, "LONGEST_LINE", 2000)
    good = many(3)
    lines = [
        good[0],
        b'{"id":"Q7","labels":',
        good[1],
        b'["Q8"]',
        b'{"labels":{}}',
        b'{"id":"Q9","labels":{"en":{"value":7}}}',
        b"\xff\xfe",
        b'{"id":"' + b"x" * 9000 + b'"}',
        good[2],
    ]
    path = tmp_path / "kb.sqlite"
    summary = build_from_dump(write(tmp_path / "dump.json", lines), path, DumpChoice())
    assert (summary.lines, summary.kept, summary.malformed, summary.cut_off) == (9, 3, 6, False)
    assert [example.split(":")[0] for example in summary.examples] == ["line 2", "line 4", "line 5", "line 6", "line 7", "line 8"]
    assert "longer than" in summary.examples[-1]
    assert len(items(path)) == 3


def test_a_selection_of_lines_is_a_dump_and_a_lost_end_is_told(tmp_path: Path) -> None:
    path = tmp_path / "kb.sqlite"
    assert not build_from_dump(write(tmp_path / "lines.json", many(3), frame=False), path, DumpChoice()).cut_off
    whole = write(tmp_path / "whole.json", many(3)).read_bytes()
    (tmp_path / "cut.json").write_bytes(whole[: whole.rindex(b",\n") + 2])
    summary = build_from_dump(tmp_path / "cut.json", path, DumpChoice())
    assert (summary.cut_off, summary.kept) == (True, 2)


@pytest.mark.parametrize("ending", [".json.gz", ".json.bz2"])
def test_a_compressed_dump_that_is_cut_short_is_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "kb.sqlite"
    build_from_dump(write(tmp_path / "old.json", many(2)), path, DumpChoice())
    dump = write(tmp_path / f"dump{ending}", many(2000))
    dump.write_bytes(dump.read_bytes()[:-200])
    with pytest.raises(WrongUse, match="download it again"):
        build_from_dump(dump, path, DumpChoice())
    with pytest.raises(WrongUse, match=r"absent\.json"):
        build_from_dump(tmp_path / "absent.json", path, DumpChoice())
    assert len(items(path)) == 2


class Killed(Exception):
    pass


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("ending", sorted(PACK))
@pytest.mark.parametrize("line", [1, 10, 11, 57])
def test_broken_off_work_is_gone_on_with(tmp_path: Path, ending: str, line: int) -> None:
    dump = write(tmp_path / f"dump{ending}", [*many(35), b"not an entity", *many(60)[35:]])

    def stop(_share: float, summary: DumpSummary) -> None:
        if summary.lines == line:
            raise Killed

    path, whole = tmp_path / "kb.sqlite", tmp_path / "whole.sqlite"
    with pytest.raises(Killed):
        build_from_dump(dump, path, DumpChoice(), stop)
    assert not path.exists()
    heard: list[int] = []
    summary = build_from_dump(dump, path, DumpChoice(), lambda _share, s: heard.append(s.lines))
    assert min(heard) >= (line - 1) // 10 * 10 or line <= 10  # whole parts were not parsed again
    assert summary == build_from_dump(dump, whole, DumpChoice())
    assert (summary.lines, summary.kept, summary.malformed) == (61, 60, 1)
    assert path.read_bytes() == whole.read_bytes()


@pytest.mark.usefixtures("small_parts")
def test_a_crash_while_the_knowledge_base_is_written_costs_no_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dump, path = write(tmp_path / "dump.json.gz", many(25)), tmp_path / "kb.sqlite"

    def crash(*_args: Any) -> int:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(knowledge_base, "build", crash)
        build_from_dump(dump, path, DumpChoice())
    heard: list[int] = []
    assert build_from_dump(dump, path, DumpChoice(), lambda _share, s: heard.append(s.lines)).kept == 25
    assert heard == []


@pytest.mark.usefixtures("small_parts")
def test_other_wishes_or_another_dump_begin_anew(tmp_path: Path) -> None:
    dump, path = write(tmp_path / "dump.json", many(25)), tmp_path / "kb.sqlite"

    def stop(_share: float, summary: DumpSummary) -> None:
        if summary.lines == 21:
            raise Killed

    for second in (DumpChoice(min_sitelinks=3), DumpChoice()):
        with pytest.raises(Killed):
            build_from_dump(dump, path, DumpChoice(min_sitelinks=2), stop)
        if second == DumpChoice():
            write(dump, many(30))
        build_from_dump(dump, path, second)
        assert [item.popularity for item in items(path)] == [
            n for n in (1 + i % 3 for i in range(1, 31 if second == DumpChoice() else 26)) if n >= second.min_sitelinks
        ]
    (tmp_path / "kb.sqlite.parts").mkdir()
    (tmp_path / "kb.sqlite.parts" / "spool.json").write_text('{"job": 3}')
    assert build_from_dump(dump, path, DumpChoice()).kept == 30


@settings(max_examples=25, deadline=None)
@given(st.lists(st.binary(max_size=60).filter(lambda line: b"\n" not in line), max_size=30), st.integers(1, 7))
def test_rubbish_is_never_fatal(tmp_path_factory: pytest.TempPathFactory, rubbish: list[bytes], size: int) -> None:
    folder = tmp_path_factory.mktemp("rubbish")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wikidata_dump, "LINES_A_PART", size)
        summary = build_from_dump(write(folder / "dump.json", [*rubbish, *many(2)]), folder / "kb.sqlite", DumpChoice())
    assert summary.kept == 2
    # What looks like an entity without a page on any wiki is left out unparsed, malformed or not.
    skipped = sum(line.startswith(b"{") and line.endswith(b"}") for line in rubbish)
    assert summary.lines - skipped <= summary.malformed + 2 <= summary.lines


def test_recorded_items_make_a_knowledge_base(tmp_path: Path) -> None:
    if not (data_folder() / "wikidata_api").exists():
        pytest.skip(f"no recorded items at {data_folder()}; set POLYONYM_TEST_DATA to the data folder")
    path = tmp_path / "kb.sqlite"
    summary = build_from_dump(write(tmp_path / "dump.json.gz", recorded_entities(data_folder())), path, DumpChoice())
    assert summary.malformed == 0
    assert summary.kept > 700
    knowledge = KnowledgeBase(path)
    best = knowledge.candidates(["Oxford"])["Oxford"][0].item
    assert (best.id, best.types) == ("Q34217", ("PLACE",))
    assert best.popularity is not None and best.popularity > 100
    assert knowledge.item("Q2130392") is None  # a disambiguation page
