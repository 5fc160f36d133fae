"""English words that are written in lower case about as often as with a capital, or oftener: hardly names by themselves."""

from functools import cache
from importlib.resources import files


@cache
def common_words() -> dict[str, float]:
    """Each word of `data/common_words_en.tsv` (its head says where it comes from), lower case, with how much likelier
    (difference of natural logarithms) it is in lower case than with a capital."""
    lines = files("polyonym.ingest").joinpath("data/common_words_en.tsv").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t") for line in lines if not line.startswith("#"))
    return {word: float(ratio) for word, ratio in pairs}


def is_common(word: str, at_least: float = 0.0) -> bool:
    """Whether an English word, whatever its case here, is usually written in lower case; `at_least` is the log ratio asked for."""
    return common_words().get(word.lower(), -99.0) >= at_least
