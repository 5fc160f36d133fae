"""What speaks for a candidate: the features of (document, name, item), apart from any weight.

A feature looks at the document, the name and the item, never at other documents (promise 1), nor at which source brought the item or which fields it happens
to have.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from math import log1p

from anyascii import anyascii
from rapidfuzz.distance import JaroWinkler

from ingest.documents import Document
from resolution.candidates import Item
from resolution.entity_types import compatible, type_of
from resolution.knowledge_base import initials_of, prominence
from resolution.name_tables import rows
from resolution.persons import is_given_name
from resolution.units import DocumentName

FEATURES = (
    "exact label",  # the name is the item's label, to the letter
    "label",  # … once both are normalised
    "exact alias",  # the name is one of its aliases, to the letter
    "alias",  # … once both are normalised
    "short alias",  # an alias that is a part of the label ("Apple" of "Apple Store")
    "acronym",  # the name is in capitals and made of the label's initials
    "start",  # the label begins with the name
    "end",  # the label ends with the name
    "similarity",  # Jaro-Winkler of name and label
    "further words",  # log of how many words the label has that the name has not
    "prominence",  # log of sitelinks, see knowledge_base.prominence
    "aliases",  # log of the number of aliases
    "type same",  # share of the recogniser's labels that have the item's type
    "type other",  # … another type that may still be one thing with it
    "type barred",  # … a type that can't
    "person name",  # the label looks like a person's name, and the recogniser says person
    "no person name",  # … and it says something else
    "head label",  # the longer name of the group is the item's label
    "head alias",  # … or an alias
    "head only",  # only the longer name of the group brought the item
    "inherited",  # what the longer name's own linking gave the item, 0 to 1
    "label words here",  # share of the label's further words that stand in the document
    "label words title",  # … in its title
    "label here",  # the whole label stands in the document, where it isn't the name itself
    "label title",  # … in the title
    "alias here",  # another of the item's longer names stands in the document
    "description words",  # share of the description's words that stand in the document
    "description count",  # log of how many do
)

_WORD = re.compile(r"[^\W_]+")
_URL = re.compile(r"\w+://\S+")
_STOP = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "de",
        "del",
        "der",
        "des",
        "di",
        "du",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "his",
        "in",
        "is",
        "it",
        "its",
        "la",
        "le",
        "les",
        "new",
        "not",
        "of",
        "on",
        "or",
        "s",
        "san",
        "she",
        "st",
        "that",
        "the",
        "their",
        "they",
        "this",
        "to",
        "und",
        "van",
        "von",
        "was",
        "were",
        "which",
        "who",
        "will",
        "with",
    ]
)


def tokens_of(text: str) -> list[str]:
    """The words of a text, transliterated, in lower case."""
    folded = text.casefold()
    return _WORD.findall(folded if folded.isascii() else anyascii(folded).lower())


class DocumentWords:
    """A document as features look at it."""

    def __init__(self, document: Document) -> None:
        title = _URL.sub(" ", document.title)
        tokens = tokens_of(document.text)
        self.counts = Counter(tokens)
        self.text = f" {' '.join(tokens)} "
        self.title = tokens_of(title)
        self.title_text = f" {' '.join(self.title)} "
        self.everywhere = self.counts.keys() | set(self.title)


@dataclass(frozen=True)
class ItemWords:
    """An item as features look at it."""

    item: Item
    label: tuple[str, ...]
    phrase: str  # the label's words between blanks
    description: tuple[str, ...]
    aliases: tuple[str, ...]  # like `phrase`, the longer ones
    type: str  # "" when nothing tells
    prominence: float
    initials: str
    person_name: bool


def item_words(item: Item) -> ItemWords:
    """Prepare an item: worth keeping for as long as the item is asked for again."""
    label = tuple(tokens_of(item.label))
    description = tuple(dict.fromkeys(t for t in tokens_of(item.description or "") if t not in _STOP and len(t) > 1))
    phrases = dict.fromkeys(f" {' '.join(tokens_of(a))} " for a in item.aliases)
    return ItemWords(
        item,
        label,
        f" {' '.join(label)} ",
        description,
        tuple(p for p in phrases if len(p) > 6),
        infer_type(item),
        prominence(item),
        initials_of(item.label),
        looks_like_person(item.label),
    )


@cache
def _type_words() -> dict[str, str]:
    table: dict[str, str] = {}
    for type_, text in rows("type_words.tsv"):
        for word in text.split():
            table.setdefault(word, type_)
    return table


def infer_type(item: Item) -> str:
    """The item's type by its classes; else by the head word of its description, else by what its label says of it; "" when nothing tells."""
    if item.types:
        return item.types[0]
    table = _type_words()
    for text in (item.description or "", *re.findall(r"\(([^)]*)\)", item.label)):
        head = re.split(r"\b(?:of|in|from|by|for|on|at|who|that|which|and|born|based)\b|[,;(/]", text.casefold())[0]
        for word in reversed(tokens_of(head)):
            if found := table.get(word) or table.get(word.removesuffix("s")):
                return found
    bare = re.sub(r"\(.*?\)", "", item.label)
    before, of, _ = bare.partition(" of ")
    tokens = tokens_of(before)
    if (len(tokens) > 1 or (of and tokens)) and not looks_like_person(bare):
        return table.get(tokens[-1], "")
    return "PERSON" if looks_like_person(bare) else ""


