"""PDF through PDFium: its text layer, lines joined to paragraphs, words mended that a line end had cut."""

import re
import threading
from collections import Counter
from itertools import zip_longest
from statistics import median
from typing import Any

from polyonym.ingest.readers.result import Read, SetAside, clean_metadata, one_line

_PDFIUM = threading.Lock()  # PDFium is not thread-safe
_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_CONTROLS = re.compile(r"[\x00-\x01\x03-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_CUT_WORD = re.compile(r"(\w+)(?:\x02+|\u00ad|-(?=\n[^\W\d_A-Z]))\n?(\w+)([^\w\s]*) ?")
_WORD = re.compile(r"\w+(?:-\w+)*")
_LIST_ITEM = re.compile(r"(?:[•●▪◦‣∙·*–—-]|\(?\d{1,3}(?:\.\d+)*[.):]|\(?[a-z][.)])\s")
_FIELDS = {"Author": "author", "Subject": "subject", "Keywords": "keywords", "CreationDate": "created", "ModDate": "modified"}
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?")


def read(data: bytes) -> Read:
    """Raises SetAside for an encrypted file, a broken one, and one without a text layer."""
    import pypdfium2

    with _PDFIUM:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            if getattr(error, "err_code", None) == _PASSWORD_ERROR:
                raise SetAside("encrypted: needs a password") from error
            raise SetAside("broken PDF: " + _pdfium_reason(error)) from error
        try:
            information = document.get_metadata_dict()
            pages = [_page_text(document, number) for number in range(len(document))]
        finally:
            document.close()
    if not any(page.strip() for page in pages):
        raise SetAside("no text layer (scanned pages?)")
    text = _mend_words("\n\f\n".join(_without_running_lines(pages)))
    blocks = [block for page in text.split("\f") if (block := _paragraphs(page))]
    metadata = {name: _iso_date(information[field]) for field, name in _FIELDS.items() if information.get(field)}
    return Read("", one_line(information.get("Title", "")), "\n\n".join(blocks), clean_metadata([*metadata.items(), ("pages", len(pages))]))


def _pdfium_reason(error: Exception) -> str:
    match = re.search(r"PDFium: (.*?)\.?\)", str(error))
    return (match[1] if match else str(error)).lower()


def _page_text(document: Any, number: int) -> str:
    page = document[number]
    try:
        text_page = page.get_textpage()
        try:
            text = text_page.get_text_bounded()
        finally:
            text_page.close()
    finally:
        page.close()
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufffe", "\x02").replace("\f", "\n"))


def _without_running_lines(pages: list[str]) -> list[str]:
    """Pages without the heads, feet and page numbers that come again page after page; the first one stays, it may be the title."""
    lines = [page.strip("\n").split("\n") for page in pages]
    if len(pages) < 3:
        return ["\n".join(page) for page in lines]
    counts = Counter(mask for page in lines for mask in {_mask(page[0]), _mask(page[-1])})
    running = {mask for mask, count in counts.items() if count > len(pages) / 3 and count >= 3}
    for page in lines[1:]:
        if page and _mask(page[0]) in running:
            del page[0]
        if page and _mask(page[-1]) in running:
            del page[-1]
    return ["\n".join(page) for page in lines]


def _mask(line: str) -> str:
    return re.sub(r"\d+", "#", line.strip())


def _mend_words(text: str) -> str:
    """Join words that a line end had cut; the hyphen stays where the document elsewhere shows that it belongs to the word."""
    known = Counter(word.lower() for word in _WORD.findall(_CUT_WORD.sub(" ", text)))

    def mend(match: re.Match[str]) -> str:
        left, right, end = match.groups()
        joined, hyphened = (left + right).lower(), f"{left}-{right}".lower()
        parts_are_words = known[left.lower()] and known[right.lower()]
        keep = not known[joined] and (known[hyphened] or parts_are_words or left[-1].isdigit() or right[0].isdigit() or right[0].isupper())
        return f"{left}{'-' * keep}{right}{end}\n"

    return _CUT_WORD.sub(mend, text).replace("\x02", "-")


def _paragraphs(page: str) -> str:
    """Lines joined to paragraphs: a line goes on in the next one when it is about as long as the page's lines of prose are."""
    lines = [re.sub(r"[ \t\u00a0]+", " ", line).strip() for line in page.split("\n")]
    usual = median([len(line) for line in lines if len(line) > 25] or [1])
    text: list[str] = []
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        full = 0.75 * usual <= len(line) <= 1.5 * usual
        middle = following[:1].islower() and line[-1:] not in ".!?:"
        goes_on = line and following and (full or middle) and not _LIST_ITEM.match(following)
        text += [line, " " if goes_on else "\n"]
    return re.sub(r"\n{3,}", "\n\n", "".join(text)).strip()


def _iso_date(value: str) -> str:
    match = _DATE.match(value)
    return "-".join(part for part in match.groups() if part) if match else value
