"""What a run would do, said beforehand without writing: work by stage with its reason, and estimates from earlier runs."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, func, select

from polyonym.flows.home import history
from polyonym.flows.home.home import Opened
from polyonym.flows.home.knowledge import Knowledge, names_to_ask
from polyonym.flows.home.settings import Settings
from polyonym.flows.pipeline import reading
from polyonym.flows.pipeline.scanning import check_settings
from polyonym.flows.pipeline.stages import (
    CHUNK_INDEX,
    CHUNKS,
    COMMUNITIES,
    COMMUNITY_INDEX,
    ENTITY_INDEX,
    GRAPH,
    STAGES,
    SUMMARIES,
    Basis,
    Stage,
    along_the_chain,
)
from polyonym.flows.planning import projections_due, source_changes
from polyonym.flows.planning.estimates import Earlier
from polyonym.flows.planning.projections_due import Due
from polyonym.flows.planning.source_changes import Coming
from polyonym.graph.communities import communities
from polyonym.graph.summaries.summaries import summaries
from polyonym.ingest.sources import sources
from polyonym.ingest.store import stage_marks
from polyonym.ingest.store.tables import select_where_in
from polyonym.ingest.text.chunks import chunks
from polyonym.ingest.text.documents import documents
from polyonym.ingest.text.embedding import Embedder
from polyonym.resolution.clustering.resolve import pending as unresolved
from polyonym.resolution.linking.registry import Registry, read_registry
from polyonym.resolution.linking.wikidata import cache as wikidata_cache
from polyonym.resolution.within_document.document_names import document_names

_AS_CHANGED = "what has changed"
_CHANGED = "models, weights, settings or judgements changed, or an earlier run was cut short"
# What a home without a run is taken to be like: examples/corpus.
_NAMES_A_CHUNK = 8
_ASKED_A_NAME = 0.25  # distinct names to ask Wikidata for, by names of documents
_COMMUNITIES_A_DOCUMENT = 0.2
_SUMMARY_TOKENS = 2500  # of one prompt and its answer


def pending(it: Opened, connection: Connection) -> dict[str, int]:
    """What a run would do although no file changed: documents by stage that is out of date, names that Wikidata has not answered,
    and what of graph, indexes, communities and summaries is behind the state."""
    knowledge = Knowledge(it.home, it.settings, it.engine)
    try:
        chain = along_the_chain(Basis(connection, it.settings, knowledge))
        counts = {f"documents for {stage.name}": len(stage_marks.outdated(connection, stage.name, keys)) for stage, keys in chain}
    finally:
        knowledge.close()
    counts |= {"names at Wikidata": len(wikidata_cache.pending(connection)), **projections_due.look(it, connection).counts}
    return {what: count for what, count in counts.items() if count}


Row = dict[str, Any]


def plan(
    it: Opened,
    connection: Connection,
    paths: Sequence[str],
    allow_deletions: bool,
    keep_gone: bool | None = None,
    registry: Path | None = None,
) -> dict[str, Any]:
    """What `ingest` of these paths would do now, with a registry in place of the remembered one where it is given.

    Raises what `ingest` would raise of settings, a registry and missing sources.
    """
    check_settings(it.settings, Embedder(it.settings.embedding_model))
    given = sources.resolve(paths, sources.remembered(connection), keep_gone)
    scan = sources.scan(connection, given, reading.reader_key(it.settings), allow_deletions=allow_deletions, exclude=[it.home.path])
    comes = source_changes.look(connection, scan, it.settings, allow_deletions)
    knowledge = Knowledge(it.home, it.settings, it.engine)
    if registry:
        items = read_registry(registry)
        knowledge.registry = Registry(items) if items else None
    try:
        keys = {stage.name: keys for stage, keys in along_the_chain(Basis(connection, it.settings, knowledge))}
        outdated = {name: stage_marks.outdated(connection, name, keys[name]) for name in keys}
        names, asked = _names_coming(connection, comes), list(names_to_ask(connection))
        known = _count(connection, document_names)
        requests = knowledge.wikidata.requests_for(asked, round(names * (len(asked) / known if known else _ASKED_A_NAME)))
    finally:
        knowledge.close()
    leaving = comes.leaving
    stale = {stage: [d for d in of_stage if d not in leaving] for stage, of_stage in outdated.items()}
    again = source_changes.chunks_of(connection, stale["chunks"])
    cut = comes.chunks + again
    _, left_behind = unresolved(connection, keys["resolve"])
    gone = len(comes.kinds.gone) + len(left_behind)
    moving = comes.documents + gone
    related = moving + max(len(stale["relations"]), len(stale["resolve"]))  # what entities and communities rest on
    touched = max(related, moving + len(stale["chunks"]))  # and what graph and summaries rest on
    behind = projections_due.look(it, connection)
    earlier = Earlier(history.load(connection))
    summaries_due = _summaries(connection, it.settings, earlier, touched, behind)
    work = [
        *_reading(scan, earlier),
        *_by_document(comes.documents, gone, stale, earlier),
        *_asking(requests, it.settings),
        *_loading(touched or (_count(connection, documents) if behind.graph else 0), behind, earlier),
        *_indexing(touched, related, cut + max(0, behind.vectors["chunks"] - again), behind, earlier),
        *_communities(related, behind, earlier),
        *_summarising(touched, summaries_due, it.settings, behind, earlier),
    ]
    seconds = [row["seconds"] for row in work if row["seconds"] is not None]
    kinds = ("new", "changed", "moved", "gone", "unchanged")
    return {
        "files": {kind: len(getattr(scan, kind)) for kind in kinds},
        "documents": comes.kinds.counts,
        "work": work,
        "chunks": cut,
        "names": names + _names_of(connection, stale["resolve"]),
        "wikidata_requests": requests,
        "summary_tokens": summaries_due * min(_SUMMARY_TOKENS, it.settings.llm_tokens) if it.settings.llm_url else 0,
        "seconds": round(sum(seconds), 3) if earlier or not work else None,
    }


def _row(title: str, documents: int | None, why: str, seconds: float | None) -> Row:
    return {"stage": title, "documents": documents, "why": why, "seconds": seconds}


def _reading(scan: sources.Scan, earlier: Earlier) -> Iterator[Row]:
    files = len(scan.new) + len(scan.changed) + len(scan.moved)
    if files or scan.gone or scan.renamed:
        yield _row("Reading", files, "files new, changed or moved", earlier.seconds("Reading", files))


def _by_document(coming: int, gone: int, stale: Mapping[str, Sequence[str]], earlier: Earlier) -> Iterator[Row]:
    for stage in STAGES:
        resolving = stage.at_once  # which also takes out what is gone
        count = coming + len(stale[stage.name]) + (gone if resolving else 0)
        if count:
            whys = (
                f"{coming:,} new, changed or moved" if coming else "",
                f"{gone:,} gone" if resolving and gone else "",
                _why(stage, stale),
            )
            # Its steps are the units of the blocks that are touched, which nobody knows beforehand.
            seconds = earlier.seconds_for(stage.title, count) if resolving else earlier.seconds(stage.title, count)
            yield _row(stage.title, count, " and ".join(w for w in whys if w), seconds)


def _why(stage: Stage, stale: Mapping[str, Sequence[str]]) -> str:
    """Why documents are out of date for a stage although their files did not change."""
    if not stale[stage.name]:
        return ""
    before = STAGES[: STAGES.index(stage)]
    because = next((b for b in before if stale[b.name] and b is not CHUNKS), None)
    return f"{len(stale[stage.name]):,} {f'since {because.title.lower()} is done again' if because else _CHANGED}"


def _asking(requests: int, settings: Settings) -> Iterator[Row]:
    if requests:
        yield _row("Asking Wikidata", None, f"about {requests:,} requests", requests * 60 / settings.wikidata_requests_per_minute)


def _loading(count: int, behind: Due, earlier: Earlier) -> Iterator[Row]:
    if count or behind.graph:
        yield _row(GRAPH.title, None, behind.graph or _AS_CHANGED, earlier.seconds_for(GRAPH.title, count))


def _indexing(touched: int, related: int, chunks: int, behind: Due, earlier: Earlier) -> Iterator[Row]:
    if touched or chunks:
        yield _row(CHUNK_INDEX.title, None, f"at most {chunks:,} chunks", earlier.seconds(CHUNK_INDEX.title, chunks))
    vectors = behind.vectors["entities"]
    if related or vectors:
        known = (earlier.seconds_for(ENTITY_INDEX.title, related), earlier.seconds(ENTITY_INDEX.title, vectors))
        seconds = None if None in known else sum(s for s in known if s)
        yield _row(ENTITY_INDEX.title, None, f"{vectors:,} entities" if vectors else _AS_CHANGED, seconds)


def _communities(related: int, behind: Due, earlier: Earlier) -> Iterator[Row]:
    if related or behind.communities:
        yield _row(COMMUNITIES.title, None, behind.communities or _AS_CHANGED, earlier.seconds_last(COMMUNITIES.title))


def _summarising(touched: int, count: int, settings: Settings, behind: Due, earlier: Earlier) -> Iterator[Row]:
    if touched or count or behind.communities or behind.summaries:
        of_another = bool(settings.llm_url) and behind.summaries == projections_due.OTHER_WRITER
        seconds = None if of_another else earlier.seconds_for_summaries(count)
        yield _row(SUMMARIES.title, None, f"about {count:,} communities: {behind.summaries or _AS_CHANGED}", seconds)
    vectors = max(count, behind.vectors["communities"])
    if touched or vectors or behind.communities:
        yield _row(COMMUNITY_INDEX.title, None, _AS_CHANGED, earlier.seconds(COMMUNITY_INDEX.title, vectors))


def _summaries(connection: Connection, settings: Settings, earlier: Earlier, touched: int, behind: Due) -> int:
    """About how many summaries would be written."""
    changed = earlier.summaries(touched)
    about = ceil(touched * _COMMUNITIES_A_DOCUMENT if changed is None else changed)
    if behind.communities or behind.summaries not in ("", projections_due.UNANSWERED):
        total = _count(connection, communities) or ceil(_count(connection, documents) * _COMMUNITIES_A_DOCUMENT)
        return max(about, total)
    unasked = select(func.count()).select_from(summaries).where(summaries.c.writer == "")
    return about + (connection.scalar(unasked) or 0 if settings.llm_url else 0)


def _names_coming(connection: Connection, comes: Coming) -> int:
    """About how many names the documents that are read or moved would have, by what a chunk has now."""
    names, cut = _count(connection, document_names), _count(connection, chunks)
    return round(comes.chunks * (names / cut if names and cut else _NAMES_A_CHUNK))


def _names_of(connection: Connection, names: Sequence[str]) -> int:
    return sum(1 for _ in select_where_in(connection, select(document_names.c.name), document_names.c.document, names))


def _count(connection: Connection, table: Table) -> int:
    return connection.scalar(select(func.count()).select_from(table)) or 0
