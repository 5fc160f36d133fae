"""From sources to documents: what has changed on disk is read; what cannot be read is set aside with its reason."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection

from polyonym.flows.home import history
from polyonym.flows.home.history import Change, gone_id
from polyonym.flows.home.interrupts import clean_point
from polyonym.flows.home.settings import Settings, SourceSettings
from polyonym.flows.pipeline.run import Run
from polyonym.ingest import relations
from polyonym.ingest.mentions import mentions
from polyonym.ingest.readers import Layout, Read, ReaderOptions, Unreadable, is_named_by_content, is_table, read_file
from polyonym.ingest.sources import removals, sources, table_layouts
from polyonym.ingest.sources.sources import File, Scan, matches_path
from polyonym.ingest.store import fingerprint, model_outputs, stage_marks
from polyonym.ingest.store.tables import batched
from polyonym.ingest.text import chunks, documents
from polyonym.ingest.text.dates import document_date
from polyonym.ingest.text.documents import Document, Rejection
from polyonym.ingest.text.languages import detect
from polyonym.resolution.clustering.resolve import remember_moves
from polyonym.resolution.linking import links
from polyonym.resolution.within_document import document_names

ROWS_AT_ONCE = 500
DATES = ("ingest/text/dates.py", "ingest/data/date_words.tsv")


def source_settings(settings: Settings, path: Path) -> SourceSettings | None:
    """What the settings say of a file: the first [[sources]] table of which a path is the file, the end of its path, or a folder that holds it."""
    return next((of for of in settings.sources if matches_path(of.paths, path)), None)


def reader_options(settings: Settings, path: Path) -> ReaderOptions:
    """How a file is read, by our settings."""
    said = source_settings(settings, path)
    text = (said.text_columns if said else ()) or tuple(filter(None, [settings.text_column]))
    identity = (said.id_column if said else "") or settings.id_column
    day = said.date_column if said else ""
    columns = (text, tuple(filter(None, [identity])), tuple(filter(None, [day])))
    return ReaderOptions(int(settings.size_limit_mb * 1_000_000), *columns, settings.comments)


def reader_key(settings: Settings) -> Callable[[Path], str]:
    """For a file a key that changes when it has to be read again: with the readers, their options and the languages that have a pipeline."""
    code = fingerprint.of_code("ingest/readers", "ingest/text/languages.py", "ingest/text/documents.py", *DATES)

    def key(path: Path) -> str:
        said = source_settings(settings, path)
        language = said.language if said else ""
        options = reader_options(settings, path).key
        return "\n".join([code, options, *filter(None, [language]), settings.default_language, *sorted(settings.pipelines)])

    return key


def check_losses(connection: Connection, scan: Scan, settings: Settings) -> None:
    """Raises WrongUse when more than a fifth of a source's documents would go: with their files, as rows that a table has no more, or
    because files became empty or broken.

    Nothing is written. Files are read for this only where so many documents could go; what would be set aside for its language alone
    counts as there.
    """
    counted = {c.source.root: c for c in sources.counts(connection)}
    here = set(scan.paths.values())
    gone = [f for f in scan.gone if counted[f.source].source.base / f.file not in here]  # else another source has taken it over
    at_risk: dict[str, list[tuple[File, File | None]]] = defaultdict(list)
    for old, new in (*((f, f) for f in scan.changed), *scan.moved, *((f, None) for f in gone)):
        at_risk[old.source].append((old, new))
    for source, files in at_risk.items():
        names = [documents.held_of_file(connection, source, old.file).keys() for old, _ in files]
        if sum(map(len, names)) <= sources.MOST_GONE * counted[source].documents:
            continue
        lost = 0
        for (old, new), of_file in zip(files, names, strict=True):
            clean_point()
            before = {n[len(old.name) :] for n in of_file}
            now = _readable(new, scan, settings) if new and of_file else set()
            # A row that is called by what it holds has another name when that has changed: it is not lost.
            lost += max(0, len(before - now) - sum(is_named_by_content(end) for end in now - before))
        if lost:
            sources.check_loss(source, lost, counted[source].documents, "documents")


def _readable(file: File, scan: Scan, settings: Settings) -> set[str]:
    """The ends of the names of what can be read of a file."""
    if file.problem:
        return set()
    contents = read_file(scan.path(file), reader_options(settings, scan.path(file)))
    return {_ending(result) for result in contents if not isinstance(result, Unreadable)}


def _ending(result: Read | Unreadable) -> str:
    return f"/{result.suffix}" if result.suffix else ""


def read_one(run: Run, scan: Scan, file: File, arrived: Mapping[str, str], tell: Callable[[int], None]) -> None:
    """Read a file's documents into the state, a batch of rows a transaction, then take out what the file no longer holds.

    `arrived` are the names that documents have moved to, with those before, for the history: they are none of new documents. What a
    person has removed stays out while it is the same. `tell` is called with the number of documents so far. The file is marked as read last: after a crash it is read again, and
    documents that are the same stay as they are.
    """
    with run.engine.connect() as connection:
        before = documents.of_file(connection, file.source, file.file)
        # With other settings than then, a document's language may come out otherwise.
        same_settings = file.reader == sources.reader_of(connection, file)
        known = documents.held_of_file(connection, file.source, file.file) if same_settings else {}
        removed = removals.of_file(connection, file)
    seen: set[str] = set()
    out: set[str] = set()
    layouts: list[Layout] = []
    for batch in batched(results(file, scan, run.settings, known, layouts), ROWS_AT_ONCE):
        clean_point()
        out.update(name for name, result in batch if name in removed and removed[name].holds(file, result))
        seen.update(name for name, _ in batch if name not in out)
        read = [d for name, d in batch if isinstance(d, Document) and name not in out]
        aside = [r for name, r in batch if isinstance(r, Rejection) and name not in out]
        if read or aside:
            with run.engine.begin() as connection:
                _save(connection, run.number, read, aside, arrived)
        tell(len(seen))
    with run.engine.begin() as connection:
        _take_out(connection, run.number, before - seen)
        removals.keep(connection, file, out)
        sources.record(connection, [file])
        table_layouts.replace(connection, file.source, file.file, layouts)


def _save(connection: Connection, run: int, read: Sequence[Document], aside: Sequence[Rejection], arrived: Mapping[str, str]) -> None:
    """Store what was read, with the run's record of what changed by it. What was found in another text of a document counts no more."""
    before = documents.digests_of(connection, [d.document for d in read])
    changed = [d.document for d in read if before.get(d.document, d.digest) != d.digest]
    new = [d.document for d in read if d.document not in before]
    _take_out(connection, run, [r.document for r in aside])
    stage_marks.forget(connection, changed)
    documents.save(connection, read, aside)
    history.record(connection, run, (Change("document-changed", d) for d in changed))
    history.record(connection, run, (_moved(arrived[d], d) if d in arrived else Change("document-new", d) for d in new))


