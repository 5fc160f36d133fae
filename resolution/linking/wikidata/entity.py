"""What we keep of a Wikidata entity: the same for an answer of the API and for a line of a dump (both have one JSON form).

The form is documented at https://doc.wikimedia.org/Wikibase/master/php/docs_topics_json.html.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from polyonym.ingest.errors import WrongUse
from polyonym.resolution.linking.candidates import Item
from polyonym.resolution.linking.knowledge_base import QID, types_of


def read_qids(texts: Iterable[str]) -> tuple[str, ...]:
    """Ids of items as people write them: Q42, q42, or the address of the item's page. Raises WrongUse, naming those that are none."""
    read = {text: text.strip().rstrip("/").rpartition("/")[2].upper() for text in texts}
    wrong = [text for text, qid in read.items() if not QID.fullmatch(qid)]
    if wrong:
        raise WrongUse(f"{', '.join(map(repr, wrong))}: not a Wikidata id. Give ids such as Q42.")
    return tuple(read.values())


class Term(msgspec.Struct):
    """A label, an alias or a description."""

    value: str


class Value(msgspec.Struct):
    value: Any = None


class Snak(msgspec.Struct):
    """A property's value; none for "unknown value" and "no value"."""

    datavalue: Value | None = None


class Qualifiers(msgspec.Struct, rename={"ticker": "P249"}):
    ticker: list[Snak] = []


class Statement(msgspec.Struct):
    mainsnak: Snak = msgspec.field(default_factory=Snak)
    rank: str = "normal"
    qualifiers: Qualifiers | list[Any] | None = None


class Claims(msgspec.Struct, rename={"instance_of": "P31", "short_name": "P1813", "ticker": "P249", "stock_exchange": "P414"}):
    instance_of: list[Statement] = []
    short_name: list[Statement] = []
    ticker: list[Statement] = []
    stock_exchange: list[Statement] = []


class Sitelink(msgspec.Struct):
    pass


class Entity(msgspec.Struct):
    """An entity as Wikidata gives it, as far as we read it; the rest is passed over unparsed, which is four times as fast.

    The server writes an empty map as [].
    """

    id: str
    labels: dict[str, Term] | list[Any] = []
    aliases: dict[str, list[Term]] | list[Any] = []
    descriptions: dict[str, Term] | list[Any] = []
    claims: Claims | list[Any] = []
    sitelinks: dict[str, Sitelink] | list[Any] = []


_decoder = msgspec.json.Decoder(Entity)


def decode_entity(line: bytes) -> Entity:
    """An entity from its JSON. Raises ValueError, saying what is wrong."""
    return _decoder.decode(line)


def convert_entity(value: Any) -> Entity:
    """An entity from parsed JSON. Raises ValueError, saying what is wrong."""
    return msgspec.convert(value, Entity)


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


def facts_of(entity: Entity, languages: Sequence[str]) -> Facts | None:
    """The facts of an entity, or None when it is no item (a property, a lexeme)."""
    if not QID.fullmatch(entity.id):
        return None
    claims = entity.claims if isinstance(entity.claims, Claims) else Claims()
    labels = entity.labels if isinstance(entity.labels, dict) else {}
    aliases = entity.aliases if isinstance(entity.aliases, dict) else {}
    descriptions = entity.descriptions if isinstance(entity.descriptions, dict) else {}
    ranked = [labels[language].value.strip() for language in languages if language in labels]
    label = next(filter(None, ranked), None)
    names = [*ranked, *(alias.value for language in languages for alias in aliases.get(language, ()))]
    names += [
        v["text"]
        for v in _values(claims.short_name)
        if isinstance(v, dict) and v.get("language") in languages and isinstance(v.get("text"), str)
    ]
    names += _tickers(claims)
    texts = (descriptions[language].value.strip() for language in languages if language in descriptions)
    return Facts(
        id=entity.id,
        label=label,
        aliases=tuple(name for name in dict.fromkeys(name.strip() for name in names) if name and name != label),
        description=next(filter(None, texts), None),
        classes=tuple(dict.fromkeys(filter(None, map(_class, _values(claims.instance_of))))),
        sitelinks=len(entity.sitelinks),
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
    rows = (files("polyonym.resolution") / "data" / "wikidata_dropped.tsv").read_text(encoding="utf-8").splitlines()
    return frozenset(row.split("\t")[0] for row in rows if row and not row.startswith("#"))


def _tickers(claims: Claims) -> list[str]:
    # Almost all tickers stand as a qualifier of the stock exchange on which the share is listed.
    symbols = list(_values(claims.ticker))
    for statement in claims.stock_exchange:
        if statement.rank != "deprecated" and isinstance(statement.qualifiers, Qualifiers):
            symbols += [snak.datavalue.value for snak in statement.qualifiers.ticker if snak.datavalue]
    return [value for value in symbols if isinstance(value, str)]


def _values(statements: Sequence[Statement]) -> Iterator[Any]:
    for statement in statements:
        if statement.rank != "deprecated" and statement.mainsnak.datavalue:
            yield statement.mainsnak.datavalue.value


def _class(value: Any) -> str | None:
    # Old dumps give the number alone.
    if not isinstance(value, dict) or not ("id" in value or "numeric-id" in value):
        return None
    qid = str(value.get("id", f"Q{value.get('numeric-id')}"))
    return qid if QID.fullmatch(qid) else None
