"""What the columns of a table are for: its text, its ids, its titles, its dates; and what kind of thing a cell holds."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from polyonym.ingest.readers.column_dates import days_come_first, is_moment
from polyonym.ingest.readers.rejection import Rejected
from polyonym.ingest.readers.result import ReaderOptions, one_line

ID_LENGTH = 500
# Customary names, the surest first, as `plain_name` writes them.
TEXT_NAMES = (
    *("text", "body", "full_text", "fulltext", "body_text", "page_content", "article_text", "content", "contents", "article"),
    *("abstract", "passage"),
)
ID_NAMES = ("id", "doc_id", "docid", "document_id", "uid", "uuid", "guid", "_id", "identifier", "article_id", "key")
ADDRESS_NAMES = ("url", "uri", "link", "permalink", "href", "doi")
TITLE_NAMES = ("title", "headline", "heading", "subject", "doc_title", "document_title")
NAME_NAMES = ("name", "full_name", "fullname", "label")
DATE_NAMES = (
    *("date", "published", "published_at", "publication_date", "pub_date", "pubdate", "date_published", "publish_date", "issued"),
    *("created", "created_at", "date_created", "sent", "sent_at", "posted", "posted_at", "datetime", "timestamp", "time", "updated_at"),
)
CUSTOMARY_NAMES = frozenset((*TEXT_NAMES, *ID_NAMES, *ADDRESS_NAMES, *TITLE_NAMES, *NAME_NAMES, *DATE_NAMES))

_ID_ENDING = re.compile(r"(?:.*_)?(?:id|uuid|guid|uid|key|ref|sku|isbn)")
_INDEX_NAMES = re.compile(r"(?:unnamed:_\d+|__index_level_\d+__)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_NOTHING = frozenset(("", "n/a", "na", "nan", "null", "nil", "none", "-", "--", "–", "—", "?", ".", "#n/a", "\\n"))
_FLAGS = frozenset(("true", "false", "yes", "no", "y", "n", "x", "on", "off", "t", "f"))
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.|mailto:)\S+|[\w.+'-]+@[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?:[A-Z]{3}|[$€£¥₹])?\s?[-+(]?\s?(?:[$€£¥₹]\s?)?\d[\d.,:/'’\s()-]*(?:e[-+]?\d+)?\)?\s?(?:%|‰|[$€£¥₹]|[A-Za-zµ°²³/]{1,4}\.?)?"
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)[a-z]*\.?"
_CLOCK = r"(?:,?[ T]+\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?\s?(?:[ap]m)?\s?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)?)?"
_DATE = re.compile(
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?(?:\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?[ -]{_MONTH},?[ -]\d{{2,4}}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}|{_MONTH} \d{{4}}){_CLOCK}",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?=\S*\d)[\w.:/#-]+|[0-9a-f-]{16,}|[a-z]+(?:[_.:/-][a-z]+)*[_:/][a-z_]+", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’)\]]*\s*\Z")


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are for.

    `names` are the columns that the beginning shows, in order, `kinds` what those hold that hold anything there. `text` are those that
    make a row's text: one that stands `alone`, unaltered, or all that carry words. With `closed`, no others may join them further on.
    `day_first` is how the numbers of dates are meant.
    """

    names: Mapping[str, None]
    kinds: Mapping[str, str]
    text: tuple[str, ...]
    alone: bool
    closed: bool
    id: str | None
    title: str | None
    date: str | None
    day_first: bool | None


def plain_name(name: Any) -> str:
    """A column's name as it is compared: lower case, "_" for what divides words ("Supplier-ID" and "supplierId" are supplier_id)."""
    return re.sub(r"[\W_]+", "_", _CAMEL.sub("_", str(name).strip())).lower() if name else ""


def is_index(name: str) -> bool:
    """Whether a column is the numbering that a program has added."""
    return _INDEX_NAMES.fullmatch(name.strip().lower().replace(" ", "_")) is not None


