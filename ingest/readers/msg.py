"""Outlook's message files: the same parts as a message in MIME has, kept as properties in a compound file."""

import re
from datetime import datetime
from email.parser import HeaderParser
from typing import TYPE_CHECKING

from polyonym.ingest.readers.content import Attached
from polyonym.ingest.readers.eml import text_of
from polyonym.ingest.readers.mail import DEEPEST, Mail, file_name, html_says_more, html_text, shown
from polyonym.ingest.readers.rejection import Rejected, Unreadable
from polyonym.ingest.readers.result import one_line

if TYPE_CHECKING:
    from oxmsg.storage import Storage

# Where properties begin in a storage's table of them: by what the storage is.
_FILE, _ENCLOSED, _OTHER = 32, 24, 8
_RECIPIENT_KINDS = {1: "to", 2: "cc"}
_YEARS = range(1970, 4000)  # programs write the first or the last of their years for none
_ENCLOSED_MESSAGE = "__substg1.0_3701000D"


def read(data: bytes) -> Mail:
    """Raises Rejected for what is no message of Outlook."""
    from olefile import OleFileIO, isOleFile
    from oxmsg.storage import Storage

    if not isOleFile(data=data):
        raise Rejected("not an Outlook message")
    with OleFileIO(data) as file:
        if not file.exists("__properties_version1.0"):
            raise Rejected("not an Outlook message")
        root = Storage.from_ole(file)
    return _mail(root, _FILE, 0)


class _Properties:
    """The properties of a storage, where a damaged one counts as none."""

    def __init__(self, storage: "Storage", offset: int) -> None:
        from oxmsg.properties import Properties

        self._properties = Properties(storage, properties_header_offset=offset)

    def text(self, tag: int) -> str:
        try:
            return (self._properties.str_prop_value(tag) or "").rstrip("\0")
        except Exception:  # the library raises what its decoders raise
            return ""

    def data(self, tag: int) -> bytes:
        try:
            return self._properties.binary_prop_value(tag) or b""
        except Exception:
            return b""

    def number(self, tag: int) -> int:
        return self._properties.int_prop_value(tag) or 0

    def date(self, tag: int) -> str:
        try:
            date: datetime | None = self._properties.date_prop_value(tag)
        except Exception:
            date = None
        return date.strftime("%a, %d %b %Y %H:%M:%S +0000") if date and date.year in _YEARS else ""

    @property
    def encoding(self) -> str:
        try:
            return self._properties.body_encoding
        except Exception:
            return "utf-8"


def _mail(storage: "Storage", offset: int, depth: int) -> Mail:
    from oxmsg.domain import constants as c

    of = _Properties(storage, offset)
    sent = HeaderParser().parsestr(of.text(c.PID_TRANSPORT_MESSAGE_HEADERS))
    sender = of.text(c.PID_SENDER_SMTP_ADDRESS) or of.text(c.PID_SENDER_EMAIL_ADDRESS)
    people = {"from": [_person(of.text(c.PID_SENDER_NAME) or of.text(c.PID_SENT_REPRESENTING_NAME), sender)], "to": [], "cc": []}
    for recipient in storage.iter_recipient_storages():
        its = _Properties(recipient, _OTHER)
        address = its.text(c.PID_SMTP_ADDRESS) or its.text(c.PID_EMAIL_ADDRESS)
        if kind := _RECIPIENT_KINDS.get(its.number(c.PID_RECIPIENT_TYPE)):
            people[kind].append(_person(its.text(c.PID_DISPLAY_NAME), address))
    mail = Mail({name: ", ".join(filter(None, who)) for name, who in people.items()})
    mail.headers |= {
        "subject": of.text(c.PID_SUBJECT),
        "date": of.date(c.PID_CLIENT_SUBMIT_TIME) or of.date(c.PID_MESSAGE_DELIVERY_TIME) or str(sent.get("date", "")),
        "message-id": one_line(of.text(c.PID_INTERNET_MESSAGE_ID) or str(sent.get("message-id", ""))),
        "in-reply-to": one_line(str(sent.get("in-reply-to", ""))),
    }
    plain = re.sub(r"\r\n?", "\n", of.text(c.PID_BODY))
    markup = of.data(c.PID_HTML)
    html = html_text(text_of(markup, of.encoding) if markup else of.text(c.PID_BODY_HTML))
    mail.blocks.append(html if html_says_more(plain, html) else plain)
    for attached in storage.iter_attachment_storages():
        _attach(mail, attached, depth)
    return mail


def _attach(mail: Mail, storage: "Storage", depth: int) -> None:
    from oxmsg.domain import constants as c

    enclosed = next((s for s in storage.storages if s.name == _ENCLOSED_MESSAGE), None)
    of = _Properties(storage, _OTHER)
    if enclosed is None:
        name = file_name(of.text(c.PID_ATTACH_LONG_FILENAME) or of.text(c.PID_ATTACH_FILENAME) or of.text(c.PID_DISPLAY_NAME))
        within_text = bool(of.text(c.PID_ATTACH_CONTENT_ID))
        mail.attachments.append(Attached(name or "attachment.bin", of.data(c.PID_ATTACH_DATA_BINARY), not within_text))
    elif depth == DEEPEST:
        mail.unreadable.append(Unreadable("enclosed message", f"messages enclosed in each other more than {DEEPEST} deep"))
    else:
        mail.add_enclosed(_mail(enclosed, _ENCLOSED, depth + 1))


def _person(name: str, address: str) -> str:
    """A sender or recipient; an address of Exchange's own directory tells nothing outside it and is left out."""
    name = one_line(name.strip("' "))
    address = address.strip() if "@" in address else ""
    return shown("" if name.casefold() == address.casefold() else name, address)
