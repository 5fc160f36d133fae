"""What each stage of a document rests on, as one hash: when it differs from the one held, the stage is out of date.

The keys form a chain: a stage's key takes in that of the stage before it, so that a change marks exactly what depends on it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from sqlalchemy import Connection

from polyonym.flows.home.knowledge import Knowledge
from polyonym.flows.home.settings import Settings
from polyonym.ingest import relations
from polyonym.ingest.mentions import mentions, recognition
from polyonym.ingest.mentions.pipelines import pipeline_version
from polyonym.ingest.store import stage_marks
from polyonym.ingest.text import chunks, documents
from polyonym.ingest.text.documents import content_hash
from polyonym.resolution.clustering import clusters
from polyonym.resolution.linking.registry import Registry
from polyonym.resolution.names import normal_forms
from polyonym.resolution.within_document import document_names

STAGES = ("chunks", "mentions", "relations", "names", "links", "resolve")
Keys = Mapping[str, str]


def chunk_keys(connection: Connection, settings: Settings) -> dict[str, str]:
    """For every document, what its chunks rest on."""
    base = content_hash(str(chunks.RULES), settings.embedding_model, str(settings.chunk_tokens), str(settings.chunk_overlap))
    return {d: content_hash(base, digest) for d, (digest, _) in documents.digests(connection).items()}


def mention_keys(connection: Connection, settings: Settings, registry: Registry | None) -> dict[str, str]:
    """For every document, what its mentions rest on: its text, the pipelines of its language, rules, labels and patterns."""
    patterns = Path(settings.patterns_file)
    shared = content_hash(
        str(mentions.RULES),
        *sorted(settings.entity_labels),
        content_hash(patterns.read_text("utf-8", "replace")) if settings.patterns_file and patterns.is_file() else "",
        content_hash(*(f"{name}\t{label}" for name, label in registry.names())) if registry else "",
        str(recognition.RECIPE),
    )
    versions = {language: pipeline_version(name) for language, name in settings.pipelines.items()}
    if settings.second_spacy_model:
        versions["en"] += f" {pipeline_version(settings.second_spacy_model)}"
    held = documents.digests(connection).items()
    return {d: content_hash(shared, digest, versions.get(language, "")) for d, (digest, language) in held}


def relation_keys(mentioned: Keys) -> dict[str, str]:
    """For every document, what its relations rest on."""
    return _after(mentioned, str(relations.RULES), str(relations.RECIPE))


def name_keys(mentioned: Keys, settings: Settings) -> dict[str, str]:
    """For every document, what its names and their grouping rest on."""
    return _after(mentioned, str(document_names.GROUPING_VERSION), str(normal_forms.NORMALISATION_VERSION), settings.coreference_model)


def link_keys(named: Keys, knowledge: Knowledge, said: Mapping[str, str]) -> dict[str, str]:
    """For every document, what its links rest on; `said` is a hash of what Wikidata said of each document's names."""
    return {d: content_hash(key, knowledge.version, said.get(d, "")) for d, key in named.items()}


def resolve_keys(linked: Keys, settings: Settings) -> dict[str, str]:
    """For every document, what the membership of its names in entities rests on."""
    return _after(linked, str(clusters.CLUSTERING_VERSION), str(settings.unite_demonyms))


def summary_key(settings: Settings) -> str:
    """What summaries rest on, the communities' content apart: who writes them."""
    return content_hash(settings.llm_model, str(settings.llm_tokens)) if settings.llm_url else ""


def _after(before: Keys, *parts: str) -> dict[str, str]:
    base = content_hash(*parts)
    return {d: content_hash(base, key) for d, key in before.items()}


def along_the_chain(
    connection: Connection, settings: Settings, knowledge: Knowledge, of_held_mentions: bool = False
) -> Iterator[tuple[str, Keys]]:
    """STAGES in order, each with its keys, worked out as it is asked for.

    With `of_held_mentions` names, links and entities are to rest on the mentions as they are, though these may be out of date;
    a document whose present text has none yet keeps the names that it has.
    """
    yield "chunks", chunk_keys(connection, settings)
    mentioned = stage_marks.held(connection, "mentions") if of_held_mentions else mention_keys(connection, settings, knowledge.registry)
    yield "mentions", mentioned
    yield "relations", relation_keys(mentioned)
    named = name_keys(mentioned, settings)
    yield "names", named
    linked = link_keys(named, knowledge, knowledge.answers(connection))
    yield "links", linked
    yield "resolve", resolve_keys(dict.fromkeys(documents.digests(connection), "") | linked, settings)


def keys_of(stage: str, connection: Connection, settings: Settings, knowledge: Knowledge, of_held_mentions: bool = False) -> Keys:
    """The keys of one of STAGES, see `along_the_chain`."""
    return next(keys for s, keys in along_the_chain(connection, settings, knowledge, of_held_mentions) if s == stage)
