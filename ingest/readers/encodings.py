"""The encoding of text files: byte-order marks, UTF-8, UTF-16 without a mark, then the older national encodings."""

import codecs
import re
import unicodedata
from dataclasses import dataclass
from typing import BinaryIO

SAMPLE = 1 << 18
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What is still met in files; a longer list makes the detector guess encodings that nobody writes.
_LEGACY = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r", "iso8859_2", "iso8859_5", "iso8859_7"),
    *("mac_cyrillic", "cp932", "euc_jp", "gb18030", "big5", "cp949"),
]
_LATIN = {"cp1252", "cp1250", "cp1254", "cp1257", "iso8859_2"}
_LATIN_PAGES = {
    **dict.fromkeys(("pl", "cs", "sk", "hu", "sl", "hr", "bs", "ro", "sq"), "cp1250"),
    **dict.fromkeys(("tr", "az", "ku"), "cp1254"),
    **dict.fromkeys(("lt", "lv", "et"), "cp1257"),
}
_HIGH = re.compile(rb"[\x80-\xff]")
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SPACING = frozenset("\t\n\r\f\v\x1b\x85")


class NotText(ValueError):
    """The bytes are no text in any encoding known here; the message says what they are."""


@dataclass(frozen=True)
class Encoding:
    """A codec's name, and whether bytes that it cannot decode become U+FFFD ("replace") or cannot occur ("strict")."""

    name: str
    errors: str = "strict"


def decode(data: bytes) -> tuple[str, Encoding]:
    """The text of a whole file and its encoding; nothing is altered but for a byte-order mark, which is left out.

    Raises NotText for binary content.
    """
    encoding = detect(data)
    try:
        text = data.decode(encoding.name, encoding.errors)
    except UnicodeDecodeError:
        # Only a sample was looked at, or a marked file is damaged further on.
        encoding = Encoding(encoding.name, "replace")
        text = data.decode(encoding.name, "replace")
    if "\0" in text:
        raise NotText("binary content (NUL bytes)")
    return text, encoding


def detect(data: bytes) -> Encoding:
    """The encoding of `data`, a whole file. Raises NotText for binary content."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _marked(name, data)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return _unmarked(data)
    return _valid(data[:SAMPLE])


def detect_stream(stream: BinaryIO) -> Encoding:
    """As `detect`, for content too large to hold: all of it is tried as UTF-8, anything else is told from two pieces of it.

    Reads `stream` to its end. Raises NotText for binary content.
    """
    head = stream.read(SAMPLE)
    for mark, name in _MARKS:
        if head.startswith(mark):
            return _marked(name, head)
    decoder = codecs.getincrementaldecoder("utf-8")()
    piece = head
    while piece:
        try:
            decoder.decode(piece)
        except UnicodeDecodeError:
            return _unmarked(head if piece is head else head + piece)
        piece = stream.read(SAMPLE)
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return Encoding("utf-8", "replace")
    return _valid(head)


def _marked(name: str, data: bytes) -> Encoding:
    """The encoding that a mark names, unless much of what follows can't be read as such: any bytes may begin like a mark of UTF-16."""
    sample = data[: SAMPLE & ~3]
    try:
        sample.decode(name)
    except UnicodeDecodeError:
        text = sample.decode(name, "replace")
        if not name.startswith("utf-8") and text[:-1].count("\ufffd") > 0.01 * len(text):
            raise NotText("binary content behind a byte order mark") from None
    return Encoding(name)


def _valid(sample: bytes) -> Encoding:
    """The encoding of bytes that are valid UTF-8: UTF-16 of Latin or Cyrillic letters is so, too, but every second byte is a control character."""
    controls = len(_CONTROLS.findall(sample)) if b"\0" in sample else 0
    return (_utf16(sample) if controls > len(sample) / 5 else None) or Encoding("utf-8")


def _unmarked(data: bytes) -> Encoding:
    """The encoding of bytes that are neither marked nor UTF-8 throughout."""
    if b"\0" in data[:SAMPLE]:
        encoding = _utf16(data)
        if encoding is None:
            raise NotText("binary content (NUL bytes)")
        return encoding
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = len(text) - bad - len(data.translate(None, bytes(range(128, 256))))
    if good >= 10 * bad:
        return Encoding("utf-8", "replace")  # UTF-8 with a few damaged places, or cut within a character
    return _legacy(data)


def _utf16(data: bytes) -> Encoding | None:
    """UTF-16 of either byte order without a mark, when the bytes make sense as such: judged by how much of it is plain ASCII."""
    sample = data[: SAMPLE & ~1]
    best, best_share = None, 0.02
    for name in ("utf-16-le", "utf-16-be"):
        text = sample.decode(name, "replace")
        if not text or any(unicodedata.category(c) in ("Cc", "Cn", "Co", "Cs") and c not in _SPACING for c in set(text)):
            continue
        share = sum(c < "\x7f" for c in text) / len(text)
        if "\ufffd" not in text[:-1] and share > best_share:
            best, best_share = Encoding(name), share
    return best


def _legacy(data: bytes) -> Encoding:
    from charset_normalizer import from_bytes

    sample = _telling_part(data)
    guess = from_bytes(sample, cp_isolation=_LEGACY).best()
    name = "cp1252" if guess is None else str(guess.encoding)
    text = sample.decode(name, "replace")
    if sum(unicodedata.category(c) == "Cc" and c not in _SPACING for c in text) > 0.01 * len(text) or (
        guess is None and text.count("\ufffd") > 0.01 * len(text)
    ):
        raise NotText("binary content, or text in an unknown encoding")
    if name in _LATIN:
        name = _latin_page(name, data[: SAMPLE // 4].decode(name, "replace") + text)
    return Encoding(name)


def _telling_part(data: bytes) -> bytes:
    """Up to 64 KB of the lines (or pieces of long ones) that hold anything but ASCII."""
    pieces: list[bytes] = []
    at = size = 0
    while size < SAMPLE // 4 and (match := _HIGH.search(data, at)):
        first = match.start()
        start = max(at, first - 200, data.rfind(b"\n", at, first) + 1)
        at = data.find(b"\n", first, first + 4000) + 1
        if not at:
            # Cut where no character of several bytes can be cut: their later bytes are not below "0".
            piece = data[start : first + 4000]
            at = start + max((n for n, byte in enumerate(piece, 1) if byte < 0x30 and start + n > first), default=len(piece))
        pieces.append(data[start:at])
        size += at - start
    return b"".join(pieces)


def _latin_page(guess: str, text: str) -> str:
    """The code page that the text's language is written in: the detector takes French and Spanish for cp1250, which spoils their letters."""
    from polyonym.ingest.text.languages import likeliest

    page = _LATIN_PAGES.get(likeliest(text), "cp1252")
    return guess if page == "cp1250" and guess == "iso8859_2" else page
