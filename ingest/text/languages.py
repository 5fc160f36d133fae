"""The language of a document, by py3langid, held back by the script of its letters and by the default language."""

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from typing import Any

MINIMUM_CHARACTERS = 200
# Below this probability the detector counts as unsure. A wrong language costs a whole document (there may be no pipeline
# for it), a wrong default only some quality.
MINIMUM_PROBABILITY = 0.8
_SPACES = re.compile(r"\s+")

# Scripts, by the first word of their characters' Unicode names, with the detector's languages that are written in them;
# what is missing here is written in Latin letters.
SCRIPTS: dict[str, tuple[str, ...]] = {
    "CYRILLIC": ("ba", "be", "bg", "kk", "ky", "mk", "mn", "ru", "sr", "tg", "tt", "uk"),
    "GREEK": ("el",),
    "ARMENIAN": ("hy",),
    "GEORGIAN": ("ka",),
    "HEBREW": ("he",),
    "ARABIC": ("ar", "fa", "ps", "sdh", "ug", "ur"),
    "DEVANAGARI": ("gom", "hi", "mr", "ne", "sa"),
    "BENGALI": ("as", "bn"),
    "GURMUKHI": ("pa",),
    "GUJARATI": ("gu",),
    "ORIYA": ("or",),
    "TAMIL": ("ta",),
    "TELUGU": ("te",),
    "KANNADA": ("kn",),
    "MALAYALAM": ("ml",),
    "SINHALA": ("si",),
    "THAI": ("th",),
    "LAO": ("lo",),
    "TIBETAN": ("dz",),
    "MYANMAR": ("my",),
    "KHMER": ("km",),
    "ETHIOPIC": ("am",),
    "HANGUL": ("ko",),
    "HIRAGANA": ("ja",),
    "CJK": ("zh",),
}
# Labels that are no answer here: "no language", ancient ones, and creoles whose texts the detector confuses with their big sister.
_LEFT_OUT = {"zxx", "grc", "hbo", "pcm", "gcf", "gcr", "ary", "arz", "uzs"}
_ALSO_LATIN = {"sr"}


def detect(text: str, default: str = "en") -> str:
    """The language of `text` as an ISO 639 code; `default` below 200 characters or when the detector is unsure.

    Looks at the first 2,000 characters, and in a long text at 1,000 from its middle: where these differ (a text of several
    languages) it is unsure.
    """
    if len(text.strip()) < MINIMUM_CHARACTERS:
        return default
    pieces = [text[:2000]]
    if len(text) > 4000:
        middle = len(text) // 2
        pieces.append(text[middle : middle + 1000])
    languages = {language if probability >= MINIMUM_PROBABILITY else default for language, probability in map(_best, pieces)}
    return languages.pop() if len(languages) == 1 else default


def likeliest(text: str) -> str:
    """The detector's first choice for the beginning of a text of any length, however unsure."""
    return _best(text[:2000])[0]


def _best(text: str) -> tuple[str, float]:
    """The likeliest of the languages that are written in the text's script, with its probability among these."""
    sample = _SPACES.sub(" ", text).strip()
    allowed = _written_in(_script(sample))
    if len(allowed) == 1:
        return min(allowed), 1.0
    language, probability = _identifier().classify(sample)
    if language in allowed and probability >= MINIMUM_PROBABILITY:
        return language, probability
    scores = [(code, score) for code, score in _identifier().rank(sample) if code in allowed]
    total = sum(score for _, score in scores) or 1.0
    language, score = min(scores, key=lambda s: (-s[1], s[0]))
    return language, score / total


@cache
def _written_in(script: str) -> frozenset[str]:
    if script in SCRIPTS:
        return frozenset(SCRIPTS[script])
    elsewhere = {code for codes in SCRIPTS.values() for code in codes} - _ALSO_LATIN
    return frozenset(_identifier().labels) - elsewhere - _LEFT_OUT


def _script(sample: str) -> str:
    """The script of most of the sample's first letters, "" without letters; Japanese is told by its kana, of which Chinese has none."""
    if sample.isascii():
        return "LATIN" if any(c.isalpha() for c in sample) else ""
    counts = Counter(_character_script(c) for c in sample[:1000] if c.isalpha())
    letters = counts.total()
    if counts["HIRAGANA"] > letters / 20 and counts["HIRAGANA"] + counts["CJK"] > letters / 2:
        return "HIRAGANA"
    return min(counts, key=lambda s: (-counts[s], s), default="")


@lru_cache(maxsize=20_000)
def _character_script(character: str) -> str:
    word = unicodedata.name(character, "UNKNOWN").split(" ")[0].split("-")[0]
    return "HIRAGANA" if word == "KATAKANA" else word


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
