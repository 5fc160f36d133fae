"""What we keep of a Wikidata entity: the same for an answer of the API and for a line of a dump (both have one JSON form).

The form is documented at https://doc.wikimedia.org/Wikibase/master/php/docs_topics_json.html.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from resolution.candidates import Item
from resolution.knowledge_base import types_of

QID = re.compile(r"Q\d+")
INSTANCE_OF, SHORT_NAME, TICKER, STOCK_EXCHANGE = "P31", "P1813", "P249", "P414"


@dataclass(frozen=True)
class Facts:
    """One item, reduced to what linking uses.

    `label` is in the first of the wanted languages that has one, None when none has; `aliases` are the labels and aliases
    in all wanted languages, short names and tickers, without the label; `classes` the ids of what it is an instance of.
    """

    id: str
    label: str | None
    aliases: tuple[str, ...]
    description: str | None
    classes: tuple[str, ...]
    sitelinks: int


def facts_of(entity: Any, languages: Sequence[str]) -> Facts | None:
    """The facts of an entity's JSON, or None when it is no item (a property, a lexeme).

    Raises ValueError, saying what is wrong, for something that is no entity at all.
    """
    if not isinstance(entity, dict) or not isinstance(entity.get("id"), str):
        raise ValueError("no entity: an object with an `id` was expected")
    if not QID.fullmatch(entity["id"]):
        return None
    claims = _mapping(entity.get("claims"))
    labels, descriptions, aliases = (_mapping(entity.get(part)) for part in ("labels", "descriptions", "aliases"))
    names = [_value(labels.get(language)) for language in languages]
    for language in languages:
        names += [_value(term) for term in _list(aliases.get(language))]
    names += [_value(v, "text") for v in _values(claims, SHORT_NAME) if isinstance(v, dict) and v.get("language") in languages]
    names += _tickers(claims)
    label = next((name for name in names[: len(languages)] if name), None)
    return Facts(
        id=entity["id"],
        label=label,
        aliases=tuple(name for name in dict.fromkeys(names) if name and name != label),
        description=next(filter(None, (_value(descriptions.get(language)) for language in languages)), None),
        classes=tuple(dict.fromkeys(v["id"] for v in _values(claims, INSTANCE_OF) if isinstance(v, dict) and isinstance(v.get("id"), str))),
        sitelinks=len(_mapping(entity.get("sitelinks"))),
    )


def item_of(facts: Facts, types: tuple[str, ...] | None = None, source: str = "kb") -> Item:
    """The item for linking. An item without a label in the wanted languages goes by its first alias, else by its id."""
    label = facts.label or (facts.aliases[0] if facts.aliases else facts.id)
    aliases = tuple(alias for alias in facts.aliases if alias != label)
    return Item(
        facts.id, label, aliases, facts.description, types_of(facts.classes) if types is None else types, facts.sitelinks, facts.id, source
    )


@cache
def dropped_classes() -> frozenset[str]:
    """Classes of pages that are no thing in the world (disambiguations, categories, templates): ids from data/wikidata_dropped.tsv."""
    rows = (files("resolution") / "data" / "wikidata_dropped.tsv").read_text(encoding="utf-8").splitlines()
    return frozenset(row.split("\t")[0] for row in rows if row and not row.startswith("#"))


def _tickers(claims: dict[str, Any]) -> list[str | None]:
    # Almost all tickers stand as a qualifier of the stock exchange on which the share is listed.
    found = list(_values(claims, TICKER))
    for statement in _statements(claims, STOCK_EXCHANGE):
        found += [_snak(snak) for snak in _list(_mapping(statement.get("qualifiers")).get(TICKER))]
    return [value for value in found if isinstance(value, str)]


def _statements(claims: dict[str, Any], property: str) -> Iterator[dict[str, Any]]:
    for statement in _list(claims.get(property)):
        if isinstance(statement, dict) and statement.get("rank") != "deprecated":
            yield statement


def _values(claims: dict[str, Any], property: str) -> Iterator[Any]:
    for statement in _statements(claims, property):
        yield _snak(statement.get("mainsnak"))


def _snak(snak: Any) -> Any:
    """The value of a snak; None for "unknown value" and "no value"."""
    return _mapping(_mapping(snak).get("datavalue")).get("value")


def _value(term: Any, key: str = "value") -> str | None:
    text = _mapping(term).get(key)
    return text.strip() or None if isinstance(text, str) else None


def _mapping(value: Any) -> dict[str, Any]:
    # The server writes an empty map as [].
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
