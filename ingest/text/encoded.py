"""Blocks that are no language: base64, keys and signatures, uuencode, hexadecimal, minified code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

Span = tuple[int, int]

_ARMOUR = re.compile(r"-{4,} ?(?:BEGIN|END) [^\n]{1,60}?-{4,}")
_DATA = re.compile(r"data:[\w.+-]+/[\w.+-]+(?:;[\w=.+-]+)*;base64,[A-Za-z0-9+/=_-]*")
_RUN = re.compile(r"(?<![\w+/=])[A-Za-z0-9+/_-]{32,}={0,2}(?![\w+/=])")
_TAIL = re.compile(r"(?![A-Z]?[a-z]+\n)[A-Za-z0-9+/]{1,76}={0,2}(?:\n=[A-Za-z0-9+/]{4})?(?=\n\s*(?:\n|-)|\n?\Z)")
_UU = re.compile(r"(?m)^begin [0-7]{3,4} \S[^\n]*\n(?:[!-`][ -`]{1,84}\n)*`?\n?end$")
_HEX = re.compile(r"(?:(?:0x)?[0-9a-fA-F]{2,8}[ \t:,]+){8,}(?:0x)?[0-9a-fA-F]{2,8}(?![\w])")
_PATH = re.compile(r"[a-z]{3,}")
_CODE_LINE = re.compile(r"[^\n]{200,}")
_CODE_SIGN = re.compile(r"[{}()\[\];=<>&|!?:,\"'+*]")


_MACHINE = re.compile(
    r"://|(?<![^\s\"'(<\[])(?:[A-Za-z]:)?(?:[/\\][\w.%~-]+){3}|(?<![\w.])[A-Za-z]\w+(?:\.[A-Za-z_]\w+){2,}(?![\w.])|[?&]\w+=\w|\w_\w+_\w"
)
_STOPS = frozenset(" \t\n\r\"'()<>[]|,;")


def machine_spans(text: str) -> list[Span]:
    """Where addresses of pages, paths of files, dotted and underscored identifiers stand: words for machines, in which no names are looked for."""
    spans: list[Span] = []
    for m in _MACHINE.finditer(text):
        start, end = m.span()
        if spans and start < spans[-1][1]:
            continue
        while start > 0 and text[start - 1] not in _STOPS:
            start -= 1
        while end < len(text) and text[end] not in _STOPS:
            end += 1
        spans.append((start, end))
    return spans


def encoded_spans(text: str) -> list[Span]:
    """Where in a text encoded blocks stand, in order, none overlapping another."""
    spans = sorted([*_armoured(text), *_matches(text), *_minified(text)])
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _armoured(text: str) -> Iterator[Span]:
    return (m.span() for m in (_ARMOUR.finditer(text) if "-----" in text else ()))


def _matches(text: str) -> Iterator[Span]:
    for m in _DATA.finditer(text) if "base64," in text else ():
        yield m.span()
    for m in _UU.finditer(text) if "begin " in text else ():
        yield m.span()
    for m in _HEX.finditer(text):
        if any(c.isdigit() for c in m.group()):
            yield m.span()
    for m in _RUN.finditer(text):
        if _looks_encoded(m.group()):
            # A block's last line may be short.
            tail = (
                _TAIL.match(text, m.end() + 1)
                if text[m.end() : m.end() + 1] == "\n" and text[m.start() - 1 : m.start()] in ("\n", "")
                else None
            )
            yield m.start(), tail.end() if tail else m.end()


def _looks_encoded(run: str) -> bool:
    """Whether a long run of letters and digits is no word, path or address: its kinds of letters change all the time."""
    letters = run.rstrip("=")
    digits = sum(c.isdigit() for c in letters)
    if not digits or not any(c.isalpha() for c in letters):
        return False
    if re.fullmatch(r"[0-9a-f-]+|[0-9A-F-]+", letters):
        return digits > 3
    changes = sum(a.isupper() != b.isupper() or a.isdigit() != b.isdigit() for a, b in pairwise(letters))
    return changes > 0.3 * len(letters)


def _minified(text: str) -> Iterator[Span]:
    for line in _CODE_LINE.finditer(text):
        content = line.group()
        signs = len(_CODE_SIGN.findall(content))
        if signs > 0.12 * len(content) and sum(map(str.isspace, content)) < 0.08 * len(content):
            yield line.span()
