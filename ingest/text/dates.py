"""Dates: which times a text states, and of which day a document is.

Times are written as ISO 8601 has them, no more exactly than the text does: "2022-11-24", "2022-11", "2022-W47" (a week), "2022";
an interval as "1990/1999", a duration as "P3Y". What is relative ("last Tuesday", "24 November" without a year) is counted from
the document's date. Month names are known in the languages of `data/date_words.tsv`, relative expressions in English.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, order=True)
class Stated:
    """A time that a text states: text[start:end] means `value`, a date, an interval or, beginning with P, a duration."""

    start: int
    end: int
    value: str

    @property
    def is_duration(self) -> bool:
        return self.value.startswith("P")


HEAD_LINES, TAIL_LINES, LINE_LENGTH = 12, 5, 300
YEARS = range(1000, 2100)
"""Years that four digits may mean without more said."""

_FOUR_DIGITS = r"(?P<y>1[0-9]\d\d|20\d\d)"
_YEAR = rf"{_FOUR_DIGITS}(?![\d%]|[.,]\d)"
_DAY = r"(?P<d>0?[1-9]|[12]\d|3[01])"
_DAYS = rf"(?P<from>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?\s*(?:[-–—]|to|and)\s*{_DAY}"
_ORDINAL = r"(?:st|nd|rd|th|er|\.|º|ª)?"
_OF = r"(?:of\s+|de\s+|del\s+)?"
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    **{
        word: n
        for n, word in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 1)
    },
    "a": 1,
    "an": 1,
    "fifteen": 15,
    "eighteen": 18,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
}
_UNITS = {"day": "D", "week": "W", "month": "M", "year": "Y", "decade": "0Y", "century": "00Y", "hour": "H", "minute": "M"}
_NUMBER = rf"(?P<n>\d{{1,4}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
# What a number of four digits is when it is no year: "in 2000 cases", "of 1500 employees".
_COUNTED = r"(?!\s+(?:[a-z]+s|people|men|women|children|percent|per\s+cent|million|billion)\b(?<!\bwas)(?<!\bhas)(?<!\bis)(?<!\bas)(?<!\bthis)(?<!\bits)(?<!\bhis))"


def stated(text: str, language: str = "en", day: str = "") -> list[Stated]:
    """The times that a text states, in order and without overlaps; relative ones only where the document's `day` is known."""
    times: list[Stated] = []
    for start, end, value in sorted(_all(text, language, _as_day(day)), key=lambda t: (t[0], -t[1])):
        if value and (not times or start >= times[-1].end):
            times.append(Stated(start, end, value))
    return times


def nearest(times: Sequence[Stated], start: int, end: int) -> str:
    """Of these times (durations aside) the value of the one nearest to a span, "" when there is none."""
    dated = [t for t in times if not t.is_duration]
    return min(dated, key=lambda t: (max(t.start - end, start - t.end, 0), t.start)).value if dated else ""


# The document's own date


