"""A mail as documents: who wrote to whom stands above its text, and attachments are documents of their own.

The address stands beside each name, as mail programs show it (`Karin Holm <karin@example.org>`), so that it is evidence like
any other word of the text: seen by who reads the document, and gone with it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath

from polyonym.ingest.readers.content import Attached
from polyonym.ingest.readers.html import page
from polyonym.ingest.readers.rejection import Rejected, Unreadable
from polyonym.ingest.readers.result import Read, clean_metadata, one_line

DEEPEST = 10
"""Messages enclosed in messages beyond this depth are set aside."""
_TEXT_HEADERS = ("From", "To", "Cc")
_ENCLOSED_HEADERS = (*_TEXT_HEADERS, "Date", "Subject")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>]*>|\([^()]*\)|[,;]|[^\s"<>(),;]+|\s+')
_WORD = re.compile(r"[^\W\d_]+")
_STUB = re.compile(r"html|browser|mail[- ]?(?:client|program|reader|viewer|programm)", re.IGNORECASE)
_STUB_WORDS = 40


@dataclass
class Mail:
    """What a message holds. `headers` are decoded, by their names in lower case; `blocks` the texts of its parts in order."""

    headers: dict[str, str]
    blocks: list[str] = field(default_factory=list)
    attachments: list[Attached] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)

    def add(self, other: "Mail") -> None:
        """Take over the texts and attachments of a part."""
        self.blocks += other.blocks
        self.attachments += other.attachments
        self.unreadable += other.unreadable

    def add_enclosed(self, other: "Mail") -> None:
        """Take over an enclosed message, its own header above its text."""
        self.blocks.append(header_block(other.headers, _ENCLOSED_HEADERS))
        self.add(other)


def documents(mail: Mail) -> Iterator[Read | Unreadable | Attached]:
    """The message itself (suffix ""), then its attachments, to be read by their own formats; no name comes twice."""
    names: set[str] = set()
    attachments = [replace(file, name=_free(file.name, names)) for file in mail.attachments]
    unreadable = [Unreadable(_free(part.suffix, names), part.reason) for part in mail.unreadable]
    metadata: dict[str, object] = {name: mail.headers.get(name, "") for name in ("from", "to", "cc")}
    metadata |= {"date": iso_date(mail.headers)}
    metadata |= {name: mail.headers.get(name, "") for name in ("message-id", "in-reply-to")}
    metadata |= {"attachments": [*(file.name for file in attachments), *(part.suffix for part in unreadable)]}
    blocks = (block.strip("\n") for block in (header_block(mail.headers, _TEXT_HEADERS), *mail.blocks))
    text = "\n\n".join(block for block in blocks if block.strip())
    yield Read("", one_line(mail.headers.get("subject", "")), text, clean_metadata(metadata.items()))
    yield from attachments
    yield from unreadable


def _free(name: str, taken: set[str]) -> str:
    """`name`, with a number before its suffix where it is taken, and taken from now on."""
    path = PurePosixPath(name)
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{path.stem} ({number}){path.suffix}"
    taken.add(free)
    return free


def header_block(headers: dict[str, str], names: Iterable[str]) -> str:
    """The named headers as they stand in a document's text, a line each."""
    return "\n".join(f"{name}: {value}" for name in names if (value := headers.get(name.lower())))


def mailboxes(value: str) -> list[tuple[str, str]]:
    """The (display name, address) pairs of a header that lists them; "" where a name is missing.

    Reads what mail programs really write: names with a comma without quotes, semicolons between addresses, groups.
    """
    result: list[tuple[str, str]] = []
    phrase, comment, bare = "", "", ""
    for token in [*_TOKEN.findall(value), ","]:
        if token.startswith("<"):
            address = token[1:-1].strip()
            if "@" in address:
                result.append((_plain_name(phrase, address), address))
                phrase, comment, bare = "", "", ""
        elif token in (",", ";"):
            if bare:
                result.append((_plain_name(comment, bare), bare))
            # Else a comma within a name: "Holm, Karin <karin@example.org>".
            phrase, comment, bare = "" if bare or token == ";" else phrase + token, "", ""
        elif token.startswith("("):
            comment = token[1:-1]
        elif token.startswith('"'):
            phrase += re.sub(r"\\(.)", r"\1", token[1:-1])
        elif token.endswith(":"):  # the name of a group
            phrase = ""
        else:
            bare = token if "@" in token else bare
            phrase += token
    return result


def _plain_name(phrase: str, address: str) -> str:
    name = one_line(phrase).strip("' \t,;")
    return "" if name.casefold() == address.casefold() else name


def shown(name: str, address: str) -> str:
    """A person as mail programs write them: `Karin Holm <karin@example.org>`, `"Holm, Karin" <karin@example.org>`."""
    if not name:
        return address
    quoted = '"' + name.replace('"', "'") + '"' if re.search(r'[,;:<>@"()\[\]]', name) else name
    return f"{quoted} <{address}>" if address else quoted


def iso_date(headers: dict[str, str]) -> str:
    """When the message was sent (ISO 8601), else when the first server received it; "" when neither can be read."""
    for value in (headers.get("date", ""), headers.get("received", "").rpartition(";")[2]):
        try:
            date: datetime = parsedate_to_datetime(value.strip())
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return date.isoformat()
    return ""


def file_name(name: str) -> str:
    """The name that an attachment is called by: without folders, on one line; "" when nothing is left."""
    name = one_line(name.replace("\\", "/").rpartition("/")[2], 200)
    return "" if name in (".", "..") else name


def html_text(markup: str) -> str:
    """The text of a part of markup; "" where it is none that can be read."""
    try:
        return page(markup).text
    except Rejected:
        return ""


def html_says_more(plain: str, html: str) -> bool:
    """Whether of two alternatives, which should say the same, the one of markup carries the text.

    The plain one does, unless it holds no words, is cut short, or only says that there is something else to be read.
    """
    plain_words, html_words = (_WORD.findall(text.casefold()) for text in (plain, html))
    if not plain_words or not html_words:
        return bool(html_words)
    if len(html_words) > 2 * len(plain_words):
        return True
    few, many = sorted((set(plain_words), set(html_words)), key=len)
    if len(few & many) * 2 >= len(few):
        return False
    return len(html_words) > len(plain_words) or (len(plain_words) <= _STUB_WORDS and _STUB.search(plain) is not None)
