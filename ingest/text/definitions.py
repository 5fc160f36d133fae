"""Definitions: where a text itself says what it will call a thing, `Hartmann Werke GmbH (the "Landlord")`, `hereinafter BWL`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

_OPEN, _CLOSE = "[\"“„'‘«]", "[\"”“'’»]"
_TERM = r"[^\W\d_a-zß-öø-ÿ][\w.&’'/-]*(?:\s+(?:of|and|the|for|[^\W_a-zß-öø-ÿ][\w.&’'/-]*)){0,4}"
_ARTICLE = r"(?:(?:the|an?|der|die|das|den|le|la|les)\s+|l['’])?"
_QUOTED = rf"{_OPEN}\s*{_ARTICLE}(?P<%s>{_TERM}?)[,.]?\s*{_CLOSE}"
_HENCE = (
    r"(?:herein(?:after)?|hereafter|henceforth|nachfolgend|nachstehend|fortan|im\s+folgenden|ci-après|en\s+adelante|di\s+seguito|hierna)"
)
_INTRO = re.compile(
    rf"(?:(?:{_HENCE}|(?P<several>each|together|collectively|jointly|individually|both)|referred|to|called|known|defined|designated|dénommée?s?"
    r"|genannt|kurz|the|an?|as|and|or|also|in|this|der|die|das|le|la|l['’])\b[\s,:]*)*\Z",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(rf"\(\s*(?P<intro>[^()\"“”„«»]{{0,60}}?)\s*{_QUOTED % 'term'}(?:[^()]{{0,60}})\)")
_HEREINAFTER = re.compile(
    rf"(?i:\b{_HENCE}\b,?\s+(?:(?:also\s+)?(?:referred\s+to|called|known|designated|dénommée?)\s+)?(?:as\s+)?{_ARTICLE})"
    rf"(?:{_QUOTED % 'quoted'}|(?P<bare>{_TERM}))\)?"
)
_MEANS = re.compile(rf"{_QUOTED % 'term'}\s+(?:means|shall\s+mean|refers\s+to|stands\s+for|bedeutet|désigne)\s+(?:the\s+)?")
_LOOK_BACK = 300


@dataclass(frozen=True)
class Definition:
    """`term` is what the text will call the thing; text[start:end] says so. The thing is named before `start`, or at `named_at` when that is set.

    `alone` says that the thing has no name of its own near by: `(each a "Party")`.
    """

    term: str
    start: int
    end: int
    alone: bool = False
    named_at: int | None = None


def definitions(text: str) -> list[Definition]:
    """The definitions in a text, in order, none overlapping another."""
    made = []
    for m in _IN_BRACKETS.finditer(text):
        intro = _INTRO.match(m["intro"])
        if intro:
            made.append(Definition(_plain(m["term"]), m.start(), m.end(), alone=intro["several"] is not None))
    for m in _HEREINAFTER.finditer(text):
        term = m["quoted"] or m["bare"]
        made.append(Definition(_plain(term), m.start(), m.end()))
    made += [Definition(_plain(m["term"]), m.start(), m.end(), named_at=m.end()) for m in _MEANS.finditer(text)]
    kept: list[Definition] = []
    for definition in sorted(made, key=lambda d: (d.start, -d.end)):
        if not kept or definition.start >= kept[-1].end:
            kept.append(definition)
    return kept


def _plain(term: str) -> str:
    return " ".join(term.split())


class Named(Protocol):
    """A name at its place in a text."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def label(self) -> str: ...


N = TypeVar("N", bound=Named)


def named_by(text: str, definition: Definition, after: int, names: Sequence[N]) -> N | None:
    """The name of the thing that a definition is about, out of `names` (in order), or None.

    It stands behind the last definition, which ended at `after`, and in the same paragraph: a person's or an organisation's name right before
    the definition or with no more than a description between ("Hartmann Werke GmbH, a firm of Rostock (the "Landlord")"); else any name right before.
    """
    if definition.alone:
        return None
    if definition.named_at is not None:
        return next((n for n in names if n.start == definition.named_at), None)
    earliest = max(after, definition.start - _LOOK_BACK, text.rfind("\n\n", 0, definition.start))
    before = [n for n in names if earliest <= n.start and n.end <= definition.start]
    right_before = before and not text[before[-1].end : definition.start].strip(" \t\r\n,;(\"'“”")
    for name in reversed(before):
        if name.label in ("ORG", "PERSON", "PER") and ((right_before and name is before[-1]) or _DESCRIBED.match(text, name.end)):
            return name
    return before[-1] if right_before else None


_DESCRIBED = re.compile(
    r"\s*,\s+(?:an?|the|with|whose|having|organi[sz]ed|incorporated|registered|established|formed|of|located|acting|represented|born|residing"
    r"|eine?|mit|vertreten|une?|dont|société|représentée?)\b"
)