def _moved(old: str, new: str) -> Change:
    return Change("document-moved", new, gone_id(old))


def _take_out(connection: Connection, run: int, names: Collection[str], moved: Collection[str] = ()) -> None:
    """Forget documents, with the run's record of those that have not `moved`."""
    digests = documents.digests_of(connection, sorted(names))
    forget(connection, sorted(names))
    history.record(connection, run, (Change("document-gone", gone_id(d)) for d in sorted(digests.keys() - set(moved))))


def results(
    file: File, scan: Scan, settings: Settings, known: Mapping[str, tuple[str, str]], layouts: list[Layout] | None = None
) -> Iterator[tuple[str, Document | Rejection | None]]:
    """The names of what a file holds, each with its document or rejection, None when it is `known` (digest, language) unchanged.

    What is found out about tables meanwhile goes to `layouts`.
    """
    if file.problem:
        yield file.name, _set_aside(file, file.name, Unreadable("", file.problem))
        return
    path = scan.path(file)
    said = source_settings(settings, path)
    for result in read_file(path, reader_options(settings, path), layouts):
        name = file.name + _ending(result)
        if isinstance(result, Unreadable):
            yield name, _set_aside(file, name, result)
            continue
        digest, language = known.get(name, ("", ""))
        if language and _document(file, name, result, language).digest == digest:
            yield name, None  # its language, the costliest thing to find out, is known
        else:
            language = (said.language if said else "") or detect(result.text, settings.default_language)
            document = _document(file, name, result, language)
            reason = f"no spaCy pipeline for its language ({language}); set one in spacy_models"
            yield name, document if language in settings.pipelines else _set_aside(file, name, Unreadable("", reason))


