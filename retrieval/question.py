"""What a question names: its names are found by their normal forms, as the names of documents are, so no model is needed."""

import re
from collections.abc import Iterator

from rapidfuzz import process
from rapidfuzz.distance import OSA

from polyonym.ingest.text.common_words import is_common
from polyonym.resolution.names.normal_forms import is_typo_variant, normalise
from polyonym.retrieval.index import Index
from polyonym.retrieval.records import NamedThing, Question

_WORD = re.compile(r"\w[\w.&'’-]*")
_LONGEST = 8
"""Words of the longest name that is looked for."""
_EDITS = 2

Span = tuple[int, int]


def understand(index: Index, text: str) -> Question:
    """The question with every thing that it names: the longest names first, none inside another, homonyms all together.

    A word that is usually written in lower case ("who", "of") is no name by itself unless it stands in capitals. What begins with
    capitals and is nobody's name may be a misspelling of one that is known.
    """
    words = [m.span() for m in _WORD.finditer(text)]
    things: list[NamedThing] = []
    taken: set[int] = set()
    for first, last in _windows(len(words)):
        span = words[first][0], words[last - 1][1]
        if taken.isdisjoint(range(first, last)) and _may_be_a_name(text[slice(*span)]) and (thing := _exact(index, text, span)):
            things.append(thing)
            taken.update(range(first, last))
    for first, last in _capitalised(text, words, taken):
        if thing := _misspelled(index, text, (words[first][0], words[last - 1][1])):
            things.append(thing)
    return Question(text, tuple(sorted(things, key=lambda t: t.start)))


def _windows(count: int) -> Iterator[Span]:
    """(first, last + 1) of all runs of words, the longest first, then in their order."""
    for size in range(min(_LONGEST, count), 0, -1):
        for first in range(count - size + 1):
            yield first, first + size


def _may_be_a_name(name: str) -> bool:
    words = name.split()
    if len(words) == 1:
        return (len(name) > 1 and name.isupper()) or not is_common(name)
    return not (is_common(words[0]) and words[0].islower()) and not (is_common(words[-1]) and words[-1].islower())


def _exact(index: Index, text: str, span: Span) -> NamedThing | None:
    name = text[slice(*span)]
    for normal in dict.fromkeys((normalise(name), normalise(name, person=True))):
        if bearers := index.names.get(normal):
            shown = index.shown_names[bearers[0]]
            how = f"{len(bearers)} things are called so" if len(bearers) > 1 else "its name" if shown == name else f"a name of {shown}"
            return NamedThing(name, *span, bearers, how)
    return None


def _capitalised(text: str, words: list[Span], taken: set[int]) -> Iterator[Span]:
    """(first, last + 1) of the longest runs of words in capitals that no name has taken; a common word begins none."""
    first = 0
    while first < len(words):
        last = first
        while last < len(words) and last not in taken and text[words[last][0]].isupper():
            last += 1
        while first < last and is_common(text[slice(*words[first])]):
            first += 1
        if first < last:
            yield first, last
        first = max(last, first + 1)


def _misspelled(index: Index, text: str, span: Span) -> NamedThing | None:
    name = text[slice(*span)]
    normal = normalise(name)
    near = process.extract(normal, index.names.keys(), scorer=OSA.distance, score_cutoff=_EDITS, limit=None)
    for known, _, _ in sorted(near, key=lambda match: (match[1], match[0])):
        if is_typo_variant(normal, known):
            bearers = index.names[known]
            return NamedThing(name, *span, bearers, f"perhaps a misspelling of {index.shown_names[bearers[0]]}")
    return None
