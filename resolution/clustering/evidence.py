"""How far two bearers of one name, in different documents, are one thing: features with fitted weights, and the probability that they sum up to.

The sum is Fellegi and Sunter's (1969): each comparison adds the logarithm of how much likelier its outcome is between mentions of one thing than
between those of two, and a shared name weighs in proportion to its rarity. Since what is compared hangs together (a trade and a people, a title and
its land), the weights are fitted jointly, by logistic regression, not counted one by one. Both sides may be many within-document entities: what is said of
any of them is said of the side.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import exp, log

import msgspec

from polyonym.ingest.text.common_words import is_common
from polyonym.resolution.names.normal_forms import is_place_name
from polyonym.resolution.names.persons import ROMAN, is_distinctive, is_given_name, is_surname, person_parts
from polyonym.resolution.names.tables import DATA, places
from polyonym.resolution.within_document.document_entities import DocumentEntity, DocumentEntityKey
from polyonym.resolution.within_document.traits import role_kinds

EXCLUSIVE = ("born", "died", "year", "land", "seat", "region", "rest", "role", "is", "by", "people", "sex", "written")
"""Kinds of traits that are compared value by value: one in common speaks for one thing, none in common against it."""

FEATURES = (
    # the name, by itself: how common it may be
    "person",  # a person's full name
    "person of common names",  # … whose given name and surname stand in the tables of frequent ones
    "person of three names",
    "regnal name",  # a given name, with a number or alone
    "one word",
    "words of the language",  # "Love and War": no name by itself
    "country",
    "known place",
    "known",  # the knowledge base has a bearer of it
    "known of several",  # … log of how many, where it has more than one
    # the traits, each as shared or as differing
    *(f"{kind} {outcome}" for kind in EXCLUSIVE for outcome in ("shared", "differs")),
    "title shared",
    "title differs",
    "title's number differs",  # a fourth and a sixth lord
    "kind of thing differs",  # a film and a song, by what they are said to be
    "type differs",  # a person and a place, by the recogniser
    # the links
    "item shared",  # both surely linked to one item
    "item likely shared",
    "item differs",
    "item likely differs",
    # the company
    "company",  # names beside both, rare ones counting more, at most 2
    "other company",  # both have company, and none in common
    "other company of places",  # … where the name is a known place's, that may keep any
)  # fmt: skip


COMPANY_OF = 20
"""The names beside it are taken from so many of a side's within-document entities, the first by their keys."""
_NONE: frozenset[str] = frozenset()


Bearers = Callable[[str], int]
"""How many things are known to bear a normalised name."""


def nobody(name: str) -> int:
    """For where nothing is known of names."""
    return 0


@dataclass(frozen=True)
class Side:
    """What is said of one or more within-document entities, as evidence looks at it. `beside` holds the names beside each of the first within-document entities."""

    traits: Mapping[str, frozenset[str]]
    items: frozenset[str]
    likely: frozenset[str]
    types: frozenset[str]
    beside: tuple[tuple[DocumentEntityKey, frozenset[str]], ...]

    def __or__(self, other: "Side") -> "Side":
        kinds = sorted(self.traits.keys() | other.traits.keys())
        traits = {k: self.traits.get(k, _NONE) | other.traits.get(k, _NONE) for k in kinds}
        beside = tuple(sorted((*self.beside, *other.beside), key=lambda b: b[0])[:COMPANY_OF])
        return Side(traits, self.items | other.items, self.likely | other.likely, self.types | other.types, beside)

    @cached_property
    def company(self) -> frozenset[str]:
        return frozenset().union(*(names for _, names in self.beside))

    @property
    def telling(self) -> int:
        """How many kinds of things are said that could part it from another bearer of the name."""
        return sum(kind not in ("sex", "address") for kind in self.traits) + bool(self.items)

    def values(self) -> Iterator[tuple[str, str]]:
        """All by which it may meet another side of its name, sorted."""
        for kind, values in sorted(self.traits.items()):
            if kind not in ("sex", "people"):
                yield from ((kind, v) for v in sorted(values))
        yield from (("item", i) for i in sorted(self.items | self.likely))
        yield from (("company", n) for n in sorted(self.company))


