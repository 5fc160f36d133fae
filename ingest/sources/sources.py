"""Sources: which files belong to them, what has changed since the last run, and what their documents are called.

A file that lies below several sources belongs to the outermost of them, so that the set of sources alone, not the order in
which they came, decides what there is. A document is called by its path below its root; where two roots hold the same path,
all files of that path get their root's name in front (as many of the root's parents as it takes to tell them apart).
"""

import hashlib
import os
import re
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from sqlalchemy import Boolean, Column, Connection, Table, Text, delete, func, select, tuple_

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.readers import unsupported
from polyonym.ingest.sources import table_layouts
from polyonym.ingest.sources.litter import is_litter
from polyonym.ingest.store.tables import Json, batched, insert_rows, metadata
from polyonym.ingest.text.documents import documents, rejected

MOST_GONE = 0.2
"""A greater part of a source than this is not deleted without being asked for."""
_MAGIC = re.compile(r"[*?\[]")
_UNREADABLE = "unreadable: "


@dataclass(frozen=True)
class Source:
    """A resolved root. `patterns` (of kind "glob" only) are relative to it; with `keep_gone`, documents outlive their files."""

    root: str
    kind: str
    patterns: tuple[str, ...] = ()
    keep_gone: bool = False

    @property
    def base(self) -> Path:
        """The folder that file paths are relative to."""
        return Path(self.root).parent if self.kind == "file" else Path(self.root)


@dataclass(frozen=True, order=True)
class File:
    """A file of a source: its path below the source's base, the name of its document (or the beginning of its rows' names).

    `digest` is the SHA-256 of its bytes, or "unreadable: " with the reason. `reader` is the key of the options it was read with.
    """

    source: str
    file: str
    name: str
    digest: str
    reader: str = ""

    @property
    def problem(self) -> str:
        """Why the file cannot be read, "" when it can."""
        return self.digest.removeprefix(_UNREADABLE) if self.digest.startswith(_UNREADABLE) else ""


@dataclass(frozen=True)
class Scan:
    """What a look at the files found, compared with what is remembered. All sorted by source and file.

    new, changed: to be read (`path` says where), or set aside for their `problem`.
    renamed: (old, new), the same unchanged file, whose documents get another name because of another source; nothing to be read.
    moved: (old, new), same bytes at another path, or changed and renamed at once: to be read under the new name, the old removed.
    gone: to be removed. kept: no longer there, but of a source that keeps what is gone, or below a folder that cannot be read now.
    """

    new: tuple[File, ...]
    changed: tuple[File, ...]
    unchanged: tuple[File, ...]
    renamed: tuple[tuple[File, File], ...]
    moved: tuple[tuple[File, File], ...]
    gone: tuple[File, ...]
    kept: tuple[File, ...]
    paths: Mapping[tuple[str, str], Path] = field(repr=False)

    def path(self, file: File) -> Path:
        """Where a new, changed or moved file lies."""
        return self.paths[file.source, file.file]


@dataclass(frozen=True)
class SourceCounts:
    """A remembered source with how much of it is held."""

    source: Source
    files: int
    documents: int
    rejected: int