ATTACHED = "attached"
"""The key of the metadata that says when the mail was sent to which a document is attached."""
_KEYS = (
    *("date", "published", "publishedat", "publicationdate", "pubdate", "datepublished", "publishdate", "issued", "dateissued", "posted"),
    *(
        "postedat",
        "sent",
        "sentat",
        "datetime",
        "timestamp",
        "created",
        "createdat",
        "datecreated",
        "creationdate",
        "datum",
        "fecha",
        "data",
    ),
    *("updated", "updatedat", "modified", "modifiedat", "datemodified", "lastmod"),
)
# What programs write where there is no date.
_PLACEHOLDERS = frozenset(("0001-01-01", "1601-01-01", "1899-12-30", "1899-12-31", "1900-01-01", "1904-01-01", "1970-01-01", "1980-01-01"))
_LABEL = re.compile(
    r"\W*(?:date|dated|published|posted|issued|updated|last updated|last modified|sent|filed|released|datum|fecha|data|stand|fait le|signed)\b"
    r"(?:\s+(?:on|of|as of|at|le))?\s*[:\-–—]?\s*",
    re.IGNORECASE,
)
_KIND = re.compile(
    r"\b(?:minutes|meeting|agenda|report|transcript|release|statement|letter|memo|memorandum|agreement|contract|decision|order|hearing|ruling"
    r"|judgment|resolution|bulletin|newsletter|briefing|notice|edition|session|call|protokoll|sitzung|bericht|procès-verbal|compte rendu|acta)\b",
    re.IGNORECASE,
)
_JOIN = re.compile(
    r"(?:\b(?:of|on|for|dated|held|from|made|as of|into|the|this|vom|am|du|le|del|day)\b|[-–—:,(|])\s*(?:(?:the|this)\s+)?$", re.IGNORECASE
)
_NOT_OF_DOCUMENT = re.compile(
    r"\b(?:born|died|birth|death|founded|established|since|until|from|to|between|by|before|after|due|deadline|expires?|valid|effective|next)\b",
    re.IGNORECASE,
)
_BYLINE = re.compile(r"^(?:By|Von|Par|Por) (?=[A-Z])")
_DATELINE = re.compile(r"(?!(?:The|A|An) )[^\W\d_][\w .,'’/-]{1,60}?\s*[,(–—|-]?\s*(?:on\s+)?$")
_AFTER_DATELINE = re.compile(r"\s*(?:[-–—:|)]|\([\w /]+\)|$)")
_WEEKDAY_OR_TIME = re.compile(
    rf"\b(?:{'|'.join(_WEEKDAYS)}|mon|tues?|wed|thu(?:rs)?|fri|sat|sun)\b\.?|\b\d{{1,2}}[:.]\d\d(?:[:.]\d\d)?\s*(?:[ap]\.?m\.?\b|uhr\b)?|\b(?:utc|gmt|[ec]e?[sd]?t)\b",
    re.IGNORECASE,
)
_IN_NAME = (
    re.compile(r"(?<!\d)(?P<y>(?:19|20)\d\d)(?P<s>[-_. /]?)(?P<m>0[1-9]|1[0-2])(?P=s)(?P<d>0[1-9]|[12]\d|3[01])(?!\d)"),
    re.compile(r"(?<!\d)(?P<d>0[1-9]|[12]\d|3[01])(?P<s>[-_. ])(?P<m>0[1-9]|1[0-2])(?P=s)(?P<y>(?:19|20)\d\d)(?!\d)"),
    re.compile(r"(?<!\d)(?P<y>(?:19|20)\d\d)[-_./](?P<m>0[1-9]|1[0-2])(?![\d])"),
)
_NO_DIGIT = re.compile(r"\D")
_YEAR_IN_NAME = re.compile(r"(?<!\d)(?P<y>19[5-9]\d|20[0-4]\d)(?!\d)")


def document_date(metadata: Mapping[str, Any], text: str, name: str, language: str) -> tuple[str | None, str | None]:
    """Of which day (month, year) a document is, and what says so: the key of its metadata, "text", "file", or None for no date.

    Of the text only what stands for the document as a whole
    counts: a line with a label, the kind of document with its day ("Minutes of 24 November 2022"), a dateline, a day by itself at the
    beginning or the end. The file's name may hold a date, and so may the folders that it lies in. What says nothing of all this and is
    attached to a mail is of the day when that was sent.
    """
    for key in sorted((k for k in metadata if _plain(k) in _KEYS), key=lambda k: (_KEYS.index(_plain(k)), k)):
        if value := parse(metadata[key], language):
            return value, key
    if value := _of_text(text, language):
        return value, "text"
    if value := _of_name(name, language):
        return value, "file"
    if value := parse(metadata.get(ATTACHED), language):
        return value, ATTACHED
    return None, None


def parse(value: Any, language: str = "en") -> str:
    """The date that a piece of metadata says, "" when it says none."""
    said = str(value or "").strip()
    if re.fullmatch(r"1[0-9]{9}(?:\d{3})?(?:\.\d+)?", said):  # seconds, or thousandths of them, since 1970
        return (date(1970, 1, 1) + timedelta(seconds=int(said[:10]))).isoformat()
    if re.fullmatch(r"(?:19|20)\d{6}(?:\d{6})?", said):
        said = f"{said[:4]}-{said[4:6]}-{said[6:8]}"
    if re.fullmatch(r"(?:1[0-9]|20)\d\d", said):
        return said
    dates = [t for t in stated(said[:200], language) if not t.is_duration and "/" not in t.value]
    return dates[0].value if dates and dates[0].value not in _PLACEHOLDERS else ""


