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
_ESCAPED = re.compile("[\udc80-\udcff]+")
_LATIN_LETTERS = re.compile("[\u00c0-\u024f]")
_SPACING = frozenset("\t\n\r\f\v\x1b\x85")


class NotText(ValueError):
    """The bytes are no text in any encoding known here; the message says what they are."""


@dataclass(frozen=True)
class Encoding:
    """A codec's name, and what becomes of bytes that it cannot decode: "replace" makes U+FFFD of them, "strict" says that there are none.

    Where some lines are in another encoding, `other` names that, and bytes are kept as lone surrogates until `mend` has seen their line.
    """

    name: str
    errors: str = "strict"
    other: str = ""

    def mend(self, line: str) -> tuple[str, bool]:
        """A decoded line as it was meant, and whether it is in the other encoding: bytes amid characters of UTF-8 are damage, U+FFFD."""
        if not self.other or line.isascii() or not _ESCAPED.search(line):
            return line, False
        if not _ESCAPED.sub("", line).isascii():
            return _ESCAPED.sub(lambda m: "\ufffd" * len(m[0]), line), False
        return line.encode("utf-8", "surrogateescape").decode(self.other, "replace"), True

    def __str__(self) -> str:
        return f"{self.name} and {self.other}" if self.other else self.name


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
    if encoding.other:
        text = "".join(encoding.mend(line)[0] for line in text.splitlines(keepends=True))
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
    if b"\0" in data[:SAMPLE] and (encoding := _utf16(data)):
        return encoding
    text = data.decode("utf-8", "surrogateescape")
    bad = sum(len(run) for run in _ESCAPED.findall(text))
    good = len(text) - bad - len(data.translate(None, bytes(range(128, 256))))
    lines = [line for line in text.splitlines() if not line.isascii()]
    foreign = sum(_ESCAPED.search(line) is not None for line in lines)
    if good >= 10 * bad or len(lines) - foreign >= foreign / 3:  # a few damaged places, or lines of two encodings
        return Encoding("utf-8", "surrogateescape", _other(text))
    if b"\0" in data[:SAMPLE]:
        raise NotText("binary content (NUL bytes)")
    encoding = _legacy(data)
    if encoding.name in _LATIN and any(_LATIN_LETTERS.search(line) and not _ESCAPED.search(line) for line in lines):
        return Encoding("utf-8", "surrogateescape", encoding.name)
    return encoding


def _other(text: str) -> str:
    """The encoding of those lines of a text in UTF-8 that are not, their bytes being kept as lone surrogates."""
    lines = [line for line in text.splitlines(keepends=True) if _ESCAPED.search(line) and _ESCAPED.sub("", line).isascii()]
    data = "".join(lines).encode("utf-8", "surrogateescape")
    foreign = sum(byte >= 0x80 for byte in data)
    if 2 * foreign > sum(map(str.isalpha, data.decode("ascii", "ignore"))) + foreign:  # no letters of ours: another script
        try:
            return _legacy(data).name
        except NotText:
            return "cp1252"
    return _latin_page("cp1252", data.decode("cp1252", "replace")) if data else "cp1252"


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
