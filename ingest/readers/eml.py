"""E-mail messages in MIME: every part that is text is read in its order, of alternatives the one that carries the text."""

import email
import email.policy
import mimetypes
import re
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message

from polyonym.ingest.readers.content import Attached
from polyonym.ingest.readers.encodings import NotText, decode
from polyonym.ingest.readers.mail import DEEPEST, Mail, file_name, html_says_more, html_text, mailboxes, shown
from polyonym.ingest.readers.rejection import Rejected, Unreadable
from polyonym.ingest.readers.result import one_line

_KNOWN = frozenset(("from", "to", "subject", "date", "message-id", "received"))
_PEOPLE = ("from", "to", "cc")
_LONGEST_HEADER = 100_000
# Charsets that mail programs name when they write a larger one.
_WIDER = {
    "us-ascii": "utf-8",
    "ascii": "utf-8",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "shift_jis": "cp932",
    "iso-8859-8-i": "iso-8859-8",
    "utf8mb4": "utf-8",
}
_TEXTS = frozenset(("text/plain", "text/html", "text/enriched", "text/richtext"))
_SUFFIXES = mimetypes.MimeTypes()  # the library's own table, not the machine's
_LOCKED = frozenset(("application/pkcs7-mime", "application/x-pkcs7-mime", "application/pgp-encrypted"))
_SIGNATURES = frozenset(
    ("application/pgp-signature", "application/pgp-keys", "application/pkcs7-signature", "application/x-pkcs7-signature")
)
_BASE64_LINES = re.compile(r"\s*(?:[A-Za-z0-9+/]{4,}={0,2}[ \t]*(?:\r?\n|\Z)\s*)*")
_LOST_BOUNDARY = re.compile(r"^--(\S[^\r\n]{0,200}?)[ \t]*\r?\nContent-", re.MULTILINE | re.IGNORECASE)


