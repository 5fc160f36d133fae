"""What a document is about, as far as it helps to tell whose short name it uses."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from math import log, sqrt

Context = Callable[[str], frozenset[str]]
_WORD = re.compile(r"[^\W\d_]{4,}")


def content_words(text: str) -> frozenset[str]:
    """The words of a text that tell its subject: four letters or more, in lower case."""
    return frozenset(_WORD.findall(text.casefold()))


def nearest(document: str, owners: Sequence[Sequence[str]], context: Context) -> list[float]:
    """For each owner, given by its documents, how near the nearest of them is to `document`: 0 to 1, rounded to three decimals.

    Cosine of the sets of content words, each word weighted by how few of the documents at hand have it (log(1 + n / df)):
    the weights rest on these documents alone, never on the corpus.
    """
    at_hand = sorted({document, *(d for ds in owners for d in ds)})
    words = {d: context(d) for d in at_hand}
    frequency = Counter(w for d in at_hand for w in words[d])
    weight = {w: log(1 + len(at_hand) / n) ** 2 for w, n in frequency.items()}
    norm = {d: sqrt(sum(weight[w] for w in sorted(words[d]))) for d in at_hand}

    def cosine(a: str, b: str) -> float:
        shared = sum(weight[w] for w in sorted(words[a] & words[b]))
        return shared / (norm[a] * norm[b]) if shared else 0.0

    return [round(max(cosine(document, d) for d in sorted(set(ds))), 3) for ds in owners]
