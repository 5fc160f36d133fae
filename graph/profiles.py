"""Entity profiles: an entity as its vector index knows it, in few words: name, type, aliases, description, and its relations.

    Aurelia Group (organisation), also Aurelia, AG. German energy holding. acquire: Borealis Grid; lead (by): J. Moreau; with: Hamburg, Kiel.

A card is a function of the entity and its relations alone, whatever their order. It is short on purpose: embedding is
what bounds the whole pipeline, and a vector of a long card says little about its name.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection

from polyonym.graph.relations import SYMMETRIC, Relation, relation_weights
from polyonym.resolution import entities
from polyonym.resolution.entities import Alias, Entity

_TOKENS = 64
_DESCRIPTION = 24  # tokens
_ALIASES = 4
_RELATIONS = 5  # predicates
_NAMES = 3  # behind each predicate
_NEIGHBOURS = 3  # that merely stand beside it

_WORDS = {
    "PERSON": "person", "ORG": "organisation", "PLACE": "place", "GROUP": "group", "PRODUCT": "product", "EVENT": "event", "WORK": "work",
    "LAW": "law", "LANGUAGE": "language",
}  # fmt: skip


@dataclass(frozen=True)
class Profile:
    """An entity's id and the text that is embedded for it."""

    entity_id: str
    text: str


class Tie(NamedTuple):
    """One relation as an entity's card shows it: "acquire", "acquire (by)" or, for mere neighbours, ""; and the other's name."""

    word: str
    name: str
    weight: int


def profiles(connection: Connection) -> Iterator[Profile]:
    """The profiles of all entities, sorted by id."""
    known = {e.entity_id: e for e in entities.load(connection)}
    aliases: dict[str, list[Alias]] = defaultdict(list)
    for alias in entities.load_aliases(connection):
        aliases[alias.entity_id].append(alias)
    ties = ties_of(known, relation_weights(connection))
    for entity_id in sorted(known):
        yield Profile(entity_id, text_of(known[entity_id], aliases[entity_id], ties.get(entity_id, ())))


def ties_of(known: Mapping[str, Entity], weights: Mapping[Relation, int]) -> dict[str, list[Tie]]:
    """Every entity's relations, seen from it. Relations to an entity that is not `known` are left out."""
    ties: dict[str, list[Tie]] = defaultdict(list)
    for (source_id, target_id, type_, predicate), weight in weights.items():
        source, target = known.get(source_id), known.get(target_id)
        if source is None or target is None:
            continue
        word = "" if type_ == SYMMETRIC else (predicate or type_.replace("_", " "))
        ties[source_id].append(Tie(word, target.name, weight))
        ties[target_id].append(Tie(word if type_ == SYMMETRIC else f"{word} (by)", source.name, weight))
    return ties


def text_of(entity: Entity, aliases: Iterable[Alias], ties: Iterable[Tie]) -> str:
    """An entity's card, of at most about 64 tokens; what matters least is left out first."""
    others = [a.name for a in sorted(aliases, key=lambda a: (-a.count, a.name)) if a.name.casefold() != entity.name.casefold()]
    kind = _WORDS.get(entity.type)
    head = entity.name + (f" ({kind})" if kind else "") + (f", also {', '.join(others[:_ALIASES])}" if others else "")
    parts = [_cut(head, _TOKENS)]
    if entity.description:
        parts.append(_cut(" ".join(entity.description.split()).rstrip("."), _DESCRIPTION))
    left = _TOKENS - sum(map(_tokens, parts))
    shown: list[str] = []
    for phrase in _phrases(ties):
        left -= _tokens(phrase) + 1
        if left < 0:
            break
        shown.append(phrase)
    if shown:
        parts.append("; ".join(shown))
    return " ".join(f"{'. '.join(parts)}.".split())


def _phrases(ties: Iterable[Tie]) -> Iterator[str]:
    """ "acquire: A, B" for each predicate, the heaviest first; mere neighbours come last, and only those not named before."""
    weights: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for tie in ties:
        weights[tie.word][tie.name] += tie.weight
    stated = sorted(filter(None, weights), key=lambda w: (-sum(weights[w].values()), w))[:_RELATIONS]
    named: set[str] = set()
    for word in stated:
        names = _heaviest(weights[word])[:_NAMES]
        named.update(names)
        yield f"{word}: {', '.join(names)}"
    beside = [name for name in _heaviest(weights[""]) if name not in named][:_NEIGHBOURS]
    if beside:
        yield f"with: {', '.join(beside)}"


def _heaviest(weights: Mapping[str, int]) -> list[str]:
    return sorted(weights, key=lambda name: (-weights[name], name))


def _tokens(text: str) -> int:
    """About how many word pieces a text has, without a tokenizer: a Latin word one for five letters, other scripts one a character."""
    return sum(-(-len(word) // 5) if word.isascii() else len(word) for word in text.split())


def _cut(text: str, tokens: int) -> str:
    """The first words of `text` that fit."""
    if _tokens(text) <= tokens:
        return text
    kept: list[str] = []
    for word in text.split():
        tokens -= _tokens(word)
        if tokens < 0:
            break
        kept.append(word)
    return " ".join(kept) or text[: 2 * _DESCRIPTION]
