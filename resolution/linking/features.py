"""What speaks for a candidate: the features of (document, name, item), apart from any weight.

A feature looks at the document, the name and the item, never at other documents (promise 1), nor at which source brought the item or which fields it happens
to have.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p

from rapidfuzz.distance import JaroWinkler

from polyonym.ingest.text.common_words import is_common
from polyonym.ingest.text.documents import Document
from polyonym.resolution.linking.candidates import Item
from polyonym.resolution.linking.knowledge_base import initials_of, prominence
from polyonym.resolution.linking.words import STOP_WORDS, is_generic_word, tokens_of, type_words
from polyonym.resolution.names.entity_types import compatible, type_of
from polyonym.resolution.names.normal_forms import demonym_of
from polyonym.resolution.names.persons import is_given_name
from polyonym.resolution.names.tables import words
from polyonym.resolution.within_document.document_entities import DocumentName

FEATURES = (
    # how the item answers to the name (Candidate.match)
    "exact label",  # the name is the item's label, to the letter
    "label",  # … once both are normalised, a qualifier in brackets or after a comma left out
    "exact alias",  # the name is one of its aliases, to the letter
    "alias",  # … once both are normalised
    "short alias",  # an alias whose words are a part of the label's ("Apple" of "Apple Store")
    "acronym",  # the name is in capitals and made of the label's initials
    "sounds",  # the same consonants: a slip of spelling
    "part",  # a part of the name is what the item is called
    "words",  # the same words in another order
    "outer",  # the label's first and last word
    "start",  # the label begins with the name
    "end",  # the label ends with the name
    "demonym",  # the name is the adjective or people of the place that the item is
    "region",  # the name is a code or short form of the country or state that the item is
    "number",  # the name is the plural of what the item is called, or the singular
    "similarity",  # Jaro-Winkler of name and label
    "further words",  # log of how many words the label has that the name has not
    "missing words",  # log of how many the name has that the label has not
    "missing words told",  # share of these that the description or an alias has ("Massachusetts" of "Cambridge, Massachusetts")
    "label of several",  # the name is the label and has several words
    "common noun",  # the label begins in lower case, the name with a capital
    # what the item is
    "prominence",  # log of sitelinks, see knowledge_base.prominence
    "little known",  # how much less than 3 that is
    "aliases",  # log of the number of aliases
    # its type against the recogniser's, as shares of the name's labels
    "same PERSON",
    "same ORG",
    "same PLACE",
    "same GROUP",
    "same other",
    "place as ORG",  # the item is an organisation, the recogniser says place
    "ORG as place",  # the other way round
    "crossed",  # another pair of types that may be one thing
    "barred",  # a pair that can't
    "person name",  # the label looks like a person's name, and the recogniser says person
    "no person name",  # … and it says something else
    # what the document's other things say in a first pass without these, as the item's share of their candidates, 0 to 1
    "longer name",  # the best of those whose names hold this one's words
    "other name",  # the best of the rest
    # how the item goes with what the others are likely to be, each weighed with its likelihood
    "company words",  # log of the sum of shares of the item's further label and description words, kinds and common ones apart, that they have
    "company kinds",  # share of them that have one of its words for a kind of thing ("national", "team")
    "company names",  # log of how many are called by one of these words
    # the document
    "label words here",  # share of the label's further words that stand in the document, common and type words apart
    "label words count",  # log of how many do
    "label words title",  # share of them in its title
    "label words near",  # share of them near the name
    "type words here",  # share of its further common and type words in the document
    "label here",  # the whole label stands in the document, where it isn't the name itself
    "label title",  # … in the title
    "alias here",  # another of the item's longer names stands in the document
    "description words",  # share of the description's words that stand in the document
    "description count",  # log of how many do, common words apart
    "description near",  # log of how many stand near the name
)

HEARD = ("longer name", "other name", "company words", "company kinds", "company names")
"""The features that rest on the document's other things."""
_AFTER_HEAD = re.compile(r"\b(?:of|in|from|by|for|on|at|who|that|which|and|born|based)\b|[,;(/]")
_DOTTED = re.compile(r"\b(\w)\.\s?(\w)\.")  # F.C.
_PARTICLES = frozenset(("de", "van", "von", "bin", "al", "del", "la", "der"))
NEAR, PLACES = 150, 6
"""Near a name is within so many characters of one of its first places."""
_URL = re.compile(r"\w+://\S+")


