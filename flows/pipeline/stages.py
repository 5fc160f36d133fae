"""The table of stages: from documents to entities, then from entities to the projections, in the order in which they are done.

Each stage says what its result rests on and what it does. Ingestion, plan, status, check and repair, and what follows a
correction all go by this table; a stage more is an entry more.

The keys of the first table form a chain: a stage's key takes in that of the stage before it, so that a change marks exactly
what depends on it. A document whose key differs from the one that it is marked with is out of date for the stage.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from polyonym.flows.home.interrupts import clean_point
from polyonym.flows.home.knowledge import Knowledge
from polyonym.flows.home.settings import Settings
from polyonym.flows.pipeline import extraction, loading, resolving, summarising
from polyonym.flows.pipeline.run import Batch, Run, out_of_date
from polyonym.ingest.mentions.pipelines import pipeline_version
from polyonym.ingest.store import fingerprint, stage_marks
from polyonym.ingest.text import documents
from polyonym.ingest.text.documents import content_hash
from polyonym.ingest.text.embedding import model_fingerprint

Keys = Mapping[str, str]
"""Document to key: a hash of all that a stage's result rests on."""


@dataclass(frozen=True)
class Basis:
    """What keys are worked out from."""

    connection: Connection
    settings: Settings
    knowledge: Knowledge


def _nothing(_: Basis) -> str:
    return ""


def _no_documents(_: Basis) -> Keys:
    return {}


def _no_work(_: Run) -> None:
    pass


@dataclass(frozen=True)
class Stage:
    """One stage of the way from documents to entities.

    A document is marked with its `name`; `title` is what progress, plan and report call it, and `unit` what its steps are. Its key
    takes in that of the stage `after` which it comes ("": none), its own `code` and tables, what it rests on `for_all` documents,
    and what it rests on `for_each`.
    """

    name: str
    title: str
    after: str
    code: tuple[str, ...]
    do: Callable[[Run, Batch], int]  # what it does to a batch of documents; returns how many things came out
    for_all: Callable[[Basis], str] = _nothing
    for_each: Callable[[Basis], Keys] = _no_documents
    at_once: bool = False  # one batch of all documents, also when none is out of date: something may be gone
    unit: str = "documents"
    prepare: Callable[[Run], None] = _no_work
    finish: Callable[[Run], None] = _no_work


@dataclass(frozen=True)
class Projection:
    """One projection of the state, or part of one, brought up to date by what has changed; `load` tells of its steps."""

    name: str
    title: str
    unit: str
    load: Callable[[Run, Callable[[int], None]], None]


def _digests(basis: Basis) -> Keys:
    return {d: digest for d, (digest, _) in documents.digests(basis.connection).items()}


def _chunking(basis: Basis) -> str:
    settings = basis.settings
    return content_hash(model_fingerprint(settings.embedding_model), str(settings.chunk_tokens), str(settings.chunk_overlap))


def _recognition(basis: Basis) -> str:
    settings, registry = basis.settings, basis.knowledge.registry
    patterns = Path(settings.patterns_file)
    return content_hash(
        *sorted(settings.entity_labels),
        content_hash(patterns.read_text("utf-8", "replace")) if settings.patterns_file and patterns.is_file() else "",
        content_hash(*(f"{name}\t{label}" for name, label in registry.names())) if registry else "",
    )


def _recognised(basis: Basis) -> Keys:
    """Texts, and the pipelines of their languages."""
    settings = basis.settings
    versions = {language: pipeline_version(name) for language, name in settings.pipelines.items()}
    if settings.second_spacy_model:
        versions["en"] += f" {pipeline_version(settings.second_spacy_model)}"
    return {d: content_hash(digest, versions.get(language, "")) for d, (digest, language) in documents.digests(basis.connection).items()}


def _coreference(basis: Basis) -> str:
    model = basis.settings.coreference_model
    return pipeline_version(model) if model else ""


