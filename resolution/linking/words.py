"""The words of texts, and which of them tell what a thing is."""

import re
from functools import cache, lru_cache

from anyascii import anyascii

from polyonym.ingest.text.common_words import is_common
from polyonym.resolution.names.tables import rows

_WORD = re.compile(r"[^\W_]+")
STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "de",
        "del",
        "der",
        "des",
        "di",
        "du",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "his",
        "in",
        "is",
        "it",
        "its",
        "la",
        "le",
        "les",
        "new",
        "not",
        "of",
        "on",
        "or",
        "s",
        "san",
        "she",
        "st",
        "that",
        "the",
        "their",
        "they",
        "this",
        "to",
        "und",
        "van",
        "von",
        "was",
        "were",
        "which",
        "who",
        "will",
        "with",
    ]
)


def tokens_of(text: str) -> list[str]:
    """The words of a text, transliterated, in lower case."""
    folded = text.casefold()
    return _WORD.findall(folded if folded.isascii() else anyascii(folded).lower())


@cache
def type_words() -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for type_, text in rows("type_words.tsv"):
        for word in text.split():
            table[word] = table.get(word, frozenset()) | {type_}
    return table


@lru_cache(maxsize=100_000)
def is_generic_word(word: str) -> bool:
    """Whether a word says little about which item is meant: a word for a kind of thing, or a common one."""
    return word in type_words() or is_common(word)


def kinds_of_word(word: str) -> frozenset[str]:
    """The types of things for which a word is one ("painter": PERSON); empty for most words."""
    return type_words().get(word, frozenset())
