"""Whether two names may be one thing's, judged by the names alone: the kind of match, a score, and what forbids it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from rapidfuzz.distance import OSA, JaroWinkler

from polyonym.ingest.text.common_words import is_common
from polyonym.resolution.names.abbreviations import abbreviates, initials
from polyonym.resolution.names.entity_types import TYPES, compatible, type_of
from polyonym.resolution.names.normal_forms import (
    demonym_of,
    is_known_word,
    is_place_name,
    is_typo_variant,
    normalise,
    rows_behind,
    sex_of,
    without_legal_form,
)
from polyonym.resolution.names.persons import ROMAN, PersonParts, is_given_name, is_initial, is_surname, person_parts, same_given_name
from polyonym.resolution.names.tables import legal_forms, plain, spellings, squash, words

SAME = 0.8
"""The score from which two names count as one thing's, when nothing forbids it."""


@dataclass(frozen=True)
class NameComparison:
    """`score` from 0 to 1; `kind` of the best match; `reasons` in words; `forbids`: exclusive evidence that these are two things.

    With anything in `forbids` the score stays below SAME.
    """

    score: float
    kind: str
    reasons: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether the names, by themselves, say one thing."""
        return self.score >= SAME and not self.forbids


def compare(a: str, b: str, type_a: str = "", type_b: str = "") -> NameComparison:
    """Compare two raw names. Types are ours (entity_types.TYPES) or a recogniser's labels; "" when unknown. Symmetric.

    Jaro-Winkler counts only for slips of spelling: what tells two names apart (a number, a given name, one more word) weighs more
    than how many letters they share.
    """
    if (b, type_b) < (a, type_a):
        a, b, type_a, type_b = b, a, type_b, type_a
    types = [t if t in TYPES else type_of(t) for t in (type_a, type_b) if t]
    forbids = [] if len(types) < 2 or compatible(*types) else [f"a {types[0]} is no {types[1]}"]
    qualifiers = _qualifier(a), _qualifier(b)
    if all(qualifiers) and normalise(qualifiers[0]) != normalise(qualifiers[1]):
        forbids.append(f"told apart by their authors: {qualifiers[0]}, {qualifiers[1]}")
    person = "PERSON" in types or (not types and _reads_as_person(a) and _reads_as_person(b))
    best = max(_results(a, b, person, types), key=lambda c: (not c.forbids, c.score))
    forbids += best.forbids
    if forbids:
        return NameComparison(round(min(best.score, SAME - 0.1), 3), best.kind, best.reasons, tuple(forbids))
    return NameComparison(round(best.score, 3), best.kind, best.reasons, ())


@lru_cache(maxsize=100_000)
def alike(a: str, b: str) -> bool:
    """Whether two normalised names may be one thing's by themselves; a short word may be an acronym."""
    short, long = sorted((a, b), key=lambda name: (len(name), name))
    return compare(short.upper() if " " not in short and len(short) < 7 else short.title(), long.title()).same


_QUALIFIER = re.compile(r"(?<=\S)\s*\(([^()]+)\)\s*$")


def _qualifier(raw: str) -> str:
    """What stands in brackets after a name: "Georgia (country)"."""
    match = _QUALIFIER.search(raw)
    return match[1].strip() if match else ""


def _reads_as_person(raw: str) -> bool:
    name = normalise(raw, person=True)
    parts = person_parts(name)
    if parts is None:
        return False
    tokens = [t for i, t in enumerate(parts.words) if i == 0 or t not in words("name_particles.txt")]
    known = [t for t in tokens if is_given_name(t) or is_initial(t)]
    if parts.last in (words("org_tails.txt") | words("generic_heads.txt")) and not (
        is_surname(parts.last) and is_given_name(parts.given[0])
    ):
        return False
    return (
        bool(known)
        and not is_place_name(name)
        and all(is_given_name(t) or is_initial(t) or is_surname(t) or not is_common(t) for t in tokens[:-1])
    )


