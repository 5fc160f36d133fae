"""Who writes from one e-mail address is one person, as far as the names beside it can be one person's.

Different addresses say nothing: people have several.
"""

from collections.abc import Collection, Iterable
from itertools import combinations

from polyonym.ingest.mentions.addresses import persons_address
from polyonym.resolution.names.persons import is_initial, may_be_one_person, person_parts, same_given_name
from polyonym.resolution.names.tables import squash

MOST_NAMES = 12
"""An address beside more names than this is that of a list or a service, whatever the names."""


def addresses_of(text: str, spans: Iterable[tuple[int, int]]) -> list[str]:
    """The addresses of persons behind a name that stands at these spans, sorted."""
    return sorted({address for _, end in spans if (address := persons_address(text, end))})


def may_be_one(names: Collection[str]) -> bool:
    """Whether the normalised names beside one address may all be one person's: else several people use it, and it tells nothing."""
    return len(names) <= MOST_NAMES and all(_may_be_one(a, b) for a, b in combinations(sorted(names), 2))


def _may_be_one(a: str, b: str) -> bool:
    if sorted(a.split()) == sorted(b.split()) or squash(a) == squash(b):
        return True
    one, other = person_parts(a), person_parts(b)
    if one and other:
        if one.last == other.last:
            return may_be_one_person(one, other)
        given = one.given[0], other.given[0]
        return not any(map(is_initial, given)) and same_given_name(*given)  # a surname may change
    few, many = sorted((a, b), key=lambda n: len(n.split()))
    initials = "".join(word[0] for word in many.split())
    return not set(few.split()).isdisjoint(many.split()) or squash(few) == initials
