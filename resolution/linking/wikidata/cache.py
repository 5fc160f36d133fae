"""What Wikidata answered, kept in the state store: searches, items, redirects; and the names that still wait for an answer.

Answers that say "nothing" are kept like others; errors never are. Times are seconds since the epoch.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass

import orjson
from sqlalchemy import Column, Connection, Float, Integer, Table, Text, select

from polyonym.ingest.store.tables import Json, delete_where_in, insert_rows, metadata, select_where_in
from polyonym.resolution.linking.wikidata.api import Hit
from polyonym.resolution.linking.wikidata.entity import Facts

searches_table = Table(
    "wikidata_searches",
    metadata,
    Column("name", Text, primary_key=True),
    Column("question", Text, nullable=False),  # language and limit
    Column("hits", Json, nullable=False),
    Column("fetched", Float, nullable=False),
)

items_table = Table(
    "wikidata_items",
    metadata,
    Column("qid", Text, primary_key=True),
    Column("languages", Text, nullable=False),
    Column("facts", Json),  # null: there is no such item
    Column("digest", Text, nullable=False),
    Column("fetched", Float, nullable=False),
)

redirects_table = Table(
    "wikidata_redirects",
    metadata,
    Column("source", Text, primary_key=True),
    Column("target", Text, nullable=False),
)

pending_table = Table(
    "pending_names",
    metadata,
    Column("name", Text, primary_key=True),
    Column("failures", Integer, nullable=False),  # runs in which its own request failed
    Column("reason", Text, nullable=False),
)


@dataclass(frozen=True)
class Search:
    """A cached answer to a search."""

    question: str
    hits: tuple[Hit, ...]
    fetched: float


def load_searches(connection: Connection, names: Sequence[str]) -> dict[str, Search]:
    """The cached searches of these names."""
    rows = select_where_in(connection, select(searches_table), searches_table.c.name, names)
    return {r.name: Search(r.question, tuple(Hit(*hit) for hit in r.hits), r.fetched) for r in rows}


def load_redirects(connection: Connection, ids: Collection[str]) -> dict[str, str]:
    """Where these ids lead to: for each that was merged away, the item at the end of the chain."""
    steps: dict[str, str] = {}
    todo = sorted(ids)
    while todo:
        rows = select_where_in(connection, select(redirects_table), redirects_table.c.source, todo)
        targets = {r.source: r.target for r in rows if r.source not in steps}
        steps.update(targets)
        todo = sorted(set(targets.values()))
    ends = {}
    for id in sorted(ids):
        seen, end = {id}, id
        while end in steps and steps[end] not in seen:
            end = steps[end]
            seen.add(end)
        if end != id:
            ends[id] = end
    return ends


def load_items(connection: Connection, ids: Collection[str]) -> dict[str, Facts | None]:
    """The cached facts of these ids, None for those that do not exist; ids that were never answered are left out."""
    rows = select_where_in(connection, select(items_table.c.qid, items_table.c.facts), items_table.c.qid, sorted(ids))
    return {r.qid: None if r.facts is None else _facts(r.facts) for r in rows}


def load_digests(connection: Connection, ids: Collection[str]) -> dict[str, str]:
    """A hash of the facts of each of these ids that is in the cache."""
    rows = select_where_in(connection, select(items_table.c.qid, items_table.c.digest), items_table.c.qid, sorted(ids))
    return {r.qid: r.digest for r in rows}


def fresh_items(connection: Connection, ids: Collection[str], languages: str, since: float) -> set[str]:
    """Those of these ids whose answer is in these languages and not older than `since`."""
    wanted = select(items_table.c.qid).where(items_table.c.languages == languages, items_table.c.fetched >= since)
    return {r.qid for r in select_where_in(connection, wanted, items_table.c.qid, sorted(ids))}


def pending(connection: Connection) -> dict[str, str]:
    """The names that wait for an answer, sorted, each with the reason."""
    return {r.name: r.reason for r in connection.execute(select(pending_table).order_by(pending_table.c.name))}


def failures(connection: Connection) -> dict[str, int]:
    """The pending names whose own request failed, with the number of runs in which it did."""
    rows = connection.execute(select(pending_table).where(pending_table.c.failures > 0))
    return {r.name: r.failures for r in rows}


def store_searches(connection: Connection, answers: dict[str, list[Hit]], question: str, now: float) -> None:
    """Keep the answers to searches, by name."""
    delete_where_in(connection, searches_table.c.name, sorted(answers))
    rows = ((name, [[h.id, h.kind, h.text] for h in hits]) for name, hits in sorted(answers.items()))
    insert_rows(connection, searches_table, ({"name": n, "question": question, "hits": h, "fetched": now} for n, h in rows))


def store_items(connection: Connection, answers: dict[str, Facts | None], languages: str, now: float) -> None:
    """Keep the facts of items by id, None for "no such item". An id that has an answer of its own is a redirect no more."""
    delete_where_in(connection, items_table.c.qid, sorted(answers))
    delete_where_in(connection, redirects_table.c.source, sorted(answers))
    for id, facts in sorted(answers.items()):
        kept = None if facts is None else asdict(facts)
        row = {"qid": id, "languages": languages, "facts": kept, "digest": _digest(kept), "fetched": now}
        connection.execute(items_table.insert(), row)


def store_redirects(connection: Connection, redirects: dict[str, str]) -> None:
    """Keep that ids were merged into others. A merged id keeps no facts of its own."""
    for column in (redirects_table.c.source, items_table.c.qid):
        delete_where_in(connection, column, sorted(redirects))
    insert_rows(connection, redirects_table, ({"source": s, "target": t} for s, t in sorted(redirects.items())))


def store_pending(connection: Connection, rows: dict[str, tuple[int, str]]) -> None:
    """Mark names as waiting for an answer: name to (runs in which its own request failed, reason)."""
    forget_pending(connection, sorted(rows))
    insert_rows(connection, pending_table, ({"name": n, "failures": f, "reason": r} for n, (f, r) in sorted(rows.items())))


def forget_pending(connection: Connection, names: Sequence[str]) -> None:
    """These names wait no longer."""
    delete_where_in(connection, pending_table.c.name, names)


def holds_any(connection: Connection) -> bool:
    """Whether anything is held, or waits for an answer."""
    tables = (searches_table, pending_table, items_table, redirects_table)
    return any(connection.execute(select(table).limit(1)).first() for table in tables)


def keep_only(connection: Connection, living: Collection[str]) -> None:
    """Forget the searches and requests of all names but `living`, and the items and redirects that no search leads to any more."""
    for column in (searches_table.c.name, pending_table.c.name):
        dead = sorted(name for name in connection.execute(select(column)).scalars() if name not in living)
        delete_where_in(connection, column, dead)
    reached = {hit[0] for hits in connection.execute(select(searches_table.c.hits)).scalars() for hit in hits}
    reached |= set(_chains(connection, reached))
    for column in (items_table.c.qid, redirects_table.c.source):
        delete_where_in(connection, column, sorted(id for id in connection.execute(select(column)).scalars() if id not in reached))


def _chains(connection: Connection, ids: set[str]) -> Iterable[str]:
    """All ids on the way of redirects from `ids`."""
    steps = {r.source: r.target for r in connection.execute(select(redirects_table))}
    seen: set[str] = set()
    for id in ids:
        while (id := steps.get(id, "")) and id not in seen:
            seen.add(id)
    return seen


def _digest(value: object) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def _facts(kept: dict[str, object]) -> Facts:
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in kept.items()}
    return Facts(**values)  # type: ignore[arg-type]
