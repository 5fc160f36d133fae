"""The name that a node is shown under."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable

from polyonym.resolution.names.normal_forms import normalise
from polyonym.resolution.within_document.document_entities import DocumentEntity


def canonical_name(document_entities: Iterable[DocumentEntity], short: Collection[str]) -> str:
    """The commonest name among the full ones (those not known to be short for another, `short`), ties to the longer, in its commonest
    spelling; capitals throughout only where nothing else is there, forms in the tables' own words first.
    """
    counts: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for u in document_entities:
        for n in u.names:
            full = n.name == u.head or all(m.name != u.head for m in u.names)
            if full:
                counts[n.name] += n.count
                spellings[n.name].update(n.surfaces)
    if len(counts) == 1 and all(len(s) == 1 for s in spellings.values()):
        return next(s for spelled in spellings.values() for s in spelled)
    best = max(counts, key=lambda n: (n not in short, counts[n], len(n), n))
    return max(spellings[best], key=lambda s: (not s.isupper() or len(s) < 5, _is_plain(s, best), spellings[best][s], len(s), s))


def _is_plain(spelling: str, name: str) -> bool:
    """Whether a spelling is just its normal form with capitals: "United States" rather than "U.S."."""
    return spelling.casefold() == name or normalise(spelling) == spelling.casefold()
