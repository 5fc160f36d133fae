"""From documents to what is said in them: chunks, mentions, relations. Each function does one batch, in one transaction at its end."""

from collections.abc import Mapping

from polyonym.flows.home.settings import Settings
from polyonym.flows.pipeline.run import Batch, Run
from polyonym.ingest import relations
from polyonym.ingest.mentions import mentions, parses
from polyonym.ingest.mentions.mentions import LABELS, Layout, Mention, Recogniser
from polyonym.ingest.store import model_outputs, stage_marks
from polyonym.ingest.text import chunks, documents
from polyonym.ingest.text.dates import Stated
from polyonym.ingest.text.documents import Document


def chunk_batch(run: Run, batch: Batch) -> int:
    """Cut a batch of documents into chunks; returns how many."""
    settings = run.settings
    with run.engine.connect() as connection:
        texts = list(documents.load(connection, batch.documents))
    made = [c for d in texts for c in chunks.chunk(d, run.embedder.count_tokens, settings.chunk_tokens, settings.chunk_overlap)]
    with run.engine.begin() as connection:
        chunks.replace(connection, batch.documents, made)
        stage_marks.mark(connection, "chunks", {d: batch.keys[d] for d in batch.documents})
    return len(made)


def mention_batch(run: Run, batch: Batch) -> int:
    """Find the mentions of a batch of documents; returns how many."""
    with run.engine.connect() as connection:
        texts = [(d, mentions.layout(d)) for d in documents.load(connection, batch.documents)]
    payloads: dict[str, dict[str, bytes]] = {}
    fresh: dict[str, dict[str, bytes]] = {}
    for pipeline in sorted({p for d, _ in texts for p in _pipelines(run.settings, d)}):
        mine = [(d, where) for d, where in texts if pipeline in _pipelines(run.settings, d)]
        model = mentions.model_name(pipeline)
        with run.engine.connect() as connection:
            kept = model_outputs.load(connection, model, [p.content for _, where in mine for p in where.passages])
        fresh[model] = mentions.recognise_missing(mine, pipeline, kept, run.pipelines)
        payloads[pipeline] = kept | fresh[model]
    recognised = [m for d, where in texts for m in _mentions(run, d, where, payloads)]
    with run.engine.begin() as connection:
        for model, new in fresh.items():
            model_outputs.save(connection, model, new)
        model_outputs.use(connection, {f"mentions:{d.document}": [p.content for p in where.passages] for d, where in texts})
        mentions.replace(connection, batch.documents, recognised)
        stage_marks.mark(connection, "mentions", {d: batch.keys[d] for d in batch.documents})
    return len(recognised)


def _pipelines(settings: Settings, document: Document) -> list[str]:
    second = [settings.second_spacy_model] if document.language == "en" and settings.second_spacy_model else []
    return [settings.pipelines[document.language], *second]


def _mentions(run: Run, document: Document, where: Layout, payloads: Mapping[str, Mapping[str, bytes]]) -> list[Mention]:
    first, *rest = (Recogniser(p, payloads[p]) for p in _pipelines(run.settings, document))
    labels = tuple(run.settings.entity_labels) or LABELS
    return mentions.find_mentions(document, where, first, rest[0] if rest else None, run.gazetteer, labels)


def relate_batch(run: Run, batch: Batch) -> int:
    """Find the relations of a batch of documents; returns how many."""
    settings = run.settings
    with run.engine.connect() as connection:
        texts = list(documents.load(connection, batch.documents))
        by_document: dict[str, list[Mention]] = {d.document: [] for d in texts}
        for mention in mentions.load(connection, batch.documents):
            by_document[mention.document].append(mention)
    made = []
    fresh: dict[str, dict[str, bytes]] = {}
    used: dict[str, list[str]] = {}
    times: dict[str, list[Stated]] = {}
    for language in sorted({d.language for d in texts}):
        mine = [(d, by_document[d.document]) for d in texts if d.language == language]
        pipeline = settings.pipelines[language]
        model = parses.model_name(pipeline)
        wanted = {d.document: relations.contents(d, mentioned) for d, mentioned in mine}
        used.update({f"relations:{d}": mentioned for d, mentioned in wanted.items()})
        with run.engine.connect() as connection:
            kept = model_outputs.load(connection, model, [c for mentioned in wanted.values() for c in mentioned])
        fresh[model] = relations.parse_missing(mine, pipeline, kept, run.pipelines)
        times.update({d.document: relations.find_times(d, mentioned) for d, mentioned in mine})
        made += [r for d, mentioned in mine for r in relations.find_relations(d, mentioned, kept | fresh[model], times[d.document])]
    with run.engine.begin() as connection:
        for model, new in fresh.items():
            model_outputs.save(connection, model, new)
        model_outputs.use(connection, used)
        relations.replace(connection, batch.documents, made, times)
        stage_marks.mark(connection, "relations", {d: batch.keys[d] for d in batch.documents})
    return len(made)
