"""Which items a thing may not be, whatever else speaks for them: a person is no place, a firm no person.

A recogniser's single label is noise, and so only that counts of which the document leaves no doubt: the shape of a full personal
name, a title, a legal form, one label again and again.
"""

from collections import Counter
from collections.abc import Sequence

from polyonym.resolution.linking.features import ItemWords
from polyonym.resolution.names.entity_types import TYPES, type_of
from polyonym.resolution.names.normal_forms import is_place_name, sex_of, without_legal_form
from polyonym.resolution.names.persons import is_given_name, is_surname, looks_like_person
from polyonym.resolution.within_document.document_entities import DocumentName

_PERSONS = frozenset(("PERSON",))
_THINGS = frozenset(TYPES) - _PERSONS
_FIRMS = _THINGS - {"PLACE", "GROUP", "LANGUAGE"}
OFTEN = 3
"""So many mentions of one type, and of no other, are no noise."""


def allowed_types(head: DocumentName, names: Sequence[DocumentName]) -> frozenset[str]:
    """The types of which an item must have one to be what a document calls by these names, `head` the longest among them. All types where the
    document leaves it open."""
    types: Counter[str] = Counter()
    for name in names:
        for label, count in name.labels.items():
            types[type_of(label)] += count
    persons, total = types["PERSON"], types.total()
    if persons * 2 < total and all(len(without_legal_form(s).split()) < len(s.split()) for s in head.surfaces):
        return _FIRMS
    titled = any(sex_of(surface) for name in names for surface in name.surfaces)
    full = looks_like_person(head.name, head.labels, head.count)
    if persons * 2 >= total and (titled or full or (persons == total >= OFTEN and not is_place_name(head.name))):
        return _PERSONS
    if not persons and not types["OTHER"] and (total >= OFTEN or is_place_name(head.name) or _is_no_person(head.name)):
        return _THINGS
    return frozenset(TYPES)


def _is_no_person(name: str) -> bool:
    words = name.split()
    return len(words) > 1 and not is_given_name(words[0]) and not is_surname(words[-1])


def is_barred(item: ItemWords, allowed: frozenset[str]) -> bool:
    """Whether an item of which the types are known has none of the allowed ones. That an item is a person must be said of it: "The Good Wife" only sounds so."""
    types = item.types if "PERSON" in allowed else item.told_types
    return bool(types) and types.isdisjoint(allowed)
