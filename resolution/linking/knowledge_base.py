"""The knowledge base: the items that names may be linked to, in one SQLite file inside the home.

A lookup is one range scan of one index, so that it costs microseconds and opening costs nothing; several processes may read
at once. The file is written beside and swapped in whole; `add` changes it in one transaction.
"""

import gzip
import hashlib
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import log, log1p
from pathlib import Path
from typing import Any

import orjson

from polyonym.ingest.errors import Damaged, WrongUse
from polyonym.ingest.store import files, fingerprint
from polyonym.resolution.linking.candidates import Candidate, Item
from polyonym.resolution.names.entity_types import TYPES
from polyonym.resolution.names.normal_forms import normalise
from polyonym.resolution.names.tables import rows

FORMAT = 3
BAD_LINES = 100
"""So many malformed lines of an import are skipped and counted; one more stops it, for then the file is something else."""

EXACT, BARE, WORDS, OUTER, START, END, INITIALS, SOUNDS = range(8)
LIMITS = {EXACT: 40, BARE: 20, WORDS: 10, OUTER: 10, START: 20, END: 20, INITIALS: 10, SOUNDS: 5}
"""How many items a name gets by each kind of key, the most popular first."""

QID = re.compile(r"Q[1-9][0-9]*")
_FORM = 'Each line must be an object such as {"qid": "Q42", "label": "…", "aliases": [], "description": null, "types": []}.'

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE items (item INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, label TEXT NOT NULL, aliases TEXT, description TEXT, types TEXT, popularity INTEGER,
  wikidata_id TEXT, source TEXT NOT NULL);
CREATE TABLE keys (key TEXT NOT NULL, kind INTEGER NOT NULL, rank INTEGER NOT NULL, item INTEGER NOT NULL, name INTEGER NOT NULL,
  PRIMARY KEY (key, kind, rank, item, name)) WITHOUT ROWID;
