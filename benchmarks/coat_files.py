"""Gold documents as files of other formats: mail, web pages, Word, PDF, tables. Each writer returns the name that a document will have."""

import csv
import difflib
import re
import textwrap
from collections.abc import Callable
from email.message import EmailMessage
from html import escape
from pathlib import Path
from typing import Any

import docx

Gold = dict[str, Any]
_TOKEN = re.compile(r"\w+|[^\w\s]")


def aligned(plain: str, text: str) -> list[int]:
    """For each character of a text as it was read, where it stood in the plain one (-1: nowhere), by their words."""
    before, after = list(_TOKEN.finditer(plain)), list(_TOKEN.finditer(text))
    matcher = difflib.SequenceMatcher(None, [t.group() for t in before], [t.group() for t in after], autojunk=False)
    origin = [-1] * len(text)
    for a, b, size in matcher.get_matching_blocks():
        for there, here in zip(before[a : a + size], after[b : b + size], strict=True):
            origin[here.start() : here.end()] = range(there.start(), there.end())
    return origin


def _file(document: Gold) -> str:
    return re.sub(r"\W+", "-", document["doc_id"]).strip("-")


def _paragraphs(document: Gold) -> list[str]:
    return [p for p in document["text"].split("\n") if p.strip()]


def _message(document: Gold) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"] = "Redaktion <desk@example.org>", "list@example.org"
    message["Subject"], message["Date"] = "Text", "Mon, 4 Mar 2024 09:00:00 +0000"
    return message


def _html(document: Gold) -> str:
    return "".join(f"<p>{escape(p)}</p>\n" for p in _paragraphs(document))


def plain_mail(gold: list[Gold], folder: Path) -> dict[str, str]:
    def fill(message: EmailMessage, document: Gold) -> None:
        message.set_content("\n\n".join(_paragraphs(document)))

    return _mails(gold, folder, fill)


def html_mail(gold: list[Gold], folder: Path) -> dict[str, str]:
    return _mails(
        gold, folder, lambda message, document: message.set_content(f"<html><body>{_html(document)}</body></html>", subtype="html")
    )


def mail_of_alternatives(gold: list[Gold], folder: Path) -> dict[str, str]:
    """A plain part that says nothing beside the HTML part."""

    def fill(message: EmailMessage, document: Gold) -> None:
        message.set_content("This message is in HTML.")
        message.add_alternative(f"<html><body>{_html(document)}</body></html>", subtype="html")

    return _mails(gold, folder, fill)


def forwarded_mail(gold: list[Gold], folder: Path) -> dict[str, str]:
    def fill(message: EmailMessage, document: Gold) -> None:
        head = "---------- Forwarded message ---------\nFrom: Desk <desk@example.org>\nDate: Mon, 4 Mar 2024\nSubject: Text\n\n"
        message.set_content(f"See below.\n\n{head}" + "\n\n".join(_paragraphs(document)))

    return _mails(gold, folder, fill)


def attached_mail(gold: list[Gold], folder: Path) -> dict[str, str]:
    def fill(message: EmailMessage, document: Gold) -> None:
        inner = _message(document)
        inner.set_content("\n\n".join(_paragraphs(document)))
        message.set_content("See the message attached.")
        message.add_attachment(inner)

    return _mails(gold, folder, fill)


def _mails(gold: list[Gold], folder: Path, fill: Callable[[EmailMessage, Gold], Any]) -> dict[str, str]:
    names = {}
    for document in gold:
        message = _message(document)
        fill(message, document)
        names[document["doc_id"]] = f"{_file(document)}.eml"
        (folder / names[document["doc_id"]]).write_bytes(message.as_bytes())
    return names