def _plain(key: str) -> str:
    return re.sub(r"[\W_]+", "", key.lower())


def _of_text(text: str, language: str) -> str:
    lines = [line.strip() for line in _first_lines(text)]
    last = [line.strip() for line in text[-TAIL_LINES * LINE_LENGTH :].split("\n") if line.strip()][-TAIL_LINES:]
    for line in lines:
        if value := _of_line(line, language, False):
            return value
    if len(lines) == HEAD_LINES or len(text) > TAIL_LINES * LINE_LENGTH:
        for line in reversed(last):
            if value := _of_line(line, language, True):
                return value
    return ""


def _first_lines(text: str) -> Iterator[str]:
    position = count = 0
    while position < len(text) and count < HEAD_LINES and position < HEAD_LINES * 2 * LINE_LENGTH:
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        if text[position:end].strip():
            yield text[position : min(end, position + LINE_LENGTH)]
            count += 1
        position = end + 1


def _of_line(line: str, language: str, at_end: bool) -> str:
    """The date that a line gives to its document, "" for none."""
    if len(_NO_DIGIT.sub("", line[:LINE_LENGTH])) < len("2022"):  # most lines, and no date is without a year
        return ""
    times = [t for t in stated(line[:LINE_LENGTH], language) if not t.is_duration]
    if len(times) != 1 or "/" in times[0].value or len(times[0].value) < len("2022-11"):
        return ""
    time = times[0]
    before, after = line[: time.start], line[time.end :]
    if (label := _LABEL.fullmatch(_WEEKDAY_OR_TIME.sub("", before).strip(" ,"))) and label[0]:
        return time.value
    if _NOT_OF_DOCUMENT.search(_BYLINE.sub("", before)):
        return ""
    if not at_end and len(before) < 120 and _KIND.search(before) and _JOIN.search(_WEEKDAY_OR_TIME.sub("", before).rstrip(" ,") + " "):
        return time.value
    if len(time.value) < len("2022-11-24"):
        return ""
    rest = _WEEKDAY_OR_TIME.sub("", before + " " + after)
    if not re.search(r"\w", rest):
        return time.value
    short = len(before) <= 60 and len(before.split()) <= 5 and before[:1].isupper()
    if (
        short
        and _DATELINE.match(before)
        and not re.search(r"[a-z]{2}\.\s", before)
        and _AFTER_DATELINE.match(_WEEKDAY_OR_TIME.sub("", after))
    ):
        return time.value if before.rstrip()[-1:] in ",(–—-|" or re.match(r"\s*(?:\(|[-–—])", after) else ""
    return ""


@lru_cache(maxsize=1000)  # the rows of a table ask for one file's
def _of_name(name: str, language: str) -> str:
    for part in (name.rsplit("/", 1)[-1], name):
        for pattern in _IN_NAME:
            for match in pattern.finditer(part):
                if value := _iso(int(match["y"]), int(match["m"]), int(match.groupdict().get("d") or 0)):
                    return value
    stem = re.sub(r"\.\w{1,5}(?:\.gz)?$", "", name.rsplit("/", 1)[-1])
    words = re.sub(r"[-_.+]+", " ", stem)
    times = [t for t in stated(words.title(), language) if re.fullmatch(r"\d{4}-\d\d(?:-\d\d)?", t.value)]
    if len(times) == 1:
        return times[0].value
    years = _YEAR_IN_NAME.findall(words)
    return years[0] if len(years) == 1 and len(re.findall(r"\d+", words)) == 1 and re.search(r"[^\W\d_]{3}", words) else ""


# What a text states


_Found = tuple[int, int, str]


