"""English words that are written in lower case far more often than they are part of a name."""

from functools import cache
from importlib.resources import files


@cache
def common_words() -> frozenset[str]:
    """The list of `data/common_words_en.txt` (its head says where it comes from), all lower case."""
    lines = files("ingest").joinpath("data/common_words_en.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))
