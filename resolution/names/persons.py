"""Personal names: their parts, and whether two of them may be one person's."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from rapidfuzz.distance import OSA

from polyonym.ingest.text.common_words import is_common
from polyonym.resolution.names.tables import abbreviations, nicknames, places, rows, words

_ROMAN = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv", "xvi", "xvii", "xviii", "xix", "xx",
          "xxi", "xxii", "xxiii", "xxiv", "xxv", "xxvi", "xxvii", "xxviii", "xxix", "xxx")  # fmt: skip
ROMAN = {numeral: number for number, numeral in enumerate(_ROMAN) if number}
SUFFIXES = {"jr": "jr", "junior": "jr", "sr": "sr", "senior": "sr", **{numeral: numeral for numeral in ROMAN}}
_NOT_IN_PERSONS = frozenset({"of", "the", "and", "for", "in", "on", "at", "a", "an", "to", "with"})


@dataclass(frozen=True)
class PersonParts:
    """A normalised full name taken apart: all `words` without the suffix, `given` before the surname, `last` its final word.

    `surname` is `last` with the particles before it ("van gogh").
    """

    words: tuple[str, ...]
    given: tuple[str, ...]
    surname: tuple[str, ...]
    suffix: str

    @property
    def last(self) -> str:
        return self.words[-1]


@lru_cache(maxsize=200_000)
def person_parts(name: str) -> PersonParts | None:
    """The parts of a name with the shape of a full personal name, or None (one word, digits, a comma, small words, no given name)."""
    tokens = name.split()
    suffix = SUFFIXES.get(tokens[-1], "") if len(tokens) > 2 else ""
    if suffix:
        tokens = tokens[:-1]
    if (
        not 2 <= len(tokens) <= 6
        or not all(t.isalpha() for t in tokens)
        or not _NOT_IN_PERSONS.isdisjoint(t for i, t in enumerate(tokens) if not (t == "a" and _may_be_initial(tokens, i)))
    ):
        return None
    tokens = [letter for i, t in enumerate(tokens) for letter in (t if i + 1 < len(tokens) and is_initial(t) else (t,))]
    first = len(tokens) - 1
    while (
        first > 0 and tokens[first - 1] in words("name_particles.txt") and not (first == 1 and (len(tokens[0]) == 1 or tokens[0] == "al"))
    ):
        first -= 1
    return PersonParts(tuple(tokens), tuple(tokens[:first]), tuple(tokens[first:]), suffix) if first else None


def _may_be_initial(tokens: list[str], at: int) -> bool:
    """Whether the word "a" at this place may be an initial: in front, or after a given name."""
    return at == 0 or (at + 1 < len(tokens) and (is_given_name(tokens[at - 1]) or len(tokens[at - 1]) == 1))


def is_given_name(token: str) -> bool:
    """Whether a plain word is a known given name or pet form."""
    return token in words("given_names.txt") or token in nicknames()


@cache
def _rare_given_names() -> frozenset[str]:
    return frozenset(row[0] for row in rows("given_names.txt") if row[1:] == ["rare"])


def is_distinctive(token: str) -> bool:
    """Whether a first word is so rare as a given name that it may be taken for one whatever its label: no initial, no common word."""
    if is_initial(token) or is_common(token) or len(token) < 3:
        return False
    return token in _rare_given_names() or not is_given_name(token)


def is_surname(token: str) -> bool:
    """Whether a plain word is a known surname."""
    return token in words("surnames.txt")


def is_initial(token: str) -> bool:
    """Whether a given name is written as one or more initials ("j", "jrr")."""
    return len(token) == 1 or (len(token) <= 3 and not is_given_name(token) and not any(c in "aeiouy" for c in token))


def same_given_name(a: str, b: str) -> bool:
    """Whether two given names may be one person's: equal, one the initial of the other, or a short and a full form."""
    if a == b or ((is_initial(a) or is_initial(b)) and a[0] == b[0]):
        return True
    if min(len(a), len(b)) > 5 and not is_given_name(a) and not is_given_name(b):
        # Names in no list, mostly transliterated: Gurbanguly, Kurbanguli.
        return OSA.distance(a, b, score_cutoff=2) <= (2 if min(len(a), len(b)) > 8 else 1)
    table = nicknames()
    return bool(table.get(a, frozenset()) & table.get(b, frozenset()))