class DocumentWords:
    """A document as features look at it."""

    def __init__(self, document: Document) -> None:
        title = tokens_of(_URL.sub(" ", document.title))
        tokens = tokens_of(document.text)
        self.text = f" {' '.join(tokens)} "
        self.title = frozenset(title)
        self.title_text = f" {' '.join(title)} "
        self.everywhere = frozenset(tokens) | self.title

    def near(self, phrase: str) -> frozenset[str]:
        """The words around the first places where a phrase stands."""
        words: set[str] = set()
        at = -1
        for _ in range(PLACES):
            at = self.text.find(phrase, at + 1)
            if at < 0:
                break
            words.update(self.text[max(0, at - NEAR) : at + len(phrase) + NEAR].split(" ")[1:-1])
        return frozenset(words)


@dataclass(frozen=True)
class ItemWords:
    """An item as features look at it."""

    item: Item
    label: tuple[str, ...]
    phrase: str  # the label's words between blanks
    description: tuple[str, ...]
    aliases: tuple[str, ...]  # like `phrase`, the longer ones
    alias_words: frozenset[str]  # that the label has not
    types: frozenset[str]  # empty when nothing tells
    told_types: frozenset[str]  # those that its classes, its description or its qualifier tell
    prominence: float
    initials: tuple[str, ...]
    person_name: bool
    telling: frozenset[str]  # words of label and description, kinds of things and common words apart
    kinds: frozenset[str]  # those that are words for kinds of things

    def tells(self, word: str) -> bool:
        """Whether its description or an alias has a word."""
        return word in self.alias_words or word in self.description


def item_words(item: Item) -> ItemWords:
    """Prepare an item: worth keeping for as long as the item is asked for again."""
    label = tuple(tokens_of(item.label))
    description = tuple(dict.fromkeys(t for t in tokens_of(item.description or "") if t not in STOP_WORDS and len(t) > 1))
    aliases = [tokens_of(a) for a in item.aliases]
    phrases = dict.fromkeys(f" {' '.join(tokens)} " for tokens in aliases)
    return ItemWords(
        item,
        label,
        f" {' '.join(label)} ",
        description,
        tuple(p for p in phrases if len(p) > 6),
        frozenset(t for tokens in aliases for t in tokens if t not in label),
        told_types(item) or sounding_types(item),
        told_types(item),
        prominence(item),
        initials_of(item.label),
        looks_like_person(item.label),
        frozenset(t for t in (*label, *description) if t not in STOP_WORDS and not is_generic_word(t)),
        frozenset(t for t in (*label, *description) if t in type_words()),
    )


def told_types(item: Item) -> frozenset[str]:
    """The item's types by its classes and the head words of its description and of what its label has in brackets."""
    table = type_words()
    types = set(item.types)
    for text in (item.description or "", *re.findall(r"\(([^)]*)\)", item.label)):
        head = _AFTER_HEAD.split(text.casefold(), maxsplit=1)[0]
        types |= next(
            (of_word for word in reversed(tokens_of(head)) if (of_word := table.get(word) or table.get(word.removesuffix("s")))), set()
        )
    return frozenset(types)


def sounding_types(item: Item) -> frozenset[str]:
    """The item's types by what its label, or a longer form of it among its aliases, says."""
    table = type_words()
    bare = re.sub(r"\(.*?\)", "", item.label).strip()
    if looks_like_person(bare):
        return frozenset(["PERSON"])
    for name in (bare, *(a for a in item.aliases if a.startswith(bare + " "))):
        tokens = tokens_of(_DOTTED.sub(r"\1\2", name.partition(" of ")[0]))
        if (len(tokens) > 1 or (" of " in name and tokens)) and tokens[-1] in table:
            return table[tokens[-1]]
    return frozenset(["GROUP"]) if demonym_of(bare.casefold()) else frozenset()


def looks_like_person(label: str) -> bool:
    """Whether a label has the shape of a person's name: two to four capitalised words, the first a known given name, the last no word for a thing."""
    parts = label.split()
    if not 2 <= len(parts) <= 4 or not is_given_name(parts[0].casefold()):
        return False
    last = parts[-1].casefold()
    return (
        last not in type_words()
        and all(p[0].isupper() or p in _PARTICLES for p in parts)
        and (last in words("surnames.txt") or not is_common(last))
    )


@dataclass(frozen=True)
class NameWords:
    """A name of one of a document's things as features look at it."""

    surface: str
    key: str
    surfaces: frozenset[str]
    tokens: frozenset[str]
    phrase: str  # its shortest spelling's words between blanks
    own: frozenset[str]  # the words of all names of the thing
    near: frozenset[str]  # the words around all its names
    types: tuple[tuple[str, float], ...]  # the recogniser's types of all its names with their shares
    letters: str  # the name without dots when it is in capitals, else ""


