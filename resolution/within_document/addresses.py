"""Who writes from one e-mail address is one person, as far as the names beside it can be one person's.

Different addresses say nothing: people have several.
"""

from collections.abc import Collection, Iterable

from polyonym.ingest.mentions.addresses import persons_address
from polyonym.resolution.names.persons import is_initial, may_be_one_person, person_parts, same_given_name

MOST_NAMES = 12
"""An address beside more names than this is that of a list or a service, whatever the names."""


def addresses_of(text: str, spans: Iterable[tuple[int, int]]) -> list[str]:
    """The addresses of persons behind a name that stands at these spans, sorted."""
    return sorted({address for _, end in spans if (address := persons_address(text, end))})


def may_be_one(names: Collection[str]) -> bool:
    """Whether the normalised names beside one address may all be one person's: else several people use it, and it tells nothing.

    They may when they hang together by names that are alike, and no two of them are full names that are not.
    """
    if len(names) > MOST_NAMES:
        return False
    joined: list[set[str]] = []  # names that hang together
    for name in sorted(names):
        alike = [group for group in joined if any(_alike(name, other) for other in group)]
        if " " in name and any(" " in other and not _alike(name, other) for group in joined for other in group):
            return False
        joined = [group for group in joined if group not in alike]
        joined.append({name}.union(*alike))
    return len(joined) == 1


def _alike(a: str, b: str) -> bool:
    """Whether two names may be one person's, whose surname may change and whose names may stand in another order."""
    few, many = sorted((a.split(), b.split()), key=len)
    initials = sorted(word[0] for word in many)
    if len(few) == 1:
        return few[0] in many or sorted(few[0]) == initials
    return any(_alike_in_order(x, b) for x in (a, " ".join(reversed(a.split()))))


def _alike_in_order(a: str, b: str) -> bool:
    one, other = person_parts(a), person_parts(b)
    if one is None or other is None:
        return not set(a.split()).isdisjoint(b.split())
    if one.last == other.last:
        return may_be_one_person(one, other)
    given = one.given[0], other.given[0]
    return not any(map(is_initial, given)) and same_given_name(*given)
