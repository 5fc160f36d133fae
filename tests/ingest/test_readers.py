"""Readers: what is text comes through exactly, what is not does not, and nothing that is broken ends a run."""

import csv
import gzip
import io
import json
import os
import random
import zipfile
from pathlib import Path
from typing import Any

import docx
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from polyonym.ingest.readers import Layout, Read, ReaderOptions, Unreadable, format_of, read_file

DATA = Path(os.environ.get("POLYONYM_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
SEVERAL = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(path: Path, content: bytes | str, options: ReaderOptions | None = None) -> list[Read | Unreadable]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read_file(path, options))


def text_of(path: Path, content: bytes | str, options: ReaderOptions | None = None) -> Read:
    (result,) = read(path, content, options)
    assert isinstance(result, Read), result
    return result


def reason_of(path: Path, content: bytes | str, options: ReaderOptions | None = None) -> str:
    (result,) = read(path, content, options)
    assert isinstance(result, Unreadable), result
    assert result.suffix == ""
    return result.reason


# Plain text and encodings


@SEVERAL
@given(TEXTS, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
@example("\r\n a\u2028b\x85 \r", "utf-16")
@example("\ufeffx", "utf-8-sig")
def test_any_text_comes_back_unaltered(tmp_path: Path, text: str, encoding: str) -> None:
    (result,) = read(tmp_path / "a.txt", text.encode(encoding))
    if encoding == "utf-8":
        text = text.removeprefix("\ufeff")  # as a file it begins with a byte-order mark
    if text.strip():
        assert isinstance(result, Read)
        assert result.text == text
    else:
        assert result == Unreadable("", "empty: no text")


LEGACY = {
    "cp1252": "Der Präsident der Bundesrepublik besuchte gestern München. Größere Städte wie Köln müssen schönere Straßen bauen, sagte er. ",
    "iso8859_1": "El señor Muñoz viajó a España con su compañía; mañana volverá a Málaga después de la reunión número dos. ",
    "cp1250": "Wałęsa był przewodniczącym Solidarności. Wybory odbyły się w całej Polsce, również w Łodzi i Gdańsku, gdzie głosowało więcej osób. ",
    "cp1254": "Türkiye'nin başkenti Ankara'dır. Cumhurbaşkanı dün İstanbul'u ziyaret etti ve şöyle konuştu. ",
    "cp1251": "Президент Российской Федерации вчера встретился с министром иностранных дел в Москве. ",
    "koi8_r": "Президент Российской Федерации вчера встретился с министром иностранных дел в Москве. ",
    "cp1253": "Ο πρωθυπουργός της Ελλάδας επισκέφθηκε χθες τη Θεσσαλονίκη και μίλησε με πολίτες. ",
    "cp932": "東京都は日本の首都であり、世界最大の都市圏の一つである。昨日、首相は大阪を訪問した。",
    "euc_jp": "東京都は日本の首都であり、世界最大の都市圏の一つである。昨日、首相は大阪を訪問した。",
    "gb18030": "北京是中华人民共和国的首都，昨天总理访问了上海市，并且发表了讲话。",
    "big5": "台北市是中華民國的首都，昨天總統訪問了高雄市，並且發表了講話。",
    "cp949": "서울은 대한민국의 수도이다. 어제 대통령은 부산을 방문하여 연설을 하였다. ",
    "utf-16-le": "Der Präsident besuchte gestern München. ",
    "utf-16-be": "Президент Российской Федерации вчера встретился с министром. ",
}


@pytest.mark.parametrize("encoding", LEGACY)
@pytest.mark.parametrize("times", [1, 20])
def test_older_encodings_are_found_out(tmp_path: Path, encoding: str, times: int) -> None:
    text = LEGACY[encoding] * times
    assert text_of(tmp_path / "a.txt", text.encode(encoding)).text == text


def test_french_and_typographic_marks_of_windows(tmp_path: Path) -> None:
    for text in (
        "Le président a été élu à l'Assemblée nationale. Les députés français se réunissent à nouveau. ",
        "He said “it’s over” – the café’s owner, Mr. Smith, had £50 left.",
    ):
        assert text_of(tmp_path / "a.txt", text.encode("cp1252")).text == text


def test_a_few_damaged_bytes_do_not_change_the_encoding_of_the_rest(tmp_path: Path) -> None:
    text = "Größe, Übung, Äther, Straße, Mädchen, größer. " * 5
    assert text_of(tmp_path / "a.txt", text.encode() + b"\xff\xc3").text == text + "\ufffd\ufffd"


def test_one_long_line_does_not_take_for_ever(tmp_path: Path) -> None:
    text = "plain words " * 200_000 + "\nGrößere Städte müssen schönere Straßen für die Bürger bauen"
    assert text_of(tmp_path / "a.txt", text.encode("cp1252")).text == text
    text = "東京都は日本の首都であり、世界最大の都市圏の一つである。" * 5000
    assert text_of(tmp_path / "a.txt", text.encode("cp932")).text == text


def test_binary_content_is_no_text(tmp_path: Path) -> None:
    assert "binary content" in reason_of(tmp_path / "a.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0" * 30)
    assert "binary content" in reason_of(tmp_path / "a.txt", bytes(range(256)) * 8)
    assert "binary content" in reason_of(tmp_path / "a.txt", b"\xff\xfe" + random.Random(1).randbytes(2000))
    assert "NUL" in reason_of(tmp_path / "a.txt", "text with a \0 in it")


def test_titles_of_files_without_one_are_their_names(tmp_path: Path) -> None:
    assert text_of(tmp_path / "annual report.txt", "x").title == "annual report"
    assert text_of(tmp_path / "NOTES", "x").title == "NOTES"


# What is set aside


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.eml", "a.csv", "a.jsonl", "a.pdf", "a.docx", "a.parquet"])
@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01\x02\xff\xfe" * 50, b"%PDF-1.7\n%broken", b"PK\x03\x04" + b"\0" * 40, b"\xff\xfe\x00", b"<<<>>>\xff"]
)
def test_nothing_that_is_broken_raises(tmp_path: Path, name: str, content: bytes) -> None:
    for result in read(tmp_path / name, content):
        assert isinstance(result, Unreadable) or result.text.strip()
        assert not isinstance(result, Unreadable) or (0 < len(result.reason) <= 200 and "\n" not in result.reason)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.sampled_from(["md", "html", "eml", "csv", "tsv", "jsonl", "txt.gz", "parquet", "docx"]))
