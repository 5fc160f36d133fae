"""PDF through PDFium: its text layer, lines joined to paragraphs, words mended that a line end had cut."""

import re
import threading
from collections import Counter
from collections.abc import Mapping
from itertools import zip_longest
from statistics import median
from typing import Any

from polyonym.ingest.readers.rejection import Rejected
from polyonym.ingest.readers.result import Read, clean_metadata, one_line

_PDFIUM = threading.Lock()  # PDFium is not thread-safe
_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_CONTROLS = re.compile(r"[\x00-\x01\x03-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_CUT_WORD = re.compile(r"(\w+)(?:\x02+|\u00ad|-(?=\n[^\W\d_]))\n?(\w+)([^\w\s]*) ?")
# Hyphens that look like the common one, and letters that are drawn as one.
_SPELT = str.maketrans({"\u2010": "-", "\u2011": "-", "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
LONGEST_HEAD = 4
_WORD = re.compile(r"\w+(?:-\w+)*")
_LIST_ITEM = re.compile(r"(?:[•●▪◦‣∙·*–—-]|\(?\d{1,3}(?:\.\d+)*[.):]|\(?[a-z][.)])\s")
_FIELDS = {"Author": "author", "Subject": "subject", "Keywords": "keywords", "CreationDate": "created", "ModDate": "modified"}
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?")


def read(data: bytes) -> Read:
    """Raises Rejected for an encrypted file, a broken one, and one without a text layer."""
    import pypdfium2

    with _PDFIUM:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            if getattr(error, "err_code", None) == _PASSWORD_ERROR:
                raise Rejected("encrypted: needs a password") from error
            raise Rejected("broken PDF: " + _pdfium_reason(error)) from error
        try:
            information = document.get_metadata_dict()
            pages = [_page_text(document, number) for number in range(len(document))]
        finally:
            document.close()
    if not any(page.strip() for page in pages):
        raise Rejected("no text layer (scanned pages?)")
    text = _mend_words("\n\f\n".join(_without_running_lines(pages)))
    metadata = {name: _iso_date(information[field]) for field, name in _FIELDS.items() if information.get(field)}
    return Read(
        "",
        one_line(information.get("Title", "")),
        _paragraphs(text.split("\f")),
        clean_metadata([*metadata.items(), ("pages", len(pages))]),
    )


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
    return _CONTROLS.sub("", text.translate(_SPELT).replace("\r\n", "\n").replace("\r", "\n").replace("\ufffe", "\x02").replace("\f", "\n"))


def _without_running_lines(pages: list[str]) -> list[str]:
    """Pages without the heads, feet and page numbers that come again page after page; the first page keeps its own."""
    lines = [page.strip().split("\n") for page in pages]
    for turn in (1, -1):
        turned = [page[::turn] for page in lines]
        written = [[line for line in page if line.strip()] for page in turned]
        running = _running(written)
        for number in range(1, len(lines)):
            for _ in range(_head_length(written[number], running)):
                place = next(i for i, line in enumerate(turned[number]) if line.strip())
                del turned[number][: place + 1]
        lines = [page[::turn] for page in turned]
    return ["\n".join(page) for page in lines]


def _running(pages: list[list[str]]) -> dict[str, bool]:
    """The lines, numbers masked, that stand at the beginning of many pages, each with whether its numbers differ from page to page."""
    begun = [page[: LONGEST_HEAD + 1] for page in pages if page]
    counts = Counter(mask for lines in begun for mask in {_mask(line) for line in lines})
    often = {mask for mask, count in counts.items() if count >= max(2, len(begun) / 3) and (count >= 3 or len(begun) == 2)}
    seen: dict[str, set[str]] = {mask: set() for mask in often}
    for line in (line for lines in begun for line in lines):
        seen.get(_mask(line), set()).add(line.strip())
    return {mask: len(forms) > 1 for mask, forms in seen.items()}


def _head_length(page: list[str], running: Mapping[str, bool]) -> int:
    """How many lines at the beginning of a page are its running head."""
    masks = [_mask(line) for line in page[: LONGEST_HEAD + 1]]
    length = next((i for i, mask in enumerate(masks) if mask not in running), len(masks))
    if length <= LONGEST_HEAD and length < len(page):
        return length
    # The pages themselves are alike: the head goes as far as the page's number.
    return max((i + 1 for i, mask in enumerate(masks[:LONGEST_HEAD]) if running[mask]), default=0)


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


def _paragraphs(pages: list[str]) -> str:
    """Lines joined to paragraphs: a line goes on in the next one when it is about as long as the page's lines of prose are.

    A paragraph may go on over the end of a page.
    """
    text: list[str] = []
    for page in pages:
        lines = [re.sub(r"[ \t\u00a0]+", " ", line).strip() for line in page.strip().split("\n")]
        if not any(lines):
            continue
        usual = median([len(line) for line in lines if len(line) > 25] or [1])
        if text:
            text[-1] = " " if text[-1] == "\f" and not _LIST_ITEM.match(lines[0]) else "\n\n"
        for line, following in zip_longest(lines, lines[1:]):
            full = 0.75 * usual <= len(line) <= 1.5 * usual
            open_ended = line[-1:] not in ".!?:"
            if following is None:
                end = "\f" if full and open_ended and len(line) > 25 else "\n"
            else:
                goes_on = (full or (following[:1].islower() and open_ended)) and not _LIST_ITEM.match(following)
                end = " " if line and following and goes_on else "\n"
            text += [line, end]
    return re.sub(r"\n{3,}", "\n\n", "".join(text)).strip()


def _iso_date(value: str) -> str:
    match = _DATE.match(value)
    return "-".join(part for part in match.groups() if part) if match else value
