"""How resolution across documents grows: seconds and memory to solve N distinct names, for several N, on one core.

    python benchmarks/resolution_scale.py [N...]        default: 62500 125000 250000 500000 1000000

Names come from a generator with a seed: persons, organisations and places with the frequencies of names in the world (few very common,
most rare), homonyms, surnames that stand alone, acronyms, legal forms, shortened and misspelt forms. Prints the growth exponent of the processor's
seconds between the smallest and the largest N.
"""

import random
import resource
import sys
import time
from collections.abc import Iterator
from functools import cache
from math import log
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from polyonym.resolution.clustering.blocks import blocks  # noqa: E402
from polyonym.resolution.clustering.clusters import solve  # noqa: E402
from polyonym.resolution.judgements.judgements import Constraints  # noqa: E402
from polyonym.resolution.names.normal_forms import normalise  # noqa: E402
from polyonym.resolution.names.tables import words  # noqa: E402
from polyonym.resolution.within_document.document_entities import DocumentEntity, DocumentName  # noqa: E402

CONSONANTS, VOWELS = "bcdfghklmnprstvz", "aeiou"
KINDS = ("Bank", "Energy", "Motors", "Pharma", "Systems", "Airlines", "University", "Foundation", "Group", "Media", "Oil", "Insurance")
FORMS = ("Inc.", "AG", "Ltd", "GmbH", "S.A.", "Corp.", "LLC", "plc")


class Names:
    """An endless source of names of things: each thing has one full name, which others may share, and its usual variants."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.given = sorted(words("given_names.txt"))
        self.random.shuffle(self.given)
        self.surnames = sorted(words("surnames.txt"))
        self.random.shuffle(self.surnames)

    def zipf(self, pool: list[str]) -> str:
        """One of a pool, the n-th about n times rarer than the first."""
        return pool[min(int(len(pool) ** self.random.random()), len(pool) - 1)]

    def word(self, syllables: int) -> str:
        """An invented word."""
        return "".join(self.random.choice(CONSONANTS) + self.random.choice(VOWELS) for _ in range(syllables)).capitalize()

    def surname(self) -> str:
        """A surname: a known one or, about as often, an invented one (most surnames of the world are in no list)."""
        return self.zipf(self.surnames).capitalize() if self.random.random() < 0.5 else self.word(self.random.choice((2, 3, 3, 4)))

    def thing(self) -> tuple[str, str, list[str]]:
        """A full name, the label that a recogniser gives it, and other names of the same thing."""
        dice = self.random.random()
        if dice < 0.5:
            first, last = self.zipf(self.given).capitalize(), self.surname()
            middle = self.random.choice("ABCDEFGHJKLMNPRSTW")
            return f"{first} {last}", "PERSON", [last, f"{first} {middle}. {last}", f"{first[0]}. {last}", self.misspelt(f"{first} {last}")]
        if dice < 0.8:
            full = (
                f"{self.word(3)} {self.random.choice(KINDS)}"
                if self.random.random() < 0.7
                else f"{self.word(2)} {self.word(3)} {self.random.choice(KINDS)}"
            )
            acronym = "".join(w[0] for w in full.split())
            return full, "ORG", [f"{full} {self.random.choice(FORMS)}", full.split()[0], acronym, self.misspelt(full)]
        place = self.word(self.random.choice((2, 3, 4)))
        return place, "GPE", [f"{place}, {self.random.choice(('Ohio', 'Texas', 'England', 'Ontario'))}"]

    def misspelt(self, name: str) -> str:
        """The name with one letter doubled, left out or exchanged with the next."""
        i = self.random.randrange(1, len(name) - 1)
        return self.random.choice(
            (name[:i] + name[i:][1:], name[:i] + name[i] + name[i:], name[:i] + name[i + 1] + name[i] + name[i + 2 :])
        )


def document_entities(count: int, seed: int = 1) -> Iterator[DocumentEntity]:
    """Within-document entities until `count` distinct normalised names have come up. Each thing is named in one to a few documents, fifteen within-document entities a document."""
    source = Names(seed)
    seen: set[str] = set()
    made = 0
    while len(seen) < count:
        full, label, others = source.thing()
        for _ in range(1 + min(int(source.random.expovariate(0.7)), 20)):
            raw = full if source.random.random() < 0.6 else source.random.choice(others)
            names = [raw]
            if raw == full and label == "PERSON" and source.random.random() < 0.5:
                names.append(full.split()[-1])
            made += 1
            document = f"d{source.random.randrange(max(10, count // 10)):07}"
            head = normalise(raw, label == "PERSON")
            forms = tuple(
                DocumentName(document, normalise(n, label == "PERSON"), head, {n: 1}, {label: 1}, "" if n == raw else "surname", ((0, 1),))
                for n in names
            )
            seen.update(f.name for f in forms)
            yield DocumentEntity(document, head, forms)


def distinct(found: Iterator[DocumentEntity]) -> list[DocumentEntity]:
    """One within-document entity for each key: a document names a thing once."""
    return list({u.key: u for u in found}.values())


@cache
def context(document: str) -> frozenset[str]:
    """Forty content words of a document, made from its name."""
    source = random.Random(document)
    return frozenset(source.choices(VOCABULARY, k=40))


VOCABULARY = [f"word{i}" for i in range(20_000)]


def main() -> None:
    sizes = [int(a) for a in sys.argv[1:]] or [62_500, 125_000, 250_000, 500_000, 1_000_000]
    times: list[tuple[int, float]] = []
    for size in sizes:
        found = distinct(document_entities(size))
        start, cpu = time.perf_counter(), time.process_time()
        solution = solve(found, Constraints(), context)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        times.append((size, cpu))
        largest = max(len(b) for b in blocks(found))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{size:9,} names {len(found):9,} units {len(solution.clusters):9,} clusters {len(solution.decisions):9,} decisions"
            f" {seconds:7.1f} s ({cpu:.1f} of processor)  largest block {largest:7,} units  peak {memory:.1f} GiB",
            flush=True,
        )
    if len(times) > 1:
        (n, t), (m, s) = times[0], times[-1]
        print(f"growth exponent {log(s / t) / log(m / n):.2f}")


if __name__ == "__main__":
    main()
