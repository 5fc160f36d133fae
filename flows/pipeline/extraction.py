"""From documents to what is said in them: chunks, mentions, relations. Each function does one batch, in one transaction at its end."""

from functools import cached_property
from pathlib import Path

import orjson

from polyonym.flows.pipeline.run import Batch, Run
from polyonym.ingest import relations
from polyonym.ingest.errors import WrongUse
from polyonym.ingest.mentions import mentions
from polyonym.ingest.mentions.gazetteer import Matcher
from polyonym.ingest.mentions.mentions import LABELS, Layout, Mention, Recogniser
from polyonym.ingest.store import model_outputs, stage_marks
from polyonym.ingest.text import chunks, documents
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


class Recognition:
    """How mentions are found in this run: the patterns, made once, and the pipelines."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._labels = tuple(run.settings.entity_labels) or LABELS

    @cached_property
    def _patterns(self) -> Matcher | None:
        registry = self._run.knowledge.registry
        names = [*(registry.names() if registry else []), *read_patterns(self._run.settings.patterns_file)]
        return Matcher([(name, label or "OTHER") for name, label in names]) if names else None

    def batch(self, batch: Batch) -> int:
        """Find the mentions of a batch of documents; returns how many."""
        run = self._run
        with run.engine.connect() as connection:
            texts = [(d, mentions.layout(d)) for d in documents.load(connection, batch.documents)]
        payloads: dict[str, dict[str, bytes]] = {}
        fresh: dict[str, dict[str, bytes]] = {}
        for pipeline in sorted({p for d, _ in texts for p in self._pipelines(d)}):
            mine = [(d, where) for d, where in texts if pipeline in self._pipelines(d)]
            model = mentions.model_name(pipeline)
            with run.engine.connect() as connection:
                kept = model_outputs.load(connection, model, [p.content for _, where in mine for p in where.passages])
            fresh[model] = mentions.recognise_missing(mine, pipeline, kept, run.pipelines)
            payloads[pipeline] = kept | fresh[model]
        found = [m for d, where in texts for m in self._find(d, where, payloads)]
        with run.engine.begin() as connection:
            for model, new in fresh.items():
                model_outputs.save(connection, model, new)
            model_outputs.use(connection, {f"mentions:{d.document}": [p.content for p in where.passages] for d, where in texts})
            mentions.replace(connection, batch.documents, found)
            stage_marks.mark(connection, "mentions", {d: batch.keys[d] for d in batch.documents})
        return len(found)

    def _pipelines(self, document: Document) -> list[str]:
        settings = self._run.settings
        second = [settings.second_spacy_model] if document.language == "en" and settings.second_spacy_model else []
        return [settings.pipelines[document.language], *second]

    def _find(self, document: Document, where: Layout, payloads: dict[str, dict[str, bytes]]) -> list[Mention]:
        first, *rest = (Recogniser(p, payloads[p]) for p in self._pipelines(document))
        return mentions.find_mentions(document, where, first, rest[0] if rest else None, self._patterns, self._labels)


def read_patterns(file: str) -> list[tuple[str, str]]:
    """The user's gazetteer: (name, label); none without a file. Raises WrongUse, naming the line, when it cannot be read."""
    if not file:
        return []
    rows = []
    number = 0
    try:
        for line in Path(file).read_text(encoding="utf-8-sig").splitlines():
            number += 1
            if line.strip():
                row = orjson.loads(line)
                rows.append((str(row["name"]), str(row.get("label") or "OTHER")))
    except OSError as error:
        raise WrongUse(f"The patterns file {file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise WrongUse(f"The patterns file {file} is not UTF-8: {error}. Save it as UTF-8.") from error
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise WrongUse(
            f'The patterns file {file}, line {number}: each line is an object such as {{"name": "Aurelia", "label": "ORG"}} ({error}).'
        ) from error
    return rows


def relate_batch(run: Run, batch: Batch) -> int:
    """Find the relations of a batch of documents; returns how many."""
    settings = run.settings
    with run.engine.connect() as connection:
        texts = list(documents.load(connection, batch.documents))
        found: dict[str, list[Mention]] = {d.document: [] for d in texts}
        for mention in mentions.load(connection, batch.documents):
            found[mention.document].append(mention)
    made = []
    fresh: dict[str, dict[str, bytes]] = {}
    used: dict[str, list[str]] = {}
    for language in sorted({d.language for d in texts}):
        mine = [(d, found[d.document]) for d in texts if d.language == language]
        pipeline = settings.pipelines[language]
        model = relations.model_name(pipeline)
        wanted = {d.document: relations.contents(d, held) for d, held in mine}
        used.update({f"relations:{d}": held for d, held in wanted.items()})
        with run.engine.connect() as connection:
            kept = model_outputs.load(connection, model, [c for held in wanted.values() for c in held])
        fresh[model] = relations.parse_missing(mine, pipeline, kept, run.pipelines)
        made += [r for d, held in mine for r in relations.find_relations(d, held, kept | fresh[model])]
    with run.engine.begin() as connection:
        for model, new in fresh.items():
            model_outputs.save(connection, model, new)
        model_outputs.use(connection, used)
        relations.replace(connection, batch.documents, made)
        stage_marks.mark(connection, "relations", {d: batch.keys[d] for d in batch.documents})
    return len(made)