def read(data: bytes) -> Mail:
    """Raises Rejected for what has no header of a message."""
    message = email.message_from_bytes(data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n"), policy=email.policy.compat32)
    if _KNOWN.isdisjoint(name.lower() for name in message):
        raise Rejected("not an e-mail message: no headers")
    return _mail(message, 0)


def looks_like_message(head: bytes) -> bool:
    """Whether the beginning of a file without a suffix is that of a message, as mail servers keep them: one file a message."""
    names = [m[1].lower() for line in head.split(b"\n")[:8] if (m := re.match(rb"([A-Za-z][A-Za-z-]+):\s", line))]
    return len(names) >= 3 and not {b"from", b"message-id", b"received", b"return-path", b"delivered-to"}.isdisjoint(names)


def _mail(message: "Message[str, str]", depth: int) -> Mail:
    mail = Mail(_headers(message))
    mail.add(_part(message, depth))
    return mail


def _headers(message: "Message[str, str]") -> dict[str, str]:
    """The message's headers, decoded; of several with one name the first, of "received" the last."""
    headers: dict[str, str] = {}
    for name, raw in message.raw_items():
        name, raw = name.lower(), _eight_bit(re.sub(r"[\r\n]", "", str(raw))[:_LONGEST_HEADER])
        if name in _PEOPLE or name == "sender":
            people = [shown(one_line(_decoded(person)), address) for person, address in mailboxes(raw)]
            headers.setdefault(name, ", ".join(people) or one_line(_decoded(raw)))
        elif name == "received" or name not in headers:
            headers[name] = one_line(_decoded(raw), 1000)
    if "sender" in headers:
        headers.setdefault("from", headers["sender"])
    return headers


def _eight_bit(raw: str) -> str:
    """A header with the bytes in it that are no ASCII, though headers should hold no others, as the letters that they stand for."""
    return raw if raw.isascii() else text_of(raw.encode("utf-8", "surrogateescape"), "utf-8")


def _decoded(raw: str) -> str:
    """A header's encoded words (RFC 2047) as text."""
    if "=?" not in raw:
        return raw
    try:
        parts = decode_header(raw)
    except (HeaderParseError, ValueError):
        return raw
    return "".join(part if isinstance(part, str) else text_of(part, charset or "raw-unicode-escape") for part, charset in parts)


def _part(part: "Message[str, str]", depth: int) -> Mail:
    """The texts and attachments of a part and of all below it."""
    kind = part.get_content_type()
    mail = Mail({})
    if kind == "message/rfc822":
        if depth == DEEPEST:
            mail.unreadable.append(Unreadable("enclosed message", f"messages enclosed in each other more than {DEEPEST} deep"))
        else:
            mail.add_enclosed(_mail(_enclosed(part), depth + 1))
        return mail
    if part.is_multipart():
        parts = [p for p in part.get_payload() if isinstance(p, Message)]
        if kind == "multipart/alternative":
            return _alternatives(parts, depth)
        for each in parts if kind.startswith("multipart/") else ():  # else the notes of a mail server on a delivery
            mail.add(_part(each, depth))
        return mail
    if kind.startswith("multipart/"):
        return _part(_with_boundary(part), depth)
    name = file_name(_decoded(_eight_bit(_file_name(part))))
    within_text = kind.startswith("image/") and "content-id" in part
    for_itself = part.get_content_disposition() == "attachment" and not within_text
    if kind in _TEXTS and not (for_itself and name):
        text = _content(part)
        mail.blocks.append(html_text(text) if kind == "text/html" else text)
    elif kind in _LOCKED:
        mail.unreadable.append(Unreadable(name or "message", "encrypted: needs its recipient's key"))
    elif kind not in _SIGNATURES:
        name = name or "attachment" + (_SUFFIXES.guess_extension(kind) or ".bin")
        mail.attachments.append(Attached(name, _bytes(part), for_itself))
    return mail


def _enclosed(part: "Message[str, str]") -> "Message[str, str]":
    """The message that a part encloses, also where it is encoded, which it may not be."""
    enclosed = part.get_payload()
    message = enclosed[0] if isinstance(enclosed, list) and enclosed else None
    if not isinstance(message, Message):
        return Message()
    if str(part.get("content-transfer-encoding", "")).strip().lower() == "base64" and not message.keys():
        message["Content-Transfer-Encoding"] = "base64"
        return email.message_from_bytes(_bytes(message), policy=email.policy.compat32)
    return message


def _alternatives(parts: "list[Message[str, str]]", depth: int) -> Mail:
    """Of parts that say the same the one that carries the text; the attachments of all."""
    mails = [(any(p.get_content_type() == "text/html" for p in part.walk()), _part(part, depth)) for part in parts]
    best: dict[bool, list[str]] = {}
    for html, mail in mails:
        if any(block.strip() for block in mail.blocks):
            best[html] = mail.blocks  # the last is the richest
    plain, markup = ("\n\n".join(best.get(html, ())) for html in (False, True))
    chosen = Mail({}, best.get(html_says_more(plain, markup), []))
    for _, mail in mails:
        chosen.attachments += (file for file in mail.attachments if file.for_itself or not file.name.startswith("attachment."))
        chosen.unreadable += mail.unreadable
    return chosen


def _with_boundary(part: "Message[str, str]") -> "Message[str, str]":
    """A part that should have parts and, with the boundary that it names, has none: divided where its text is, else taken as text."""
    body = str(part.get_payload())
    lost = _LOST_BOUNDARY.search(body)
    kind = f'multipart/mixed; boundary="{lost[1]}"' if lost else "text/plain"
    head = f"Content-Type: {kind}\nContent-Transfer-Encoding: 8bit\n\n"
    return email.message_from_bytes((head + body).encode("ascii", "surrogateescape"), policy=email.policy.compat32)


def _file_name(part: "Message[str, str]") -> str:
    try:
        return part.get_filename() or ""
    except (ValueError, LookupError):
        return ""


def _bytes(part: "Message[str, str]") -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _content(part: "Message[str, str]") -> str:
    """The decoded text of a part; its charset is guessed where the declared one is unknown or false."""
    raw = part.get_payload()
    rest = b""
    if isinstance(raw, str) and str(part.get("content-transfer-encoding", "")).strip().lower() == "base64":
        # Mailing lists put their footer behind the encoded lines, and some programs name an encoding that they don't use.
        end = _BASE64_LINES.match(raw).end()  # type: ignore[union-attr]
        rest = raw[end:].encode("ascii", "surrogateescape")
        part.set_payload(raw[:end])
    text = text_of(_bytes(part), part.get_content_charset() or "utf-8")
    if rest.strip():
        text = f"{text}\n{text_of(rest, 'utf-8')}" if text else text_of(rest, "utf-8")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if str(_parameter(part, "format")).lower() == "flowed":
        return _unwrapped(text, str(_parameter(part, "delsp")).lower() == "yes")
    return text


def _parameter(part: "Message[str, str]", name: str) -> object:
    try:
        return part.get_param(name)
    except (ValueError, LookupError):
        return None


def _unwrapped(text: str, without_blank: bool) -> str:
    """A text whose lines go on in the next one where they end with a blank (RFC 3676), with its paragraphs whole again."""
    paragraphs: list[tuple[str, str]] = []  # marks of quoting, words
    goes_on = False
    for line in text.split("\n"):
        marks = line[: len(line) - len(line.lstrip(">"))]
        words = line[len(marks) :].removeprefix(" ")
        if goes_on and paragraphs[-1][0] == marks and words != "-- ":
            before = paragraphs.pop()[1]
            paragraphs.append((marks, (before.removesuffix(" ") if without_blank else before) + words))
        else:
            paragraphs.append((marks, words))
        goes_on = words.endswith(" ") and words != "-- "
    return "\n".join(f"{marks} {words}".rstrip() if marks else words for marks, words in paragraphs)


def text_of(data: bytes, charset: str) -> str:
    """The text of bytes in a declared charset, or in the one that they are likely to be in where that is unknown or false."""
    charset = _WIDER.get(charset.lower(), charset)
    try:
        if charset == "cp1252" and not data.isascii() and _is_utf8(data):
            charset = "utf-8"
        return data.decode(charset)
    except (LookupError, ValueError):
        pass
    try:
        return decode(data)[0]
    except NotText:
        return ""


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
