"""What a reader hands out: a text with its title and metadata, or the reason why there is none."""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

TITLE_LENGTH = 300
VALUE_LENGTH = 2000
METADATA_KEYS = 100
_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


@dataclass(frozen=True)
class ReaderOptions:
    """How files are read. Columns are names; without any, they are guessed table by table. A text is made of all text columns that a table
    has, of the ids and dates the first one counts.

    `comments` has the comments in the margins of Word's and the like's documents read as part of the text.
    `max_bytes` holds for a document: for a whole file (unpacked, where packed), for each row of a table.
    """

    max_bytes: int = 50_000_000
    text_columns: tuple[str, ...] = ()
    id_columns: tuple[str, ...] = ()
    date_columns: tuple[str, ...] = ()
    comments: bool = False

    @property
    def key(self) -> str:
        """Changes when files have to be read again although their bytes are the same."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True)
class Read:
    """A text that was read. `suffix` is "" for a whole file, the row's id for a table."""

    suffix: str
    title: str
    text: str
    metadata: dict[str, Any] = field(default_factory=dict)


def one_line(text: str, length: int = TITLE_LENGTH) -> str:
    """`text` on one line, without control characters and broken surrogates, cut to `length`."""
    line = _UNPRINTABLE.sub(" ", text[: 10 * length]).strip()
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def clean_metadata(items: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    """Scalars and short lists of scalars as JSON can hold them, long strings cut; everything else is left out."""
    kept: dict[str, Any] = {}
    for key, value in items:
        name, clean = one_line(str(key), 100), _clean_value(value)
        if name and clean is not None and clean != "" and len(kept) < METADATA_KEYS:
            kept[name] = clean
    return kept


def _clean_value(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        scalars = [_clean_scalar(v) for v in value]
        short = scalars and all(v is not None for v in scalars) and len(json.dumps(scalars, ensure_ascii=False)) <= VALUE_LENGTH
        return scalars if short else None
    return _clean_scalar(value)


def _clean_scalar(value: Any) -> str | int | float | bool | None:
    match value:
        case str():
            return re.sub(r"[\x00\ud800-\udfff]", "\ufffd", value.strip()[:VALUE_LENGTH])
        case bool():
            return value
        case int():
            return value if abs(value) < 1 << 63 else str(value)
        case float():
            return value if math.isfinite(value) else None
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal() | timedelta():
            return str(value)
    return None