def looks_like_person(label: str) -> bool:
    """Whether a label has the shape of a person's name: two to four capitalised words, the first a known given name."""
    parts = label.split()
    return (
        2 <= len(parts) <= 4
        and is_given_name(parts[0].casefold())
        and all(p[0].isupper() or p in ("de", "van", "von", "bin", "al", "del", "la", "der") for p in parts)
    )


@dataclass(frozen=True)
class NameWords:
    """A document's name as features look at it."""

    surface: str
    key: str
    surfaces: frozenset[str]
    tokens: frozenset[str]
    phrase: str  # its shortest spelling's words between blanks
    types: tuple[tuple[str, float], ...]  # the recogniser's types with their shares
    letters: str  # the name without dots when it is in capitals, else ""


def name_words(name: DocumentName) -> NameWords:
    """Prepare a name."""
    total = sum(name.labels.values()) or 1
    types: dict[str, float] = {}
    for label, count in sorted(name.labels.items()):
        types[type_of(label)] = types.get(type_of(label), 0.0) + count / total
    letters = name.surface.replace(".", "")
    return NameWords(
        name.surface,
        name.name,
        frozenset(name.surfaces),
        frozenset(t for s in name.surfaces for t in tokens_of(s)),
        min((f" {' '.join(tokens_of(s))} " for s in name.surfaces), key=lambda p: (len(p), p)),
        tuple(types.items()),
        letters.lower() if letters.isupper() and letters.isalpha() else "",
    )


NO_MATCH: frozenset[str] = frozenset()


def features_of(
    here: DocumentWords,
    name: NameWords,
    head: NameWords | None,
    item: ItemWords,
    matches: frozenset[str],
    head_matches: frozenset[str],
    inherited: float,
) -> list[float]:
    """The features of one candidate, in the order of FEATURES.

    `head` is the longer name of the name's group, None when there is none. `matches` says how the item answers to the name (Candidate.match), `head_matches` how
    to the longer one; `inherited` is the longer name's share for it.
    """
    label = item.item.label
    is_label = "label" in matches or "exact label" in matches
    exact_alias = not name.surfaces.isdisjoint(item.item.aliases)
    is_alias = exact_alias or "alias" in matches or "exact alias" in matches
    known = frozenset(item.label)
    part = bool(name.tokens) and name.tokens < known
    own = name.tokens | head.tokens if head else name.tokens
    beyond = [t for t in item.label if t not in name.tokens and t not in _STOP]
    same = other = barred = person = 0.0
    for type_, share in name.types:
        person += share if type_ == "PERSON" else 0.0
        if not item.type:
            continue
        if type_ == item.type:
            same += share
        elif compatible(type_, item.type):
            other += share
        else:
            barred += share
    described = sum(t in here.everywhere and t not in own for t in item.description)
    return [
        float(label in name.surfaces),
        float(is_label),
        float(exact_alias),
        float(is_alias),
        float(is_alias and not is_label and part),
        float(bool(name.letters) and name.letters == item.initials),
        float("start" in matches),
        float("end" in matches),
        JaroWinkler.similarity(name.surface, label),
        log1p(len(beyond)),
        item.prominence,
        log1p(len(item.item.aliases)),
        same,
        other,
        barred,
        person if item.person_name else 0.0,
        1.0 - person if item.person_name else 0.0,
        float(not head_matches.isdisjoint(("label", "exact label"))),
        float(not head_matches.isdisjoint(("alias", "exact alias"))),
        float(not matches),
        inherited,
        sum(t in here.everywhere for t in beyond) / len(beyond) if beyond else 0.0,
        sum(t in here.title for t in beyond) / len(beyond) if beyond else 0.0,
        float(bool(beyond) and item.phrase in here.text),
        float(item.phrase in here.title_text),
        float(any(len(a) > len(name.phrase) and a != item.phrase and a in here.text for a in item.aliases)),
        described / len(item.description) if item.description else 0.0,
        log1p(described),
    ]
