"""What a document is about, as far as it helps to tell whose short name it uses."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log, sqrt

Context = Callable[[str], frozenset[str]]
_WORD = re.compile(r"[^\W\d_]{4,}")


def content_words(text: str) -> frozenset[str]:
    """The words of a text that tell its subject: four letters or more, in lower case."""
    return frozenset(_WORD.findall(text.casefold()))


class Nearness:
    """How near documents are to those of several owners of a name, by the content words that they share.

    Cosine of sets of words, a word weighted by how few of the documents at hand have it, log(1 + n / df) (Spärck Jones 1972); words
    that more than 2·sqrt(n) of many have say nothing. The weights rest on the documents at hand alone, never on the corpus.
    """

    def __init__(self, owners: Mapping[int, Iterable[str]], askers: Iterable[str], context: Context):
        self._owners_of: dict[str, list[int]] = defaultdict(list)
        for owner in sorted(owners):
            for document in sorted(set(owners[owner])):
                self._owners_of[document].append(owner)
        self._words = {d: context(d) for d in sorted({*self._owners_of, *askers})}
        frequency = Counter(w for words in self._words.values() for w in words)
        size = len(self._words)
        most = max(10, 2 * sqrt(size))
        self._weight = {w: log(1 + size / n) ** 2 for w, n in frequency.items() if n <= most}
        self._holders: dict[str, list[str]] = defaultdict(list)
        for document in self._owners_of:
            for word in self._words[document]:
                if word in self._weight:
                    self._holders[word].append(document)
        self._norms: dict[str, float] = {}

    def scores(self, document: str) -> dict[int, float]:
        """For each owner, the cosine of its nearest document, rounded to three decimals; owners that share nothing are left out."""
        shared: dict[str, float] = defaultdict(float)
        # Sorted: floating-point sums depend on their order, and sets of strings have none.
        for word in sorted(self._words[document]):
            for holder in self._holders.get(word, ()):
                shared[holder] += self._weight[word]
        best: dict[int, float] = {}
        for holder, total in shared.items():
            cosine = round(total / (self._norm(document) * self._norm(holder)), 3)
            for owner in self._owners_of[holder]:
                best[owner] = max(cosine, best.get(owner, 0.0))
        return best

    def _norm(self, document: str) -> float:
        if document not in self._norms:
            self._norms[document] = sqrt(sum(self._weight.get(w, 0.0) for w in sorted(self._words[document])))
        return self._norms[document]


def clearest(scores: Mapping[int, float], owners: Sequence[int]) -> tuple[list[int], float]:
    """The owners, nearest first (ties in the order given), and by how much the first is nearer than the second."""
    ranked = sorted(owners, key=lambda o: -scores.get(o, 0.0))
    return ranked, round(scores.get(ranked[0], 0.0) - scores.get(ranked[1], 0.0), 3)