def name_words(here: DocumentWords, name: DocumentName, names: Sequence[DocumentName]) -> NameWords:
    """Prepare one name of a thing that a document calls by several `names`."""
    total = sum(count for n in names for count in n.labels.values()) or 1
    types: dict[str, float] = {}
    for n in names:
        for label, count in sorted(n.labels.items()):
            types[type_of(label)] = types.get(type_of(label), 0.0) + count / total
    letters = name.surface.replace(".", "")
    own = frozenset(t for n in names for s in n.surfaces for t in tokens_of(s))
    return NameWords(
        name.surface,
        name.name,
        frozenset(name.surfaces),
        frozenset(t for s in name.surfaces for t in tokens_of(s)),
        _phrase(name),
        own,
        frozenset().union(*(here.near(_phrase(n)) for n in names)) - own,
        tuple(sorted(types.items())),
        letters.lower() if letters.isupper() and letters.isalpha() else "",
    )


def _phrase(name: DocumentName) -> str:
    return min((f" {' '.join(tokens_of(s))} " for s in name.surfaces), key=lambda p: (len(p), p))


LABEL = frozenset(("exact label", "label", "bare label"))


def features_of(here: DocumentWords, name: NameWords, item: ItemWords, matches: frozenset[str]) -> list[float]:
    """The features of one candidate, in the order of FEATURES; those that the document's other things say are left at 0.

    `matches` says how the item answers to the name (Candidate.match, demonym, singular).
    """
    label = item.item.label
    is_label = not matches.isdisjoint(LABEL)
    exact_alias = not name.surfaces.isdisjoint(item.item.aliases)
    is_alias = exact_alias or "alias" in matches or "exact alias" in matches
    part = bool(name.tokens) and name.tokens < frozenset(item.label)
    missing = name.tokens.difference(item.label)
    beyond = [t for t in item.label if t not in name.tokens and t not in STOP_WORDS]
    telling = [t for t in beyond if not is_generic_word(t)]
    generic = len(beyond) - len(telling)
    present = sum(t in here.everywhere for t in telling)
    described = [t for t in item.description if t not in name.own and t in here.everywhere]
    same = dict.fromkeys(("PERSON", "ORG", "PLACE", "GROUP", ""), 0.0)
    as_org = as_place = crossed = barred = person = 0.0
    for type_, share in name.types:
        person += share if type_ == "PERSON" else 0.0
        if not item.types:
            continue
        if type_ in item.types:
            same[type_ if type_ in same else ""] += share
        elif not any(compatible(type_, t) for t in item.types):
            barred += share
        elif type_ == "PLACE" and "ORG" in item.types:
            as_org += share
        elif type_ == "ORG" and "PLACE" in item.types:
            as_place += share
        else:
            crossed += share
    return [
        float(label in name.surfaces),
        float(is_label),
        float(exact_alias),
        float(is_alias),
        float(is_alias and not is_label and part),
        float(bool(name.letters) and name.letters in item.initials),
        float("sounds" in matches),
        float("part" in matches),
        float("words" in matches),
        float("outer" in matches),
        float("start" in matches),
        float("end" in matches),
        float("demonym" in matches),
        float("region" in matches),
        float("number" in matches),
        JaroWinkler.similarity(name.surface, label),
        log1p(len(beyond)),
        log1p(len(missing)),
        sum(map(item.tells, missing)) / len(missing) if missing else 0.0,
        float(is_label and len(name.tokens) > 1),
        float(label[0].islower() and name.surface[0].isupper()),
        item.prominence,
        max(0.0, 3.0 - item.prominence),
        log1p(len(item.item.aliases)),
        *same.values(),
        as_org,
        as_place,
        crossed,
        barred,
        person if item.person_name else 0.0,
        1.0 - person if item.person_name else 0.0,
        *(0.0 for _ in HEARD),
        present / len(telling) if telling else 0.0,
        log1p(present),
        sum(t in here.title for t in telling) / len(telling) if telling else 0.0,
        sum(t in name.near for t in telling) / len(telling) if telling else 0.0,
        sum(t in here.everywhere for t in beyond if t not in telling) / generic if generic else 0.0,
        float(bool(beyond) and item.phrase in here.text),
        float(item.phrase in here.title_text),
        float(any(len(a) > len(name.phrase) and a != item.phrase and a in here.text for a in item.aliases)),
        len(described) / len(item.description) if item.description else 0.0,
        log1p(sum(not is_generic_word(t) for t in described)),
        log1p(sum(t in name.near for t in described)),
    ]