sources = Table(
    "sources",
    metadata,
    Column("root", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("patterns", Json, nullable=False),
    Column("keep_gone", Boolean, nullable=False),
)

files = Table(
    "files",
    metadata,
    Column("source", Text, primary_key=True),
    Column("file", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("reader", Text, nullable=False),
)


def resolve(paths: Iterable[str | Path], known: Sequence[Source] = (), keep_gone: bool | None = None) -> list[Source]:
    """The sources that paths on a command line stand for: folders, files, globs ("docs/**/*.md"; its root is "docs"), sorted by root.

    `known` are the remembered sources: one of them may be missing (the scan decides about it), and keeps its settings unless
    `keep_gone` is given. Raises WrongUse for any other path that does not exist, and for a glob that matches nothing.
    """
    by_root = {source.root: source for source in known}
    resolved: dict[str, Source] = {}
    for given in paths:
        source = _source_of(os.path.expanduser(given), by_root)
        for other in (by_root.get(source.root), resolved.get(source.root)):
            source = _united(source, other)
        resolved[source.root] = source if keep_gone is None else replace(source, keep_gone=keep_gone)
    return [resolved[root] for root in sorted(resolved)]


def _source_of(given: str, by_root: Mapping[str, Source]) -> Source:
    path = Path(given)
    try:
        root = str(path.resolve())
    except (OSError, RuntimeError) as error:  # a loop of symbolic links
        raise WrongUse(f"{given} cannot be followed: {error}. Give the folder or file itself.") from error
    if os.path.isdir(path):
        source = Source(root, "folder")
        if root not in by_root and list_files(source) == Listing({}, {}):
            raise WrongUse(f"{given} holds no files (hidden ones are passed over). Check the path.")
        return source
    if os.path.exists(path):
        if not path.is_file():
            raise WrongUse(f"{given} is neither a file nor a folder. Give a file, a folder or a glob.")
        return Source(root, "file")
    if root in by_root:
        return by_root[root]
    if not _MAGIC.search(given):
        raise WrongUse(f"{given}: there is no such file or folder. Check the path (relative to {Path.cwd()}).")
    parts = path.parts
    first = next(index for index, part in enumerate(parts) if _MAGIC.search(part))
    root = str(Path(*parts[:first]).resolve()) if first else str(Path.cwd())
    source = Source(root, "glob", ("/".join(parts[first:]),))
    if root in by_root and source.patterns[0] in by_root[root].patterns:
        return source
    if not os.path.isdir(root):
        raise WrongUse(f"{given}: there is no folder {root}. Check the path.")
    if not list_files(source).found:
        raise WrongUse(f"{given} matches no file below {root}. Check the pattern (** stands for any depth of folders).")
    return source


def _united(source: Source, other: Source | None) -> Source:
    """Two sources of one root as one: a folder holds all patterns, patterns add up."""
    if other is None or "file" in (source.kind, other.kind):
        return source if other is None else replace(source, keep_gone=source.keep_gone or other.keep_gone)
    keep_gone = source.keep_gone or other.keep_gone
    if "folder" in (source.kind, other.kind):
        return Source(source.root, "folder", (), keep_gone)
    return Source(source.root, "glob", tuple(sorted({*source.patterns, *other.patterns})), keep_gone)


def _with_held(source: Source, by_root: Mapping[str, Source]) -> Source:
    """A given source with the patterns remembered of its root; whether it keeps what is gone, `resolve` has settled."""
    return replace(_united(source, by_root.get(source.root)), keep_gone=source.keep_gone)


@dataclass(frozen=True)
class Listing:
    """The files below a source: path by name below the base; and what could not be looked at, with the reason."""

    found: dict[str, Path]
    problems: dict[str, str]


def list_files(source: Source, exclude: Sequence[Path] = ()) -> Listing:
    """The files of a source, sorted by name. Litter (see polyonym.ingest.sources.litter) is passed over, as are `exclude`d folders.

    Symbolic links are followed, but not into a folder that holds them. Problems are folders that cannot be listed, by name.
    """
    base, root = source.base, Path(source.root)
    if source.kind == "file":
        return Listing({_text(root.name): root} if os.path.lexists(root) and not os.path.isdir(root) else {}, {})
    excluded = {_identity(path) for path in exclude if os.path.exists(path)}
    files: dict[str, Path] = {}
    problems: dict[str, str] = {}
    matches = _matcher(source.patterns)
    depth = None if not source.patterns or any("**" in p for p in source.patterns) else max(p.count("/") for p in source.patterns)
    stack: list[tuple[Path, tuple[str, ...], frozenset[tuple[int, int]]]] = [(base, (), frozenset())]
    while stack:
        folder, parts, above = stack.pop()
        try:
            here = _identity(folder)
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            problems["/".join(parts)] = _why(error)
            continue
        if here in excluded:
            continue
        if here in above:
            problems["/".join(parts)] = "a symbolic link to a folder that holds it: not followed"
            continue
        for entry in entries:
            is_folder = _is_folder(entry)
            if is_litter(entry.name, is_folder):
                continue
            name = (*parts, _text(entry.name))
            if is_folder:
                if depth is None or len(parts) < depth:
                    stack.append((Path(entry.path), name, above | {here}))
            elif matches("/".join(name)):
                files["/".join(name)] = Path(entry.path)
    return Listing(dict(sorted(files.items())), problems)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _text(name: str) -> str:
    """A file's name as text that every store can hold: bytes that are no UTF-8 are written as \\xNN."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _why(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def matches_path(patterns: tuple[str, ...], path: Path) -> bool:
    """Whether one of these is the path of a file or of a folder that holds it, or a glob for such: a relative one is the end of such a path.

    Raises WrongUse for a glob that is none.
    """
    return _path_matcher(patterns)(_text(path.as_posix()).lstrip("/"))


@lru_cache
def _path_matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    paths = [os.path.expanduser(pattern).removeprefix("./").rstrip("/") for pattern in patterns]
    wanted = [path.lstrip("/") if path.startswith("/") else f"**/{path}" for path in paths]
    return _matcher(tuple(glob for path in wanted for glob in (path, f"{path}/**")))


@lru_cache
def _matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    if not patterns:
        return lambda name: True
    try:
        expressions = [re.compile(_expression(pattern)) for pattern in patterns]
    except re.error as error:
        raise WrongUse(f"{', '.join(patterns)} is no pattern of file names: {error.msg}. Check what stands in brackets.") from error
    return lambda name: any(expression.fullmatch(name) for expression in expressions)


def _expression(pattern: str) -> str:
    """A glob as a regular expression: `**/` any folders or none, a last `**` everything below, `*` `?` `[…]` within one part."""
    parts = []
    for token in re.findall(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", pattern, re.DOTALL):
        match token:
            case "**/":
                parts.append("(?:.*/)?")
            case "**":
                parts.append(".*")
            case "*":
                parts.append("[^/]*")
            case "?":
                parts.append("[^/]")
            case _ if token.startswith("[") and len(token) > 1:
                parts.append(("[^/" if token[1] == "!" else "[") + re.escape(token[1:-1].removeprefix("!")).replace(r"\-", "-") + "]")
            case _:
                parts.append(re.escape(token))
    return "".join(parts)


def scan(
    connection: Connection,
    given: Sequence[Source],
    reader: Callable[[Path], str],
    *,
    allow_deletions: bool = False,
    exclude: Sequence[Path] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Scan:
    """Look at the files of the given sources, and of the remembered ones that lie within or around them, and compare.

    Writes nothing. `reader` gives the key of the options that a file is to be read with: one read with others counts as changed. `exclude`d
    folders are passed over. `progress` is called with (files looked at, files in all). Files of other sources are taken as
    unchanged, but may be renamed where a name has come into use twice. Raises WrongUse when a root cannot be read, and, unless
    `allow_deletions`, when one is missing or more than a fifth of its files are gone.
    """
    by_root = {source.root: source for source in remembered(connection)}
    together = dict(sorted({**by_root, **{source.root: _with_held(source, by_root) for source in given}}.items()))
    looked_at = [together[root] for root in _related(together, {source.root for source in given})]
    known = {(file.source, file.file): file for file in known_files(connection)}
    listings = {source.root: list_files(source, exclude) for source in looked_at}
    for source in looked_at:
        if "" in (problems := listings[source.root].problems):
            if os.path.exists(source.root):
                raise WrongUse(f"The source {source.root} cannot be read: {problems['']}. Nothing was changed. See to its rights.")
            del problems[""]
    paths = _owned_paths(looked_at, listings)
    digests = _digests(paths, listings, progress)
    paths = {key: path for key, path in paths.items() if key in digests}
    present = {together[key[0]].base / key[1] for key in paths}
    kept: dict[tuple[str, str], File] = {}
    for key, file in known.items():
        if key[0] not in listings:
            kept[key] = file
            paths[key] = together[key[0]].base / key[1]
        elif key not in digests and together[key[0]].base / key[1] not in present:
            above = {"/".join(key[1].split("/")[:depth]) for depth in range(1, key[1].count("/") + 1)}
            if together[key[0]].keep_gone or not above.isdisjoint(listings[key[0]].problems):
                kept[key] = file
    names = document_names({key: together[key[0]].base for key in (*digests, *kept)})
    compared = _compared(
        known,
        kept,
        {key: File(*key, names[key], digest, reader(paths[key])) for key, digest in digests.items()},
        names,
        set(listings),
        paths,
    )
    if not allow_deletions:
        _check_losses(looked_at, compared, known, digests, present, together)
    return compared


def _related(together: Mapping[str, Source], roots: set[str]) -> list[str]:
    """The given roots, and those that lie within or around them, sorted."""
    while True:
        more = {other for other in together if any(_within(other, root) or _within(root, other) for root in roots)}
        if more <= roots:
            return sorted(roots)
        roots = roots | more


def _within(inner: str, outer: str) -> bool:
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def _owned_paths(looked_at: Iterable[Source], listings: Mapping[str, Listing]) -> dict[tuple[str, str], Path]:
    """Every file once, by (source, file), as one of the outermost source that holds it; folders with a problem are among them."""
    paths: dict[tuple[str, str], Path] = {}
    taken: set[Path] = set()
    for source in sorted(looked_at, key=lambda s: (s.root.count("/"), s.root)):
        listing = listings[source.root]
        for name, path in {**listing.found, **{name: source.base / name for name in listing.problems}}.items():
            if path not in taken:
                taken.add(path)
                paths[source.root, name] = path
    return dict(sorted(paths.items()))


def _digests(
    paths: Mapping[tuple[str, str], Path], listings: Mapping[str, Listing], progress: Callable[[int, int], None] | None
) -> dict[tuple[str, str], str]:
    digests: dict[tuple[str, str], str] = {}
    for count, (key, path) in enumerate(paths.items(), 1):
        problem = listings[key[0]].problems.get(key[1]) or unsupported(path.name)
        try:
            digests[key] = _UNREADABLE + problem if problem else _digest(path)
        except FileNotFoundError:
            if path.is_symlink():
                digests[key] = _UNREADABLE + "broken symbolic link"
        except OSError as error:
            digests[key] = _UNREADABLE + _why(error)
        if progress:
            progress(count, len(paths))
    return digests


def _digest(path: Path) -> str:
    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for ever
        return _UNREADABLE + "not a regular file"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def document_names(bases: Mapping[tuple[str, str], Path]) -> dict[tuple[str, str], str]:
    """What the documents of files, given as (source, file) with the source's base folder, are called.

    The path below the base; where files of several sources would have the same name, or one the name of a folder of the other,
    as many of the base's last folders come in front as it takes.
    """
    depth = dict.fromkeys(sorted(bases), 0)
    names: dict[tuple[str, str], str] = {}
    while True:
        holders: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for key, parents in depth.items():
            folders = [_text(part) for part in bases[key].parts[1:]]
            names[key] = "/".join([*folders[max(0, len(folders) - parents) :], key[1]])
            holders[names[key]].append(key)
        clashing: set[tuple[str, str]] = set()
        for name, keys in holders.items():
            if len(keys) > 1:
                clashing.update(keys)
            at = name.find("/")
            while at >= 0:
                above = [other for other in holders.get(name[:at], ()) if any(other[0] != key[0] for key in keys)]
                if above:
                    clashing.update(above, keys)
                at = name.find("/", at + 1)
        growing = [key for key in clashing if depth[key] < len(bases[key].parts) - 1]
        if not growing:
            return names
        for key in growing:
            depth[key] += 1


def _compared(
    known: Mapping[tuple[str, str], File],
    kept: Mapping[tuple[str, str], File],
    now: Mapping[tuple[str, str], File],
    names: Mapping[tuple[str, str], str],
    looked_at: set[str],
    paths: Mapping[tuple[str, str], Path],
) -> Scan:
    new: list[File] = []
    changed: list[File] = []
    unchanged: list[File] = []
    renamed = [(file, replace(file, name=names[key])) for key, file in kept.items() if file.name != names[key]]
    moved: list[tuple[File, File]] = []
    for key, file in now.items():
        old = known.get(key)
        if old is None:
            new.append(file)
        elif (old.digest, old.reader) != (file.digest, file.reader):
            changed.append(file) if old.name == file.name else moved.append((old, file))
        else:
            unchanged.append(file) if old.name == file.name else renamed.append((old, file))
    gone = [file for key, file in known.items() if key not in now and key not in kept]
    places: dict[str, list[File]] = defaultdict(list)
    for file in reversed(new):
        if not file.problem:
            places[file.digest].append(file)
    moved_away = [(old, places[old.digest].pop()) for old in gone if places[old.digest]]
    moved += moved_away
    gone = sorted(set(gone) - {old for old, _ in moved_away})
    new = sorted(set(new) - {file for _, file in moved_away})
    return Scan(
        new=tuple(new),
        changed=tuple(sorted(changed)),
        unchanged=tuple(sorted(unchanged)),
        renamed=tuple(sorted(renamed)),
        moved=tuple(sorted(moved)),
        gone=tuple(gone),
        kept=tuple(sorted(file for key, file in kept.items() if key[0] in looked_at and file.name == names[key])),
        paths=paths,
    )


def _check_losses(
    looked_at: Iterable[Source],
    scan_: Scan,
    known: Mapping[tuple[str, str], File],
    digests: Mapping[tuple[str, str], str],
    present: set[Path],
    together: Mapping[str, Source],
) -> None:
    """Raises WrongUse for the first source of which too much is gone, or can no longer be read."""
    lost = Counter(file.source for file in scan_.gone if not file.problem and together[file.source].base / file.file not in present)
    lost.update(file.source for key, file in known.items() if not file.problem and digests.get(key, "").startswith(_UNREADABLE))
    files_of_source = Counter(file.source for file in known.values() if not file.problem)
    for source in looked_at:
        if lost[source.root]:
            check_loss(source.root, lost[source.root], files_of_source[source.root])


def check_loss(source: str, lost: int, total: int, what: str = "files") -> None:
    """Raises WrongUse when a source is missing, or has lost more than a fifth of what is held of it."""
    if not os.path.exists(source):
        raise WrongUse(
            f"The source {source} is missing; {lost} of its {total} {what} would be removed. Nothing was changed. "
            "Bring it back, or say --allow-deletions if it is gone for good."
        )
    if lost > MOST_GONE * total:
        raise WrongUse(
            f"{lost} of {total} {what} of the source {source} are gone or unreadable, more than a fifth. Nothing was changed. "
            "Bring them back, or say --allow-deletions if this is meant."
        )


def remember(connection: Connection, given: Iterable[Source]) -> None:
    """Keep sources, together with what was remembered of the same roots."""
    by_root = {source.root: source for source in remembered(connection)}
    for source in given:
        # A root that was a folder and is now a file, or the other way, is taken as it is now.
        united = _with_held(source, by_root)
        connection.execute(delete(sources).where(sources.c.root == source.root))
        insert_rows(
            connection,
            sources,
            [{"root": united.root, "kind": united.kind, "patterns": list(united.patterns), "keep_gone": united.keep_gone}],
        )


def forget(connection: Connection, root: str) -> None:
    """Drop a source and what is known of its files; its documents are not touched."""
    connection.execute(delete(sources).where(sources.c.root == root))
    connection.execute(delete(files).where(files.c.source == root))
    table_layouts.drop(connection, root)


def remembered(connection: Connection) -> list[Source]:
    """The remembered sources, sorted by root."""
    rows = connection.execute(select(sources).order_by(sources.c.root))
    return sorted((Source(row.root, row.kind, tuple(row.patterns), bool(row.keep_gone)) for row in rows), key=lambda source: source.root)


def counts(connection: Connection) -> list[SourceCounts]:
    """The remembered sources with the numbers of their files, documents and set-aside documents."""
    numbers = [_numbers(connection, table) for table in (files, documents, rejected)]
    return [SourceCounts(source, *(number.get(source.root, 0) for number in numbers)) for source in remembered(connection)]


def _numbers(connection: Connection, table: Table) -> dict[str, int]:
    rows = connection.execute(select(table.c.source, func.count().label("number")).group_by(table.c.source))
    return {row.source: row.number for row in rows}


def known_files(connection: Connection, root: str | None = None) -> list[File]:
    """The files remembered (of one source), sorted."""
    statement = select(files) if root is None else select(files).where(files.c.source == root)
    return sorted(File(**row._mapping) for row in connection.execute(statement))


def record(connection: Connection, read: Iterable[File]) -> None:
    """Remember files as they were found, in the transaction that stores what was read from them."""
    for batch in batched(read, 500):
        drop(connection, batch)
        insert_rows(connection, files, (asdict(file) for file in batch))


def drop(connection: Connection, removed: Iterable[File]) -> None:
    """Forget files, in the transaction that removes their documents."""
    for batch in batched(removed, 500):
        connection.execute(delete(files).where(tuple_(files.c.source, files.c.file).in_([(file.source, file.file) for file in batch])))


def reader_of(connection: Connection, file: File) -> str | None:
    """The key of the options that a file was last read with, None when it never was."""
    statement = select(files.c.reader).where(files.c.source == file.source, files.c.file == file.file)
    reader: str | None = connection.execute(statement).scalar()
    return reader
