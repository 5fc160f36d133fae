"""What a run would do, said beforehand without writing: work by stage with its reason, and an estimate from earlier runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from flows import overview, reading, runs, stage_keys
from flows.home import Opened
from flows.knowledge import Knowledge, names_to_ask
from ingest import chunks, documents, sources, stages
from ingest.state import batched
from resolution import wikidata_cache
from resolution.resolve import pending as unresolved
from resolution.wikidata import key_of

_TITLES = {
    "chunks": "Cutting chunks",
    "mentions": "Finding mentions",
    "relations": "Finding relations",
    "names": "Naming",
    "links": "Linking",
    "resolve": "Resolving",
}
_SUMMARY_TOKENS = 600  # of one prompt and its answer, for the estimate


def pending(it: Opened, connection: Connection) -> dict[str, int]:
    """What the state is waiting for: documents by stage that is out of date, and names that Wikidata has not answered."""
    knowledge = Knowledge(it.home, it.settings, it.engine)
    try:
        keys = stage_keys.all_keys(connection, it.settings, knowledge)
        found = {f"documents for {stage}": len(stages.outdated(connection, stage, keys[stage])) for stage in stage_keys.STAGES}
    finally:
        knowledge.close()
    found["names at Wikidata"] = len(wikidata_cache.pending(connection))
    return {what: count for what, count in found.items() if count}


def plan(it: Opened, connection: Connection, paths: Sequence[str], allow_deletions: bool) -> dict[str, Any]:
    """What `ingest` of these paths would do now. Raises what it would raise of missing sources."""
    given = sources.resolve(paths, sources.remembered(connection))
    scan = sources.scan(connection, given, reading.reader_key(it.settings), allow_deletions=allow_deletions, exclude=[it.home.path])
    rates, held = _rates(connection), overview.counts(connection)
    coming, seconds_a_file = _documents_coming(connection, scan), rates.get("Reading")
    knowledge = Knowledge(it.home, it.settings, it.engine)
    try:
        keys = stage_keys.all_keys(connection, it.settings, knowledge)
        leaving = _documents_of(connection, (*scan.changed, *(old for old, _ in scan.moved), *scan.gone))
        stale = {stage: [d for d in stages.outdated(connection, stage, keys[stage]) if d not in leaving] for stage in stage_keys.STAGES}
        requests = _wikidata_requests(connection, knowledge)
    finally:
        knowledge.close()
    _, gone = unresolved(connection, keys["resolve"])
    read = len(scan.new) + len(scan.changed) + len(scan.moved)
    work: list[dict[str, Any]] = []
    if read or scan.gone:
        work.append(_row("Reading", read, "files new, changed or moved", seconds_a_file))
    for stage, title in _TITLES.items():
        count = len(stale[stage]) + coming
        if count:
            why = " and ".join(w for w in (f"{coming:,} of changed files" if coming else "", _why(stage, stale, coming)) if w)
            work.append(_row(title, count, why, rates.get(title)))
    if work or gone:
        work += [
            _row(title, None, "what has changed", rates.get(title))
            for title in ("Loading the graph", "Embedding chunks", "Embedding entities")
        ]
    seconds = [w["seconds"] for w in work if w["seconds"] is not None]
    return {
        "files": {
            "new": len(scan.new),
            "changed": len(scan.changed),
            "moved": len(scan.moved),
            "gone": len(scan.gone),
            "unchanged": len(scan.unchanged),
        },
        "work": work,
        "chunks": _per_document(connection, held["chunks"], coming) + _count_chunks(connection, stale["chunks"]),
        "names": _per_document(connection, held["mentions"], coming) + len(stale["resolve"]),
        "wikidata_requests": requests,
        "summary_tokens": _SUMMARY_TOKENS * min(coming + len(stale["resolve"]), _communities(connection)) if it.settings.llm_url else 0,
        "seconds": round(sum(seconds), 3) if seconds and rates else (0.0 if not work else None),
    }


def _row(title: str, count: int | None, why: str, rate: float | None) -> dict[str, Any]:
    return {"stage": title, "documents": count, "why": why, "seconds": count * rate if rate is not None and count else None}


def _why(stage: str, stale: Mapping[str, Sequence[str]], coming: int) -> str:
    """Why documents are out of date for a stage although their files did not change."""
    if not stale[stage]:
        return ""
    before = stage_keys.STAGES[: stage_keys.STAGES.index(stage)]
    because = next((b for b in before if stale[b] and b != "chunks"), None)
    reason = (
        f"since {_TITLES[because].lower()} is done again"
        if because
        else "models, weights, settings or judgements changed, or an earlier run was cut short"
    )
    return f"{len(stale[stage]):,} {reason}"


def _documents_of(connection: Connection, files: Sequence[sources.File]) -> set[str]:
    return {name for file in files for name in documents.of_file(connection, file.source, file.file)}


def _documents_coming(connection: Connection, scan: sources.Scan) -> int:
    """How many documents the files to be read will give: as many as they gave, one for a new file."""
    known = [len(documents.of_file(connection, f.source, f.file)) for f in (*scan.changed, *(old for old, _ in scan.moved))]
    return len(scan.new) + sum(max(1, n) for n in known)


def _rates(connection: Connection) -> dict[str, float]:
    """Seconds a step of each stage, over the last runs that did it."""
    seconds: dict[str, float] = {}
    steps: dict[str, int] = {}
    for run in runs.load(connection)[-10:]:
        for row in run.figures.get("stages", ()):
            if row["steps"]:
                seconds[row["stage"]] = seconds.get(row["stage"], 0.0) + row["seconds"]
                steps[row["stage"]] = steps.get(row["stage"], 0) + row["steps"]
    return {stage: seconds[stage] / steps[stage] for stage in seconds}


def _wikidata_requests(connection: Connection, knowledge: Knowledge) -> int:
    """The searches that names known now would cost, and their items' requests, as far as one run goes."""
    if knowledge.wikidata.off:
        return 0
    names = sorted({key for name in names_to_ask(connection) if (key := key_of(name))})
    held: set[str] = set()
    for batch in batched(names, 5000):
        held |= set(wikidata_cache.load_searches(connection, batch))
    return min(len(set(names) - held), knowledge.wikidata.settings.requests_a_run)


def _per_document(connection: Connection, things: int, coming: int) -> int:
    known = len(documents.digests(connection))
    return round(things / known * coming) if known else coming


def _count_chunks(connection: Connection, names: Sequence[str]) -> int:
    return sum(1 for batch in batched(names, 500) for _ in chunks.load(connection, batch))


def _communities(connection: Connection) -> int:
    from graph import communities

    return len(communities.load(connection).communities)
