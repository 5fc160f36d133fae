"""Spreadsheets, JSON and XML: what is a table in them gives a document a row, all else is a text."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from workbooks import xlsx

from polyonym.ingest.readers import Layout, Read, ReaderOptions, Unreadable, read_file

PEOPLE: list[list[Any]] = [["name", "firm", "age"], ["Karin Holm", "Velmora Energy", 51], ["Jens Aagaard", "Nordvik Shipping", 49.5]]
TEXTS = ["name: Karin Holm\nfirm: Velmora Energy", "name: Jens Aagaard\nfirm: Nordvik Shipping"]


def read(path: Path, content: Any = None, options: ReaderOptions | None = None) -> list[Read | Unreadable]:
    if content is not None:
        path.write_bytes(
            content if isinstance(content, bytes) else content.encode() if isinstance(content, str) else json.dumps(content).encode()
        )
    return list(read_file(path, options))


def texts(results: list[Read | Unreadable]) -> list[str]:
    return [result.text for result in results if isinstance(result, Read)]


def test_a_workbook_of_one_sheet_is_a_table(tmp_path: Path) -> None:
    xlsx(tmp_path / "a.xlsx", {"Sheet1": [["Staff list 2024"], [], *PEOPLE]})
    layouts: list[Layout] = []
    results = list(read_file(tmp_path / "a.xlsx", layouts=layouts))
    assert texts(results) == TEXTS
    assert [r.metadata for r in results if isinstance(r, Read)] == [{"age": 51}, {"age": 49.5}]
    assert all(r.suffix.startswith("row-") for r in results)
    assert [layout.as_json() for layout in layouts] == [{"head": "row 3", "passed_over": "1", "text": ["name", "firm"], "id": ""}]


def test_every_visible_sheet_is_a_table(tmp_path: Path) -> None:
    firms: list[list[Any]] = [["id", "Firm", "Seat"], [1, "Velmora", "Aarhus"], [2, "Nordvik", "Bergen"]]
    xlsx(tmp_path / "a.xlsx", {"People": PEOPLE, "Empty": [], "Firms": firms, "Numbers": [[1], [2]], "Old": PEOPLE}, hidden=["Old"])
    results = read(tmp_path / "a.xlsx")
    assert [r.suffix for r in results if isinstance(r, Read)][2:] == ["Firms/1", "Firms/2"]
    assert texts(results) == [*TEXTS, "Firm: Velmora\nSeat: Aarhus", "Firm: Nordvik\nSeat: Bergen"]
    assert [r for r in results if isinstance(r, Unreadable)] == [Unreadable("Numbers", "no column of texts; columns: column 1")]


def test_an_open_document_spreadsheet(tmp_path: Path) -> None:
    office = "urn:oasis:names:tc:opendocument:xmlns:"
    cell = "<table:table-cell office:value-type='string'><text:p>{}</text:p></table:table-cell>"
    content = (["id", "name", "firm"], ["a1", "Karin Holm", "Velmora"], ["a2", "Jens Aagaard", "Nordvik"])
    rows = "".join(f"<table:table-row>{''.join(map(cell.format, row))}</table:table-row>" for row in content)
    with zipfile.ZipFile(tmp_path / "a.ods", "w") as package:
        package.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        package.writestr(
            "content.xml",
            f'<office:document-content xmlns:office="{office}office:1.0" xmlns:table="{office}table:1.0" xmlns:text="{office}text:1.0">'
            f'<office:body><office:spreadsheet><table:table table:name="S">{rows}</table:table></office:spreadsheet></office:body></office:document-content>',
        )
        package.writestr(
            "META-INF/manifest.xml",
            f'<manifest:manifest xmlns:manifest="{office}manifest:1.0"><manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>',
        )
    assert [(r.suffix, r.text) for r in read(tmp_path / "a.ods") if isinstance(r, Read)] == [
        ("a1", "name: Karin Holm\nfirm: Velmora"),
        ("a2", "name: Jens Aagaard\nfirm: Nordvik"),
    ]


@pytest.mark.parametrize("name", ["a.xlsx", "a.xls", "a.ods", "a.json", "a.xml"])
@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04" + b"\0" * 40, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, b"<<<>>>\xff", b"[{"]
)
def test_what_is_broken_has_a_reason(tmp_path: Path, name: str, content: bytes) -> None:
    results = read(tmp_path / name, content)
    assert all(isinstance(r, Unreadable) and 0 < len(r.reason) <= 200 for r in results) and results


def test_a_workbook_that_unpacks_without_end_is_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("xl/worksheets/sheet1.xml", b" " * 1_000_000)
    (result,) = read(tmp_path / "a.xlsx", options=ReaderOptions(max_bytes=1000))
    assert isinstance(result, Unreadable) and "oversized" in result.reason


RECORDS = [{"id": 1, "name": "Karin Holm", "firm": "Velmora"}, {"id": 2, "name": "Jens Aagaard", "firm": "Nordvik"}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", json.dumps(RECORDS)),
        ("a.json", json.dumps(RECORDS, indent=2)),
        ("a.jsonl", "\ufeff" + json.dumps(RECORDS, indent=2)),
        ("a.json", "".join(json.dumps(r) + "\n" for r in RECORDS)),
        ("a.json", json.dumps({"count": 2, "next": None, "results": RECORDS})),
        ("a.json", json.dumps({"count": 2, "response": {"staff": RECORDS}})),
        ("a.json", json.dumps(RECORDS).encode("utf-16")),
    ],
)
def test_a_list_of_objects_is_a_table(tmp_path: Path, name: str, content: str | bytes) -> None:
    results = read(tmp_path / name, content)
    assert [(r.suffix, r.text) for r in results if isinstance(r, Read)] == [
        ("1", "name: Karin Holm\nfirm: Velmora"),
        ("2", "name: Jens Aagaard\nfirm: Nordvik"),
    ]


def test_what_stands_beside_a_list_is_a_document_of_its_own(tmp_path: Path) -> None:
    results = read(tmp_path / "a.json", {"title": "Staff of Velmora", "year": 2024, "items": RECORDS})
    assert results[2:] == [Read("", "Staff of Velmora", "title: Staff of Velmora", {"year": 2024})]


def test_an_object_is_one_document(tmp_path: Path) -> None:
    content = {
        "name": "Velmora",
        "founded": 1999,
        "seat": {"city": "Aarhus"},
        "board": [{"name": "Ann Bee", "role": "chair"}, {"name": "Bo Cee"}],
    }
    assert read(tmp_path / "a.json", content) == [
        Read("", "Velmora", "name: Velmora\nseat.city: Aarhus\nboard: name: Ann Bee; role: chair\nboard: name: Bo Cee", {"founded": 1999})
    ]


def test_items_before_the_damage_are_read(tmp_path: Path) -> None:
    results = read(tmp_path / "a.json", json.dumps(RECORDS)[:-20])
    assert texts(results) == ["name: Karin Holm\nfirm: Velmora"]
    assert isinstance(results[-1], Unreadable) and results[-1].suffix == "" and "not valid JSON" in results[-1].reason


def test_records_of_xml_are_rows(tmp_path: Path) -> None:
    people = "".join(f'<person id="p{r["id"]}"><name>{r["name"]}</name><firm>{r["firm"]}</firm></person>' for r in RECORDS)
    results = read(tmp_path / "a.xml", f'<?xml version="1.0"?><staff><list>{people}</list></staff>')
    assert [(r.suffix, r.text) for r in results if isinstance(r, Read)] == [
        ("p1", "name: Karin Holm\nfirm: Velmora"),
        ("p2", "name: Jens Aagaard\nfirm: Nordvik"),
    ]


def test_the_items_of_a_feed_are_rows(tmp_path: Path) -> None:
    items = "".join(
        f"<item><title>News {n}</title><link>https://a.example/{n}</link><pubDate>Mon, 02 Dec 2024 10:00:00 GMT</pubDate>"
        f"<description>&lt;p&gt;Velmora won &lt;b&gt;order {n}&lt;/b&gt;&lt;/p&gt;</description></item>"
        for n in (1, 2)
    )
    results = read(tmp_path / "a.rss", f"<rss><channel><title>The North</title>{items}</channel></rss>")
    assert results[0] == Read(
        "https://a.example/1",
        "News 1",
        "title: News 1\ndescription: Velmora won order 1",
        {"pubDate": "Mon, 02 Dec 2024 10:00:00 GMT", "date": "2024-12-02T10:00:00+00:00"},
    )
    assert results[2] == Read("", "The North", "The North")


def test_prose_in_xml_is_one_text(tmp_path: Path) -> None:
    prose = ["Karin Holm leads.", "She lives in Oslo."]
    body = "<p>Karin <hi>Holm</hi> leads.</p><p>She lives\n in Oslo.</p>"
    content = f"<TEI><text><body><div><head>A Title</head>{body}</div><div><head>More</head>{body}</div></body></text></TEI>"
    (result,) = read(tmp_path / "a.xml", content)
    assert isinstance(result, Read)
    assert (result.title, result.text) == (
        "A Title",
        "\n\n".join(["A Title", *prose, "More", *prose]),
    )


def test_entities_of_xml_name_no_files_and_do_not_grow(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret words")
    entities = f'<!ENTITY file SYSTEM "file://{tmp_path}/secret"><!ENTITY a0 "aaaaaaaaaa">'
    for n in range(1, 9):
        inner = f"&a{n - 1};"
        entities += f"<!ENTITY a{n} '{inner * 10}'>"
    (result,) = read(tmp_path / "a.xml", f"<!DOCTYPE x [{entities}]><x><y>words &file; &a8;</y></x>")
    assert "secret words" not in str(result) and len(str(result)) < 1000