def is_nothing(value: Any) -> bool:
    """Whether a cell is empty, or holds what is written in place of nothing."""
    if isinstance(value, str):
        return len(value) <= 10 and value.strip().lower() in _NOTHING
    return value is None or value == [] or value == {} or (isinstance(value, float) and math.isnan(value))


def kind_of(value: Any) -> str:
    """The kind of thing that a cell holds: "words", "number", "date", "address" (of the web, of mail), "flag", "code", or "" for nothing."""
    match value:
        case str():
            return _kind_of_text(value)
        case bool():
            return "flag"
        case float() if math.isnan(value):
            return ""
        case int() | float() | Decimal():
            return "number"
        case datetime() | date() | time() | timedelta():
            return "date"
        case list() | tuple() | dict():
            kinds = Counter(kind for item in (value.values() if isinstance(value, dict) else value) if (kind := kind_of(item)))
            return "words" if kinds["words"] else kinds.most_common(1)[0][0] if kinds else ""
    return ""


def _kind_of_text(value: str) -> str:
    text = value.strip()
    if len(text) > 200:
        return "words" if _WORD.search(text) and (" " in text or not text.isascii()) else "code"
    low = text.lower()
    if low in _NOTHING:
        return ""
    if low in _FLAGS:
        return "flag"
    if any(c.isdigit() for c in text):
        if _DATE.fullmatch(text):
            return "date"
        if _NUMBER.fullmatch(text):
            return "number"
    if " " not in text and (_ADDRESS.fullmatch(text) or _CODE.fullmatch(text)):
        return "address" if _ADDRESS.fullmatch(text) else "code"
    return "words" if _WORD.search(text) else "code"


