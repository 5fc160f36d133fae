"""The types of things, how a recogniser's labels map to them, and which types may name one thing."""

from collections.abc import Mapping

TYPES = ("PERSON", "ORG", "PLACE", "GROUP", "PRODUCT", "EVENT", "WORK", "LAW", "LANGUAGE", "OTHER")

_OF_LABEL = {
    "PERSON": "PERSON", "PER": "PERSON",
    "ORG": "ORG",
    "GPE": "PLACE", "LOC": "PLACE", "FAC": "PLACE", "PLACE": "PLACE",
    "NORP": "GROUP", "GROUP": "GROUP",
    "PRODUCT": "PRODUCT", "EVENT": "EVENT", "WORK_OF_ART": "WORK", "WORK": "WORK", "LAW": "LAW", "LANGUAGE": "LANGUAGE",
}  # fmt: skip

# Names cross these groups freely (a city's metonym is an organisation, a film is a product); a person crosses none.
_GROUPS = {"PERSON": "person", "OTHER": "any"}


def type_of(label: str) -> str:
    """The type of a recogniser's label; OTHER for one we do not know."""
    return _OF_LABEL.get(label, "OTHER")


def majority(labels: Mapping[str, int]) -> str:
    """The commonest type of these label counts, OTHER only when nothing else is there; ties go to the order of TYPES."""
    if len(labels) == 1:
        return type_of(next(iter(labels)))
    counts = dict.fromkeys(TYPES, 0)
    for label, count in labels.items():
        counts[type_of(label)] += count
    return max(TYPES, key=lambda t: (counts[t] > 0 and t != "OTHER", counts[t], -TYPES.index(t)))


def compatible(a: str, b: str) -> bool:
    """Whether things of these two types may be one thing (promise 4)."""
    group_a, group_b = _GROUPS.get(a, "thing"), _GROUPS.get(b, "thing")
    return "any" in (group_a, group_b) or group_a == group_b