"""


@cache
def _classes() -> dict[str, str]:
    return {row[0]: row[1] for row in rows("classes.tsv")}


def _names_version() -> str:
    """Changes with anything that may change a normal form: keys made with another version would silently be missed."""
    tables = ("abbreviations.tsv", "case_words.txt", "countries.tsv", "honorifics.tsv", "legal_forms.tsv")
    modules = ("normal_forms.py", "tables.py")
    return fingerprint.of_code(*(f"resolution/names/{module}" for module in modules), *(f"resolution/data/{table}" for table in tables))


def types_of(classes: Iterable[str]) -> tuple[str, ...]:
    """Our entity types for Wikidata classes (ids) or names of our own types, in the order of TYPES; unknown ones are left out."""
    known = _classes()
    types = {c if c in TYPES else known.get(c) for c in classes}
    return tuple(t for t in TYPES if t in types)


def prominence(item: Item) -> float:
    """How well known an item is, from 0 (hardly) to about 6: log(1 + sitelinks).

    Where there are no sitelinks, the age of the id stands in: over Wikidata the logarithm of the sitelinks falls about
    linearly with the logarithm of the id's number (some 200 sitelinks at Q500, 25 at Q100,000, 2 at Q10,000,000), and both
    are put on this one scale so that a weight fitted with ids holds for sitelinks.
    """
    if item.popularity is not None:
        return log1p(max(0, item.popularity))
    number = re.search(r"\d+", item.wikidata_id or item.id)
    return min(6.0, max(0.0, 7.9 - 0.42 * log(max(1, int(number.group()))))) if number else 0.0


def read_items(path: Path, skipped: list[str], progress: Callable[[float], None] | None = None) -> Iterator[Item]:
    """Items of a JSONL file (plain or gzipped): one object a line with `qid`, `label`, and optionally `aliases`, `description`, `types`, `sitelinks`.

    A malformed line is left out and described in `skipped` with its number. `progress` hears the share of the file read so far. Raises WrongUse when the file
    cannot be read, when more than BAD_LINES lines are malformed, and at its end when it held no item, or fewer than malformed lines.
    """
    good = 0
    try:
        size = max(1, path.stat().st_size)
        with path.open("rb") as raw:
            compressed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            lines: Iterable[bytes] = gzip.GzipFile(fileobj=raw) if compressed else raw
            for number, line in enumerate(lines, 1):
                if progress and number % 5000 == 0:
                    progress(raw.tell() / size)
                if not line.strip():
                    continue
                try:
                    item = _item_of(orjson.loads(line))
                except ValueError as error:
                    skipped.append(f"line {number}: {error}")
                    if len(skipped) > BAD_LINES:
                        raise WrongUse(f"{path} has more than {BAD_LINES} malformed lines, the first: {skipped[0]}. {_FORM}") from error
                    continue
                good += 1
                yield item
    except (OSError, EOFError, zlib.error) as error:
        raise WrongUse(
            f"{path} cannot be read as a knowledge base: {error}. Give a JSONL file, plain or gzipped, that is whole."
        ) from error
    if not good:
        raise WrongUse(f"{path} holds no item of a knowledge base{f', {skipped[0]}' if skipped else ''}. Nothing was imported. {_FORM}")
    if len(skipped) > good:
        raise WrongUse(f"{path} has {len(skipped)} malformed lines and {good} good ones, {skipped[0]}. Nothing was imported. {_FORM}")
    if progress:
        progress(1.0)


def _item_of(row: Any) -> Item:
    """The item of one line; raises ValueError saying which field is wrong."""
    if not isinstance(row, dict):
        raise ValueError("not an object")
    qid, label, description, sitelinks = row.get("qid"), row.get("label"), row.get("description"), row.get("sitelinks")
    if not (isinstance(qid, str) and QID.fullmatch(qid)):
        raise ValueError(f"`qid` is {qid!r}, not a Wikidata id")
    if not (isinstance(label, str) and label.strip()):
        raise ValueError(f"{qid}: `label` is missing or empty")
    texts = {}
    for field in ("aliases", "types"):
        texts[field] = row.get(field) or []
        if not (isinstance(texts[field], list) and all(isinstance(text, str) for text in texts[field])):
            raise ValueError(f"{qid}: `{field}` is not a list of texts")
    if not (description is None or isinstance(description, str)):
        raise ValueError(f"{qid}: `description` is not a text")
    if not (sitelinks is None or isinstance(sitelinks, int)):
        raise ValueError(f"{qid}: `sitelinks` is not a number")
    aliases = tuple(dict.fromkeys(a for a in texts["aliases"] if a.strip() and a != label))
    return Item(qid, label, aliases, description or None, types_of(texts["types"]), sitelinks, qid, "kb")


def build(path: Path, items: Iterable[Item], source: str) -> int:
    """Write a knowledge base of `items` to `path`, in place of what was there; returns how many items it holds.

    Items stream through, memory stays bounded. Of two items with one id the first counts. Nothing is seen at `path` before all is written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = files.beside_of(path)
    beside.unlink(missing_ok=True)
    connection = sqlite3.connect(beside, isolation_level=None)
    try:
        connection.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-200000; PRAGMA locking_mode=EXCLUSIVE;" + _SCHEMA
        )
        # Keys arrive in no order: they are sorted once at the end, which is many times faster than a growing index.
        connection.execute("CREATE TEMP TABLE unsorted (key, kind, rank, item, name)")
        connection.execute("BEGIN")
        total = count = 0
        keys: list[tuple[str, int, int, int, int]] = []
        for item in items:
            if not connection.execute("INSERT OR IGNORE INTO items VALUES (NULL,?,?,?,?,?,?,?,?)", _row(item)).rowcount:
                continue
            count += 1
            total += _digest(item)
            keys.extend(_keys(item, count))
            if len(keys) > 10000:
                connection.executemany("INSERT INTO unsorted VALUES (?,?,?,?,?)", keys)
                keys.clear()
        connection.executemany("INSERT INTO unsorted VALUES (?,?,?,?,?)", keys)
        connection.execute("INSERT OR IGNORE INTO keys SELECT * FROM unsorted ORDER BY key, kind, rank, item, name")
        _write_meta(connection, total, {"source": source, "format": str(FORMAT), "names": _names_version()})
        connection.execute("COMMIT")
        connection.close()
        files.swap_in(beside, path)
    finally:
        connection.close()
        beside.unlink(missing_ok=True)
    return count


def add(path: Path, items: Iterable[Item]) -> int:
    """Add items to the knowledge base at `path` (made if absent), in place of those with the same ids; returns how many were added."""
    items = list(items)
    if not path.exists():
        return build(path, items, "single items")
    KnowledgeBase(path).close()  # says what is wrong with a file that cannot be added to
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    try:
        connection.execute("BEGIN IMMEDIATE")
        total = int(dict(connection.execute("SELECT key, value FROM meta"))["version"], 16)
        for item in items:
            old = connection.execute("SELECT * FROM items WHERE id = ?", (item.id,)).fetchone()
            if old:
                total -= _digest(_item(old))
                number = old[0]
                connection.executemany(
                    "DELETE FROM keys WHERE key=? AND kind=? AND rank=? AND item=? AND name=?", _keys(_item(old), number)
                )
                connection.execute("DELETE FROM items WHERE item = ?", (number,))
            number = connection.execute("INSERT INTO items VALUES (NULL,?,?,?,?,?,?,?,?)", _row(item)).lastrowid
            assert number is not None
            total += _digest(item)
            connection.executemany("INSERT OR IGNORE INTO keys VALUES (?,?,?,?,?)", _keys(item, number))
        _write_meta(connection, total, {})
        connection.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        raise _damaged(path, error) from error
    finally:
        connection.close()
    return len(items)


