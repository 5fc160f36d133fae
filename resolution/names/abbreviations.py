"""Whether letters abbreviate a name."""

import re
from collections.abc import Iterable

from rapidfuzz.distance import LCSseq

from polyonym.resolution.names.normal_forms import normalise
from polyonym.resolution.names.tables import places, squash

SMALL_WORDS = frozenset({"of", "the", "and", "for", "in", "on", "de", "la", "et", "du", "des", "und", "&", "at", "to", "a"})


def abbreviates(short: str, surfaces: Iterable[str]) -> bool:
    """Whether `short` is made of the initials of a surface, or of letters of its words in order, beginning with its first; then all of
    its capitals but one at most are initials of words, in order ("BMVg" of "Bundesministerium der Verteidigung").
    """
    letters = squash(short)
    if len(letters) < 2:
        return False
    for surface in surfaces:
        if letters in initials(surface):
            return True
        tokens = [squash(t) for t in re.split(r"[\s\-/]+", surface) if squash(t) and t.lower() not in SMALL_WORDS]
        if len(tokens) < 2 or not tokens[0].startswith(letters[0]):
            continue
        capitals = [c.lower() for c in short if c.isupper()]
        strays = len(capitals) - LCSseq.similarity(capitals, [t[0] for t in tokens])
        if strays <= 1 and LCSseq.similarity(letters, "".join(tokens)) == len(letters):
            return True
    return False


def initials(surface: str) -> set[str]:
    """The initials of a name's words: of all, without small words, with and without a legal form or a leading country; of one word
    with capitals inside, its capitals."""
    made = set()
    for form in (surface, normalise(surface)):
        tokens = [t for t in re.split(r"[\s\-/]+", form.replace(".", ". ")) if squash(t)]
        if tokens and tokens[0].lower() in ("the", "a", "an"):
            tokens = tokens[1:]
        variants = [tokens, [t for t in tokens if t.lower() not in SMALL_WORDS]]
        if "for" in tokens:
            variants.append([t for t in tokens[: tokens.index("for")] if t.lower() not in SMALL_WORDS])
        for size in (1, 2):
            if len(tokens) > size + 1 and " ".join(tokens[:size]).lower() in places().names:
                variants += [v[size:] for v in variants[:2]]
        made |= {"".join(squash(t)[0] for t in v) for v in variants if len(v) > 1}
    if " " not in surface and (capitals := re.findall(r"[A-Z](?=[a-z])", surface)) and len(capitals) > 1:
        made.add("".join(capitals).lower())
    return made