def given_keys(token: str) -> tuple[set[str], set[str]]:
    """What a given name is filed under, and what its like are looked for under: the word, its pet forms' rows, its initial."""
    rows = {f"={token}", *(f"#{n}" for n in nicknames().get(token, ()))}
    if len(token) > 5 and not is_given_name(token):
        rows.add("consonants " + "".join(c for c in token[1:] if c not in "aeiouywh"))
    if is_initial(token):
        return rows | {f"initial {token[0]}", f"letter {token[0]}"}, rows | {f"letter {token[0]}"}
    return rows | {f"letter {token[0]}"}, rows | {f"initial {token[0]}"}


def contains_given(longer: PersonParts, shorter: PersonParts) -> bool:
    """Whether the given names of one full name are among another's, in order, short forms and initials allowed, the first with the first.

    Who goes by initials alone ("T. J.") is not who goes by a first name: all of them must be there.
    """
    for some, others in ((longer, shorter), (shorter, longer)):
        if len(some.given) > 1 and all(len(g) == 1 for g in some.given) and len(others.given) != len(some.given):
            return False
    if not same_given_name(longer.given[0], shorter.given[0]):
        return False
    rest = list(longer.given[1:])
    for name in shorter.given[1:]:
        # An initial answers the next name only: George H. W. Bush is not George W. Bush.
        reach = 1 if is_initial(name) or (rest and is_initial(rest[0])) else len(rest)
        position = next((i for i, other in enumerate(rest[:reach]) if same_given_name(other, name)), None)
        if position is None:
            return False
        rest = rest[position + 1 :]
    return True


def specificity(parts: PersonParts) -> tuple[int, int, bool, tuple[str, ...]]:
    """Orders full names of one surname: the more is said, the later."""
    return (len(parts.words), sum(map(len, parts.words)), bool(parts.suffix), parts.words)


def may_be_one_person(a: PersonParts, b: PersonParts) -> bool:
    """Whether two full names of one surname may be one person's: the given names of one are among the other's, or the whole name is
    (with a title or a job before it); suffixes do not differ.
    """
    if a.last != b.last or (a.suffix and b.suffix and a.suffix != b.suffix):
        return False
    longer, shorter = (a, b) if len(a.words) >= len(b.words) else (b, a)
    if longer.words[-len(shorter.words) :] == shorter.words:
        return True
    return contains_given(a, b) or contains_given(b, a)


def looks_like_person(name: str, labels: Mapping[str, int], count: int) -> bool:
    """Whether a name is a person's full name: by its shape, and by its labels or, where the recogniser is unsure, its words.

    With a given name that nobody knows, no word of it may be a common one, or a place: headlines ("Buys SeaMicro") are taken for
    persons as well.
    """
    total = sum(labels.values())
    vague = labels.get("ORG", 0) + labels.get("OTHER", 0) == total
    return " " in name and _looks_like_person(name, labels.get("PERSON", 0) * 2 >= total, vague, count > 1)


@cache
def _full_words() -> frozenset[str]:
    """The words that have an abbreviation."""
    return frozenset(row.name for row in abbreviations().values())


@lru_cache(maxsize=200_000)
def _looks_like_person(name: str, called_person: bool, vague: bool, repeated: bool) -> bool:
    parts = person_parts(name)
    if parts is None or is_initial(parts.last) or parts.last in words("generic_heads.txt"):
        return False
    if parts.last in words("org_tails.txt") and not is_surname(parts.last):
        return False
    first, particles = parts.given[0], words("name_particles.txt")
    plain_at = [
        i for i, t in enumerate(parts.words[:-1]) if is_common(t) and t not in particles and not is_given_name(t) and not is_surname(t)
    ]
    if plain_at and not (plain_at == [0] and any(map(is_given_name, parts.given[1:]))):
        return False
    known = is_given_name(first) or is_initial(first)
    if is_common(parts.last) and not is_surname(parts.last) and not (known and (repeated or first not in _rare_given_names())):
        return False  # "Ohio Fire", "Obama Beats": a headline, a place's service
    if called_person and plain_at:
        return True  # a word in front of a given name: a rare one, a title, a job
    if called_person:
        return known or repeated or not any(is_common(t) or t in places().names or t in places().of_demonym for t in parts.words)
    if not known or is_initial(first) or name in places().names:
        return False
    organisation = words("org_tails.txt") | words("generic_heads.txt") | _full_words()
    plain_words = any(t in organisation or is_common(t) for t in parts.words[1:])
    return not plain_words and (is_surname(parts.last) or vague)
