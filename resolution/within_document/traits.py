"""What a document says of a thing beside its name, as far as it tells two bearers of one name apart: traits of (document, name).

A trait is a kind with values, read off the sentences in which the name stands by rules (no model): a noble title behind the name, years in
brackets, what the thing is said to be ("is a 1920 American film"), where, of which people, and the names beside it. English texts say most;
of others the years, brackets and names beside remain.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache

from polyonym.resolution.names.normal_forms import sex_of
from polyonym.resolution.names.tables import honorifics, places, plain, rows, squash
from polyonym.resolution.within_document.addresses import addresses_of

Span = tuple[int, int]
Add = Callable[[str, str], None]
Traits = dict[str, list[str]]
"""Kind to sorted values. Kinds: born, died, year (of a work or an event), title ("4 earl"), land (of a title, or "of X" behind the name),
seat (the place behind a comma), region (what it is said to be in or of), rest (what follows a name that was cut), role (what it is said to
be), is (the same, where a sentence defines it), by (who made it or stars in it), people (nationality, as the country), sex, written (in brackets,
in another script), near (names beside
it), address (a person's e-mail address behind the name)."""


@cache
def _words(kind: str) -> tuple[str, ...]:
    """One row of the table of words that traits are read by."""
    return tuple(next(text for k, text in rows("trait_words.tsv") if k == kind).split())


PLACES_READ = 6
"""So many places where a name stands are read, the first ones."""
MOST_NEAR = 12
_AHEAD = 400
_A_LIFE = 18
"""From so many years between them on, two years in brackets are those of a life."""

_RANK = "|".join(sorted({r.title() for r in _words("ranks")}, key=lambda r: (-len(r), r)))
_CAPITALISED = r"(?![A-Z]{2,}\b)[A-ZÀ-Þ][\w'’]+(?:\s?[-–]\s?[A-ZÀ-Þ][\w'’]*)*"
_LAND = rf"(?:the\s+)?({_CAPITALISED}(?:(?:\s+and|,)?\s+{_CAPITALISED}){{0,3}})"
_ORDINAL = r"(\d{1,2}(?:st|nd|rd|th)|[Ff]irst|[Ss]econd|[Tt]hird|[Ff]ourth|[Ff]ifth|[Ss]ixth|[Ss]eventh|[Ee]ighth|[Nn]inth|[Tt]enth)"
_TITLE = re.compile(rf"[\s,]*(?:the\s+)?(?:{_ORDINAL}\s+)?((?:(?:{_RANK})\s*)+)(?:\s*(?:of|in)\s+{_LAND})?(?![\w])")
_NUMBERED = re.compile(rf"[\s,]*(?:the\s+)?{_ORDINAL}\s+((?:(?:{_RANK})\s*)+)(?:\s*(?:of|in)\s+)?(?:{_LAND})?(?![\w])")
_REST = re.compile(rf"[ -]{{1,2}}({_CAPITALISED}(?:[ -]{{1,2}}{_CAPITALISED}){{0,3}})")
_OF = re.compile(rf"\s+of\s+{_LAND}")
_REGION = re.compile(rf",\s+({_CAPITALISED}(?:\s+{_CAPITALISED})?)(?=[;)]|\s+(?:is|was|has)\b|,\s+(?:is|was|an?|the)\b)")
_BRACKET = re.compile(r"[\s,\"”’']*\(((?:[^()]|\([^()]*\)){0,200})\)")
_DEGREES = re.compile(r"[\s,]*(?:[A-Z]{2,5}\b[\s,]*)+(?=\(|is\b|was\b)")
_YEAR = re.compile(r"(?<!\d)(?:1\d{3}|20\d\d|[5-9]\d\d)(?!\d)")
_SPAN_OF_LIFE = re.compile(r"\s*[–—-]\s*|\s*;\s*")
_DIED = re.compile(r"\bdied\b|\bd\.|†|\bdeath\b", re.IGNORECASE)
_BORN = re.compile(r"\bborn\b|\bb\.|\*", re.IGNORECASE)
_BORN_BEHIND = re.compile(r"[\s,]*(?:(?:who\s+)?was\s+)?born\s+(?:in\s+|on\s+|at\s+)?[\w ,.]{0,30}?\b(1\d{3}|20\d\d)\b")
_DIED_BEHIND = re.compile(r"[\s,]*(?:who\s+)?died\s+(?:in\s+|on\s+|at\s+)?[\w ,.]{0,30}?\b(1\d{3}|20\d\d)\b")
_WRITTEN = re.compile(r"[^\W\d_A-Za-zÀ-ɏ]{2,}")
_IS = re.compile(
    rf"\b(?:is|was|are|were|became)\s+(?:also\s+|by\s+succession\s+)?(?:(?:(?:one|some)\s+of\s+(?:the|many)|an?|the|both)\s+|(?=(?:{_RANK})\s+of\s))"
)
_SUBJECT = re.compile(
    r"\W*(?:(?:[Tt]he|[Aa]n?)\s+)?(?:(?!In|On|At|By|For|From|With|During|After|Before|Under|As|Of|To)[A-Z][\w.]*\s+){0,3}\W*"
)
_IT_IS = re.compile(r"[.!?]\s+(?:It|He|She)\s+(?:is|was)\s+(?:an?|the)\s+")
_BY = re.compile(r"\b(?:by|stars|starring|starred)\s+((?:[^\W\d_][\w’'&-]*\s+){0,6}[^\W\d_][\w’'&-]*)")
_NAME_RUN = re.compile(rf"{_CAPITALISED}(?:\s+{_CAPITALISED})*")
_AS = re.compile(r"\s+(?:as|became|becomes)\s+(?:(?:its|their|the|an?|his|her)\s+)?(?=[a-z])")
_APPOSITION = re.compile(r",\s+(?:(?:the|an?|its|his|her|their|then|now)\s+)*(?=[a-z\d])")
_STOP = re.compile(
    r"\b(?:who|that|which|where|whose|when|from|by|for|at|on|with|to|directed|starring|written|produced|released|based|located|situated|recorded"
    r"|born|known|during|between|best|created|published|consisting|played|set|has|had|have|said|told|will|would|won|met)\b|[.;:()\"“”]"
)
_HEAD_ENDS = re.compile(r"\b(?:of|in|near|off|along)\b")
_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_ENDINGS = ("er", "or", "ist", "ian", "man", "woman", "eer", "ess")
_PRONOUN = re.compile(r"[.!?]\s+(He|His|She|Her)\b")


@cache
def role_kinds() -> dict[str, str]:
    """Words for what a thing is, with the type of things that they are for."""
    table: dict[str, str] = {}
    for kind, text in rows("type_words.tsv"):
        for word in text.split():
            table.setdefault(word, kind)
    return table


def traits_of(text: str, spans: Sequence[Span], person: bool, surfaces: Sequence[str], beside: Sequence[tuple[Span, str]]) -> Traits:
    """The traits of one name of a document that stands at these sorted spans.

    `person` says whether it is mostly taken for a person's; `surfaces` are its raw spellings; `beside` holds the spans of the document's
    mentions with their normalised names, sorted.
    """
    made: dict[str, dict[str, None]] = {}

    def add(kind: str, value: str) -> None:
        if value:
            made.setdefault(kind, {})[value] = None

    for span in spans[:PLACES_READ]:
        _read_place(text, span, person, add)
    for surface in surfaces:
        add("sex", sex_of(surface))
    for address in addresses_of(text, spans):
        add("address", address)
    places = set(spans)
    for start, end in spans[:PLACES_READ]:
        low, high = _sentence(text, start, end)
        for span, name in beside[bisect_left(beside, ((low, 0), "")) : bisect_left(beside, ((high, 0), ""))]:
            if span not in places and len(made.get("near", ())) < MOST_NEAR:
                add("near", name)
    return {kind: sorted(values) for kind, values in sorted(made.items())}


_END = re.compile(r"(?<=[\w)\]\"”’']{2})[.!?]\s+(?=[A-Z\"“])|\n\s*\n")


def _sentence(text: str, start: int, end: int) -> Span:
    """Roughly the bounds of the sentence that a span stands in, at most _AHEAD characters on each side."""
    low = max(0, start - _AHEAD)
    for mark in _END.finditer(text, low, start):
        low = mark.end()
    after = _END.search(text, end, end + _AHEAD)
    return low, after.start() if after else min(len(text), end + _AHEAD)


def _read_place(text: str, span: Span, person: bool, add: Add) -> None:
    start, end = span
    low, high = _sentence(text, start, end)
    at = _read_behind(text, end, high, person, add)
    _read_definition(text, at, high, add, end, _SUBJECT.fullmatch(text, low, start) is not None)
    _read_before(text, low, start, add)
    if person and (pronoun := _PRONOUN.search(text, max(at, end), min(len(text), high + 40))):
        add("sex", "m" if pronoun[1].startswith("H") and pronoun[1] in ("He", "His") else "f")


def _read_behind(text: str, end: int, high: int, person: bool, add: Add) -> int:
    """Titles, lands, brackets right behind the name; returns where they end."""
    at, first, titled = end, True, False
    if rest := _REST.match(text, end):  # the name was cut
        add("rest", squash(rest[1]))
        at = rest.end()
    while at < high + 200:
        if title := _NUMBERED.match(text, at) or _TITLE.match(text, at):
            ordinal = title[1] or ""
            number = re.sub(r"\D", "", ordinal) or _number(ordinal.lower())
            add("title", f"{number} {plain(title[2])}".strip())
            _lands(title[3], add)
            at, titled = title.end(), True
        elif ((first and person) or titled) and (land := _OF.match(text, at)):
            _lands(land[1], add)
            at, titled = land.end(), False
        elif bracket := _BRACKET.match(text, at):
            _read_bracket(bracket[1], person, add)
            at = bracket.end()
        elif degrees := _DEGREES.match(text, at):
            at = degrees.end()
        elif first and not person and (region := _REGION.match(text, at)):
            add("seat", plain(region[1]))
            at = region.end()
        else:
            break
        first = False
    if born := _BORN_BEHIND.match(text, at, high):
        add("born", born[1])
    if died := _DIED_BEHIND.match(text, at, high):
        add("died", died[1])
    return at


def numbered_title(text: str, end: int) -> tuple[str, str] | None:
    """The number and the rank of a numbered title right behind a name: "4" and "earl" of ", 4th Earl of Effingham"."""
    if text[end : end + 1] != ",":
        return None
    title = _NUMBERED.match(text, end)
    return (re.sub(r"\D", "", title[1]) or _number(title[1].lower()), plain(title[2])) if title else None


def _number(word: str) -> str:
    """An ordinal word's number, "" for another word."""
    numbers = _words("ordinals")
    return str(numbers.index(word) + 1) if word in numbers else ""


def _lands(country: str | None, add: Add) -> None:
    for land in re.split(r"\s+and\s+|,\s*", country or ""):
        add("land", squash(land))


def _read_bracket(inside: str, person: bool, add: Add) -> None:
    """The years in brackets behind a name: of birth and death, or of the work."""
    if written := _WRITTEN.search(inside):
        add("written", written[0])
    inside = re.sub(r"\b(\d{4})\s*(?:/|or)\s*\d{2,4}", r"\1", inside)
    born, died = _BORN.search(inside), _DIED.search(inside)
    dash = next((m for m in re.finditer(r"\s[–—-]\s|–|—|(?<=\d)-(?=\s?\d)", inside)), None)
    years = [(m.start(), m[0]) for m in _YEAR.finditer(inside)]
    if died and not born:
        for _, year in years[-1:]:
            add("died", year)
    elif born and not died and not dash:
        for _, year in years[:1]:
            add("born", year)
    elif born and died:
        for at, year in years:
            if at > died.start():
                add("died", year)
            elif at > born.start():
                add("born", year)
    elif dash:
        first = [y for at, y in years if at < dash.start()][:1]
        last = [y for at, y in years if at > dash.start()][-1:]
        life = person or (first and last and int(last[0]) - int(first[0]) >= _A_LIFE)
        for year in first:
            add("born" if life else "year", year)
        for year in last:
            add("died" if life else "year", year)
    elif len(years) == 1:
        add("year", years[0][1])


def _read_definition(text: str, at: int, high: int, add: Add, end: int, subject: bool) -> None:
    """What the sentence says that the thing is: behind "is a", behind "as", or between commas; and the next one's "It is a". `subject`
    says that the sentence begins with the name."""
    behind = text[at : high + 220]
    bare, close = re.sub(r"\([^()]*\)", lambda m: " " * len(m[0]), behind), high - at
    copula = _IS.search(bare, 0, min(close, 260))
    if copula and subject and _is_aside(bare[: copula.start()]):
        _read_phrase(bare, copula.end(), close, _also(add))
        if more := _IT_IS.match(bare, max(close, 0)):
            _read_phrase(bare, more.end(), len(bare), _also(add))
    elif as_ := _AS.match(text, end, high):
        _read_phrase(text, as_.end(), high, add)
    elif aside := _APPOSITION.match(bare, 0, max(close, 0)):
        _read_phrase(bare, aside.end(), close, add)


def _also(add: Add) -> Add:
    """As `add`, what is said of the thing in so many words counting as its definition as well."""

    def both(kind: str, value: str) -> None:
        add(kind, value)
        if kind == "role":
            add("is", value)

    return both


def _is_aside(between: str) -> bool:
    """Whether what stands between a name and "is" is set off from the sentence, so that the name is what is spoken of."""
    left = between.strip()
    return not left or left[0] in ",(" or left.startswith(("of ", "also ", "or ", "- ", "– "))


def _read_phrase(text: str, at: int, high: int, add: Add) -> None:
    if title := _NUMBERED.match(text, at) or _TITLE.match(text, at):
        add("title", plain(title[2]))
        _lands(title[3], add)
    for maker in list(_BY.finditer(text, at, min(high, at + 300)))[:3]:
        names = [n for n in _NAME_RUN.findall(maker[1]) if n.casefold() not in places().of_demonym]
        add("by", squash(names[0]) if names else "")
    stop = _STOP.search(text, at, high)
    phrase = text[at : stop.start() if stop else min(high, at + 150)]
    head = _HEAD_ENDS.search(phrase)
    before = phrase[: head.start()] if head else phrase
    for token in _TOKEN.findall(before):
        if re.fullmatch(r"(1\d{3}|20\d\d)", token):
            add("year", token)
    _roles(before, add)
    tokens = before.split()
    for size in (1, 2):
        for i in range(len(tokens) - size + 1):
            word = " ".join(tokens[i : i + size]).strip(",").casefold()
            if country := places().of_demonym.get(word):
                add("people", country)
    if head and head[0] in ("of", "in", "near", "off"):
        for word in re.findall(_CAPITALISED, phrase[head.end() :])[:3]:
            if word.lower() not in _words("ranks"):
                add("region", plain(word))


def _roles(phrase: str, add: Add) -> None:
    table = role_kinds()
    for token in _TOKEN.findall(phrase):
        if not token[0].islower():
            continue
        for word in (token, token.removesuffix("s"), token.rpartition("-")[2]):
            if word in table or (len(word) > 5 and word.endswith(_ENDINGS) and word not in _words("no role")):
                add("role", word)
                add("sex", "f" if word in _words("female") else "m" if word in _words("male") else "")
                break


_BEFORE = re.compile(r"(?:[A-Za-z-]+\s+){1,3}\Z")


def _read_before(text: str, low: int, start: int, add: Add) -> None:
    """The role right before a name: "the painter Erika Hess"; and its title: "Lady Margaret"."""
    title = _BEFORE.search(text, max(low, start - 50), start)
    if not title:
        return
    tokens = title[0].split()
    _roles(tokens[-1], add)
    for size in (1, 2):
        add("sex", honorifics().lead.get(plain(" ".join(tokens[-size:])), ""))