def _all(text: str, language: str, day: date | None) -> Iterator[_Found]:
    patterns = [*_absolute(language), *(_relative(language) if day else ())]
    if not re.search(r"\d", text):
        patterns = [*_WORDS_ONLY, *(_relative(language) if day else ())]
    for pattern, meaning in patterns:
        for match in pattern.finditer(text):
            yield *match.span(), meaning(match, day or date.min)


_Meaning = Callable[[re.Match[str], date], str]


@cache
def _months(language: str) -> dict[str, int]:
    lines = files("polyonym.ingest").joinpath("data/date_words.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    forms: dict[str, int] = {}
    for of in dict.fromkeys((language, "en")):
        for _, number, words in (row for row in rows if row[0] == of):
            for word in words.split():
                forms.setdefault(word, int(number))
    return forms


def _month_pattern(language: str) -> str:
    """English writes months with a capital, so that "may" and "march" are no months; others may not."""
    forms = sorted(_months(language), key=len, reverse=True)
    cased = [f"{re.escape(f.title())}|{re.escape(f.upper())}" for f in forms]
    cased += [re.escape(f) for f in forms if f not in _months("en")]
    return rf"(?<![^\W\d_])(?P<m>{'|'.join(cased)})(?![^\W\d_])\.?"


def _month(match: re.Match[str], language: str) -> int:
    said = match["m"].lower()
    return _months(language).get(said) or int(said)


@cache
def _absolute(language: str) -> list[tuple[re.Pattern[str], _Meaning]]:
    """Patterns of times that say their year, each with what a match means."""
    month = _month_pattern(language)

    def of_day(match: re.Match[str], _: date) -> str:
        return _iso(int(match["y"]), _month(match, language), int(match["d"]))

    def of_days(match: re.Match[str], _: date) -> str:
        first, last = (_iso(int(match["y"]), _month(match, language), int(match[part])) for part in ("from", "d"))
        return f"{first}/{last}" if first and last and first < last else ""

    def of_month(match: re.Match[str], _: date) -> str:
        return _iso(int(match["y"]), _month(match, language), 0)

    return [
        (
            re.compile(rf"(?<![\d/.-]){_FOUR_DIGITS}(?P<s>[-/.])(?P<m>0?[1-9]|1[0-2])(?P=s){_DAY}(?!\d)(?:T[\d:.]+(?:Z|[+-][\d:]+)?)?"),
            of_day,
        ),
        (re.compile(r"(?P<y>\d{4})年(?P<m>\d{1,2})月(?P<d>\d{1,2})日?"), of_day),
        (re.compile(rf"(?<!\d){_DAYS}{_ORDINAL}\s+{_OF}{month},?\s+{_OF}{_YEAR}"), of_days),
        (re.compile(rf"{month}\s+{_DAYS}{_ORDINAL},?\s+{_YEAR}"), of_days),
        (re.compile(rf"(?<![\d.,]){_DAY}{_ORDINAL}[\s-]+{_OF}{month},?[\s-]*{_OF}{_YEAR}"), of_day),
        (re.compile(rf"{month}\s+{_DAY}(?:st|nd|rd|th)?(?:\s*,\s*|\s+){_YEAR}"), of_day),
        (re.compile(rf"{month},?\s+{_OF}{_YEAR}"), of_month),
        (re.compile(r"(?<![\d/.-])(?P<a>\d{1,2})(?P<s>[./-])(?P<b>\d{1,2})(?P=s)(?P<y>(?:1[0-9]|20)\d\d)(?![\d]|[./-]\d)"), _numeric),
        (re.compile(r"(?<![\d/.-])(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])(?![\d-])"), lambda m, _: _iso(int(m["y"]), int(m["m"]), 0)),
        (re.compile(rf"\b(?:Q(?P<q>[1-4])|(?P<w>first|second|third|fourth)\s+quarter)(?:\s+of)?[\s/-]+{_YEAR}", re.IGNORECASE), _quarter),
        (
            re.compile(
                rf"\b(?:spring|summer|autumn|fall|winter|early|mid|late|fiscal(?:\s+year)?|financial\s+year|FY)(?:\s+(?:of|in))?[\s-]*{_YEAR}",
                re.IGNORECASE,
            ),
            _of_year,
        ),
        (re.compile(r"\b(?:from|between)\s+(?P<y>1\d{3}|20\d\d)\s+(?:to|and|until|till)\s+(?P<z>1\d{3}|20\d\d)\b"), _years),
        (re.compile(r"(?<![\d./-])(?P<y>1\d{3}|20\d\d)\s*[–—-]\s*(?P<z>1\d{3}|20\d\d)(?![\d./-])"), _years),
        (re.compile(r"\b(?P<y>(?:1\d|20)\d)0['’]?s\b"), lambda m, _: f"{m['y']}0/{m['y']}9"),
        (
            re.compile(
                rf"\b(?i:in|since|until|till|by|during|from|before|after|circa|ca\.|year|of|early|late|mid|around|about|to)\s+{_YEAR}{_COUNTED}"
            ),
            _of_year,
        ),
        (re.compile(rf"[(\[]{_YEAR}[)\]]"), _of_year),
        *_WORDS_ONLY,
    ]


@cache
def _relative(language: str) -> list[tuple[re.Pattern[str], _Meaning]]:
    """Patterns of times that count from the document's day."""
    month = _month_pattern(language)
    weekday = rf"(?P<w>{'|'.join(w.title() for w in _WEEKDAYS)})"
    unit = r"(?P<u>week|month|year|quarter)"

    def without_year(match: re.Match[str], day: date) -> str:
        number = _month(match, language)
        # What is past is told of more than what is to come.
        away = {y: (date(y, number, 15) - day).days for y in (day.year - 1, day.year, day.year + 1)}
        return _iso(min(away, key=lambda y: 3 * away[y] if away[y] > 0 else -away[y]), number, int(match.groupdict().get("d") or 0))

    def month_near(match: re.Match[str], day: date) -> str:
        number, which = _month(match, language), match["which"].lower()
        if which in ("last", "past"):
            return _iso(day.year - (number >= day.month), number, 0)
        return _iso(day.year + (number <= day.month), number, 0) if which == "next" else without_year(match, day)

    return [
        (re.compile(rf"(?<![\d.,]){_DAY}{_ORDINAL}\s+{_OF}{month}(?!\s*\d)"), without_year),
        (re.compile(rf"{month}\s+{_DAY}(?:st|nd|rd|th)?(?![\d:.%]|,?\s*\d)"), without_year),
        (re.compile(rf"\b(?P<which>[Ll]ast|[Pp]ast|[Nn]ext|[Tt]his|in|In|since|Since|until|during|During)\s+{month}(?!\s*\d)"), month_near),
        (
            re.compile(
                r"\b(?P<w>the\s+day\s+before\s+yesterday|yesterday|today|tonight|tomorrow|this\s+(?:morning|afternoon|evening))\b",
                re.IGNORECASE,
            ),
            _named_day,
        ),
        (
            re.compile(rf"(?:\b(?P<which>[Ll]ast|[Pp]ast|[Nn]ext|[Tt]his|[Cc]oming|[Oo]n)\s+)?\b{weekday}(?!\w)(?!,?\s+(?:\d|{month}))"),
            _of_weekday,
        ),
        (re.compile(rf"\b(?P<which>last|past|next|this|coming)\s+{unit}\b", re.IGNORECASE), _of_unit),
        (re.compile(rf"\b{_NUMBER}\s+(?P<u>day|week|month|year|decade)s?\s+ago\b", re.IGNORECASE), _ago),
    ]


def _duration(match: re.Match[str], _: date) -> str:
    number = _NUMBERS.get(match["n"].lower()) or int(match["n"])
    unit = match["u"].lower()
    unit = "century" if unit == "centurie" else unit
    return f"P{'T' if unit in ('hour', 'minute') else ''}{number}{_UNITS[unit]}" if number else ""


def _century(match: re.Match[str], _: date) -> str:
    last = int(match["n"]) * 100
    return f"{last - 99:04}/{last:04}" if last - 99 >= 1000 and last <= 2100 else ""


_WORDS_ONLY: list[tuple[re.Pattern[str], _Meaning]] = [
    (re.compile(r"\b(?P<n>1[0-9]|2[01])th[\s-]century\b", re.IGNORECASE), _century),
    (
        re.compile(
            rf"(?<![-.,\w]){_NUMBER}[\s-]+(?P<u>day|week|month|year|decade|centurie|century|hour|minute)s?\b(?!['’]?\s*[-\s]?(?:ago|old|earlier|later|of\s+age)\b)",
            re.IGNORECASE,
        ),
        _duration,
    ),
]


def _iso(year: int, month: int, day: int) -> str:
    """A date as ISO 8601 has it, without what is 0; "" for a day that there is not."""
    if year not in YEARS or not 1 <= month <= 12 or day > monthrange(year, month)[1]:
        return ""
    return f"{year:04}-{month:02}" + (f"-{day:02}" if day else "")


def _of_year(match: re.Match[str], _: date) -> str:
    return match["y"]


def _years(match: re.Match[str], _: date) -> str:
    return f"{match['y']}/{match['z']}" if match["y"] < match["z"] else ""


def _numeric(match: re.Match[str], _: date) -> str:
    """ "3.4.2022" has its day first; where a slash stands, day and month may change places: then the year alone is sure."""
    year, a, b = int(match["y"]), int(match["a"]), int(match["b"])
    if match["s"] == "." or a > 12 or a == b:
        return _iso(year, b, a)
    return _iso(year, a, b) if b > 12 else str(year) if a and b else ""


def _quarter(match: re.Match[str], _: date) -> str:
    number = int(match["q"]) if match["q"] else ("first", "second", "third", "fourth").index(match["w"].lower()) + 1
    return f"{match['y']}-{3 * number - 2:02}/{match['y']}-{3 * number:02}"


def _named_day(match: re.Match[str], day: date) -> str:
    word = match["w"].lower()
    days = -2 if "before" in word else {"yesterday": -1, "tomorrow": 1}.get(word, 0)
    return (day + timedelta(days=days)).isoformat()


def _of_weekday(match: re.Match[str], day: date) -> str:
    """ "next Friday" comes after the document's day, "this Friday" is of its week, any other the latest one, its own day included."""
    number, which = _WEEKDAYS.index(match["w"].lower()), (match["which"] or "").lower()
    back = (day.weekday() - number) % 7
    if which in ("next", "coming"):
        return (day + timedelta(days=7 - back)).isoformat()
    if which == "this":
        return (day + timedelta(days=number - day.weekday())).isoformat()
    return (day - timedelta(days=back or (7 if which in ("last", "past") else 0))).isoformat()


def _of_unit(match: re.Match[str], day: date) -> str:
    step = {"last": -1, "past": -1, "this": 0}.get(match["which"].lower(), 1)
    match match["u"].lower():
        case "week":
            year, week, _ = (day + timedelta(weeks=step)).isocalendar()
            return f"{year:04}-W{week:02}"
        case "month":
            months = day.year * 12 + day.month - 1 + step
            return _iso(months // 12, months % 12 + 1, 0)
        case "quarter":
            quarters = day.year * 4 + (day.month - 1) // 3 + step
            first = quarters % 4 * 3 + 1
            return f"{quarters // 4:04}-{first:02}/{quarters // 4:04}-{first + 2:02}"
    return f"{day.year + step:04}"


def _ago(match: re.Match[str], day: date) -> str:
    number = _NUMBERS.get(match["n"].lower()) or int(match["n"])
    match match["u"].lower():
        case "day":
            return (day - timedelta(days=number)).isoformat()
        case "week":
            year, week, _ = (day - timedelta(weeks=number)).isocalendar()
            return f"{year:04}-W{week:02}"
        case "month":
            months = day.year * 12 + day.month - 1 - number
            return _iso(months // 12, months % 12 + 1, 0)
    year = day.year - number * (10 if match["u"].lower() == "decade" else 1)
    return f"{year:04}" if year in YEARS else ""


def _as_day(value: str) -> date | None:
    """A day to count from; of a month or a year none can be counted."""
    return date.fromisoformat(value) if re.fullmatch(r"\d{4}-\d\d-\d\d", value) else None
