"""A knowledge base from a Wikidata JSON dump: https://www.wikidata.org/wiki/Wikidata:Database_download, "JSON dumps".

The dump is an array with one entity a line, plain, gzipped or bzip2ed. It is read once, a line at a time; what is kept is
spooled into a work folder in parts of LINES_A_PART lines, and the knowledge base is written from the parts. After a crash a
second call goes on behind the last whole part. What that costs: for a plain file nothing (a seek); for a compressed one the
part already done is decompressed again, but not parsed. Take the .gz where there is a choice: bzip2 is decompressed many
times more slowly (12 against 220 MB/s, measured), and that is then what the work costs.
"""

import bz2
import gzip
import hashlib
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import IO, cast

import orjson

from polyonym.ingest.errors import Stop, WrongUse
from polyonym.ingest.store import files
from polyonym.resolution.linking import knowledge_base
from polyonym.resolution.linking.candidates import Item
from polyonym.resolution.linking.knowledge_base import types_of
from polyonym.resolution.linking.wikidata.entity import decode_entity, dropped_classes, facts_of, item_of

LINES_A_PART = 100_000
PROGRESS_LINES = 1000
EXAMPLES = 20  # malformed lines that are described; all are counted
SKIP = 256 << 20  # bytes between two tellings of progress
SPOOL = 1  # changes when parts of an earlier version cannot be used
LONGEST_LINE = 32 << 20  # bytes; Wikidata's own limit for an entity is a tenth of it
TOLD_ITEMS = 1000  # between two tellings of the writing's progress
_NO_SITELINKS = (b'"sitelinks":{}', b'"sitelinks":[]')
_LANGUAGE = re.compile(r"[a-z]{2,}(-[a-z0-9]+)*")


@dataclass(frozen=True)
class DumpChoice:
    """What to keep of a dump: items with a name in `languages` (the first that has one gives the label), with at least
    `min_sitelinks`, and, where `classes` are given, that are an instance of one of them or of a class below it.

    What lies below a class is known from `subclasses`, a file with two ids a line, class and superclass (P279): the
    TSV of a query is fine. Without it only the classes named by an item itself count.
    """

    languages: tuple[str, ...] = ("en", "mul")
    classes: tuple[str, ...] = ()
    min_sitelinks: int = 1
    subclasses: Path | None = None

    def __post_init__(self) -> None:
        """Raises WrongUse for what is no choice: no language, or one that no code of Wikidata looks like."""
        wrong = [language for language in self.languages if not _LANGUAGE.fullmatch(language)]
        if wrong or not self.languages:
            what = f"{', '.join(map(repr, wrong))}: no language code" if wrong else "No language is given"
            raise WrongUse(f"{what}. Give codes as Wikidata has them, such as en,mul.")


@dataclass(frozen=True)
class DumpSummary:
    """How far a dump was read: lines with an entity, items kept, malformed lines with the first of them described.

    `cut_off`: the array began and its end never came, so that entities are missing. (Of a compressed dump that is cut short,
    the compression says so first.)
    """

    lines: int = 0
    kept: int = 0
    malformed: int = 0
    examples: tuple[str, ...] = ()
    cut_off: bool = False


Progress = Callable[[float, DumpSummary], None]
"""Hears the share of the file read so far (0 to 1) and the state of the work."""


@dataclass(frozen=True)
class _Spool:
    """What the work folder says of itself: the job it belongs to, its parts, and where in the dump the next one begins."""

    job: str
    parts: int = 0
    offset: int = 0  # in bytes of the decompressed dump
    finished: bool = False
    summary: DumpSummary = DumpSummary()


def read_dump(dump: Path, kb_path: Path, choice: DumpChoice, progress: Progress | None = None) -> DumpSummary:
    """Read a dump for the knowledge base at `kb_path`, going on with work that was broken off; `write_read` then writes it.

    Work lies in a folder beside `kb_path`. Raises WrongUse when the dump or the file of subclasses cannot be read, a compressed
    dump ends before its end, or nothing of it is kept; Stop when the work folder cannot be written.
    """
    taxonomy = Taxonomy(read_subclasses(choice.subclasses) if choice.subclasses else {})
    work = _work_folder(kb_path)
    try:
        status = dump.stat()
    except OSError as error:
        raise WrongUse(f"The dump {dump} cannot be read: {error}.") from error
    # The dump's folder is left out: it may be moved between two tries.
    what = (SPOOL, dump.name, status.st_size, status.st_mtime_ns, asdict(replace(choice, subclasses=None)), taxonomy.digest)
    try:
        spool = _resume(work, hashlib.sha256(repr(what).encode()).hexdigest())
        if not spool.finished:
            spool = _read(dump, work, spool, choice, taxonomy, progress)
    except OSError as error:
        raise Stop(
            f"The work folder {work} cannot be written: {error}. Make room or mend its rights; then the same command goes on."
        ) from error
    if not spool.summary.kept:
        _clear(work)
        raise WrongUse(_nothing_kept(dump, spool.summary))
    return spool.summary