def choose(rows: Sequence[Mapping[str, Any]], options: ReaderOptions) -> Columns:
    """What the columns are for: by the options' names, else by customary names and by what they hold.

    Raises Rejected when a named column is missing, or when no column carries words.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    kinds = {name: kind for name in names if (kind := _kind(rows, name))}
    named = [name for wanted in options.text_columns for name in names if plain_name(name) == plain_name(wanted)]
    if options.text_columns and not named:
        raise Rejected(_missing("text", options.text_columns, names))
    others = [name for name in names if name not in named]
    identity = _setting("id", options.id_columns, others, names) or _identity(rows, others, kinds)
    others = [name for name in others if name != identity]
    title = _first(others, TITLE_NAMES)
    day = _setting("date", options.date_columns, others, names) or next(
        (name for name in _in_order(others, DATE_NAMES) if _holds_dates(rows, name, kinds)), None
    )
    day_order = days_come_first(row.get(day) for row in rows) if day else None
    words = [name for name in others if kinds.get(name) == "words" and name != day and not is_index(name)]
    if named:
        text = tuple(name for name in names if name in named)
        alone = len(text) == 1
    else:
        prose = _prose(rows, others, words, title, kinds)
        text, alone = ((prose,), True) if prose else (tuple(words), False)
    if not text and all(name in kinds for name in names):
        raise Rejected(f"no column of texts; columns: {_listed(names)}")
    if not alone and title is None:
        title = _first(words, NAME_NAMES)
    return Columns(dict.fromkeys(names), kinds, text, alone, bool(named), identity, title, day, day_order)


def _kind(rows: Sequence[Mapping[str, Any]], name: str) -> str:
    """The kind of most cells of a column that hold anything, "" when none does; words where a third are."""
    kinds = Counter(kind for row in rows if (kind := kind_of(row.get(name))))
    if kinds["words"] * 3 >= kinds.total() > 0:
        return "words"
    return min(kinds, key=lambda kind: (-kinds[kind], kind), default="")


def _holds_dates(rows: Sequence[Mapping[str, Any]], name: str, kinds: Mapping[str, str]) -> bool:
    numbers = [row[name] for row in rows if kinds.get(name) == "number" and kind_of(row.get(name)) == "number"]
    return kinds.get(name) == "date" or (bool(numbers) and all(map(is_moment, numbers)))


def _prose(
    rows: Sequence[Mapping[str, Any]], names: list[str], words: list[str], title: str | None, kinds: Mapping[str, str]
) -> str | None:
    """The column that is the text by itself: one of a customary name that holds sentences, or beside which none but the title carries words;
    else the only one with words if it holds sentences; else the only one of long texts."""
    for name in _in_order(names, TEXT_NAMES):
        if not any(isinstance(cell := row.get(name), str) and cell for row in rows):
            continue
        if not set(words) - {name, title} or (kinds.get(name) == "words" and _holds_sentences(rows, name)):
            return name
    if len(words) == 1 and _holds_sentences(rows, words[0]):
        return words[0]
    long = [name for name in words if _average_words(rows, name) >= 50]
    return long[0] if len(long) == 1 else None


def _holds_sentences(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    cells = [(_words(text), text) for text in _texts(rows, name)]
    return 2 * sum(n >= 4 or (n > 1 and _SENTENCE_END.search(text) is not None) for n, text in cells) >= len(cells)


def _average_words(rows: Sequence[Mapping[str, Any]], name: str) -> float:
    lengths = [_words(text) for text in _texts(rows, name)]
    return sum(lengths) / max(1, len(lengths))


def _words(text: str) -> float:
    """The number of words; half a word for a character where a script has no blanks."""
    words = text.split()
    return len(words) if text.isascii() else max(len(words), sum(len(word) for word in words if len(word) > 20) / 2)


def _texts(rows: Iterable[Mapping[str, Any]], name: str) -> Iterator[str]:
    for row in rows:
        if isinstance(value := row.get(name), str) and kind_of(value) == "words":
            yield value


def _identity(rows: Sequence[Mapping[str, Any]], names: list[str], kinds: Mapping[str, str]) -> str | None:
    """The column of ids: of a customary name, of a name that ends like one, or of addresses, and different in (nearly) all rows."""
    called = [name for name in _in_order(names, ID_NAMES) if _tells_apart(rows, name, 0.5)]
    ending = [name for name in names if _ID_ENDING.fullmatch(plain_name(name)) and kinds.get(name) != "words"]
    addresses = [name for name in _in_order(names, ADDRESS_NAMES) if kinds.get(name) != "words"]
    return next(iter([*called, *(name for name in (*ending, *addresses) if _tells_apart(rows, name, 0.9))]), None)


def _tells_apart(rows: Sequence[Mapping[str, Any]], name: str, least: float) -> bool:
    """Whether half of the rows have an id in this column, and at least this share of them one of their own."""
    values = [value for row in rows if (value := id_of(row.get(name)))]
    return 2 * len(values) >= len(rows) and len(set(values)) >= least * len(values)


def id_of(value: Any) -> str:
    """A cell as an id, "" when it is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a column of integers with gaps comes as floats
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    identity = one_line(str(value), ID_LENGTH + 1)
    return identity if len(identity) <= ID_LENGTH else ""


def _in_order(names: Iterable[str], customary: Sequence[str]) -> list[str]:
    """Those of these columns that have a customary name, in the order of these."""
    named = [(customary.index(plain), place, name) for place, name in enumerate(names) if (plain := plain_name(name)) in customary]
    return [name for _, _, name in sorted(named)]


def _first(names: Iterable[str], customary: Sequence[str]) -> str | None:
    return next(iter(_in_order(names, customary)), None)


def _setting(kind: str, wanted: tuple[str, ...], among: list[str], names: list[str]) -> str | None:
    """The column that the options name; None when they name none. Raises Rejected when it is missing."""
    if not wanted:
        return None
    name = next((name for want in wanted for name in among if plain_name(name) == plain_name(want)), None)
    if name is None:
        raise Rejected(_missing(kind, wanted, names))
    return name


def _missing(kind: str, wanted: tuple[str, ...], names: list[str]) -> str:
    return f"no {kind} column {' or '.join(repr(name) for name in wanted)}; columns: {_listed(names)}"


def _listed(names: list[str]) -> str:
    return one_line(", ".join(names) or "none", 150)
