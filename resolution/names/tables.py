"""The tables that names are judged with, read once from `data/`. Each file says in its first lines what it holds and where it is from."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from anyascii import anyascii

DATA = Path(__file__).parent.parent / "data"


_LOOSE = re.compile(r"(?<![a-z0-9])\.|\.(?![a-z0-9])|\+(?=[a-z0-9])")  # not those of 3.5, amazon.com, c++
_NO_SOUND = re.compile(r"['`]")
_NO_SIGN = re.compile(r"[^a-z0-9&+#.]")


def squash(text: str) -> str:
    """Letters and digits of the transliterated text, in lower case, nothing else: equal for spellings that differ in spaces and dots."""
    folded = text if text.isascii() else anyascii(unicodedata.normalize("NFKC", text))
    return "".join(filter(str.isalnum, folded.lower()))


def rows(file: str) -> Iterator[list[str]]:
    """The rows of a table, comments and empty lines left out, cut at tabs."""
    for line in (DATA / file).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("# "):
            yield line.split("\t")


@cache
def words(file: str) -> frozenset[str]:
    """The entries of a list with one entry a line."""
    return frozenset(row[0] for row in rows(file))


@dataclass(frozen=True)
class TableRow:
    """A row of a table of names, by the name that it gives to all its forms, with that form which is meant."""

    table: str
    name: str
    form: str


@dataclass(frozen=True)
class Places:
    """Countries, blocs, states, renamed cities; in `exact` also institutions with one well-known short name.

    `exact` holds forms that count in this spelling only, `folded` those that count in any case, `codes` what stands for a state after a town
    ("MA"), each with its row.
    """

    names: frozenset[str]
    exact: dict[str, TableRow]
    folded: dict[str, TableRow]
    codes: dict[str, TableRow]
    of_demonym: dict[str, str]


@cache
def places() -> Places:
    """The table of countries, blocs and states."""
    names: list[str] = []
    exact: dict[str, TableRow] = {}
    folded: dict[str, TableRow] = {}
    codes: dict[str, TableRow] = {}
    of_demonym: dict[str, str] = {}
    for cells in rows("countries.tsv"):
        name, forms, demonyms, postal = [*cells, "", "", ""][:4]
        names.append(name)
        for form in filter(None, forms.split(";")):
            row = TableRow("countries.tsv", name, form)
            if form == form.upper() and form != form.lower():
                exact[form] = row
            elif form.endswith("."):
                exact[form] = exact[form.capitalize()] = exact[form.upper()] = row
            else:
                folded[plain(form)] = row
        for demonym in filter(None, demonyms.split(";")):
            of_demonym[demonym] = name
        for code in filter(None, postal.split(";")):
            codes[code] = TableRow("countries.tsv", name, code)
    for name, forms in rows("well_known.tsv"):
        exact.update((form, TableRow("well_known.tsv", name, form)) for form in forms.split(";"))
    for name, forms in rows("city_forms.tsv"):
        folded.update((plain(form), TableRow("city_forms.tsv", name, form)) for form in forms.split(";"))
    return Places(frozenset(names), exact, folded, codes, of_demonym)


def plain(text: str) -> str:
    """Transliterated, in lower case, apostrophes gone, other punctuation as single spaces. Keeps the signs that names are told apart by."""
    folded = text.lower() if text.isascii() else anyascii(unicodedata.normalize("NFKC", text).casefold()).lower()
    return " ".join(_NO_SIGN.sub(" ", _NO_SOUND.sub("", _LOOSE.sub(" ", folded))).split())


@dataclass(frozen=True)
class LegalForms:
    """Squashed legal forms by where they stand, with whether case counts; and those of scripts that put no space before them."""

    end: dict[str, bool]
    start: dict[str, bool]
    unspaced: tuple[str, ...]


@cache
def legal_forms() -> LegalForms:
    """The table of legal forms."""
    end: dict[str, bool] = {}
    start: dict[str, bool] = {}
    unspaced: list[str] = []
    for form, where, case in rows("legal_forms.tsv"):
        if any(ord(c) > 0x2E7F for c in form):
            unspaced.append(unicodedata.normalize("NFKC", form))
            continue
        for table, places_ in ((end, ("end", "both")), (start, ("start", "both"))):
            if where in places_:
                key = squash(form)
                table[key] = table.get(key, True) and case == "cap"
    return LegalForms(end, start, tuple(sorted(unspaced, key=lambda f: (-len(f), f))))


@dataclass(frozen=True)
class Honorifics:
    """Titles before and after a person's name, each a tuple of plain words; the sex that a title tells ('m', 'f' or '')."""

    lead: dict[str, str]
    trail: frozenset[str]


@cache
def honorifics() -> Honorifics:
    """The table of honorifics."""
    lead: dict[str, str] = {}
    trail: set[str] = set()
    for row in rows("honorifics.tsv"):
        if row[1] == "lead":
            lead[plain(row[0])] = row[2] if len(row) > 2 else ""
        else:
            trail.add(squash(row[0]))
    return Honorifics(lead, frozenset(trail))


@cache
def nicknames() -> dict[str, frozenset[int]]:
    """Every given name and pet form with the numbers of the rows it stands in: two that share a row may be one person's."""
    table: dict[str, set[int]] = {}
    for number, row in enumerate(rows("nicknames.tsv")):
        for name in row:
            table.setdefault(plain(name), set()).add(number)
    return {name: frozenset(numbers) for name, numbers in table.items()}


@cache
def spellings() -> dict[str, int]:
    """Words that are written in several ways, with the number of the row that they share."""
    return {plain(word).replace(" ", ""): number for number, row in enumerate(rows("spellings.tsv")) for word in row}


@cache
def abbreviations() -> dict[str, TableRow]:
    """Abbreviated words inside names, each with its row, which gives the word that it stands for."""
    return {short: TableRow("abbreviations.tsv", word, short) for short, word in rows("abbreviations.tsv")}