def _nothing_kept(dump: Path, summary: DumpSummary) -> str:
    if summary.lines == summary.malformed:
        why = f"{dump} holds no entity of Wikidata{f' ({summary.examples[0]})' if summary.examples else ''}. Give a JSON dump, one entity a line"
    else:
        why = (
            f"None of the {summary.lines - summary.malformed:,} entities of {dump} is wanted. Choose other languages, classes or sitelinks"
        )
    return f"{why}. The knowledge base is as it was."


def write_read(dump: Path, kb_path: Path, progress: Callable[[float], None] | None = None) -> None:
    """Write the knowledge base of a dump that `read_dump` has read, in place of what was there, and clear the work away.

    `progress` hears the share of the items written, and 1 when all is done (the names are sorted at the end).
    """
    work = _work_folder(kb_path)
    spool = _read_spool(work)

    def told() -> Iterator[Item]:
        for done, item in enumerate(_spooled(work, spool.parts)):
            if progress and done % TOLD_ITEMS == 0:
                progress(done / spool.summary.kept)
            yield item

    knowledge_base.build(kb_path, told(), f"Wikidata dump {dump.name}")
    if progress:
        progress(1.0)
    _clear(work)


def _work_folder(kb_path: Path) -> Path:
    return kb_path.with_name(kb_path.name + ".parts")


class Taxonomy:
    """Which classes lie above a class, and so what type its instances have."""

    def __init__(self, parents: dict[int, tuple[int, ...]]) -> None:
        """`parents`: the number of a class's id to those of its superclasses."""
        self._parents = parents
        self.digest = hashlib.sha256(repr(sorted(parents.items())).encode()).hexdigest() if parents else ""
        self._levels = lru_cache(maxsize=100_000)(self.levels)
        self._types = lru_cache(maxsize=100_000)(self._types_of)

    def levels(self, qid: str) -> tuple[tuple[str, ...], ...]:
        """The class itself, its superclasses, theirs, and so on, each class once, sorted within a level."""
        classes, level, seen = [], [int(qid[1:])], {int(qid[1:])}
        while level:
            classes.append(tuple(f"Q{number}" for number in level))
            level = sorted({above for number in level for above in self._parents.get(number, ())} - seen)
            seen.update(level)
        return tuple(classes)

    def _types_of(self, qid: str) -> tuple[str, ...]:
        return next((types for level in self._levels(qid) if (types := types_of(level))), ())

    def types(self, classes: Iterable[str]) -> tuple[str, ...]:
        """Our types for an instance of these classes: each class gives that of its nearest superclass that has one."""
        return types_of({type for qid in classes for type in self._types(qid)})

    def below(self, classes: Iterable[str], wanted: Collection[str]) -> bool:
        """Whether one of `classes` is one of `wanted` or lies below one."""
        return any(above in wanted for qid in classes for level in self._levels(qid) for above in level)


def read_subclasses(path: Path) -> dict[int, tuple[int, ...]]:
    """The superclasses of each class by a file with two ids a line (plain, .gz or .bz2); lines without two ids are passed over.

    Raises WrongUse when it cannot be read or has no such line.
    """
    parents: dict[int, tuple[int, ...]] = {}
    pair = re.compile(rb"\bQ(\d+)\b\D.*?\bQ(\d+)\b")
    try:
        with path.open("rb") as raw:
            for line in _decompressed(raw):
                if match := pair.search(line):
                    below, above = int(match.group(1)), int(match.group(2))
                    if above not in parents.get(below, ()):
                        parents[below] = (*parents.get(below, ()), above)
    except (OSError, EOFError, zlib.error) as error:
        raise WrongUse(f"The file of subclasses {path} cannot be read: {error}.") from error
    if not parents:
        raise WrongUse(f"The file of subclasses {path} has no line with two ids, class and superclass.")
    return {below: tuple(sorted(above)) for below, above in parents.items()}


def _read(dump: Path, work: Path, spool: _Spool, choice: DumpChoice, taxonomy: Taxonomy, progress: Progress | None) -> _Spool:
    """Read the dump from where `spool` ends, adding parts; returns the spool of the whole dump."""
    reader = _Reader(dump)
    with closing(reader):
        for share in reader.skip_to(spool.offset):
            if progress:
                progress(share, spool.summary)
        while not spool.finished:
            spool = _one_part(reader, work, spool, choice, taxonomy, progress)
    if progress:
        progress(1.0, spool.summary)
    return spool


