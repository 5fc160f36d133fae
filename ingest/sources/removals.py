"""Documents that a person has taken out: they stay out while their file, or what they hold of it, is as it was then."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from sqlalchemy import Connection

from polyonym.ingest.sources import sources
from polyonym.ingest.sources.sources import File
from polyonym.ingest.store.tables import get_fact, set_fact
from polyonym.ingest.text import documents
from polyonym.ingest.text.documents import Document, Rejection

_FACT = "removed_documents"


@dataclass(frozen=True)
class Removal:
    """A document that was taken out. `file_digest` is of its file's bytes, `digest` of its own content (whatever its language)."""

    document: str
    source: str
    file: str
    file_digest: str
    digest: str

    def holds(self, file: File, content: Document | Rejection | None) -> bool:
        """Whether what is now found in its file is still what was taken out."""
        return self.file_digest == file.digest or (isinstance(content, Document) and self.digest == _digest(content))


def _digest(document: Document) -> str:
    return replace(document, language="").digest


def load(connection: Connection) -> list[Removal]:
    """All removals, sorted by document."""
    return [Removal(**row) for row in get_fact(connection, _FACT, [])]


def of_file(connection: Connection, file: File) -> dict[str, Removal]:
    """The removals from one file, by document."""
    return {r.document: r for r in load(connection) if (r.source, r.file) == (file.source, file.file)}


def add(connection: Connection, name: str) -> None:
    """Keep that this document, or what was set aside under this name, is taken out; to be called before it is."""
    digests = {(f.source, f.file): f.digest for f in sources.known_files(connection)}
    read = list(documents.load(connection, [name]))
    aside = [r for r in documents.rejections(connection) if r.document == name]
    new = [Removal(name, d.source, d.file, digests.get((d.source, d.file), ""), _digest(d)) for d in read]
    new += [Removal(name, r.source, r.file, digests.get((r.source, r.file), ""), "") for r in aside]
    _store(connection, [*(r for r in load(connection) if r.document != name), *new])


def keep(connection: Connection, file: File, names: Iterable[str]) -> None:
    """Drop the removals from a file but those of `names`, which now hold for the file as it is."""
    stay = set(names)
    known = load(connection)
    others = [r for r in known if (r.source, r.file) != (file.source, file.file)]
    _store(connection, [*others, *(replace(r, file_digest=file.digest) for r in known if r not in others and r.document in stay)])


def follow(connection: Connection, moved: Iterable[tuple[File, File]]) -> None:
    """Carry removals over to where their files have gone, or under the names that their documents have now."""
    places = {(old.source, old.file): (old, new) for old, new in moved}
    result = []
    for removal in load(connection):
        if pair := places.get((removal.source, removal.file)):
            name = pair[1].name + removal.document[len(pair[0].name) :]
            removal = replace(removal, document=name, source=pair[1].source, file=pair[1].file)
        result.append(removal)
    _store(connection, result)


def forget_files(connection: Connection, gone: Iterable[File]) -> None:
    """Drop the removals from files that are gone."""
    places = {(f.source, f.file) for f in gone}
    _store(connection, [r for r in load(connection) if (r.source, r.file) not in places])


def forget_source(connection: Connection, root: str) -> None:
    """Drop the removals from a source."""
    _store(connection, [r for r in load(connection) if r.source != root])


def _store(connection: Connection, removals: Iterable[Removal]) -> None:
    rows = [asdict(r) for r in sorted(removals, key=lambda r: r.document)]
    if rows != get_fact(connection, _FACT, []):
        set_fact(connection, _FACT, rows)
