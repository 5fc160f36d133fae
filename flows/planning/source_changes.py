"""What reading the sources would change, found out as `ingest` finds it out: by reading what is new, changed or moved."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from polyonym.flows.home.settings import Settings
from polyonym.flows.pipeline import reading
from polyonym.ingest.sources import removals, sources
from polyonym.ingest.sources.sources import File, Scan
from polyonym.ingest.text import chunks, documents
from polyonym.ingest.text.documents import Document
from polyonym.ingest.text.embedding import Embedder


@dataclass(frozen=True)
class Kinds:
    """The names of documents by kind of change, and how many are as they were. `moved` maps old name to new."""

    new: list[str]
    changed: list[str]
    moved: dict[str, str]
    gone: list[str]
    unchanged: int

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each kind."""
        counted = {"new": len(self.new), "changed": len(self.changed), "moved": len(self.moved), "gone": len(self.gone)}
        return counted | {"unchanged": self.unchanged}


def compare(before: Mapping[str, str], after: Mapping[str, str], moved: Mapping[str, str]) -> Kinds:
    """What became of documents, given as name to digest; `moved` are those that bear a new name."""
    carried = {old: new for old, new in moved.items() if new in after}
    new = sorted(after.keys() - before.keys() - set(carried.values()))
    gone = sorted(before.keys() - after.keys() - set(carried))
    changed = sorted(d for d in after.keys() & before.keys() - set(carried.values()) if after[d] != before[d])
    return Kinds(new, changed, carried, gone, len(after) - len(new) - len(changed) - len(carried))


@dataclass(frozen=True)
class Coming:
    """Documents by what would become of them, and how many chunks those that change, come or move would be cut into."""

    kinds: Kinds
    chunks: int

    @property
    def documents(self) -> int:
        """How many documents would go through all stages."""
        return len(self.kinds.new) + len(self.kinds.changed) + len(self.kinds.moved)

    @property
    def leaving(self) -> set[str]:
        """The documents whose results would not be used again under their name."""
        return {*self.kinds.changed, *self.kinds.moved, *self.kinds.gone}


def look(connection: Connection, scan: Scan, settings: Settings, allow_deletions: bool) -> Coming:
    """Read what `ingest` would read; nothing is written. Raises WrongUse where `ingest` would."""
    if not allow_deletions:
        reading.check_losses(connection, scan, settings)
    digests = documents.digests(connection)
    before = {name: digest for name, (digest, _) in digests.items()}
    gone = _names(connection, scan.gone)
    moved = {
        name: new.name + name[len(old.name) :]
        for old, new in (*scan.renamed, *scan.moved)
        for name in documents.of_file(connection, old.source, old.file)
    }
    arrived = set(moved.values())
    after = {moved.get(name, name): digest for name, digest in before.items() if name not in gone}
    embedder = Embedder(settings.embedding_model)
    count, kept = 0, _names(connection, [old for old, _ in scan.renamed])  # kept: chunks that only get another document's name
    for old, file in [*((f, f) for f in (*scan.new, *scan.changed)), *scan.moved]:
        was = {moved.get(n, n): n for n in documents.of_file(connection, old.source, old.file)}
        same_settings = file.reader == sources.reader_of(connection, old)
        known = {new: digests[n] for new, n in was.items() if n in digests} if same_settings else {}
        removed = {file.name + n[len(old.name) :]: r for n, r in removals.of_file(connection, old).items()}
        seen = set()
        for name, result in reading.results(file, scan, settings, known):
            if name in removed and removed[name].holds(file, result):
                continue
            seen.add(name)
            if isinstance(result, Document):
                digest = result.digest
                if name in arrived or after.get(name) != digest:
                    count += len(chunks.chunk(result, embedder.count_tokens, settings.chunk_tokens, settings.chunk_overlap))
                after[name] = digest
            elif result is not None:
                after.pop(name, None)
            elif was[name] != name:
                kept.add(was[name])
        for name in was.keys() - seen:
            after.pop(name, None)
    return Coming(compare(before, after, moved), count + chunks_of(connection, kept))


def chunks_of(connection: Connection, names: Iterable[str]) -> int:
    """How many chunks these documents have now."""
    return sum(1 for _ in chunks.load(connection, sorted(names)))


def _names(connection: Connection, files: Iterable[File]) -> set[str]:
    return {name for file in files for name in documents.of_file(connection, file.source, file.file)}
