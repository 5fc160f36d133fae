"""From mentions to entities: grouping inside each document, links to the knowledge sources, then clusters across documents."""

from collections import defaultdict
from collections.abc import Mapping

from polyonym.flows.home import history
from polyonym.flows.home.history import Change
from polyonym.flows.home.knowledge import names_to_ask
from polyonym.flows.pipeline.loading import stopping
from polyonym.flows.pipeline.run import Batch, Run
from polyonym.graph.relations import gather
from polyonym.ingest.mentions import mentions
from polyonym.ingest.mentions.mentions import Mention
from polyonym.ingest.store import stage_marks
from polyonym.ingest.text import documents
from polyonym.ingest.text.documents import Document
from polyonym.resolution.clustering.resolve import resolve
from polyonym.resolution.judgements import judgements
from polyonym.resolution.judgements.splits import with_splits
from polyonym.resolution.linking import links
from polyonym.resolution.linking.linker import link_documents
from polyonym.resolution.linking.links import Link
from polyonym.resolution.linking.wikidata import client as wikidata
from polyonym.resolution.within_document import document_names
from polyonym.resolution.within_document.coreference import coreferences
from polyonym.resolution.within_document.document_entities import DocumentName
from polyonym.resolution.within_document.document_names import COREFERENT, MentionName


def name_batch(run: Run, batch: Batch) -> int:
    """Name and group the mentions of a batch of documents, as judged; returns how many (document, name) there are."""
    with run.engine.connect() as connection:
        texts = list(documents.load(connection, batch.documents))
        by_document: dict[str, list[Mention]] = defaultdict(list)
        held_before = list(mentions.load(connection, batch.documents))
        for mention in held_before:
            if mention.label != COREFERENT:  # those are of the model before
                by_document[mention.document].append(mention)
        parts = judgements.split_names(judgements.load(connection))
    names: list[DocumentName] = []
    named: list[MentionName] = []
    for document in texts:
        mentioned = by_document[document.document]
        chains: tuple[tuple[tuple[int, int], ...], ...] = ()
        if document.language == "en" and run.settings.coreference_model:
            coreferent = coreferences(run.settings.coreference_model, document, mentioned)
            mentioned += coreferent.mentions
            chains = coreferent.chains
        of_names, of_mentions = _named(document, mentioned, chains, parts)
        names += of_names
        named += of_mentions
    with run.engine.begin() as connection:
        if run.settings.coreference_model or any(m.label == COREFERENT for m in held_before):
            mentions.replace(connection, batch.documents, (m for mentioned in by_document.values() for m in mentioned))
        document_names.replace(connection, batch.documents, names, named)
        stage_marks.mark(connection, "names", {d: batch.keys[d] for d in batch.documents})
    return len(names)


def _named(
    document: Document,
    mentioned: list[Mention],
    chains: tuple[tuple[tuple[int, int], ...], ...],
    parts: Mapping[tuple[str, str, int], str],
) -> tuple[list[DocumentName], list[MentionName]]:
    names, named = document_names.group(document, mentioned, chains)
    own = {key: part for key, part in parts.items() if key[0] == document.document}
    return with_splits(names, named, mentioned, own) if own else (names, named)


def ask_wikidata(run: Run) -> None:
    """Ask Wikidata for the names that its cache does not answer. What it does not answer now stays pending; the run goes on."""
    client = run.knowledge.wikidata
    with run.engine.begin() as connection:
        wikidata.purge(connection, names_to_ask(connection))
        names = [] if client.off else list(names_to_ask(connection))
    if client.off:
        run.notes.append(f"Wikidata was not asked: {client.off}")
        return
    with run.timings.stage("Asking Wikidata", None, "names") as stage:
        tell = stopping(stage.advance)
        answer = client.prefetch(names, lambda done, total: tell(done - stage.done))
    if answer.stopped:
        run.notes.append(f"Wikidata stays away ({answer.stopped}): {answer.pending:,} names wait for the next run.")
    elif answer.limited:
        run.notes.append(
            f"{answer.pending:,} names wait for the next run: a run asks Wikidata at most so many times (wikidata_requests_per_run)."
        )
    elif answer.pending:
        run.notes.append(f"Wikidata gave no answer for {answer.pending:,} of the names: the next run asks again.")


def link_batch(run: Run, batch: Batch) -> int:
    """Link the names of a batch of documents; returns how many links were made."""
    knowledge = run.knowledge
    with run.engine.connect() as connection:
        texts = list(documents.load(connection, batch.documents))
        names: dict[str, list[DocumentName]] = {d: [] for d in batch.documents}
        parts: list[Link] = []
        for name in document_names.load(connection, batch.documents):
            if judgements.is_part(name.name):  # a person has said that it is not what the name says
                parts.append(Link(name.document, name.name, weights_version=knowledge.weights.version))
            else:
                names[name.document].append(name)
    made = link_documents(texts, names, knowledge.registry, knowledge.sources, knowledge.weights) + parts
    with run.engine.begin() as connection:
        links.replace(connection, batch.documents, made)
        stage_marks.mark(connection, "links", {d: batch.keys[d] for d in batch.documents})
    return sum(link.wikidata_id is not None or link.registry_id is not None for link in made)


def resolve_batch(run: Run, batch: Batch) -> int:
    """Bring the entities up to date and record what changed, in one transaction: the history loses nothing to a crash.

    The batch has the keys of all documents. Returns how many within-document entities were looked at.
    """
    keys = batch.keys
    with run.engine.begin() as connection:
        result = resolve(connection, keys, run.knowledge.about, run.settings.unite_demonyms, run.knowledge.bearers)
        gather(connection)
        # After a correction amid a run: what these documents' entities rest on is not their present text.
        stage_marks.forget(connection, sorted(keys.keys() - stage_marks.held(connection, "names").keys()))
        changes = [
            *(Change("entity-new", i) for i in result.new),
            *(Change("entity-gone", i) for i in result.gone),
            *(Change("entity-merged", old, new) for old, new in result.merged),
            *(Change("entity-split", old, new) for old, new in result.split),
            *(Change("link-gained", i, q) for i, q in result.links_gained),
            *(Change("link-lost", i, q) for i, q in result.links_lost),
        ]
        history.record(connection, run.number, changes)
    return result.document_entities
