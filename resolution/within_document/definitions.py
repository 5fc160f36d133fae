"""What a document calls its things by its own definition: "the Landlord" is the firm that the document says it is, there and nowhere else."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from polyonym.ingest.text.common_words import is_common
from polyonym.ingest.text.definitions import definitions, named_by
from polyonym.resolution.names.entity_types import majority
from polyonym.resolution.names.normal_forms import is_generic, normalise
from polyonym.resolution.within_document.name_groups import Grouping, Name

DEFINITION = "definition"
"""The rule by which a defined term stands under the name of the thing."""

DEFINED = "defined here"
"""What is said of a term that its document defines and that has no other name there: it means nothing in other documents."""

_NEAR = 400  # characters before a definition in which the thing is looked for
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class _Place:
    """A mention of a name."""

    start: int
    end: int
    label: str
    name: Name


def by_definition(g: Grouping) -> None:
    """Put defined terms under the names of what they stand for: `X (the "Landlord")`, `hereinafter "Y"`, `"Z" means X`, `the Company (X)`."""
    places = sorted(
        (_Place(start, end, majority(n.labels), n) for n in g.in_order for start, end in n.spans), key=lambda p: (p.start, p.end)
    )
    by_surface = {s: n for n in reversed(g.in_order) for s in n.surfaces}
    starts = [p.start for p in places]
    after = 0
    for definition in definitions(g.text):
        term = by_surface.get(definition.term) or g.names.get(normalise(definition.term))
        near = places[bisect_left(starts, definition.start - _NEAR) : bisect_left(starts, definition.end + 1)]
        thing = named_by(g.text, definition, after, near)
        after = definition.end
        if term is None:
            continue
        local = is_generic(term.name) or all(is_common(w) for w in _WORD.findall(definition.term))
        if thing is not None and thing.name is not term:
            g.attach(term, thing.name, DEFINITION if local else "alias", (thing.start, definition.end))
        elif local and term.owner is None:
            term.rule = DEFINED
    for place, following in pairwise(places):
        in_brackets = g.text[place.end : following.start].strip() == "(" and g.text[following.end : following.end + 1] == ")"
        if in_brackets and is_generic(place.name.name) and not is_generic(following.name.name) and following.label in ("ORG", "PERSON"):
            g.attach(place.name, following.name, DEFINITION, (place.start, following.end))
