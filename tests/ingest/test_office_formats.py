"""Word documents, presentations, OpenDocument texts, RTF and electronic books: all their text, in reading order."""

import io
import zipfile
from pathlib import Path

import docx
import pytest

from polyonym.ingest.readers import Read, ReaderOptions, Unreadable, read_file

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'


def relations(**targets: str) -> str:
    """The relations of a part: kind to target, with the kind as id."""
    return RELATIONS.format(
        "".join(f'<Relationship Id="{kind}" Type="{OFFICE}/{kind}" Target="{target}"/>' for kind, target in targets.items())
    )


def zipped(**parts: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return out.getvalue()


def word(body: str, parts: dict[str, str] | None = None, **related: str) -> bytes:
    """A Word document with this body and further parts of `word/`."""
    files = {
        "_rels/.rels": relations(officeDocument="word/document.xml"),
        "word/_rels/document.xml.rels": relations(**related),
        "word/document.xml": f'<w:document xmlns:w="{W}" xmlns:r="{OFFICE}"><w:body>{body}</w:body></w:document>',
    }
    return zipped(
        **files,
        **{f"word/{name}": f'<w:{kind} xmlns:w="{W}">{xml}</w:{kind}>' for name, xml in (parts or {}).items() for kind in [name[:-4]]},
    )


def paragraph(text: str, inside: str = "") -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r>{inside}</w:p>"


def read(path: Path, content: bytes, options: ReaderOptions | None = None) -> Read:
    path.write_bytes(content)
    (result,) = read_file(path, options)
    assert isinstance(result, Read), result
    return result


def test_footnotes_follow_their_paragraph_and_endnotes_the_text(tmp_path: Path) -> None:
    body = paragraph("The loan was approved.", '<w:r><w:footnoteReference w:id="2"/><w:endnoteReference w:id="3"/></w:r>') + paragraph(
        "It was paid."
    )
    parts = {
        "footnotes.xml": f'<w:footnote w:id="0">{paragraph("separator")}</w:footnote><w:footnote w:id="2">{paragraph("See the letter.")}</w:footnote>',
        "endnotes.xml": f'<w:endnote w:id="3">{paragraph("Filed in Oslo.")}</w:endnote>',
    }
    content = word(body, parts, footnotes="footnotes.xml", endnotes="endnotes.xml")
    assert read(tmp_path / "a.docx", content).text == "The loan was approved.\n\nSee the letter.\n\nIt was paid.\n\nFiled in Oslo."


def test_comments_are_read_where_a_setting_says_so(tmp_path: Path) -> None:
    body = paragraph("The loan was approved.", '<w:r><w:commentReference w:id="1"/></w:r>')
    parts = {"comments.xml": f'<w:comment w:id="1" w:author="Ann Holm">{paragraph("Ask Marta.")}</w:comment>'}
    content = word(body, parts, comments="comments.xml")
    assert read(tmp_path / "a.docx", content).text == "The loan was approved."
    assert read(tmp_path / "a.docx", content, ReaderOptions(comments=True)).text == "The loan was approved.\n\nAnn Holm: Ask Marta."


def test_text_boxes_are_read_once_after_their_paragraph(tmp_path: Path) -> None:
    compatibility = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    box = f"<w:txbxContent>{paragraph('In the box.')}</w:txbxContent>"
    both = f'<w:r><mc:AlternateContent xmlns:mc="{compatibility}"><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r>'
    assert read(tmp_path / "a.docx", word(paragraph("Before the box.", both))).text == "Before the box.\n\nIn the box."


def test_heads_of_pages_come_first_and_feet_last(tmp_path: Path) -> None:
    body = paragraph("Dear Sir,") + '<w:sectPr><w:headerReference r:id="header"/><w:footerReference r:id="footer"/></w:sectPr>'
    parts = {"header.xml": paragraph("Velmora Energy, Aarhus"), "footer.xml": paragraph("Page 1 of 3") + paragraph("Registered in Denmark")}
    text = read(tmp_path / "a.docx", word(body, parts, header="header.xml", footer="footer.xml")).text
    assert text == "Velmora Energy, Aarhus\n\nDear Sir,\n\nRegistered in Denmark"


def test_tracked_changes_are_taken_as_accepted(tmp_path: Path) -> None:
    deleted = "<w:del><w:r><w:delText>old </w:delText></w:r></w:del><w:ins><w:r><w:t> new</w:t></w:r></w:ins>"
    row = "<w:tr>{}<w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr>"
    rows = row.format("", paragraph("Ann"), paragraph("Oslo")) + row.format(
        "<w:trPr><w:del/></w:trPr>", paragraph("Bob"), paragraph("Bonn")
    )
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t> unseen</w:t></w:r>"
    assert read(tmp_path / "a.docx", word(paragraph("The", deleted + hidden) + f"<w:tbl>{rows}</w:tbl>")).text == "The new\n\nAnn | Oslo"


def test_the_strict_dialect_is_read(tmp_path: Path) -> None:
    strict = {
        "_rels/.rels": relations(officeDocument="word/document.xml").replace(
            OFFICE, "http://purl.oclc.org/ooxml/officeDocument/relationships"
        ),
        "word/document.xml": f'<w:document xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"><w:body>{paragraph("Text.")}</w:body></w:document>',
    }
    assert read(tmp_path / "a.docx", zipped(**strict)).text == "Text."


def test_dates_of_the_library_s_own_template_are_none_of_the_document(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("Text.")
    out = io.BytesIO()
    document.save(out)
    assert read(tmp_path / "a.docx", out.getvalue()).metadata == {}


def test_slides_in_their_order_with_title_first_and_notes_last(tmp_path: Path) -> None:
    a, p = "http://schemas.openxmlformats.org/drawingml/2006/main", "http://schemas.openxmlformats.org/presentationml/2006/main"
    namespaces = f'xmlns:a="{a}" xmlns:p="{p}" xmlns:r="{OFFICE}"'

    def shape(text: str, kind: str = "body") -> str:
        place = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>'
        return f"<p:sp>{place}<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"

    cells = "".join(f"<a:tc><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>" for text in ("Ann", "Oslo"))
    files = {
        "_rels/.rels": relations(officeDocument="ppt/presentation.xml"),
        "ppt/_rels/presentation.xml.rels": relations(first="slides/2.xml", second="slides/1.xml"),
        "ppt/presentation.xml": f'<p:presentation {namespaces}><p:sldIdLst><p:sldId r:id="first"/><p:sldId r:id="second"/></p:sldIdLst></p:presentation>',
        "ppt/slides/1.xml": f"<p:sld {namespaces}><p:graphicFrame><a:tbl><a:tr>{cells}</a:tr></a:tbl></p:graphicFrame></p:sld>",
        "ppt/slides/2.xml": f"<p:sld {namespaces}>{shape('7', 'sldNum')}{shape('A point.')}{shape('The plan', 'title')}</p:sld>",
        "ppt/slides/_rels/2.xml.rels": relations(notesSlide="../notes/1.xml"),
        "ppt/notes/1.xml": f"<p:notes {namespaces}>{shape('Say it slowly.')}</p:notes>",
    }
    result = read(tmp_path / "a.pptx", zipped(**files))
    assert (result.title, result.text) == ("The plan", "The plan\n\nA point.\n\nSay it slowly.\n\nAnn | Oslo")


@pytest.mark.parametrize("suffix", [".odt", ".odp"])
def test_opendocument(tmp_path: Path, suffix: str) -> None:
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("text", "table", "office", "meta", "drawing")
    )
    note = "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>A note.</text:p></text:note-body></text:note>"
    body = (
        "<text:tracked-changes><text:p>Deleted.</text:p></text:tracked-changes><text:h>The heading</text:h>"
        f"<text:p>One<text:s text:c='2'/><text:span>two</text:span>{note} three.</text:p>"
        "<table:table><table:table-row><table:table-cell><text:p>Ann</text:p></table:table-cell>"
        "<table:table-cell><text:p>Oslo</text:p></table:table-cell></table:table-row></table:table>"
        "<text:p><drawing:frame><drawing:text-box><text:p>Framed.</text:p></drawing:text-box></drawing:frame></text:p>"
    )
    files = {
        "content.xml": f"<office:document-content {spaces}><office:body>{body}</office:body></office:document-content>",
        "meta.xml": f"<office:document-meta {spaces}><office:meta><meta:creation-date>2022-11-24T10:00:00</meta:creation-date></office:meta></office:document-meta>",
    }
    result = read(tmp_path / f"a{suffix}", zipped(**files))
    assert result.text == "The heading\n\nOne  two three.\n\nA note.\n\nAnn | Oslo\n\nFramed."
    assert (result.title, result.metadata) == ("The heading", {"created": "2022-11-24T10:00:00"})


def test_rich_text(tmp_path: Path) -> None:
    source = rb"{\rtf1\ansi{\info{\title The report}{\creatim\yr2022\mo11\dy4}}{\b Karin} M\'fcller\par Second \u8220?line\u8221?.\par}"
    result = read(tmp_path / "a.rtf", source)
    assert result.text == "Karin Müller\n\nSecond “line”."
    assert (result.title, result.metadata) == ("The report", {"created": "2022-11-04"})


def test_a_book_s_chapters_in_the_order_of_its_spine(tmp_path: Path) -> None:
    items = '<item id="a" href="one.xhtml" media-type="application/xhtml+xml"/><item id="b" href="two%20.xhtml" media-type="application/xhtml+xml"/>'
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>The book</dc:title>'
        f'<dc:creator>Ann Holm</dc:creator></metadata><manifest>{items}</manifest><spine><itemref idref="b"/><itemref idref="a"/></spine></package>'
    )
    container = '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
    pages = {"OPS/one.xhtml": "<html><body><p>Last.</p></body></html>", "OPS/two .xhtml": "<html><body><h1>First</h1></body></html>"}
    result = read(tmp_path / "a.epub", zipped(**{"META-INF/container.xml": container, "OPS/book.opf": opf, **pages}))
    assert (result.title, result.text, result.metadata) == ("The book", "First\n\nLast.", {"author": "Ann Holm"})


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.odt", "a.epub", "a.rtf"])
@pytest.mark.parametrize(
    "content", [b"PK\x03\x04 broken", b"plain words", zipped(**{"a.xml": "<a/>"}), zipped(**{"content.xml": "<a>", "_rels/.rels": "<"})]
)
def test_what_is_no_such_file_has_a_reason(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    (result,) = read_file(tmp_path / name)
    assert isinstance(result, Unreadable)
    assert result.reason
    assert "NoneType" not in result.reason
