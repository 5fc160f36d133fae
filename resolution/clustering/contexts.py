"""What a document is about, as far as it helps to tell whose short name it uses."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nsmallest
from itertools import chain, islice
from math import fsum, log, sqrt

Context = Callable[[str], frozenset[str]]
_WORD = re.compile(r"[^\W\d_]{4,}")
MOST_HOLDERS = 100
"""How many documents may have a word for it to be weighed, so that the work for a name grows no faster than its documents."""


def content_words(text: str) -> frozenset[str]:
    """The words of a text that tell its subject: four letters or more, in lower case."""
    return frozenset(_WORD.findall(text.casefold()))


class Nearness:
    """How near documents are to those of several owners of a name, by the content words that they share.

    Cosine of sets of words, a word weighted by how few of the documents at hand have it, log(1 + n / df) (Spärck Jones 1972); words
    that more than 2·sqrt(n) of many, or more than MOST_HOLDERS have say nothing. The weights rest on the documents at hand alone, never
    on the corpus.
    """

    def __init__(self, documents: Iterable[str], context: Context):
        """`documents` are all at hand, those of the owners and those in question."""
        self._words = {d: context(d) for d in sorted(set(documents))}
        self._frequency = Counter(chain.from_iterable(self._words.values()))
        size = len(self._words)
        most = max(10, min(int(2 * sqrt(size)), MOST_HOLDERS))
        self._weights = [0.0, *(log(1 + size / n) ** 2 for n in range(1, most + 1))]  # by frequency
        self._common = {w for w, n in self._frequency.items() if 1 < n <= most}
        self._norms: dict[str, float] = {}
        self._holders: dict[str, list[str]] = defaultdict(list)
        self._owners: dict[str, list[int]] = defaultdict(list)

    def add(self, owner: int, document: str) -> None:
        """Count a document among an owner's."""
        if document not in self._owners:
            for word in self._words[document] & self._common:
                self._holders[word].append(document)
        self._owners[document].append(owner)

    def scores(self, document: str) -> dict[int, float]:
        """For each owner, the cosine of its nearest document, rounded to three decimals; owners that share nothing are left out."""
        shared: dict[str, float] = defaultdict(float)
        # Sorted: floating-point sums depend on their order, and sets of strings have none.
        for word in sorted(self._words[document] & self._common):
            weight = self._weights[self._frequency[word]]
            for holder in self._holders.get(word, ()):
                shared[holder] += weight
        norm, norms = self._norm(document), self._norms
        if document in self._owners and norm:
            shared[document] = norm * norm  # with itself it shares also what no other has
        best: dict[int, float] = {}
        for holder, total in shared.items():
            cosine = total / (norm * (norms.get(holder) or self._norm(holder)))
            for owner in self._owners[holder]:
                if cosine > best.get(owner, 0.0):
                    best[owner] = cosine
        return {owner: score for owner, cosine in best.items() if (score := round(cosine, 3))}

    def _norm(self, document: str) -> float:
        if document not in self._norms:
            numbers = (self._frequency[w] for w in self._words[document])
            self._norms[document] = sqrt(fsum(self._weights[n] for n in numbers if n < len(self._weights)))
        return self._norms[document]


def nearest(scores: Mapping[int, float], owners: Sequence[int], most: int) -> list[int]:
    """The first of the sorted owners, nearest first (ties in their order), at most so many."""
    near = nsmallest(most, scores, key=lambda o: (-scores[o], o))
    return [*near, *islice((o for o in owners if o not in scores), most - len(near))]