def _write_meta(connection: sqlite3.Connection, total: int, more: Mapping[str, str]) -> None:
    count = connection.execute("SELECT count(*) FROM items").fetchone()[0]
    rows = {**more, "version": f"{total % (1 << 128):032x}", "count": str(count)}
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?,?)", sorted(rows.items()))


def _row(item: Item) -> tuple[Any, ...]:
    aliases = orjson.dumps(item.aliases).decode() if item.aliases else None
    return (item.id, item.label, aliases, item.description, " ".join(item.types) or None, item.popularity, item.wikidata_id, item.source)


def _item(row: Sequence[Any]) -> Item:
    _, id, label, aliases, description, types, popularity, wikidata_id, source = row
    return Item(
        id,
        label,
        tuple(orjson.loads(aliases)) if aliases else (),
        description,
        tuple(types.split()) if types else (),
        popularity,
        wikidata_id,
        source,
    )


def _digest(item: Item) -> int:
    # The version is the sum of these: it doesn't depend on the order of items, and one item can be taken out of it.
    return int.from_bytes(hashlib.sha256(orjson.dumps(_row(item))).digest()[:16], "big")


def _keys(item: Item, number: int) -> Iterator[tuple[str, int, int, int, int]]:
    """The keys under which an item is found: its normalised names, their words in any order, and of its label the first and last word, the beginnings, the ends
    and the initials."""
    rank = round(-1000 * prominence(item))
    seen = set()
    for position, name in enumerate((item.label, *item.aliases)):
        key = normalise(name)
        if key and key not in seen:
            seen.add(key)
            yield key, EXACT, rank, number, position
            if (bag := words_of(key)) not in seen:
                seen.add(bag)
                yield bag, WORDS, rank, number, position
    label = normalise(item.label)
    if (bare := normalise(_QUALIFIER.sub("", item.label))) not in seen:
        yield bare, BARE, rank, number, 0
    words = label.replace(",", "").split(" ")
    for length in range(1, min(6, len(words))):
        yield " ".join(words[:length]), START, rank, number, 0
        yield " ".join(words[-length:]), END, rank, number, 0
    if len(words) > 2:
        yield f"{words[0]} {words[-1]}", OUTER, rank, number, 0
    for initials in initials_of(item.label):
        if len(initials) > 2:
            yield initials, INITIALS, rank, number, 0
    for name in {label, words[-1]}:
        if sounds := sounds_of(name):
            yield sounds, SOUNDS, rank, number, 0


_QUALIFIER = re.compile(r"\s*\([^)]*\)\s*$|, .*")
_SMALL = frozenset(("of", "the", "and", "for", "in", "de", "at", "on", "to", "a", "du", "la", "des", "der"))


def words_of(key: str) -> str:
    """The words of a normalised name in alphabetical order, small ones left out: equal for "university of dhaka" and "dhaka university"."""
    return " ".join(sorted(w for w in key.replace(",", "").split() if w not in _SMALL))


def initials_of(name: str) -> tuple[str, ...]:
    """The initials of a name in lower case, of all words but small ones, and of the capitalised ones alone where that differs: "International Business
    Machines" gives "ibm"."""
    words = [word for word in re.findall(r"[^\W\d_]+", name) if word not in _SMALL]
    return tuple(dict.fromkeys(("".join(w[0] for w in words).lower(), "".join(w[0] for w in words if w[0].isupper()).lower())))


def sounds_of(key: str) -> str:
    """The consonants of a normalised name, doubled ones once, when there are at least five: equal for most slips of spelling."""
    letters = re.sub(r"[^b-df-hj-np-tv-xz]|(.)(?=\1)", "", key)
    return letters if len(letters) >= 5 else ""


def _damaged(path: Path, error: object) -> Damaged:
    return Damaged(f"The knowledge base {path} is damaged: {error}. Import it again with `polyonym kb import FILE`.")