def test_no_bytes_raise(tmp_path: Path, content: bytes, suffix: str) -> None:
    results = read(tmp_path / f"a.{suffix}", content)
    assert results
    assert len({result.suffix for result in results}) == len(results)


@pytest.mark.parametrize("name", ["a.txt", "a.html", "a.csv", "a.jsonl", "a.txt.gz"])
def test_empty_files(tmp_path: Path, name: str) -> None:
    content = gzip.compress(b"") if name.endswith(".gz") else b""
    assert "empty" in reason_of(tmp_path / name, content)
    assert "empty" in reason_of(tmp_path / name, gzip.compress(b" \n\t\n") if name.endswith(".gz") else b" \n\t\n")


@pytest.mark.parametrize("name", ["a.png", "a.pdf.gz", "a.tar.gz", "a.gz", "a.doc", "a.whatever"])
def test_unknown_formats(tmp_path: Path, name: str) -> None:
    assert reason_of(tmp_path / name, b"x").startswith("unsupported format " + name[1:])
    assert format_of(name) is None


def test_an_unsupported_format_says_what_to_do(tmp_path: Path) -> None:
    assert reason_of(tmp_path / "a.doc", b"x") == "unsupported format .doc: save it as .docx or .pdf"
    assert reason_of(tmp_path / "a.zip", b"x") == "unsupported format .zip: unpack it into the source's folder"


def test_too_large_files(tmp_path: Path) -> None:
    small = ReaderOptions(max_bytes=1000)
    assert text_of(tmp_path / "a.txt", "x" * 1000, small).text == "x" * 1000
    assert "oversized" in reason_of(tmp_path / "a.txt", "x" * 1001, small)
    assert "oversized" in reason_of(tmp_path / "a.txt.gz", gzip.compress(b"x" * 1001), small)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("word/document.xml", "x" * 2000)
    assert "oversized" in reason_of(tmp_path / "a.docx", packed.getvalue(), small)


def test_a_gzip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "bomb.txt.gz", "wb") as file:
        for _ in range(200):
            file.write(b" " * (1 << 20))
    (result,) = read_file(tmp_path / "bomb.txt.gz", ReaderOptions(max_bytes=1 << 20))
    assert isinstance(result, Unreadable)
    assert result.reason.startswith("oversized")