def _results(a: str, b: str, person: bool, types: Sequence[str]) -> list[NameComparison]:
    results = [_compare_things(a, b)]
    if person:
        results = [_compare_persons(a, b)]
    elif "PERSON" not in types and (sex_of(a) or sex_of(b) or "," in a + b):
        results.append(_compare_persons(a, b))
    return results


# Things


def _compare_things(a: str, b: str) -> NameComparison:
    x, y = normalise(a), normalise(b)
    if x == y:
        rows = [f"{r.form} in {r.table}, row {r.name!r}" for r in dict.fromkeys((*rows_behind(a), *rows_behind(b)))]
        return NameComparison(1.0, "same form", (f"both are {x!r}", *rows))
    if a.strip().casefold() == b.strip().casefold():
        return NameComparison(0.7, "case", (), ("case tells a word and a name apart",))
    if squash(x) == squash(y) or squash(a) == squash(b) or squash(x.replace("&", "and")) == squash(y.replace("&", "and")):
        return NameComparison(0.97, "same letters", ("equal without spaces and signs",))
    if {demonym_of(x), demonym_of(y)} & {x, y}:
        return NameComparison(0.6, "people and country", ("one is the people or adjective of the other",), ("a people is no country",))
    numbers = _numbers(x), _numbers(y)
    if numbers[0] != numbers[1]:
        return NameComparison(_likeness(x, y), "numbers differ", (), (f"numbers differ: {_listed(numbers[0])}, {_listed(numbers[1])}",))
    acronym = _acronym(a, b)
    if acronym:
        return acronym
    if _is_capitals(a) and _is_capitals(b):
        return NameComparison(_likeness(x, y), "acronyms differ", (), ("two acronyms of different letters",))
    if is_place_name(x) and is_place_name(y):
        return NameComparison(_likeness(x, y), "places differ", (), ("two known places",))
    return _compare_words(x, y)


def _compare_words(x: str, y: str) -> NameComparison:
    """Word by word: what is left over on one side distinguishes, unless it is one of the words that firms leave off."""
    left, right = _content(x), _content(y)
    pairs, left, right = _paired(left, right)
    spelled = [why for p, q in pairs if (why := _spelling(p, q)) and p != q]
    if not left and not right:
        same_order = [p for p, _ in pairs] == _content(x) and [q for _, q in pairs] == _content(y)
        if not same_order and not _ORDERED.isdisjoint(_content(x)):
            return NameComparison(0.7, "words in another order", (), ("the order of words tells institutions apart",))
        score = (0.95 if same_order else 0.9) - 0.04 * len(spelled)
        return NameComparison(score, "same words" if not spelled else "spelling", tuple(spelled) or ("the same words",))
    extra = left or right
    if not (left and right):
        club = not is_place_name(" ".join(p for p, _ in pairs))
        if club and all(t in _DROPPABLE or (club and t in _CLUB) or _is_misspelt_form(t) for t in extra):
            return NameComparison(0.86, "shortened", (f"without {' '.join(extra)}",))
        kind = "part" if pairs else "different"
        return NameComparison(0.7 * _likeness(x, y), kind, (), (f"one more word tells them apart: {' '.join(extra)}",))
    return NameComparison(0.6 * _likeness(x, y), "different", (), (f"different words: {' '.join(left)}, {' '.join(right)}",))


_DOMAIN = re.compile(r"(?<=\w\w)\.(?:com|org|net|co\.uk|de|fr|ru|io)\Z")
_CLUB = frozenset({"fc", "afc", "cf", "sc", "cfc"})
_SMALL = frozenset({"of", "the", "and", "for", "in", "on", "at", "de", "du", "des", "la", "le", "der", "die", "das", "und", "et", "y"})
_ORDERED = frozenset({"university", "college", "school", "institute", "bank", "republic"})
_DROPPABLE = frozenset({"company", "corporation", "group", "holding", "holdings", "organization", "companies", "enterprises"})


def _is_misspelt_form(token: str) -> bool:
    return len(token) > 6 and any(OSA.distance(token, form, score_cutoff=1) == 1 for form in legal_forms().end if len(form) > 6)