def side(document_entity: DocumentEntity, type_: str) -> Side:
    """One within-document entity's side; `type_` is its firm type."""
    traits: dict[str, set[str]] = {}
    for name in document_entity.names:
        for kind, values in name.traits.items():
            traits.setdefault(kind, set()).update(values)
    company = frozenset(traits.pop("near", ())).difference(n.name for n in document_entity.names)
    return Side(
        {k: frozenset(v) for k, v in traits.items()},
        frozenset({document_entity.wikidata_id} if document_entity.wikidata_id else ()),
        frozenset({document_entity.likely_id} if document_entity.likely_id else ()),
        frozenset({type_} - {"OTHER"}),
        ((document_entity.key, company),) if company else (),
    )


@lru_cache(maxsize=100_000)
def of_name(name: str) -> tuple[tuple[str, float], ...]:
    """The features of a shared normalised name: what tells how many may bear it."""
    made: dict[str, float] = {}
    tokens = name.split()
    parts = person_parts(name)
    if parts and not is_place_name(name) and (is_given_name(parts.given[0]) or is_surname(parts.last)):
        made["person"] = 1.0
        if is_given_name(parts.given[0]) and not is_distinctive(parts.given[0]) and is_surname(parts.last):
            made["person of common names"] = 1.0
        if len(parts.words) > 2:
            made["person of three names"] = 1.0
    bare = tokens[:-1] if len(tokens) > 1 and tokens[-1] in ROMAN else tokens
    if is_given_name(bare[0]) and len(bare) == 1:
        made["regnal name"] = 1.0
    if len(tokens) == 1:
        made["one word"] = 1.0
    if all(is_common(t) or t in ("of", "the", "and", "in", "on", "to", "for") for t in tokens):
        made["words of the language"] = 1.0
    if name in places().names or name in places().of_demonym:
        made["country"] = 1.0
    elif is_place_name(name):
        made["known place"] = 1.0
    return tuple(made.items())


def between(name: str, known: int, a: Side, b: Side) -> dict[str, float]:
    """The features, those that are not 0, of two sides that bear one name, which `known` things of the knowledge base bear."""
    made = dict(of_name(name)) | said(a, b, is_place_name(name), "country" in dict(of_name(name)))
    if known:
        made["known"] = 1.0
    if known > 1:
        made["known of several"] = round(log(known), 3)
    return made


def said(a: Side, b: Side, place: bool = False, country: bool = False) -> dict[str, float]:
    """The features of two sides apart from their name, which may be a known place's. Of a country or a people anything is said."""
    made: dict[str, float] = {}
    for kind in () if country else EXCLUSIVE:
        left, right = a.traits.get(kind), b.traits.get(kind)
        if left and right:
            made[f"{kind} {'shared' if _share(kind, left, right) else 'differs'}"] = 1.0
    if _lived_before(a, b) or _lived_before(b, a):
        made["died differs"] = 1.0
    _titles(a.traits.get("title", _NONE), b.traits.get("title", _NONE), "land differs" in made, made)
    kinds = _kinds(a.traits.get("role", _NONE)), _kinds(b.traits.get("role", _NONE))
    if all(kinds) and not kinds[0] & kinds[1]:
        made["kind of thing differs"] = 1.0
    if a.types and b.types and ("PERSON" in a.types) != ("PERSON" in b.types):
        made["type differs"] = 1.0
    _links(a, b, made)
    _company(a.company, b.company, place, made)
    return made


def _share(kind: str, left: frozenset[str], right: frozenset[str]) -> bool:
    if kind in ("born", "died"):  # a year more or less is a slip, or another calendar
        return any(abs(int(x) - int(y)) <= 1 for x in left for y in right)
    return not left.isdisjoint(right)