class KnowledgeBase:
    """A knowledge base opened for reading; a CandidateSource. Open one in each process."""

    def __init__(self, path: Path) -> None:
        """Raises WrongUse when there is none at `path` or it was made with another normalisation of names, Damaged when it can't be read."""
        if not path.exists():
            raise WrongUse(f"There is no knowledge base at {path}. Import one with `polyonym kb import FILE`.")
        self._path = path
        self._commonness: dict[str, tuple[int, int, int]] = {}
        try:
            self._connection = sqlite3.connect(
                f"file:{path.resolve().as_posix().replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?mode=ro",
                uri=True,
                timeout=60,
            )
            self._connection.execute("PRAGMA mmap_size=1073741824")
            pages = self._connection.execute("PRAGMA page_count").fetchone()[0] * self._connection.execute("PRAGMA page_size").fetchone()[0]
            meta = dict(self._connection.execute("SELECT key, value FROM meta"))
        except sqlite3.DatabaseError as error:
            raise _damaged(path, error) from error
        if pages != path.stat().st_size or not {"format", "names", "version", "count"} <= meta.keys():
            raise _damaged(path, "it is cut short")
        if int(meta["format"]) > FORMAT:
            raise Damaged(
                f"The knowledge base {path} was written by a newer version of polyonym. Install that version, or import it again with `polyonym kb import FILE`."
            )
        if meta["names"] != _names_version() or int(meta["format"]) < FORMAT:
            raise WrongUse(
                f"The knowledge base {path} was made by a version of polyonym that normalises names differently. Import it again with `polyonym kb import FILE`."
            )
        self.version: str = meta["version"]
        self.count = int(meta["count"])
        self.source: str = meta.get("source", "")

    def close(self) -> None:
        self._connection.close()

    def item(self, qid: str) -> Item | None:
        """The item of this id, or None."""
        row = self._fetch("SELECT * FROM items WHERE id = ?", (qid,))
        return _item(row[0]) if row else None

    def bearers(self, name: str) -> int:
        """How many items a normalised name is a label or an alias of."""
        return self.commonness(name)[0]

    def commonness(self, key: str) -> tuple[int, int, int]:
        """How many items have a normalised name, how many labels begin with it, and how many end with it."""
        if key not in self._commonness:
            count = dict(self._fetch("SELECT kind, count(DISTINCT item) FROM keys WHERE key = ? GROUP BY kind", (key,)))
            self._commonness[key] = (count.get(EXACT, 0) + count.get(BARE, 0), count.get(START, 0), count.get(END, 0))
        return self._commonness[key]

    def candidates(self, names: Sequence[str]) -> dict[str, list[Candidate]]:
        """For each raw name the items that answer to it.

        `match` is label or alias (equal once normalised; "exact label", "exact alias" when equal to the letter), words (the same words in
        another order), outer (the label's first and last word), start or end (the label begins or ends with the name, in whole words), or initials. Those of equal names come first, then by prominence.
        """
        hits_by_name: dict[str, list[tuple[int, int, int]]] = {}
        for name in names:
            if name not in hits_by_name:
                hits_by_name[name] = self._find(name)
        numbers = sorted({number for hits in hits_by_name.values() for _, number, _ in hits})
        items: dict[int, Item] = {}
        for start in range(0, len(numbers), 500):
            batch = numbers[start : start + 500]
            for row in self._fetch(f"SELECT * FROM items WHERE item IN ({','.join('?' * len(batch))})", batch):
                items[row[0]] = _item(row)
        return {
            name: [_candidate(name, items[number], kind, position) for kind, number, position in hits]
            for name, hits in hits_by_name.items()
        }

    def _find(self, name: str) -> list[tuple[int, int, int]]:
        """(kind, item, position of the matched name) of the items that answer to a raw name, each once."""
        key = normalise(name)
        letters = name.replace(".", "")
        initials = letters.lower() if letters.isupper() and letters.isalpha() and 3 <= len(letters) <= 6 else None
        hits: dict[int, tuple[int, int, int]] = {}
        for hit in self._fetch(_FIND, (key, words_of(key), key.replace(",", ""), initials, sounds_of(key))):
            hits.setdefault(hit[1], hit)
        return list(hits.values())

    def _fetch(self, statement: str, values: Sequence[Any]) -> list[Any]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise _damaged(self._path, error) from error


# One statement for all kinds: the way from Python to SQLite costs more than the search.
_ASKED = {EXACT: 1, BARE: 1, SOUNDS: 5, WORDS: 2, OUTER: 3, START: 3, END: 3, INITIALS: 4}
_FIND = " UNION ALL ".join(
    f"SELECT * FROM (SELECT kind, item, name FROM keys WHERE key = ?{_ASKED[kind]} AND kind = {kind} ORDER BY rank, item, name LIMIT {limit})"
    for kind, limit in LIMITS.items()
)
_MATCHES = {BARE: "bare label", SOUNDS: "sounds", WORDS: "words", OUTER: "outer", START: "start", END: "end", INITIALS: "initials"}


def _candidate(name: str, item: Item, kind: int, position: int) -> Candidate:
    if kind != EXACT:
        return Candidate(item, (item.label, *item.aliases)[position], _MATCHES[kind])
    if name == item.label:
        return Candidate(item, item.label, "exact label")
    if position == 0:
        return Candidate(item, item.label, "label")
    if name in item.aliases:
        return Candidate(item, name, "exact alias")
    return Candidate(item, item.aliases[position - 1], "alias")
