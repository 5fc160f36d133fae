"""Names: their normal form, and what can be read off a name alone."""

import re
import unicodedata
from contextvars import ContextVar
from functools import lru_cache

from rapidfuzz.distance import OSA, Indel

from polyonym.ingest.text.common_words import is_common
from polyonym.resolution.names.persons import SUFFIXES, is_given_name, is_surname
from polyonym.resolution.names.tables import TableRow, abbreviations, honorifics, legal_forms, places, plain, squash, words

_QUOTES = str.maketrans({"’": "'", "‘": "'", "‛": "'", "´": "'", "`": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))
_EDGES = " \t\"'*_|/\\<>~-,;:!?"
_TICKER = re.compile(r"[<(]?[A-Z]{1,5}(?:\.[A-Z]{1,3})?[>)]?")
_DETERMINER = re.compile(r"(?:the|a|an|these|those)\s+(?=\S)", re.IGNORECASE)
_INITIAL = re.compile(r"[A-Z]\.?\s")
_SPACED_INITIALS = re.compile(r"(?<=\b[A-Z]\.)\s+(?=[A-Z]\.)")
_INNER_FORMS = ("N.Y.", "NY", "U.S.A.", "USA", "U.S.", "US", "U.N.", "UN", "U.K.", "UK", "EU")
_INNER = re.compile(r"(?<![\w.])(?:" + "|".join(re.escape(f).replace(r"\.", r"\.?") for f in _INNER_FORMS) + r")(?!\w)")


@lru_cache(maxsize=200_000)
def normalise(raw: str, person: bool = False) -> str:
    """The normal form of a raw name: the key under which its mentions meet. Equal for spellings that differ in form alone.

    `person` says that the raw name is mostly a person's: only then are honorifics left out ("General Motors" keeps its general)
    and "Smith, John" is turned round. Never empty for a text that is not blank. normalise(normalise(x)) == normalise(x).
    """
    name = raw
    for _ in range(6):
        step = _once(name, person) or name
        if step == name:
            break
        name = step
    return name


_rows_used: ContextVar[list[TableRow] | None] = ContextVar("rows_used", default=None)


def rows_behind(raw: str, person: bool = False) -> tuple[TableRow, ...]:
    """The rows of our tables by which a raw name has its normal form, such as "Fed" that of the Federal Reserve; none where the form is made of the
    name's own words.
    """
    used: list[TableRow] = []
    token = _rows_used.set(used)
    try:
        normalise.__wrapped__(raw, person)
    finally:
        _rows_used.reset(token)
    return tuple(dict.fromkeys(used))


def _named_by(row: TableRow) -> str:
    """The name that a row gives to its form; the row is noted where somebody asks for it."""
    if (used := _rows_used.get()) is not None:
        used.append(row)
    return row.name


def _once(raw: str, person: bool) -> str:
    text = _clean(raw, person)
    if not text:
        return raw.casefold().strip()
    if text in words("case_words.txt"):
        return text
    known = _place(text)
    if known:
        return known
    text = _region_kept(text, person) or _core(text, person)
    return text or plain(raw) or raw.casefold().strip()