_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Text</title></head><body>
<header class="site-header"><a href="/">The Daily Coat</a><nav class="navbar"><ul><li><a href="/a">Home</a></li><li><a href="/b">Markets</a></li>
<li><a href="/c">World</a></li></ul></nav></header>
<div id="cookie-banner" class="cookie-consent" role="dialog"><p>We use cookies to improve your visit. <button>Accept all</button></p></div>
<div class="container"><main><article class="post-content">{body}</article></main>
<aside class="sidebar widget-area"><h3>Most read</h3><ul><li><a href="/1">Ten tips for rainy days</a></li><li><a href="/2">What to wear</a></li></ul></aside></div>
<footer class="site-footer"><p>All rights reserved. <a href="/privacy">Privacy</a> <a href="/terms">Terms</a></p></footer></body></html>"""


def web_page(gold: list[Gold], folder: Path) -> dict[str, str]:
    names = {}
    for document in gold:
        names[document["doc_id"]] = f"{_file(document)}.html"
        (folder / names[document["doc_id"]]).write_text(_PAGE.format(body=_html(document)), encoding="utf-8")
    return names


def word_file(gold: list[Gold], folder: Path) -> dict[str, str]:
    names = {}
    for document in gold:
        made = docx.Document()
        for paragraph in _paragraphs(document):
            made.add_paragraph(re.sub(r"[\x00-\x08\x0b-\x1f]", "", paragraph))
        names[document["doc_id"]] = f"{_file(document)}.docx"
        made.save(str(folder / names[document["doc_id"]]))
    return names


def word_table(gold: list[Gold], folder: Path) -> dict[str, str]:
    """Each paragraph in a cell of its own."""
    names = {}
    for document in gold:
        made = docx.Document()
        paragraphs = _paragraphs(document)
        table = made.add_table(rows=len(paragraphs), cols=1)
        for row, paragraph in zip(table.rows, paragraphs, strict=True):
            row.cells[0].text = re.sub(r"[\x00-\x08\x0b-\x1f]", "", paragraph)
        names[document["doc_id"]] = f"{_file(document)}.docx"
        made.save(str(folder / names[document["doc_id"]]))
    return names


_HEAD = ("The Daily Coat", "Texts of several kinds", "Volume 7, number 3")
_SIZE, _LEADING, _LINES = 10, 12, 52


def pdf_file(columns: int) -> Callable[[list[Gold], Path], dict[str, str]]:
    """Pages of one or two columns, with a running head of three lines and a page number."""
    width = 84 if columns == 1 else 42  # characters a line

    def write(gold: list[Gold], folder: Path) -> dict[str, str]:
        names = {}
        for document in gold:
            lines = [line for p in _paragraphs(document) for line in [*textwrap.wrap(p, width), ""]]
            blocks = [lines[i : i + _LINES] for i in range(0, len(lines), _LINES)]
            pages = [blocks[i : i + columns] for i in range(0, len(blocks), columns)]
            names[document["doc_id"]] = f"{_file(document)}.pdf"
            (folder / names[document["doc_id"]]).write_bytes(_pdf(pages, columns))
        return names

    return write


def _pdf(pages: list[list[list[str]]], columns: int) -> bytes:
    """A PDF of these pages, each a list of columns of lines, in a font that every reader has; signs outside of cp1252 become question marks."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>",
    ]
    kids = []
    for number, page in enumerate(pages, 1):
        shown = [(50, 800 - _LEADING * i, line) for i, line in enumerate(_HEAD)] + [(290, 40, str(number))]
        for c, column in enumerate(page):
            shown += [(50 + c * 255, 745 - i * _LEADING, line) for i, line in enumerate(column)]
        content = b"\n".join(
            b"BT /F1 %d Tf %d %d Td (%s) Tj ET"
            % (_SIZE if columns == 1 else 9, x, y, re.sub(rb"([()\\])", rb"\\\1", line.encode("cp1252", "replace")))
            for x, y, line in shown
            if line
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        resources = b"<< /Font << /F1 3 0 R >> >>"
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources %s /Contents %d 0 R >>" % (resources, len(objects))
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    made, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return made + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        table,
        len(objects) + 1,
        len(made),
    )


def table_of(delimiter: str, head: str = "", encoding: str = "utf-8") -> Callable[[list[Gold], Path], dict[str, str]]:
    """All documents as rows of one table, with lines of `head` before it."""

    def write(gold: list[Gold], folder: Path) -> dict[str, str]:
        with (folder / "table.csv").open("w", encoding=encoding, errors="replace", newline="") as file:
            file.write(head)
            writer = csv.writer(file, delimiter=delimiter)
            writer.writerow(("id", "date", "text"))
            for document in gold:
                writer.writerow((document["doc_id"], "2024-03-04", document["text"]))
        return {document["doc_id"]: f"table.csv/{document['doc_id']}" for document in gold}

    return write


FILE_COATS: dict[str, Callable[[list[Gold], Path], dict[str, str]]] = {
    "mail": plain_mail,
    "mail of HTML": html_mail,
    "mail of alternatives": mail_of_alternatives,
    "mail forwarded": forwarded_mail,
    "mail attached": attached_mail,
    "web page": web_page,
    "Word": word_file,
    "Word with its text in a table": word_table,
    "PDF": pdf_file(1),
    "PDF of two columns": pdf_file(2),
    "CSV": table_of(","),
    "CSV with ; and BOM": table_of(";", encoding="utf-8-sig"),
    "CSV with tabs": table_of("\t"),
    "CSV with sep=": table_of(";", head="sep=;\r\n"),
    "CSV in cp1252": table_of(";", encoding="cp1252"),
}
