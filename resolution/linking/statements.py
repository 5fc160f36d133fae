"""What a document says of a thing against what a description says of an item: the same, something else, or nothing that could be compared.

"Erika B Hess is a painter" and "Swiss alpine skier": another trade. "Henry Cavendish (1630 – 1691)" and "scientist (1731–1810)": other dates.
"Louis I, Count of Nevers" and "Louis I, Count Palatine of Zweibrücken": another land. Both sides are read by the same rules (within_document.traits).
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from polyonym.resolution.linking.candidates import Item
from polyonym.resolution.names.tables import rows
from polyonym.resolution.within_document.traits import Traits, traits_of

_COMPARED = {
    "definition": ("is",),
    "trade": ("role",),
    "people": ("people",),
    "life": ("born", "died"),
    "year": ("year",),
    "land": ("land",),
    "region": ("region",),
    "sex": ("sex",),
}
"""What is compared, with the kinds of traits that tell it."""
AGREEMENT = tuple(f"{answer} {what}{of}" for of in (" of a person", " of a thing") for what in _COMPARED for answer in ("same", "other"))
_DATES = re.compile(r"\s*\(([^()]*\d{3}[^()]*)\)\s*$")
_QUALIFIED = re.compile(r"(.+?)(?:\s*\(([^()]*)\)|(, .*))$")


def traits_of_item(item: Item, person: bool) -> Traits:
    """What an item's label and description say of it. They are read as a text would say it: "Louis I, Count of Nevers (1272–1322) is a French nobleman"."""
    qualified = _QUALIFIED.match(item.label)
    name = qualified[1] if qualified else item.label
    bracket, behind = (qualified[2] or "", qualified[3] or "") if qualified else ("", "")
    said = item.description or ""
    dates = _DATES.search(said)
    said = _DATES.sub("", said)
    text = f"{name}{behind}{f' ({dates[1]})' if dates else ''}{f' is a {said or bracket}' if said or bracket else ''}."
    return traits_of(text, [(0, len(name))], person, [name], [])


def agreement(here: Sequence[Mapping[str, Sequence[str]]], item: Mapping[str, Sequence[str]], person: bool) -> list[float]:
    """How the traits of a thing's names agree with those of an item, a person or not, in the order of AGREEMENT: 1 or 0, and 0 where one of them says nothing,
    or says it in other words.

    What a document defines a thing as is heard before what it is said to be in passing.
    """
    values: list[float] = []
    defined = any(traits.get("is") for traits in here)
    for what, kinds in _COMPARED.items():
        said = {v for traits in here for kind in kinds for v in traits.get(kind, ())} if what != "trade" or not defined else set()
        described = {v for kind in kinds for v in item.get(kind, ())}
        alike = any(b in _families(a) for a in said for b in described) if what in ("definition", "trade") else said & described
        values += [float(bool(said & described)), float(bool(said and described) and not alike)]
    nothing = [0.0] * len(values)
    return values + nothing if person else nothing + values


@lru_cache(maxsize=10_000)
def _families(word: str) -> frozenset[str]:
    """A word for what a thing is, and all words that may be used for it as well."""
    return frozenset({word}).union(*(family for family in _families_of_words() if word in family))


@cache
def _families_of_words() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(row[0].split()) for row in rows("trade_families.tsv"))