def _set_aside(file: File, name: str, result: Unreadable) -> Rejection:
    return Rejection(name, file.source, file.file, result.reason)


def _document(file: File, name: str, result: Read, language: str) -> Document:
    named = file.name if is_table(file.name) else name  # a row's id says nothing of its date
    date = document_date(result.metadata, result.text, named, language)
    return Document(name, file.source, file.file, result.title, language, result.text, result.metadata, *date)


def forget(connection: Connection, names: Sequence[str]) -> None:
    """Take out all that rests on these documents inside one document; entities follow when names are resolved."""
    for batch in batched(sorted(names), 500):
        documents.remove(connection, batch)
        chunks.replace(connection, batch, [])
        mentions.replace(connection, batch, [])
        relations.replace(connection, batch, [])
        document_names.replace(connection, batch, [], [])
        links.replace(connection, batch, [])
        model_outputs.use(connection, {owner: [] for name in batch for owner in (f"mentions:{name}", f"relations:{name}")})
        stage_marks.forget(connection, batch)
        history.forget_documents(connection, batch)


def forget_files(run: Run, scan: Scan, gone: Sequence[File]) -> None:
    """Take out the documents of files that are gone (or were renamed)."""
    for batch in batched(gone, 200):
        with run.engine.begin() as connection:
            names = sorted({name for file in batch for name in documents.of_file(connection, file.source, file.file)})
            moved = [(old, new) for old, new in scan.moved if old in batch]
            digests = {
                n: new.name + n[len(old.name) :] for old, new in moved for n in documents.held_of_file(connection, old.source, old.file)
            }
            remember_moves(connection, digests)
            removals.forget_files(connection, set(batch) - {old for old, _ in moved})
            removals.follow(connection, moved)
            _take_out(connection, run.number, names, digests)
            sources.drop(connection, batch)
            for old in batch:
                table_layouts.drop(connection, old.source, old.file)


def rename_documents(run: Run, renamed: Sequence[tuple[File, File]]) -> list[str]:
    """Give documents their new names where another source came or went; their files are the same and are not read.

    Returns the new names. What was found in these documents is to be found again, from the models' kept outputs.
    """
    named: list[str] = []
    # All at once where one takes the name that another still bears.
    circular = {old.name for old, _ in renamed} & {new.name for _, new in renamed}
    for batch in [list(renamed)] if circular else [[pair] for pair in renamed]:
        with run.engine.begin() as connection:
            new_names: dict[str, str] = {}
            for old, new in batch:
                new_names |= {n: new.name + n[len(old.name) :] for n in documents.of_file(connection, old.source, old.file)}
            names = sorted(new_names)
            stored = list(documents.load(connection, names))
            read = [replace(d, document=new_names[d.document]) for d in stored]
            aside = [replace(r, document=new_names[r.document]) for r in documents.rejections(connection) if r.document in new_names]
            remember_moves(connection, {d.document: new_names[d.document] for d in stored})
            removals.follow(connection, batch)
            forget(connection, names)
            documents.save(connection, read, aside)
            history.record(connection, run.number, (_moved(d.document, new_names[d.document]) for d in stored))
            sources.drop(connection, [old for old, _ in batch])
            sources.record(connection, [new for _, new in batch])
            for old, new in batch:
                table_layouts.move(connection, (old.source, old.file), (new.source, new.file))
        named += [d.document for d in read]
    return named
