"""What a document says of a thing against what a description says of an item: the same, something else, or nothing that could be compared.

"Erika B Hess is a painter" and "Swiss alpine skier": another trade. "Henry Cavendish (1630 – 1691)" and "scientist (1731–1810)": other dates.
"Louis I, Count of Nevers" and "Louis I, Count Palatine of Zweibrücken": another land. Both sides are read by the same rules (within_document.traits).
"""

import re
from collections.abc import Mapping, Sequence

from polyonym.resolution.linking.candidates import Item
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
AGREEMENT = tuple(f"{answer} {what}" for what in _COMPARED for answer in ("same", "other"))
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


def agreement(here: Sequence[Mapping[str, Sequence[str]]], item: Mapping[str, Sequence[str]]) -> list[float]:
    """How the traits of a thing's names agree with an item's, in the order of AGREEMENT: 1 or 0, and 0 where one of them says nothing.

    What a document defines a thing as is heard before what it is said to be in passing.
    """
    values: list[float] = []
    defined = any(traits.get("is") for traits in here)
    for what, kinds in _COMPARED.items():
        said = {v for traits in here for kind in kinds for v in traits.get(kind, ())} if what != "trade" or not defined else set()
        described = {v for kind in kinds for v in item.get(kind, ())}
        values += [float(bool(said & described)), float(bool(said and described) and not said & described)]
    return values
