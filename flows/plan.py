"""What a run would do, said beforehand without writing: work by stage with its reason, and estimates from earlier runs."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any

from sqlalchemy import Connection, Table, func, select

from flows import coming, reading, runs, stage_keys
from flows.coming import Coming
from flows.earlier import Earlier
from flows.home import Opened
from flows.knowledge import Knowledge, names_to_ask
from flows.settings import Settings
from graph.communities import communities
from graph.summaries import summaries
from ingest import sources, stages
from ingest.chunks import chunks
from ingest.editions import seen
from ingest.state import select_where_in
from resolution import wikidata_cache
from resolution.document_names import document_names
from resolution.resolve import pending as unresolved

_TITLES = {
    "chunks": "Cutting chunks",
    "mentions": "Finding mentions",
    "relations": "Finding relations",
    "names": "Naming",
    "links": "Linking",
    "resolve": "Resolving",
}
_CHANGED = "models, weights, settings or judgements changed, or an earlier run was cut short"
# What a home without a run is taken to be like: examples/corpus.
_NAMES_A_CHUNK = 8
_ASKED_A_NAME = 0.25  # distinct names to ask Wikidata for, by names of documents
_COMMUNITIES_A_DOCUMENT = 0.2
_SUMMARY_TOKENS = 2500  # of one prompt and its answer


def pending(it: Opened, connection: Connection) -> dict[str, int]:
    """What the state is waiting for: documents by stage that is out of date, and names that Wikidata has not answered."""
    knowledge = Knowledge(it.home, it.settings, it.engine)
    try:
        keys = {stage: stage_keys.keys_of(stage, connection, it.settings, knowledge) for stage in stage_keys.STAGES}
        found = {f"documents for {stage}": len(stages.outdated(connection, stage, keys[stage])) for stage in stage_keys.STAGES}
    finally:
        knowledge.close()
    found["names at Wikidata"] = len(wikidata_cache.pending(connection))
    return {what: count for what, count in found.items() if count}


Row = dict[str, Any]


def plan(it: Opened, connection: Connection, paths: Sequence[str], allow_deletions: bool) -> dict[str, Any]:
    """What `ingest` of these paths would do now. Raises what it would raise of missing sources."""
    given = sources.resolve(paths, sources.remembered(connection))
    scan = sources.scan(connection, given, reading.reader_key(it.settings), allow_deletions=allow_deletions, exclude=[it.home.path])
    comes = coming.look(connection, scan, it.settings, allow_deletions)
    knowledge = Knowledge(it.home, it.settings, it.engine)
    try:
        keys = {stage: stage_keys.keys_of(stage, connection, it.settings, knowledge) for stage in stage_keys.STAGES}
        outdated = {stage: stages.outdated(connection, stage, keys[stage]) for stage in stage_keys.STAGES}
        names, asked = _names_coming(connection, comes), list(names_to_ask(connection))
        known = _count(connection, document_names)
        requests = knowledge.wikidata.requests_for(asked, round(names * (len(asked) / known if known else _ASKED_A_NAME)))
    finally:
        knowledge.close()
    leaving = comes.leaving
    stale = {stage: [d for d in found if d not in leaving] for stage, found in outdated.items()}
    cut = comes.chunks + coming.chunks_of(connection, stale["chunks"])
    _, left_behind = unresolved(connection, keys["resolve"])
    touched = comes.documents + len(comes.kinds.gone) + len(left_behind) + max(map(len, stale.values()))
    earlier = Earlier(runs.load(connection))
    told = _summaries(connection, it.settings, earlier, touched)
    work = [
        *_reading(scan, earlier),
        *_by_document(comes.documents, stale, earlier),
        *_asking(requests, it.settings),
        *_projections(touched, cut, earlier),
        *_communities(connection, it.settings, earlier, touched, told),
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
        "summary_tokens": told * min(_SUMMARY_TOKENS, it.settings.llm_tokens) if it.settings.llm_url else 0,
        "seconds": round(sum(seconds), 3) if earlier or not work else None,
    }


def _row(title: str, documents: int | None, why: str, seconds: float | None) -> Row:
    return {"stage": title, "documents": documents, "why": why, "seconds": seconds}


def _reading(scan: sources.Scan, earlier: Earlier) -> Iterator[Row]:
    files = len(scan.new) + len(scan.changed) + len(scan.moved)
    if files or scan.gone or scan.renamed:
        yield _row("Reading", files, "files new, changed or moved", earlier.seconds("Reading", files))


def _by_document(coming: int, stale: Mapping[str, Sequence[str]], earlier: Earlier) -> Iterator[Row]:
    for stage, title in _TITLES.items():
        count = coming + len(stale[stage])
        if count:
            why = " and ".join(w for w in (f"{coming:,} new, changed or moved" if coming else "", _why(stage, stale)) if w)
            # Its steps are the units of the blocks that are touched, which nobody knows beforehand.
            seconds = earlier.seconds_for(title, count) if stage == "resolve" else earlier.seconds(title, count)
            yield _row(title, count, why, seconds)


def _why(stage: str, stale: Mapping[str, Sequence[str]]) -> str:
    """Why documents are out of date for a stage although their files did not change."""
    if not stale[stage]:
        return ""
    before = stage_keys.STAGES[: stage_keys.STAGES.index(stage)]
    because = next((b for b in before if stale[b] and b != "chunks"), None)
    return f"{len(stale[stage]):,} {f'since {_TITLES[because].lower()} is done again' if because else _CHANGED}"


def _asking(requests: int, settings: Settings) -> Iterator[Row]:
    if requests:
        yield _row("Asking Wikidata", None, f"about {requests:,} requests", requests * 60 / settings.wikidata_requests_per_minute)


def _projections(touched: int, cut: int, earlier: Earlier) -> Iterator[Row]:
    if touched:
        yield _row("Loading the graph", None, "what has changed", earlier.seconds_for("Loading the graph", touched))
        yield _row("Embedding chunks", None, f"at most {cut:,} chunks", earlier.seconds("Embedding chunks", cut))
        yield _row("Embedding entities", None, "what has changed", earlier.seconds_for("Embedding entities", touched))


def _communities(connection: Connection, settings: Settings, earlier: Earlier, touched: int, told: int) -> Iterator[Row]:
    resized = _other_size(connection, settings)
    if touched or resized:
        why = "community_size changed, or no run has divided the graph" if resized else "what has changed"
        yield _row("Finding communities", None, why, earlier.seconds_last("Finding communities"))
    if touched or resized or told:
        rewritten = _other_writer(connection, settings)
        why = "who writes them (llm_url, llm_model, llm_tokens) changed, or no run has written any" if rewritten else "what has changed"
        seconds = None if settings.llm_url and rewritten else earlier.seconds_for_summaries(told)
        yield _row("Summarising", None, f"about {told:,} communities: {why}", seconds)
        yield _row("Embedding communities", None, "what has changed", earlier.seconds("Embedding communities", told))


def _other_writer(connection: Connection, settings: Settings) -> bool:
    return seen(connection, "summaries").get("writer") != stage_keys.summary_key(settings)


def _other_size(connection: Connection, settings: Settings) -> bool:
    return seen(connection, "communities").get("size") != settings.community_size


def _summaries(connection: Connection, settings: Settings, earlier: Earlier, touched: int) -> int:
    """About how many summaries would be written."""
    changed = earlier.summaries(touched)
    about = ceil(touched * _COMMUNITIES_A_DOCUMENT if changed is None else changed)
    if _other_writer(connection, settings) or _other_size(connection, settings):
        return max(about, _count(connection, communities))
    unasked = select(func.count()).select_from(summaries).where(summaries.c.writer == "")
    return about + (connection.scalar(unasked) or 0 if settings.llm_url else 0)


def _names_coming(connection: Connection, comes: Coming) -> int:
    """About how many names the documents that are read or moved would have, by what a chunk has now."""
    held, cut = _count(connection, document_names), _count(connection, chunks)
    return round(comes.chunks * (held / cut if held and cut else _NAMES_A_CHUNK))


def _names_of(connection: Connection, names: Sequence[str]) -> int:
    return sum(1 for _ in select_where_in(connection, select(document_names.c.name), document_names.c.document, names))


def _count(connection: Connection, table: Table) -> int:
    return connection.scalar(select(func.count()).select_from(table)) or 0