def _one_part(reader: "_Reader", work: Path, spool: _Spool, choice: DumpChoice, taxonomy: Taxonomy, progress: Progress | None) -> _Spool:
    """Read up to LINES_A_PART lines into one part and record it."""
    lines, kept, malformed, examples = spool.summary.lines, spool.summary.kept, spool.summary.malformed, list(spool.summary.examples)
    cut_off = spool.summary.cut_off
    part = work / f"part-{spool.parts:05}.jsonl.gz"
    with files.replacing(part) as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=1, mtime=0) as out:
        for line in reader:
            if line in (b"[", b"]", b""):
                cut_off = cut_off if not line else line == b"["
                continue
            lines += 1
            try:
                item = _kept(line, choice, taxonomy)
            except ValueError as error:
                malformed += 1
                if len(examples) < EXAMPLES:
                    examples.append(f"line {lines}: {error}")
                item = None
            if item:
                kept += 1
                out.write(orjson.dumps((item.id, item.label, item.aliases, item.description, item.types, item.popularity)) + b"\n")
            if progress and lines % PROGRESS_LINES == 0:
                progress(reader.share, DumpSummary(lines, kept, malformed, tuple(examples), cut_off))
            if lines % LINES_A_PART == 0:
                break
    summary = DumpSummary(lines, kept, malformed, tuple(examples), cut_off)
    done = _Spool(spool.job, spool.parts + 1, reader.offset, reader.ended, summary)
    files.write(work / "spool.json", orjson.dumps(done))
    return done


def _kept(line: bytes, choice: DumpChoice, taxonomy: Taxonomy) -> Item | None:
    """The item of one line, or None when it is not wanted. Raises ValueError for a malformed line."""
    # Most entities of a dump have no page on any wiki: seeing that costs a hundredth of parsing them.
    if choice.min_sitelinks > 0 and line.startswith(b"{") and line.endswith(b"}") and any(nothing in line for nothing in _NO_SITELINKS):
        return None
    if len(line) > LONGEST_LINE:
        raise ValueError(f"longer than {LONGEST_LINE >> 20} MiB")
    facts = facts_of(decode_entity(line), choice.languages)
    if facts is None or facts.label is None or facts.sitelinks < choice.min_sitelinks:
        return None
    if taxonomy.below(facts.classes, dropped_classes()) or (choice.classes and not taxonomy.below(facts.classes, choice.classes)):
        return None
    return item_of(facts, taxonomy.types(facts.classes))


class _Reader:
    """The lines of a dump, plain or compressed, without their commas. Raises WrongUse when it cannot be read."""

    def __init__(self, path: Path) -> None:
        self.offset = 0  # of the next line, in bytes of the decompressed dump
        self.ended = False
        self._path = path
        with self._explained():
            self._size = max(1, path.stat().st_size)
            self._raw = path.open("rb")
            self._plain = _decompressed(self._raw)

    @property
    def share(self) -> float:
        """How much of the file was read, from 0 to 1."""
        return self._raw.tell() / self._size

    def close(self) -> None:
        self._raw.close()

    def skip_to(self, offset: int) -> Iterator[float]:
        """Go on to an offset; yields the share reached on the way, for what is compressed has to be decompressed."""
        with self._explained():
            while self.offset < offset:
                before, self.offset = self.offset, self._plain.seek(min(offset, self.offset + SKIP))
                if self.offset == before:
                    raise EOFError("the file is shorter than it was")
                yield self.share

    def __iter__(self) -> Iterator[bytes]:
        with self._explained():
            while line := self._plain.readline(LONGEST_LINE + 2):
                self.offset += len(line)
                while not line.endswith(b"\n") and (rest := self._plain.readline(LONGEST_LINE)):
                    self.offset += len(rest)  # only its beginning is kept of a line that is too long
                    line = line if not rest.endswith(b"\n") else line + b"\n"
                yield line.strip().rstrip(b",").rstrip()
            self.ended = True

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, EOFError, zlib.error) as error:
            raise WrongUse(
                f"The dump {self._path} cannot be read beyond byte {self.offset} of its text: {error}. If it is cut short or damaged, download it again."
            ) from error


def _decompressed(raw: IO[bytes]) -> IO[bytes]:
    """The plain content of a file, by its first bytes."""
    start = raw.read(3)
    raw.seek(0)
    if start[:2] == b"\x1f\x8b":
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    return bz2.BZ2File(raw) if start == b"BZh" else raw


def _spooled(work: Path, parts: int) -> Iterator[Item]:
    for number in range(parts):
        with gzip.open(work / f"part-{number:05}.jsonl.gz") as lines:
            for line in lines:
                id, label, aliases, description, types, popularity = orjson.loads(line)
                yield Item(id, label, tuple(aliases), description, tuple(types), popularity, id)


def _resume(work: Path, job: str) -> _Spool:
    """The spool that a broken-off run of the same job left, or an empty one in a cleared folder."""
    try:
        spool = _read_spool(work)
        if spool.job == job and all((work / f"part-{number:05}.jsonl.gz").exists() for number in range(spool.parts)):
            return spool
    except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError):
        pass  # nothing there, or of another version: the work begins anew
    _clear(work)
    work.mkdir(parents=True)
    return _Spool(job)


def _read_spool(work: Path) -> _Spool:
    kept = orjson.loads((work / "spool.json").read_bytes())
    summary = {**kept.pop("summary")}
    return _Spool(**kept, summary=DumpSummary(**{**summary, "examples": tuple(summary["examples"])}))


def _clear(work: Path) -> None:
    if work.exists():
        for file in [*work.glob("part-*"), *work.glob("spool.*")]:
            file.unlink()
        work.rmdir()
