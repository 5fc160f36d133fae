"""The dates of a table's date column, as ISO 8601 says them: what one cell leaves open (3/4/2024), the others of its column may tell."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Any

_NUMBERS = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?=\Z|[ T,])(.*)", re.DOTALL)
_YEAR_FIRST = re.compile(r"(\d{4})([-/.]?)(\d{2}|(?<=[-/.])\d)\2(\d{2}|(?<=[-/.])\d)(?=\Z|[ T])(.*)", re.DOTALL)
_CLOCK = re.compile(r"[ T,]*(\d{1,2}:\d\d(?::\d\d)?)")
_OF_MAIL = re.compile(r"[A-Z][a-z]{2}, \d")
_SECONDS = re.compile(r"\d{9,10}(?:\.\d+)?|\d{12,13}")
"""Seconds since 1970, or thousandths of them."""


def is_moment(value: Any) -> bool:
    """Whether a number is a day (20240131) or counts the seconds since 1970."""
    return iso_date(value if isinstance(value, str) else str(value), None) != "" and not isinstance(value, bool)


def days_come_first(cells: Iterable[Any]) -> bool | None:
    """Whether 3/4/2024 is the third of April in a column that holds these cells; None where nothing tells."""
    order: bool | None = None
    for cell in cells:
        if isinstance(cell, str) and (match := _NUMBERS.fullmatch(cell.strip())):
            if match[2] == "." or int(match[1]) > 12:
                return True
            if int(match[3]) > 12:
                order = False
    return order


def iso_date(cell: Any, day_first: bool | None) -> str:
    """A cell's date, with its time where it has one; "" where it is none, or may be two."""
    if isinstance(cell, datetime | date):
        return cell.isoformat()
    text = str(cell).strip() if isinstance(cell, str | int | float) and not isinstance(cell, bool) else ""
    try:
        if match := _YEAR_FIRST.fullmatch(text):
            return date(int(match[1]), int(match[3]), int(match[4])).isoformat() + _clock(match[5])
        if match := _NUMBERS.fullmatch(text):
            first, second, year = int(match[1]), int(match[3]), int(match[4])
            if day_first is None and first != second:
                return ""
            year += (2000 if year < 70 else 1900) if year < 100 else 0
            day, month = (first, second) if day_first else (second, first)
            return date(year, month, day).isoformat() + _clock(match[5])
        if _SECONDS.fullmatch(text):
            seconds = float(text) / (1000 if len(text.split(".")[0]) > 10 else 1)
            return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
        if _OF_MAIL.match(text):
            return parsedate_to_datetime(text).isoformat()
    except (ValueError, OverflowError, OSError):
        pass
    return ""


def _clock(rest: str) -> str:
    match = _CLOCK.match(rest)
    return f"T{match[1].zfill(5)}" if match and not re.search(r"[ap]\.?m", rest, re.IGNORECASE) else ""
