"""Names beside e-mail addresses: `Karin Holm <karin@example.org>`, in the head of a mail, above a quotation, or anywhere else in a text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from polyonym.ingest.mentions.word_lists import word_list

LONGEST = 80
"""Characters of a display name; what is longer is no name."""

_ADDRESS = r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"
_ANY = re.compile(_ADDRESS)
_BRACKETED = rf"(?:<(?:mailto:)?({_ADDRESS})>|\[mailto:({_ADDRESS})\])"
_IN_BRACKETS = re.compile(_BRACKETED)
_BEHIND = re.compile(
    rf"[\"'”’]?(?:[\s>]|\([^()\n]{{0,60}}\)|\[(?!mailto:)[^\[\]\n]{{0,60}}\]|(?:via|on behalf of) [^<>\n]{{1,60}})*{_BRACKETED}"
)
_LABEL = re.compile(r"[ \t*>|]*[^\W\d_][\w-]*(?: [^\W\d_][\w-]*)?\*?:\*?\s")
_LOOK_BEHIND = 1000
_LEFT_OFF = re.compile(r"\s+(?:via|on behalf of)\s.*|\s*[(\[|].*", re.IGNORECASE)
_CAPITALISED = r"[^\W\d_a-zß-öø-ÿ][\w'’.-]*"
_RUN = re.compile(
    rf"(?:{_CAPITALISED}\s+(?:(?:van|von|der|den|de|del|della|di|da|dos|du|la|le|bin|al|el|zu|ter)\s+){{0,3}})*{_CAPITALISED}\Z"
)
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class NamedAddress:
    """text[start:end] is a display name, and text[address_start:address_end] the address in brackets behind it."""

    start: int
    end: int
    address_start: int
    address_end: int
    label: str  # PERSON, or ORG where the address is one of a function and not of a person


def named_addresses(text: str) -> Iterator[NamedAddress]:
    """The names that stand before addresses in angle brackets, in order. An address alone, or before it its own beginning, is no name."""
    for match in _IN_BRACKETS.finditer(text):
        earliest = max(0, match.start() - _LOOK_BEHIND)
        line = max(text.rfind("\n", earliest, match.start()) + 1, earliest)
        before = text[line : match.start()].rstrip()
        start, name = _name(before)
        local, _, domain = (match[1] or match[2]).partition("@")
        if _is_name(name, local):
            through = before[start + len(name) :].split(None, 1)[:1] in (["via"], ["on"])
            named_alike = "".join(_LETTERS.findall(name)).casefold() == domain.split(".")[-2].casefold()
            firm = named_alike or (_is_role(local) and not through)
            yield NamedAddress(line + start, line + start + len(name), match.start(), match.end(), "ORG" if firm else "PERSON")


def addresses(text: str) -> list[tuple[int, int]]:
    """The spans of all e-mail addresses in a text, in order."""
    return [match.span() for match in _ANY.finditer(text)] if "@" in text else []


def persons_address(text: str, end: int) -> str:
    """The address of a person whose name ends at `end`, in lower case; "" where none follows, or one of a function ("info@…").

    Who has one address is one person. Of a function's address, or one that a service writes from for all its users, that is not so.
    """
    match = _BEHIND.match(text, end, min(len(text), end + 400))
    if match is None:
        return ""
    local, _, domain = (match[1] or match[2]).casefold().partition("@")
    return "" if _is_role(local) else f"{local.partition('+')[0]}@{domain}"


def _name(before: str) -> tuple[int, str]:
    """The display name at the end of the part of a line that stands before an address: where it starts, and the name."""
    for mark in ('"', "'", "”"):
        opening = before.rfind("“" if mark == "”" else mark, 0, len(before) - 1)
        if before.endswith(mark) and opening >= 0:
            return _trimmed(before, opening + 1, len(before) - 1)
    start = max(before.rfind(mark) for mark in ">;<") + 1
    label = _LABEL.match(before)
    if label:
        last = max((end for _, end in addresses(before)), default=0)
        start = max(start, label.end(), before.find(",", last) + 1 if last > start else 0)
    else:
        start = max(start, *(before.rfind(mark) + 1 for mark in ',:()[]"'))
        run = _RUN.search(_LEFT_OFF.sub("", before[start:]))
        start = start + run.start() if run else len(before)
    return _trimmed(before, start, len(before))


def _trimmed(before: str, start: int, end: int) -> tuple[int, str]:
    piece = before[start:end]
    left = len(piece) - len(piece.lstrip(" \t,;'\"“*"))
    return start + left, _LEFT_OFF.sub("", piece[left:]).rstrip(" \t,;'\"”*")


def _is_name(name: str, local: str) -> bool:
    letters = _LETTERS.findall(name)
    if len("".join(letters)) < 2 or len(name) > LONGEST or "@" in name or "/" in name or len(letters) > 8:
        return False
    return name.casefold() != local.casefold() or not name.islower()


def _is_role(local: str) -> bool:
    local = local.casefold()
    return local in word_list("function address") or not word_list("function address part").isdisjoint(re.split(r"[^a-z]+", local))
