"""Closed lists of words behind the rules for mentions."""

from functools import cache
from importlib.resources import files


@cache
def word_list(kind: str) -> frozenset[str]:
    """A closed list of `data/mention_words.tsv`, as written there."""
    for line in files("polyonym.ingest").joinpath("data/mention_words.tsv").read_text(encoding="utf-8").splitlines():
        name, _, words = line.partition("\t")
        if name == kind:
            return frozenset(words.split())
    raise KeyError(kind)