def _content(name: str) -> list[str]:
    tokens = [_number(_DOMAIN.sub("", t), i) for i, t in enumerate(name.replace(",", "").split())]
    return [t for t in tokens if t not in _SMALL] or tokens


def _number(token: str, position: int) -> str:
    """A number word or, after another word, a Roman numeral from two in digits; other words as they are."""
    if position and len(token) > 1 and token in ROMAN:
        return str(ROMAN[token])
    return _NUMBER_WORDS.get(token, token)


def _paired(left: list[str], right: list[str]) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Words that answer each other, equal ones first, then like ones; and what is left over on each side, in order."""
    left, right = list(left), list(right)
    pairs: list[tuple[str, str]] = []
    tests: tuple[Callable[[str, str], bool], ...] = (lambda p, q: p == q, lambda p, q: bool(_spelling(p, q)))
    for alike in tests:
        for p in list(left):
            match = next((q for q in right if alike(p, q)), None)
            if match is not None:
                pairs.append((p, match))
                left.remove(p)
                right.remove(match)
    order = {p: i for i, (p, _) in reversed(list(enumerate(pairs)))}
    return sorted(pairs, key=lambda pair: order[pair[0]]), left, right


def _spelling(p: str, q: str) -> str:
    """How two words are two spellings of one; "" when they are not."""
    if p == q:
        return "equal"
    if any(c.isdigit() for c in p + q) or p.isupper() != q.isupper():
        return ""
    if min(len(p), len(q)) > 3 and p.removesuffix("s") == q.removesuffix("s"):
        return f"{p} and {q} differ by a plural s"
    if spellings().get(p, -1) == spellings().get(q, -2):
        return f"{p} and {q} are spellings of one word"
    if min(len(p), len(q)) > 3 and _sound(p) == _sound(q) and not (is_known_word(p) and is_known_word(q) and p[0] != q[0]):
        known_apart = is_given_name(p) and is_given_name(q) and not same_given_name(p, q)
        if not known_apart and not _both_places(p, q):
            return f"{p} and {q} are transliterations of one word"
    if is_typo_variant(p, q) and JaroWinkler.similarity(p, q) >= 0.9:
        return f"{p} and {q} differ by a slip"
    return ""


def _both_places(p: str, q: str) -> bool:
    return (is_place_name(p) or demonym_of(p) is not None) and (is_place_name(q) or demonym_of(q) is not None)


_SOUNDS = tuple(
    (re.compile(pattern), to)
    for pattern, to in (
        (r"tsch|tch|tj|tsh|cz", "ch"), (r"sch|sz", "sh"), (r"dzh|dj|dsch", "j"), (r"kh|ck|q", "k"), (r"ph", "f"), (r"x", "ks"),
        (r"ae", "a"), (r"oe", "o"), (r"ue", "u"), (r"ou|oo", "u"), (r"ee", "i"), (r"yo|jo|io", "o"), (r"ya|ja|ia", "a"), (r"yu|ju|iu", "u"),
        (r"(?:ii|iy|yi|ij|yj|ey|ei|ai|ay)(?=$)", "i"), (r"[yj]", "i"), (r"w", "v"), (r"(?<=[aeiou])h(?=[^aeiou]|$)", ""), (r"(.)\1", r"\1"),
        (r"ff$", "v"), (r"e(?=v$)", "e"),
    )
)  # fmt: skip


@cache
def _sound(word: str) -> str:
    """A rough key under which the usual transliterations of one word meet (Tchaikovsky, Chaykovskiy; Mueller, Muller)."""
    for pattern, to in _SOUNDS:
        word = pattern.sub(to, word)
    return word


_NUMBER_WORDS = {
    w: str(n)
    for n, ws in enumerate(
        ("zero", "one first 1st", "two second 2nd", "three third 3rd", "four fourth 4th", "five fifth 5th", "six sixth 6th", "seven seventh 7th",
         "eight eighth 8th", "nine ninth 9th", "ten tenth 10th", "eleven eleventh 11th", "twelve twelfth 12th", "thirteen thirteenth 13th",
         "fourteen fourteenth 14th", "fifteen fifteenth 15th", "sixteen sixteenth 16th", "seventeen seventeenth 17th", "eighteen eighteenth 18th",
         "nineteen nineteenth 19th", "twenty twentieth 20th", "21st")
    )
    for w in ws.split()
}  # fmt: skip


def _numbers(name: str) -> tuple[int, ...]:
    """The numbers in a name, in order: digits, number words, Roman numerals from two."""
    tokens = [_number(t, i) for i, t in enumerate(name.split())]
    return tuple(int(n) for t in tokens for n in re.findall(r"\d+", t.replace(",", ""))[:9] if len(n) < 40)


def _listed(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers)) or "none"


def _is_capitals(raw: str) -> bool:
    return re.fullmatch(r"(?:the )?(?:[A-Z]{2,6}|(?:[A-Z]\.){2,6}|[A-Z]{1,3}&[A-Z]{1,3})s?", raw.strip()) is not None


def _acronym(a: str, b: str) -> NameComparison | None:
    bare = without_legal_form(a), without_legal_form(b)
    for short, long in ((bare[0], b), (bare[1], a)):
        letters = squash(short.removeprefix("the "))
        if (
            len(short.split()) == 1 < len(long.split())
            and len(letters) > 4
            and any(_is_blend(letters, form.split()) for form in (normalise(long), plain(long)))
        ):
            return NameComparison(0.82, "abbreviation", (f"{short} is made of the beginnings of {long}",))
        if not _is_capitals(short) or (len(long.split()) < 2 and not re.search(r"[a-z][A-Z]", long)):
            continue
        if "&" in short and not re.search(r"&| and ", long, re.IGNORECASE):
            continue  # B&B is no Best Buy
        if letters in initials(long):
            return NameComparison(0.9 if len(letters) > 2 else 0.82, "acronym", (f"{short} has the initials of {long}",))
        if len(letters) > 3 and abbreviates(short, [long]):
            return NameComparison(0.8, "abbreviation", (f"{short} is made of letters of {long}",))
    return None


def _is_blend(letters: str, tokens: Sequence[str]) -> bool:
    """Whether letters are the beginnings, two letters or more but not the whole, of all words in order: Interpol, Nabisco, FedEx."""
    if not tokens:
        return not letters
    first = tokens[0]
    return any(
        letters.startswith(first[:n]) and _is_blend(letters[n:], tokens[1:]) for n in range(2, min(len(first) - 1, len(letters)) + 1)
    )


def _likeness(x: str, y: str) -> float:
    return round(JaroWinkler.similarity(x, y), 3)


# Persons


def _compare_persons(a: str, b: str) -> NameComparison:
    x, y = normalise(a, person=True), normalise(b, person=True)
    sexes = {sex_of(a), sex_of(b)} - {""}
    forbids = ("one title is a man's, the other a woman's",) if len(sexes) == 2 else ()
    if x == y or squash(x) == squash(y):
        return NameComparison(1.0 if x == y else 0.97, "same form", (f"both are {x!r}",), forbids)
    p, q = person_parts(x), person_parts(y)
    if p is None or q is None:
        return _part_of_person(x, y, p or q)
    best = max((_aligned(p, q), _aligned(_turned(p), q, 0.03), _aligned(p, _turned(q), 0.03)), key=lambda c: (not c.forbids, c.score))
    return NameComparison(best.score, best.kind, best.reasons, best.forbids + forbids)


def _part_of_person(x: str, y: str, full: PersonParts | None) -> NameComparison:
    short = min(x, y, key=lambda n: len(n.split()))
    if full is not None and set(short.split()) <= set(full.words):
        return NameComparison(0.6, "part of a name", (f"{short} may be short for many",))
    if full is None and _spelling(x, y):
        return NameComparison(0.88, "spelling", (_spelling(x, y),))
    return NameComparison(0.5 * _likeness(x, y), "different", (), ("different names",))


def _turned(p: PersonParts) -> PersonParts:
    """The same words with the first as surname: names are written surname first in many countries."""
    turned = (*p.words[1:], p.words[0])
    return PersonParts(turned, turned[:-1], turned[-1:], p.suffix)


def _aligned(p: PersonParts, q: PersonParts, penalty: float = 0.0) -> NameComparison:
    """Surname against surname, given names in order; what is missing on one side is no contradiction, what differs is."""
    if p.suffix and q.suffix and p.suffix != q.suffix:
        return NameComparison(0.7, "suffixes differ", (), (f"{p.suffix} is not {q.suffix}",))
    surname = _surnames(p, q)
    if not surname:
        return NameComparison(0.5 * _likeness(" ".join(p.words), " ".join(q.words)), "surnames differ", (), ("surnames differ",))
    score, reasons = surname
    kinds = ["same words"] if score == 1 else ["spelling"]
    longer, shorter = (p, q) if len(p.given) >= len(q.given) else (q, p)
    rest = list(longer.given)
    worst, steps = 1.0, 0
    for i, name in enumerate(shorter.given):
        reach = 1 if i and (is_initial(name) or (rest and is_initial(rest[0]))) else len(rest)
        match = next((j for j, other in enumerate(rest[:reach]) if _given(other, name)[0]), None)
        if match is None or (i == 0 and match > 0 and len(shorter.given) == 1 and not _is_called_by_middle(longer, name)):
            return NameComparison(0.6, "given names differ", (), (f"given names differ: {' '.join(p.given)}, {' '.join(q.given)}",))
        cost, why = _given(rest[match], name)
        if why:
            kinds.append(why)
            reasons.append(f"{rest[match]} and {name}: {why}")
        worst, steps = min(worst, cost), steps + bool(why)
        rest = rest[match + 1 :]
    score -= 1 - worst + 0.01 * max(steps - 1, 0)
    if len(longer.given) > len(shorter.given):
        kinds.append("fewer given names")
        score -= 0.05
    return NameComparison(max(score - penalty, 0.0), kinds[-1], tuple(reasons))


def _is_called_by_middle(longer: PersonParts, name: str) -> bool:
    """Whether somebody goes by a middle name ("J. Edgar Hoover" as Edgar Hoover)."""
    return is_initial(longer.given[0]) or name not in longer.given or len(longer.given[0]) == 1


def _surnames(p: PersonParts, q: PersonParts) -> tuple[float, list[str]] | None:
    a, b = " ".join(p.surname), " ".join(q.surname)
    if a == b:
        return 1.0, []
    if squash(a) == squash(b):
        return 0.98, ["surnames of the same letters"]
    if p.last == q.last:
        return 0.96, ["a particle of the surname is left off"]
    if spelled := _spelling(p.last, q.last):
        return (0.94, [spelled]) if not (is_surname(p.last) and is_surname(q.last)) or _sound(p.last) == _sound(q.last) else None
    # Two surnames, of which one is left off: Maria Garcia Lopez, Hillary Rodham Clinton.
    for longer, shorter in ((p, q), (q, p)):
        two = len(longer.words) > 2 and len(shorter.words) == 2 and longer.words[0] == shorter.words[0]
        if two and shorter.last in longer.words[1:] and is_surname(shorter.last) and not is_given_name(shorter.last):
            return 0.88, [f"one of two surnames is left off: {longer.last}"]
    return None


def _given(a: str, b: str) -> tuple[float, str]:
    """How well two given names go together (0: not at all), and by what."""
    if a == b:
        return 1.0, ""
    if is_initial(a) or is_initial(b):
        return (0.93, "initial") if a[0] == b[0] else (0.0, "")
    if same_given_name(a, b):
        return 0.96, "short form"
    if (spelled := _spelling(a, b)) and not (is_given_name(a) and is_given_name(b)):
        return 0.95, "spelling" if spelled else ""
    return 0.0, ""