CHUNKS = Stage(
    "chunks",
    "Cutting chunks",
    after="",
    code=("ingest/text", "ingest/data"),
    for_all=_chunking,
    for_each=_digests,
    do=extraction.chunk_batch,
)
MENTIONS = Stage(
    "mentions",
    "Finding mentions",
    after="",
    code=("ingest/mentions", "ingest/text", "ingest/data", "ingest/readers/columns.py"),
    for_all=_recognition,
    for_each=_recognised,
    do=extraction.mention_batch,
)
RELATIONS = Stage(
    "relations",
    "Finding relations",
    after="mentions",
    code=("ingest/relations.py", "ingest/mentions/parses.py", "ingest/text/dates.py", "ingest/data"),
    do=extraction.relate_batch,
    finish=lambda run: run.pipelines.close(),  # no more texts are parsed, and what follows needs the room
)
NAMES = Stage(
    "names",
    "Naming",
    after="mentions",
    code=("resolution/names", "resolution/within_document", "resolution/judgements/splits.py", "resolution/data"),
    for_all=_coreference,
    do=resolving.name_batch,
)
LINKS = Stage(
    "links",
    "Linking",
    after="names",
    code=("resolution/linking",),
    for_all=lambda basis: basis.knowledge.version,
    for_each=lambda basis: basis.knowledge.answers(basis.connection),
    do=resolving.link_batch,
    prepare=resolving.ask_wikidata,
)
ENTITIES = Stage(
    "resolve",
    "Resolving",
    after="links",
    code=("resolution/clustering", "resolution/judgements", "resolution/identity.py", "resolution/entities.py", "resolution/decisions.py"),
    for_all=lambda basis: str(basis.settings.unite_demonyms),
    for_each=lambda basis: dict.fromkeys(documents.digests(basis.connection), ""),
    do=resolving.resolve_batch,
    at_once=True,
    unit="names",
)
STAGES = (CHUNKS, MENTIONS, RELATIONS, NAMES, LINKS, ENTITIES)

GRAPH = Projection("graph", "Loading the graph", "nodes and edges", loading.load_graph)
CHUNK_INDEX = Projection("vectors of chunks", "Embedding chunks", "vectors", loading.index_chunks)
ENTITY_INDEX = Projection("vectors of entities", "Embedding entities", "vectors", loading.index_entities)
COMMUNITIES = Projection("communities", "Finding communities", "communities", summarising.divide)
SUMMARIES = Projection("summaries", "Summarising", "communities", summarising.summarise)
COMMUNITY_INDEX = Projection("vectors of communities", "Embedding communities", "vectors", loading.index_communities)
PROJECTIONS = (GRAPH, CHUNK_INDEX, ENTITY_INDEX)
OF_COMMUNITIES = (COMMUNITIES, SUMMARIES, GRAPH, COMMUNITY_INDEX)
"""The projections that the flow of communities makes: with them the graph gets its communities."""


def along_the_chain(basis: Basis, of_held_mentions: bool = False) -> Iterator[tuple[Stage, Keys]]:
    """The stages in order, each with the keys that its documents should be marked with, worked out as it is asked for.

    With `of_held_mentions` names, links and entities are to rest on the mentions as they are, though these may be out of date;
    a document whose present text has none yet keeps the names that it has.
    """
    keys: dict[str, Keys] = {}
    for stage in STAGES:
        if of_held_mentions and stage is MENTIONS:
            keys[stage.name] = stage_marks.held(basis.connection, stage.name)
        else:
            keys[stage.name] = _keys(stage, basis, keys.get(stage.after, {}))
        yield stage, keys[stage.name]


def _keys(stage: Stage, basis: Basis, before: Keys) -> Keys:
    shared = content_hash(fingerprint.of_code(*stage.code), stage.for_all(basis))
    each = stage.for_each(basis)
    documents_ = before if stage.after and not stage.at_once else each
    return {d: content_hash(shared, before.get(d, ""), each.get(d, "")) for d in documents_}


def keys_of(stage: Stage, basis: Basis, of_held_mentions: bool = False) -> Keys:
    """The keys of one stage, see `along_the_chain`."""
    return next(keys for each, keys in along_the_chain(basis, of_held_mentions) if each is stage)


def do_stage(run: Run, stage: Stage, only: Collection[str] | None = None, of_held_mentions: bool = False, prepare: bool = True) -> None:
    """Do a stage for the documents that are out of date for it (of `only` these, where given), with a clean point before each batch.

    See `along_the_chain` for `of_held_mentions`; without `prepare` nobody else is asked first. Raises Interrupted at a clean point
    when the user asks for it: what is done is kept.
    """
    if prepare:
        stage.prepare(run)
    with run.engine.connect() as connection:
        keys = keys_of(stage, Basis(connection, run.settings, run.knowledge), of_held_mentions)
    if only is not None:
        keys = {d: key for d, key in keys.items() if d in only}
    batches = [Batch(1, [], keys)] if stage.at_once else out_of_date(run, stage.name, keys)
    do_batch = run.as_task(stage.do, stage.title.lower())
    total = None if stage.at_once else sum(len(b.documents) for b in batches)
    with run.timings.stage(stage.title, total, stage.unit) as shown:
        for batch in batches:
            clean_point()
            steps = do_batch(run, batch)
            shown.advance(steps if stage.at_once else len(batch.documents))
    stage.finish(run)


def load_projection(run: Run, projection: Projection) -> None:
    """Bring a projection up to date with the state. Raises Interrupted when the user asks for it."""
    with run.timings.stage(projection.title, None, projection.unit) as shown:
        projection.load(run, loading.stopping(shown.advance))