def _lived_before(a: Side, b: Side) -> bool:
    """Whether one was dead before the other was born."""
    died, born = a.traits.get("died"), b.traits.get("born")
    return bool(died and born) and max(map(int, died or ())) < min(map(int, born or ()))


def _titles(left: frozenset[str], right: frozenset[str], other_lands: bool, made: dict[str, float]) -> None:
    if not left or not right:
        return
    ranks = [{re.sub(r"^\d+ ", "", t): re.sub(r"\D", "", t) for t in sorted(side)} for side in (left, right)]
    common = ranks[0].keys() & ranks[1].keys()
    if not common:
        made["title differs"] = 1.0
    elif all(ranks[0][r] and ranks[1][r] and ranks[0][r] != ranks[1][r] for r in common):
        made["title's number differs"] = 1.0
    elif not other_lands:
        made["title shared"] = 1.0


def _kinds(roles: Iterable[str]) -> set[str]:
    table = role_kinds()
    return {table.get(r, "PERSON") for r in roles} - {"OTHER"}


def _links(a: Side, b: Side, made: dict[str, float]) -> None:
    if a.items and b.items:
        made["item shared" if a.items & b.items else "item differs"] = 1.0
        return
    left, right = a.items | a.likely, b.items | b.likely
    if left and right:
        made["item likely shared" if left & right else "item likely differs"] = 1.0


def _company(left: frozenset[str], right: frozenset[str], place: bool, made: dict[str, float]) -> None:
    common = left & right
    if common:
        made["company"] = min(2.0, sum(_telling(n) for n in sorted(common)))
    elif len(left) > 2 and len(right) > 2:
        made["other company"] = 1.0
        if place:
            made["other company of places"] = 1.0


@lru_cache(maxsize=100_000)
def _telling(name: str) -> float:
    """How far a name beside another tells what is spoken of: a country's hardly, a name of several words much."""
    if name in places().names or name in places().of_demonym:
        return 0.25
    return 1.0 if " " in name else 0.5


@dataclass(frozen=True)
class MergeWeights:
    """One version of the fitted weights: logit = bias + Σ weight × feature."""

    version: str
    fitted: str  # the command, and how many pairs of which sources
    bias: float
    features: dict[str, float] = field(default_factory=dict)

    def weigh(self, features: Mapping[str, float]) -> float:
        """The log-odds that two sides are one thing, rounded to three decimals."""
        return round(self.bias + sum(self.features.get(f, 0.0) * v for f, v in sorted(features.items())), 3)

    def said(self, features: Mapping[str, float]) -> float:
        """What features of what is said add up to in log-odds, bias and company that differs apart."""
        return round(sum(self.features.get(f, 0.0) * v for f, v in sorted(features.items()) if not f.startswith("other company")), 3)

    def against(self, a: Side, b: Side) -> float:
        """What is said of two sides, in log-odds, their names apart."""
        return self.said(said(a, b))

    def parts(self, features: Mapping[str, float]) -> dict[str, float]:
        """What each feature adds to the log-odds, and the bias, those that are not 0."""
        made = {f: round(self.features.get(f, 0.0) * v, 3) for f, v in sorted(features.items())}
        return {"bias": self.bias, **{f: v for f, v in made.items() if v}}


def probability(logit: float) -> float:
    """The probability of log-odds, rounded to three decimals."""
    return round(1.0 / (1.0 + exp(-max(-30.0, min(30.0, logit)))), 3)


@lru_cache(maxsize=1)
def merge_weights() -> MergeWeights:
    """The newest weights that came with the package."""
    numbered = {int(match[1]): path for path in DATA.iterdir() if (match := re.fullmatch(r"merge-weights-(\d+)\.json", path.name))}
    return msgspec.json.decode(numbered[max(numbered)].read_bytes(), type=MergeWeights)