def test_truncated_and_broken_gzip(tmp_path: Path) -> None:
    assert "truncated" in reason_of(tmp_path / "a.txt.gz", gzip.compress(os.urandom(5000))[:2000])
    assert "broken" in reason_of(tmp_path / "a.txt.gz", b"no gzip at all")


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "link.txt").symlink_to(tmp_path / "gone.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "self.txt").symlink_to(tmp_path / "self.txt")
    assert list(read_file(tmp_path)) == [Unreadable("", "a folder that cannot be looked into")]
    assert list(read_file(tmp_path / "self.txt")) == [Unreadable("", "too many levels of symbolic links")]
    for name, reason in {"link.txt": "broken symbolic link", "gone.txt": "no longer there", "pipe.txt": "not a regular file"}.items():
        assert list(read_file(tmp_path / name)) == [Unreadable("", reason)]


# Web pages

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Acme buys
 Widget &amp; Co</title><meta name="description" content="A deal."><meta property="article:published_time" content="2021-03-04">
<style>p {color: red}</style><script>var x = "script text";</script></head><body>
<header><a href="/">Site header</a></header><nav><ul><li>Navigation entry</li></ul></nav>
<div class="sidebar">Sidebar words</div><div style="display:none">Hidden words</div><div id="cookie-banner">Cookie words</div>
<article><header><h1>Acme buys Widget</h1></header><p>Acme <b>Inc</b>. of New<br>York
 bought it.</p><p>Second para&shy;graph.</p><ul><li>One</li><li>Two</li></ul>
<table><tr><th>Name</th><th>Price</th></tr><tr><td>Widget</td><td>$</td><td>5</td></tr></table><pre>a
  b</pre><noscript>No script words</noscript><!-- comment words --></article>
<footer>Footer words</footer></body></html>"""


def test_a_page_without_its_frame(tmp_path: Path) -> None:
    result = text_of(tmp_path / "a.html", PAGE)
    assert result.title == "Acme buys Widget & Co"
    assert result.metadata == {"description": "A deal.", "published": "2021-03-04", "language": "en"}
    assert result.text == (
        "Acme buys Widget\n\nAcme Inc. of New\nYork bought it.\n\nSecond para\u00adgraph.\n\nOne\n\nTwo\n\nName | Price\nWidget | $ 5\n\na\n  b"
    )


@pytest.mark.parametrize(
    "declared", ['<meta charset="windows-1251">', '<?xml version="1.0" encoding="windows-1251"?>', "", '<meta charset="nonsense">']
)
def test_the_encoding_of_a_page_is_declared_or_found_out(tmp_path: Path, declared: str) -> None:
    text = LEGACY["cp1251"].strip()
    assert text in text_of(tmp_path / "a.html", f"{declared}<p>{text}</p>".encode("cp1251")).text


def test_a_falsely_declared_page(tmp_path: Path) -> None:
    assert text_of(tmp_path / "a.html", '<meta charset="ascii"><p>Müller</p>'.encode()).text == "Müller"


def test_layout_tables_are_paragraphs(tmp_path: Path) -> None:
    long = "A sentence of a page that is laid out by a table. " * 6
    assert (
        text_of(tmp_path / "a.html", f"<table><tr><td><p>{long}</p><p>{long}</p></td></tr></table>").text
        == f"{long.strip()}\n\n{long.strip()}"
    )


def test_nested_parts_of_the_frame(tmp_path: Path) -> None:
    frame = "<nav><div class=menu><nav hidden><button>b</button><select><option>o</option></select></nav></div></nav>" * 50
    assert (
        text_of(tmp_path / "a.html", f"<body style='display:none'><header>{frame}</header><p>core</p><aside>{frame}</aside></body>").text
        == "core"
    )


def test_a_frame_that_holds_most_of_the_page_is_none(tmp_path: Path) -> None:
    page = f"<div class='wrapper sidebar'><p>{'The story. ' * 20}</p></div><div class='sidebar'><p>Other stories</p></div>"
    assert text_of(tmp_path / "a.html", page).text.startswith(("The story. " * 20).strip())


def test_a_page_without_text(tmp_path: Path) -> None:
    assert reason_of(tmp_path / "a.html", "<html><script>x</script></html>") == "empty: no text"


def test_deeply_nested_markup(tmp_path: Path) -> None:
    assert "core" in text_of(tmp_path / "a.html", "<div>" * 2000 + "core").text
    assert "nested" in reason_of(tmp_path / "a.html", "<div><span class=x>" * 200_000 + "core")
    assert text_of(tmp_path / "a.html", "<p>x<br><li>y</p>" * 10_000).text.startswith("x")


# Markdown


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Hello <script>var a=1</script> world", "Hello  world"),
        ("Hello <STYLE type='x'>a *b* c</style>world", "Hello world"),
        ("The <script> tag is old", "The  tag is old"),
        ("a</script> b <template>c</template>d<script>e", "a b de"),
    ],
)
def test_scripts_inside_a_paragraph_are_no_text(tmp_path: Path, source: str, text: str) -> None:
    assert text_of(tmp_path / "a.md", source).text == text


def test_markdown_without_its_marks(tmp_path: Path) -> None:
    source = """---
title: From the front
tags: [a, b]
date: 2021-03-04
nested: {x: 1}
---
# A *heading* with `code`

Some **bold** text with a [link](https://example.org/page) and
a soft break, ![a picture](x.png)<br>and <i>inline</i> markup.

- one
- two

| Name | City |
|---|---|
| Ann | Bonn |

```
code = 1
```

<div><p>Markup &amp; more</p></div>

[ref]: https://example.org
"""
    result = text_of(tmp_path / "a.md", source)
    assert result.title == "From the front"
    assert result.metadata == {"title": "From the front", "tags": ["a", "b"], "date": "2021-03-04"}
    assert result.text == (
        "A heading with code\n\nSome bold text with a link and a soft break, a picture\nand inline markup.\n\none\n\ntwo\n\n"
        "Name | City\nAnn | Bonn\n\ncode = 1\n\nMarkup & more"
    )


def test_the_first_heading_is_the_title(tmp_path: Path) -> None:
    assert text_of(tmp_path / "a.md", "intro\n\n## First *thing*\n\n# Second").title == "First thing"
    assert text_of(tmp_path / "a.md", "+++\nauthor = 'Ann'\n+++\n# One").metadata == {"author": "Ann"}


def test_a_ruler_is_no_front_matter(tmp_path: Path) -> None:
    assert text_of(tmp_path / "a.md", "---\nJust: a: line\n---\n\ntext").text == "Just: a: line\n\ntext"


# PDF


def pdf(*pages: list[str], title: str = "") -> bytes:
    """A minimal PDF with lines of text on its pages."""
    bodies = []
    for lines in pages:
        shown = " ".join(f"({line}) Tj T*" for line in lines)
        bodies.append(f"BT /F1 12 Tf 14 TL 72 700 Td {shown} ET".encode("latin-1"))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, body in enumerate(bodies):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R /Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(body), body))
    objects.append(f"<< /Title ({title}) /Author (Ann) /CreationDate (D:20210304120000Z) >>".encode())
    out, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    tail = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer << /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>\n"
    return out + tail.encode() + b"startxref\n%d\n%%%%EOF" % len(out)


def test_pdf_text_title_and_metadata(tmp_path: Path) -> None:
    first = [
        "Acme Inc of New",
        "",
        "The company that makes widgets and other small objects was",
        "founded in 1990 and is an impor-",
        "tant one of its kind.",
    ]
    result = text_of(tmp_path / "a.pdf", pdf(first, ["Second page."], title="The report"))
    assert result.title == "The report"
    assert result.metadata == {"author": "Ann", "created": "2021-03-04", "pages": 2}
    assert "\r" not in result.text
    assert result.text.endswith("\n\nSecond page.")
    assert "objects was founded in 1990 and is an important one of its kind." in result.text


def test_running_heads_go_but_the_first(tmp_path: Path) -> None:
    pages = [
        ["The Acme Report", f"Text of the page with number {word}.", f"Page {n}"] for n, word in enumerate(("one", "two", "three", "four"))
    ]
    text = text_of(tmp_path / "a.pdf", pdf(*pages)).text
    assert text.count("The Acme Report") == 1
    assert "number three" in text
    assert "Page 2" not in text


def test_running_heads_and_feet_of_several_lines_go(tmp_path: Path) -> None:
    pages = [
        [
            "North Sea Authority",
            f"Decision 12 of {2020 + n}",
            f"Page {n}",
            f"The {word} page says what the board found out there.",
            "Confidential",
            f"{n}",
        ]
        for n, word in enumerate(("one", "two", "three", "four"), 1)
    ]
    text = text_of(tmp_path / "a.pdf", pdf(*pages)).text
    assert text.count("North Sea Authority") == text.count("Confidential") == 1
    assert "Page 3" not in text
    assert all(f"The {word} page" in text for word in ("one", "two", "three", "four"))


def test_a_paragraph_goes_on_over_the_end_of_a_page(tmp_path: Path) -> None:
    first = [
        "The board of the company met on the quay of the old harbour and",
        "asked its chairman whether the offer had been made by Margrethe",
    ]
    assert "by Margrethe Vestager of" in text_of(tmp_path / "a.pdf", pdf(first, ["Vestager of Copenhagen."])).text


def test_a_name_cut_at_its_own_hyphen_keeps_it(tmp_path: Path) -> None:
    lines = ["The minutes of the long meeting were asked for by Jean-", "Claude Trichet, who had not been there on that day at all."]
    assert "Jean-Claude Trichet" in text_of(tmp_path / "a.pdf", pdf(lines)).text


def test_hyphens_that_belong_to_a_word_stay(tmp_path: Path) -> None:
    lines = [
        "A well-known thing is what we call well-",
        "known here, as the old and quite famous ex-",
        "ample shows to everyone who reads it at all.",
    ]
    assert "well-known here" in text_of(tmp_path / "a.pdf", pdf(lines)).text
    assert "famous example shows" in text_of(tmp_path / "a.pdf", pdf(lines)).text


def test_pdf_without_text(tmp_path: Path) -> None:
    assert reason_of(tmp_path / "a.pdf", pdf([])).startswith("no text layer")


def test_truncated_pdf(tmp_path: Path) -> None:
    assert reason_of(tmp_path / "a.pdf", b"%PDF-1.4\n1 0 obj").startswith("broken PDF")
    assert reason_of(tmp_path / "a.pdf", b"<html>no pdf</html>").startswith("broken PDF")


# Word documents


def word_file() -> bytes:
    document = docx.Document()
    document.core_properties.title = "The title"
    document.core_properties.author = "Ann"
    document.add_heading("A heading", 1)
    document.add_paragraph("Before the table.")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip((cell for row in table.rows for cell in row.cells), ("Name", "City", "Ann", "Bonn"), strict=True):
        cell.text = text
    document.add_paragraph("After\tthe table.")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def edited(content: bytes, old: str, new: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(out, "w") as target:
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename == "word/document.xml":
                assert old.encode() in data
                data = data.replace(old.encode(), new.encode())
            target.writestr(entry, data)
    return out.getvalue()


def test_word_paragraphs_and_tables_in_order(tmp_path: Path) -> None:
    result = text_of(tmp_path / "a.docx", word_file())
    assert result.title == "The title"
    assert result.metadata["author"] == "Ann"
    assert result.text == "A heading\n\nBefore the table.\n\nName | City\nAnn | Bonn\n\nAfter\tthe table."


def test_tracked_changes_are_taken_as_accepted(tmp_path: Path) -> None:
    run = "<w:r><w:t>Before the table.</w:t></w:r>"
    changes = "<w:del><w:r><w:delText>Old</w:delText></w:r></w:del><w:ins><w:r><w:t>New</w:t></w:r></w:ins>"
    assert "\n\nNewBefore the table." in text_of(tmp_path / "a.docx", edited(word_file(), run, changes + run)).text


def test_broken_and_old_word_files(tmp_path: Path) -> None:
    assert "broken" in reason_of(tmp_path / "a.docx", word_file()[:3000])
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
    assert ".doc" in reason_of(tmp_path / "a.docx", ole)
    assert reason_of(tmp_path / "a.docx", ole + "EncryptedPackage".encode("utf-16-le")) == "encrypted: needs a password"


# Tables


@SEVERAL
@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=5), st.sampled_from([",", ";", "\t"]), st.sampled_from(["utf-8", "utf-16"]))
def test_a_csv_cell_comes_back_unaltered(tmp_path: Path, texts: list[str], separator: str, encoding: str) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerows([["id", "text", "n"], *([str(n), text, n] for n, text in enumerate(texts))])
    results = read(tmp_path / "a.csv", out.getvalue().encode(encoding))
    assert [(result.suffix, result.text) for result in results if isinstance(result, Read)] == [
        (str(n), text) for n, text in enumerate(texts)
    ]


@SEVERAL
@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=5), st.booleans())
def test_a_jsonl_text_comes_back_unaltered(tmp_path: Path, texts: list[str], ascii_only: bool) -> None:
    lines = "".join(json.dumps({"text": text}, ensure_ascii=ascii_only) + "\n" for text in texts)
    results = read(tmp_path / "a.jsonl", lines)
    assert [result.text for result in results if isinstance(result, Read)] == texts


@pytest.mark.parametrize(
    "content",
    [
        "id,text,city\n1,\"He said \"\"hi\"\", twice.\",Bonn\n2,Plain,Rome\n",
        "id;text;city\n1;\"He said \"\"hi\"\", twice.\";Bonn\n2;Plain;Rome\n",
        'id\ttext\tcity\n1\tHe said "hi", twice.\tBonn\n2\tPlain\tRome\n',
        "id|text|city\r\n1|\"He said \"\"hi\"\", twice.\"|Bonn\r\n2|Plain|Rome\r\n",
        'id,text,city\n1,"He said \\"hi\\", twice.",Bonn\n2,Plain,Rome\n',
        'id, text, city\n1, "He said ""hi"", twice.", Bonn\n2, Plain, Rome\n',
        "id,text,city\n1,'He said \"hi\", twice.',Bonn\n2,'Plain',Rome\n",
    ],
)  # fmt: skip
def test_separators_and_quotes_are_found_out(tmp_path: Path, content: str) -> None:
    assert read(tmp_path / "a.csv", content) == [
        Read("1", "", 'He said "hi", twice.', {"city": "Bonn"}),
        Read("2", "", "Plain", {"city": "Rome"}),
    ]


def test_a_tab_file_with_a_stray_quote(tmp_path: Path) -> None:
    rows = read(tmp_path / "a.tsv", 'id\ttext\n1\t"Open quote\n2\tNext "word" here\n')
    assert [row.text for row in rows if isinstance(row, Read)] == ['"Open quote', 'Next "word" here']


def test_a_single_column(tmp_path: Path) -> None:
    assert [row.text for row in read(tmp_path / "a.csv", "text\nOne, two.\nThree, four, five.\n") if isinstance(row, Read)] == [
        "One, two.",
        "Three, four, five.",
    ]


def test_a_table_without_a_header(tmp_path: Path) -> None:
    rows = read(tmp_path / "a.csv", "1,Ann lives in Bonn.\n2,Bob lives in Rome.\n")
    assert [(row.text, row.metadata) for row in rows if isinstance(row, Read)] == [
        ("Ann lives in Bonn.", {"column 1": "1"}),
        ("Bob lives in Rome.", {"column 1": "2"}),
    ]


def test_a_row_of_too_many_cells_and_empty_rows(tmp_path: Path) -> None:
    rows = read(tmp_path / "a.csv", "id,text\n1,a\n\n,\n2,b,c\n3,\n4,d\n")
    assert rows[0] == Read("1", "", "a")
    assert rows[1] == Unreadable("line 5", "3 cells in a table of 2 columns")
    assert rows[2] == Unreadable("3", "no text in column 'text'")
    assert rows[3] == Read("4", "", "d")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ('2,Cable of 20" by Nordkabel,Nord', 'Cable of 20" by Nordkabel'),
        ('2,"Nordkabel" is a firm,Nord', '"Nordkabel" is a firm'),
        ('2,"Cable of 5,Nord', '"Cable of 5'),
        ('2,"He said "hi" twice, to\n all","Nord"', 'He said "hi" twice, to\n all'),
        ('2,"Cable, by Nordkabel,Nord', None),
        ('2,"Cable, by Nordkabel,Nord\n2.5,Pump of 6", Nord', None),
    ],
)
def test_a_stray_quote_costs_its_own_row_at_most(tmp_path: Path, row: str, expected: str | None) -> None:
    rows = read(
        tmp_path / "a.csv", f'id,text,maker\n1,"Bolt, good and long",Alfa\n{row}\n3,"Pump, good, and long",Alfa\n4,Valve in a box,Alfa\n'
    )
    texts = {r.suffix: r.text for r in rows if isinstance(r, Read)}
    assert texts.pop("2", None) == expected
    texts.pop("2.5", None)
    assert texts == {"1": "Bolt, good and long", "3": "Pump, good, and long", "4": "Valve in a box"}
    if expected is None:
        assert any(isinstance(r, Unreadable) and r.suffix == "line 3" and "broken quoting" in r.reason for r in rows)


def test_a_quote_far_inside_a_table_costs_no_other_row(tmp_path: Path) -> None:
    rows = "".join(f'{n},"row, {n}"\n' for n in range(20_000))
    results = read(tmp_path / "a.csv", "id,text\n" + rows + '20000,"open, never closed\n' + rows.replace(',"', '0001,"'))
    assert sum(isinstance(result, Read) for result in results) == 40_000
    assert [r for r in results if isinstance(r, Unreadable)] == [Unreadable("line 20002", "broken quoting: ',' expected after '\"'")]


def test_two_stray_quotes_do_not_make_one_row_of_two(tmp_path: Path) -> None:
    rows = read(tmp_path / "a.csv", 'id,name,maker\n1,"Cable of 5,Nord\n2,Pump of 6",Alfa\n3,Valve of 7,Alfa\n')
    assert [row.suffix for row in rows] == ["1", "2", "3"]


PEOPLE = "name;firm;age;joined;mail;active\nKarin Holm;Velmora Energy;51;12.03.2001;k@velmora.dk;yes\nJens Aagaard;n/a;49;1.4.2011;;no\n"


def test_a_row_is_a_record_of_the_columns_with_words(tmp_path: Path) -> None:
    first, second = read(tmp_path / "a.csv", PEOPLE)
    assert isinstance(first, Read) and isinstance(second, Read)
    assert (first.title, first.text) == ("Karin Holm", "name: Karin Holm\nfirm: Velmora Energy")
    assert first.metadata == {"age": "51", "joined": "12.03.2001", "mail": "k@velmora.dk", "active": "yes"}
    assert second.text == "name: Jens Aagaard"


def test_a_row_without_an_id_is_called_by_what_it_holds(tmp_path: Path) -> None:
    head, *rows = PEOPLE.splitlines(keepends=True)
    before = {r.suffix: r.text for r in read(tmp_path / "a.csv", PEOPLE) if isinstance(r, Read)}
    more = [r for r in read(tmp_path / "a.csv", "".join([head, "Ann Bee;Acme Corp;3;1.1.2001;;no\n", *rows])) if isinstance(r, Read)]
    assert before.items() <= {r.suffix: r.text for r in more}.items()
    twins = read(tmp_path / "a.csv", "".join([head, *rows, *rows]))
    assert len({r.suffix for r in twins}) == 4


@pytest.mark.parametrize(
    "content",
    [
        "Incident report 2024\nExported by: Nora Feld\n\nid,text,country\n",
        "Incident report 2024,,\nExported by,Nora Feld,\n,,\nid,text,country\n",
        "# made by a program\n# with commas, two, of them\nid,text,country\n",
        "sep=,\nid,text,country\n",
        "Incidents, by region, 2024\nid,text,country\n",
        "#id,text,country\n",
        "\n\nid,text,country\n",
    ],
)
def test_what_stands_above_a_table_is_passed_over(tmp_path: Path, content: str) -> None:
    rows = read(tmp_path / "a.csv", content + "1,Karin Holm leads Velmora Energy,Denmark\n2,Siemens sold turbines,Germany\n")
    assert [(r.suffix.removeprefix("row-")[:1], r.text) for r in rows if isinstance(r, Read)][-1][1] == "Siemens sold turbines"
    assert [r.metadata["country"] for r in rows if isinstance(r, Read)] == ["Denmark", "Germany"]


def test_names_of_columns_are_not_taken_for_a_title_of_the_table(tmp_path: Path) -> None:
    rows = read(tmp_path / "a.csv", "city\nBonn, Germany\nRome, Italy\nOslo, Norway\n")
    assert [row.text for row in rows if isinstance(row, Read)] == ["city: Bonn, Germany", "city: Rome, Italy", "city: Oslo, Norway"]


def test_lines_in_another_encoding_are_read_and_told(tmp_path: Path) -> None:
    lines = [
        b"id,text\n",
        "1,Müller AG in Köln\n".encode(),
        "2,Größe GmbH in Düsseldorf\n".encode("cp1252"),
        "3,Søren in Århus\n".encode(),
    ]
    (tmp_path / "a.csv").write_bytes(b"".join(lines))
    layouts: list[Layout] = []
    rows = list(read_file(tmp_path / "a.csv", layouts=layouts))
    assert [row.text for row in rows if isinstance(row, Read)] == ["Müller AG in Köln", "Größe GmbH in Düsseldorf", "Søren in Århus"]
    assert (layouts[0].encoding, layouts[0].other_lines) == ("utf-8 and cp1252", "3")
    assert text_of(tmp_path / "a.txt", b"".join(lines)).text.splitlines()[2] == "2,Größe GmbH in Düsseldorf"


def test_what_was_found_out_about_a_table_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(
        ("List of firms\n\nsupplier_id;Supplier;Country\nS1;Hartmann;Germany\n#end\nS2;Nordkabel;Norway\n").encode("utf-8-sig")
    )
    layouts: list[Layout] = []
    rows = list(read_file(tmp_path / "a.csv", layouts=layouts))
    assert [r.suffix for r in rows] == ["S1", "S2"]
    assert [layout.as_json() for layout in layouts] == [
        {
            "encoding": "utf-8-sig",
            "separator": "semicolon",
            "head": "line 3",
            "passed_over": "1, 5",
            "text": ["Supplier", "Country"],
            "id": "supplier_id",
        }
    ]


@pytest.mark.parametrize(
    ("cells", "dates"),
    [
        (["2024-03-04", "2024/3/4", "20240304", "2024-03-04 09:30:00"], ["2024-03-04", "2024-03-04", "2024-03-04", "2024-03-04T09:30:00"]),
        (["4.3.2024", "04.03.24"], ["2024-03-04", "2024-03-04"]),
        (["4/3/2024", "31/3/2024"], ["2024-03-04", "2024-03-31"]),
        (["3/4/2024", "3/31/2024 9:30"], ["2024-03-04", "2024-03-31T09:30"]),
        (["3/4/2024", "5/5/2024"], ["3/4/2024", "2024-05-05"]),
        (["4 March 2024", "n/a"], ["4 March 2024", None]),
        ([1709544600, 1709544600000], ["2024-03-04T09:30:00+00:00"] * 2),
    ],
)
def test_a_date_column_gives_each_row_its_date(tmp_path: Path, cells: list[Any], dates: list[str | None]) -> None:
    rows = [{"name": "Karin Holm", "born": "1.1.1970", "published": cell} for cell in cells]
    results = read(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert [r.metadata.get("date") for r in results if isinstance(r, Read)] == dates
    named = read(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)), ReaderOptions(date_columns=("born",)))
    assert {r.metadata["date"] for r in named if isinstance(r, Read)} == {"1970-01-01"}


@pytest.mark.parametrize("name", ["id", "supplier_id", "supplierId", "uuid", "url"])
def test_ids_are_told_by_their_names(tmp_path: Path, name: str) -> None:
    rows = [{"name": "Hartmann Werke", name: "https://a.example/1"}, {"name": "Nordkabel", name: "https://a.example/2"}]
    assert [r.suffix for r in read(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))] == [
        "https://a.example/1",
        "https://a.example/2",
    ]


def test_columns_are_guessed_by_name_and_else_by_what_they_hold(tmp_path: Path) -> None:
    row = {"note": "a note", "Doc-ID": 7, "headline": "T", "body": "a whole sentence stands here", "n": 1.5}
    assert read(tmp_path / "a.jsonl", json.dumps(row)) == [Read("7", "T", row["body"], {"note": "a note", "n": 1.5})]
    (result,) = read(tmp_path / "a.jsonl", '{"a": "fine word", "b": "longer text", "link": "https://example.org/a/very/long/path"}')
    assert isinstance(result, Read) and result.text == "a: fine word\nb: longer text"
    story = "Many words stand in this cell. " * 20
    (result,) = read(tmp_path / "a.jsonl", json.dumps({"author": "Ann Bee", "story": story}))
    assert isinstance(result, Read) and (result.text, result.metadata) == (story, {"author": "Ann Bee"})


def test_nested_values_are_told_with_the_path_to_them(tmp_path: Path) -> None:
    row = {
        "id": 1,
        "name": "Velmora",
        "seat": {"city": "Aarhus", "zip": 8000},
        "board": [{"who": "Ann Bee", "as": "chair"}],
        "tags": ["wind", "sea"],
    }
    (result,) = read(tmp_path / "a.jsonl", json.dumps(row))
    assert isinstance(result, Read)
    assert result.text == "name: Velmora\nseat.city: Aarhus\nseat.zip: 8000\nboard: who: Ann Bee; as: chair\ntags: wind, sea"


def test_columns_by_setting(tmp_path: Path) -> None:
    line = json.dumps({"text": "no", "Story": "yes", "nr": "n1", "headline": "Title"})
    options = ReaderOptions(text_columns=("absent", "story"), id_columns=("nr",))
    assert read(tmp_path / "a.jsonl", line, options) == [Read("n1", "Title", "yes", {"text": "no"})]
    assert (
        reason_of(tmp_path / "a.jsonl", line, ReaderOptions(text_columns=("absent",)))
        == "no text column 'absent'; columns: text, Story, nr, headline"
    )
    assert "no id column" in reason_of(tmp_path / "a.jsonl", line, ReaderOptions(id_columns=("absent",)))


def test_other_options_have_another_key() -> None:
    assert (
        len(
            {
                options.key
                for options in (ReaderOptions(), ReaderOptions(1000), ReaderOptions(text_columns=("a",)), ReaderOptions(id_columns=("a",)))
            }
        )
        == 4
    )


def test_duplicate_and_missing_ids(tmp_path: Path) -> None:
    lines = [
        {"id": "a", "text": "1"},
        {"id": "a", "text": "2"},
        {"text": "3"},
        {"id": "b", "text": "4"},
        {"id": "a", "text": "5"},
        {"id": 6.0, "text": "6"},
    ]
    rows = read(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines)))
    assert [(row.suffix.split("row-")[0], row.text) for row in rows if isinstance(row, Read)] == [
        ("a", "1"),
        ("a ", "2"),
        ("", "3"),
        ("b", "4"),
        ("a ", "5"),
        ("6", "6"),
    ]


def test_bad_lines_are_set_aside_one_by_one(tmp_path: Path) -> None:
    rows = read(
        tmp_path / "a.jsonl",
        '{"id": 1, "text": "a"}\n\nnonsense\n[1]\n{"id": 2, "text": ["x"]}\n{"id": 3, "text": "\\ud800"}\n{"id": 4, "text": "x\\u0000"}\n{"id": 5, "text": " "}\n{"id": 6, "text": "f"',
    )
    assert [(row.suffix, row.reason if isinstance(row, Unreadable) else row.text) for row in rows] == [
        ("1", "a"),
        ("line 3", "not valid JSON: Expecting value at column 1"),
        ("line 4", "not a JSON object"),
        ("2", "column 'text' holds no text but list"),
        ("3", "broken Unicode (half of a surrogate pair)"),
        ("4", "binary content (NUL characters)"),
        ("5", "empty: no text"),
        ("line 9", "not valid JSON: Expecting ',' delimiter at column 22"),
    ]  # fmt: skip


def test_an_oversized_line_is_passed_over(tmp_path: Path) -> None:
    rows = read(tmp_path / "a.jsonl", '{"text": "a"}\n{"text": "' + "x" * 5000 + '"}\n{"text": "b"}\n', ReaderOptions(max_bytes=1000))
    assert [row.text if isinstance(row, Read) else row.suffix for row in rows] == ["a", "line 2", "b"]
    assert isinstance(rows[1], Unreadable)
    assert "oversized" in rows[1].reason


def test_a_file_that_is_no_json_lines_has_one_reason(tmp_path: Path) -> None:
    assert "none of the first 200 rows" in reason_of(tmp_path / "a.jsonl", "prose\n" * 300)


def test_metadata_is_short_and_fits_json(tmp_path: Path) -> None:
    line = {
        "text": "t",
        "mentions": [{"start": 1}],
        "tags": ["a", 1],
        "long": "x" * 5000,
        "many": list(range(2000)),
        "none": None,
        "big": 10**30,
        "nan": float("nan"),
    }
    (row,) = read(tmp_path / "a.jsonl", json.dumps(line))
    assert isinstance(row, Read)
    assert row.metadata == {"tags": ["a", 1], "long": "x" * 2000, "big": str(10**30)}


def test_parquet(tmp_path: Path) -> None:
    table: dict[str, Any] = {
        "doc_id": [1, 2, 3],
        "text": ["a\r\n ", None, "ü"],
        "title": ["A", "B", None],
        "tags": [["x"], [], None],
        "deep": [{"a": 1}] * 3,
    }
    pyarrow.parquet.write_table(pyarrow.table(table), tmp_path / "a.parquet", row_group_size=2)
    assert list(read_file(tmp_path / "a.parquet")) == [
        Read("1", "A", "a\r\n ", {"tags": ["x"]}),
        Unreadable("2", "no text in column 'text'"),
        Read("3", "", "ü"),
    ]
    content = (tmp_path / "a.parquet").read_bytes()
    assert len(read(tmp_path / "b.parquet.gz", gzip.compress(content))) == 3
    assert reason_of(tmp_path / "c.parquet", content[:-20]).startswith("broken parquet")


def test_rows_before_the_damage_are_read(tmp_path: Path) -> None:
    lines = "".join(json.dumps({"id": n, "text": os.urandom(40).hex()}) + "\n" for n in range(2000)).encode()
    results = read(tmp_path / "a.jsonl.gz", gzip.compress(lines)[:60_000])
    assert results[-1].suffix == ""
    assert isinstance(results[-1], Unreadable)


def test_a_large_table_is_read_lazily(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wt", compresslevel=1) as file:
        file.write("id,text\n" + "".join(f"{n},some text of a row\n" for n in range(50_000)))
    rows = read_file(tmp_path / "a.csv.gz")
    assert next(rows) == Read("0", "", "some text of a row")
    assert sum(1 for _ in rows) == 49_999


@pytest.mark.skipif(not DATA.exists(), reason="the shared data are not here")
def test_real_files_of_many_formats() -> None:
    folder = DATA / "corpora" / "multiformat"
    results = {path.name: list(read_file(path)) for path in sorted(folder.rglob("*")) if path.is_file()}
    aside = {name: rows[0].reason for name, rows in results.items() if isinstance(rows[0], Unreadable)}
    assert aside == {
        "password.pdf": "encrypted: needs a password",
    }
    report = results["example-10k.html"][0]
    assert isinstance(report, Read)
    assert "Galaxy Gaming, Inc." in report.text
    assert "EntityCentralIndexKey" not in report.text
    assert "<" not in report.text
    book = results["book-war-and-peace-1225p.txt"][0]
    assert isinstance(book, Read)
    assert book.text.encode() in next(folder.rglob("book-war*")).read_bytes()