def _clean(raw: str, person: bool = False) -> str:
    """Without invisible characters, quotes and brackets around, a final possessive and a leading determiner (a person's A is an initial)."""
    text = raw if raw.isascii() else unicodedata.normalize("NFKC", raw)
    text = text.translate(_QUOTES).translate(_DASHES)
    if not (text.isascii() and text.isprintable()):
        text = "".join(" " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf", "Co", "Cs"))
    text = _SPACED_INITIALS.sub("", " ".join(text.split()).strip(_EDGES))
    while len(text) > 1 and ((text[0], text[-1]) in (("(", ")"), ("[", "]")) or text[0] in ")]}" or text[-1] in "([{"):
        text = text[1:-1] if text[0] in "([" and text[-1] in ")]" else text[1:] if text[0] in ")]}" else text[:-1]
        text = text.strip(_EDGES)
    for opened, closed in ("()", "[]"):
        if text.count(opened) != text.count(closed):
            text = text.replace(opened, " ").replace(closed, " ").strip(_EDGES)
    if len(text) > 2 and text[-2:] in ("'s", "'S"):
        text = text[:-2]
    determiner = _DETERMINER.match(text)
    if determiner and not (determiner[0].strip().lower() == "a" and (person or _INITIAL.match(text, determiner.end()))):
        text = text[determiner.end() :]
    return " ".join(text.split()).strip(_EDGES)


def _place(text: str) -> str | None:
    """The canonical form of a country, bloc or state, when the whole text is one."""
    table = places()
    for form in (text, text + "."):  # a recogniser leaves the last dot of "U.S." to the sentence
        if form in table.exact and (form == text or "." in text):
            return _named_by(table.exact[form])
    folded = plain(text)
    if folded in table.folded:
        return _named_by(table.folded[folded])
    for head in ("state of ", "commonwealth of ", "province of "):
        if folded.startswith(head) and folded.removeprefix(head) in table.names:
            return folded.removeprefix(head)
    if folded.endswith("s") and folded[:-1] in table.of_demonym:
        return folded[:-1]  # Germans, German
    # Text without apostrophes: "Japans finance minister".
    for name in (text.casefold(), folded.removesuffix("s") if len(folded) > 4 and not _may_be_person(folded) else ""):
        if name in table.names:
            return name
    return None


def _may_be_person(word: str) -> bool:
    return is_given_name(word) or is_surname(word)


def region_of(text: str) -> str | None:
    """The country or state that stands after a place's name ("Massachusetts", "MA", "Mass."), in its normal form, or None."""
    text = _clean(text)
    table = places()
    place = _named_by(table.codes[text]) if text in table.codes else _place(text)
    return place if place in table.names else None


def _region_kept(text: str, person: bool) -> str | None:
    """ "Cambridge, MA" as "cambridge, massachusetts": the region is what tells this name from its namesakes."""
    before, comma, after = text.rpartition(",")
    region = region_of(after) if comma else None
    if region and person and is_given_name(plain(after)):
        return None  # Jones, Georgia
    core = _core(before, person) if region else ""
    return f"{core}, {region}" if core else None


def _core(text: str, person: bool) -> str:
    bare = without_legal_form(text)
    if bare == text or person or _place(bare) not in places().names:
        text = bare  # else a firm that is called like a country: Iceland Ltd
    if person:
        text = _turned(text)
    if " " in text:
        text = _INNER.sub(lambda m: _named_by(places().exact[m[0].replace(".", "")]).title(), text)
    tokens = plain(text.replace("&", " & ") if " & " in text else text).split()
    if person:
        tokens = _without_honorifics(tokens)
    tokens = ["and" if t == "&" else t for t in tokens]
    if len(tokens) > 1:
        country = tokens[0].removesuffix("s")
        if not person and country != tokens[0] and country in places().names and tokens[0] not in places().names:
            tokens[0] = country  # Japan's Finance Ministry
        short = abbreviations()
        tokens = [_named_by(short[t]) if t in short else t for t in tokens]
        if tokens[-1] == "st":
            tokens[-1] = "street"
    joined = " ".join(_initials_joined(tokens))
    return _place(joined) or joined


def _turned(text: str) -> str:
    """ "Smith, John" as "John Smith", "King, Martin Luther, Jr." as "Martin Luther King Jr."; a lone suffix or degree stays behind."""
    last, *others = [part.strip() for part in text.split(",")]
    first = [p for p in others if plain(p).replace(".", "") not in SUFFIXES and squash(p) not in honorifics().trail]
    if len(first) != 1:
        return text
    return " ".join([first[0], last, *(p for p in others if p is not first[0])])


def without_legal_form(text: str) -> str:
    """A raw name without legal forms at its ends ("Siemens" of "Siemens AG"); never empty."""
    forms = legal_forms()
    for form in () if text.isascii() else forms.unspaced:
        if len(text) > len(form) and (text.startswith(form) or text.endswith(form)):
            text = text.removeprefix(form).removesuffix(form).strip()
    tokens = text.split()
    if len(tokens) > 2 and _TICKER.fullmatch(tokens[-1]) and any(_is_form(tokens[-1 - n : -1], forms.end) for n in (1, 2)):
        tokens = tokens[:-1]  # Northern Telecom Ltd NT
    changed = True
    while changed:
        changed = False
        for size in range(min(6, len(tokens) - 1), 0, -1):
            if _is_form(tokens[-size:], forms.end) and squash("".join(tokens[:-size])):
                tokens = tokens[:-size]
                while len(tokens) > 1 and tokens[-1].lower() in ("&", "and", ","):
                    tokens = tokens[:-1]
                changed = True
                break
            if _is_form(tokens[:size], forms.start) and squash("".join(tokens[size:])) and not _are_initials(tokens, size):
                tokens, changed = tokens[size:], True
                break
    return " ".join(tokens).strip(_EDGES)


def _are_initials(tokens: list[str], size: int) -> bool:
    """Whether the first words are initials in front of a surname: "A. O. Smith"."""
    letters = re.sub(r"[.\s]", "", "".join(tokens[:size]))
    return len(letters) < 4 and (size > 1 or "." in tokens[0]) and len(tokens) == size + 1 and is_surname(plain(tokens[size]))


def _is_form(tokens: list[str], table: dict[str, bool]) -> bool:
    joined = "".join(tokens)
    case_counts = table.get(squash(joined))
    if case_counts is None:
        return False
    letters = [c for c in joined if c.isalpha()]
    # A short form in lower case is a word ("as", "co"); in capitals or with two of them ("SpA") it is a form.
    enough = 1 if len(letters) > 3 or squash(joined) == "co" else 2
    return not case_counts or (letters[0].isupper() and sum(c.isupper() for c in letters) >= enough)


def _without_honorifics(tokens: list[str]) -> list[str]:
    table = honorifics()
    changed = True
    while changed and len(tokens) > 1:
        changed = False
        for size in (3, 2, 1):
            if len(tokens) > size and " ".join(tokens[:size]).replace(".", "") in table.lead:
                tokens, changed = tokens[size:], True
                break
        if len(tokens) > 2 and squash(tokens[-1]) in table.trail:
            tokens, changed = tokens[:-1], True
    return tokens


def _initials_joined(tokens: list[str]) -> list[str]:
    """ "j r r tolkien" and "j.r.r tolkien" as "jrr tolkien"; "u.s" as "us"."""
    out: list[str] = []
    run = ""
    for token in tokens:
        dotted = re.fullmatch(r"[a-z](?:\.[a-z])+", token) is not None
        if dotted or (len(token) == 1 and token.isalpha()):
            run += token.replace(".", "")
            continue
        if run:
            out.append(run)
            run = ""
        out.append(token)
    return out + ([run] if run else [])


def sex_of(raw: str) -> str:
    """The sex that a raw name's honorific tells: "m", "f" or ""."""
    tokens = plain(raw).split()
    return next((s for n in (3, 2, 1) if len(tokens) > n and (s := honorifics().lead.get(" ".join(tokens[:n]), ""))), "")


def demonym_of(name: str) -> str | None:
    """The country, bloc or state whose people or adjective a normalised name is ("german" to "germany"), or None."""
    table = places().of_demonym
    return table.get(name)


def is_place_name(name: str) -> bool:
    """Whether a normalised name is a country's, bloc's, state's or large city's."""
    return name in places().names or name in words("cities.txt")


def is_generic(name: str) -> bool:
    """Whether a normalised name is a bare head ("court"), a role ("tenant") or a numbered part ("section 4") that says nothing outside its
    document."""
    return name in words("generic_heads.txt") or _PART.fullmatch(name) is not None


_PART = re.compile(
    r"(?:section|article|clause|paragraph|chapter|part|table|figure|appendix|annexe?|exhibit|schedule|attachment|enclosure|task|step|sprint|milestone"
    r"|version|item|ticket|requirement|example|equation|footnote|page|box|slide|column|row|question|note|action|deliverable|work package|lesson"
    r"|week|option|scenario|iteration|user story) (?:\d[\w.-]*|[ivxl]+|[a-z](?:[.-]?\d[\w.-]*)?|[a-z]{1,5}-\d[\w.-]*)"
)


def is_known_word(token: str) -> bool:
    """Whether a token is a known given name, surname, place, or people."""
    return is_given_name(token) or is_surname(token) or is_place_name(token) or demonym_of(token) is not None


def _is_slip_in_surname(x: str, y: str) -> bool:
    """Whether two last words behind one given name are one surname misspelt: a letter more or less, or exchanged, where at most one of them is
    a name or word that we know. Surnames have no endings that tell them apart, but for a plural s.
    """
    if len(x) < 4 or x[0] != y[0] or not (x + y).isalpha() or y == x + "s" or is_common(x) or is_common(y):
        return False
    distance = OSA.distance(x, y, score_cutoff=1)
    return distance == 1 and (len(x) < len(y) or sorted(x) == sorted(y)) and not (is_known_word(x) and is_known_word(y))


_ALIKE = ("aeiouy", "ckqs", "sz", "dt", "bp", "gk", "gj", "mn", "vwf", "ijy", "lr", "xs")


def is_typo_variant(a: str, b: str) -> bool:
    """Whether two names differ by a slip of the pen: one edit (two in long words) in one word, of which one spelling is no word or name
    that we know. Two known names (Joan and John, Austria and Australia) are two names, and so are a word and what is derived from it
    (Korea and Korean).
    """
    left, right = a.split(), b.split()
    unequal = [(x, y) for x, y in zip(left, right, strict=False) if x != y]
    if len(left) != len(right) or len(unequal) != 1:
        return False
    x, y = sorted(unequal[0], key=len)
    if len(left) > 1 and unequal[0] == (left[-1], right[-1]) and is_given_name(left[0]) and _is_slip_in_surname(x, y):
        return True
    if len(x) < 5 or not (x + y).isalpha() or x[0] != y[0] or (is_known_word(x) and is_known_word(y)):
        return False
    shared = next((i for i in range(len(x)) if x[i] != y[i]), len(x))
    endings = words("endings.txt")
    if (shared == len(x) or x[shared:] in endings) and y[shared:] in endings and not (len(x) < len(y) and x[-1] == y[-1] == y[-2]):
        return False  # another ending: Sumatra and Sumatran, Buddhism and Buddhist
    distance = OSA.distance(x, y, score_cutoff=2)
    if distance == 2:
        # Letters out of order, doubled or left out; two other letters make another word (Wikipedia, Wikimedia).
        return len(x) >= 9 and (sorted(x) == sorted(y) or Indel.distance(x, y) == 2)
    if distance == 1 and len(x) == len(y) and sorted(x) != sorted(y):
        return any(x[shared] in letters and y[shared] in letters for letters in _ALIKE)
    return distance == 1
