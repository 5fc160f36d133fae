"""E-mail messages: the subject is the title, the body the text; attachments are named in the metadata, not read."""

import email
import email.policy
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from typing import Any

from polyonym.ingest.readers.encodings import decode
from polyonym.ingest.readers.html import page
from polyonym.ingest.readers.result import Read, SetAside, clean_metadata, one_line

_HEADERS = ("from", "to", "cc", "date", "message-id", "in-reply-to")


def read(data: bytes) -> Read:
    """Raises SetAside for what has no header of a message."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    if not any(name in message for name in ("from", "to", "subject", "date", "message-id", "received")):
        raise SetAside("not an e-mail message: no headers")
    metadata: dict[str, Any] = {name: _header(message, name) for name in _HEADERS}
    metadata["date"] = _date(metadata["date"])
    metadata["attachments"] = [name for part in _attachments(message) if (name := _file_name(part))]
    text = ""
    for kind in ("plain", "html"):
        part = message.get_body(preferencelist=(kind,))
        if part is not None and not text.strip():
            content = _content(part)
            text = page(content).text if kind == "html" else content
    return Read("", one_line(_header(message, "subject")), text, clean_metadata(metadata.items()))


def _header(message: EmailMessage, name: str) -> str:
    # The library decodes headers when they are asked for, and stumbles over some that are malformed.
    try:
        value = message.get(name)
    except Exception:
        value = next((raw for key, raw in message.raw_items() if key.lower() == name), "")
    return one_line(str(value or ""), 1000)


def _date(value: str) -> str:
    try:
        return parsedate_to_datetime(value).isoformat()
    except (ValueError, TypeError):
        return value


def _attachments(message: EmailMessage) -> list[Any]:
    return [
        part
        for part in message.walk()
        if part.get_content_disposition() == "attachment" or (part.get_content_maintype() not in ("text", "multipart", "message"))
    ]


def _file_name(part: Any) -> str:
    try:
        return one_line(part.get_filename() or "")
    except Exception:
        return ""


def _content(part: Any) -> str:
    """The decoded text of a part; its charset is guessed where the declared one is unknown or false."""
    data = part.get_payload(decode=True) or b""
    charset = part.get_content_charset() or "utf-8"
    try:
        text = data.decode(
            "cp1252"
            if charset in ("us-ascii", "iso-8859-1") and not data.isascii() and not _is_utf8(data)
            else "utf-8"
            if charset == "us-ascii"
            else charset
        )
    except (LookupError, UnicodeDecodeError):
        text, _ = decode(data) if data else ("", None)
    return str(text).replace("\r\n", "\n").replace("\r", "\n")


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
