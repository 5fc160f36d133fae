"""Change counters: how often each table has changed, and whose rows. Work whose input tables are unchanged is skipped.

Changes are counted where statements are executed, so that nobody who writes has to remember it. A transaction that changed rows of a
table raises the table's counter as it commits. Where the table names the columns that say whose a row is (`info={"owners": (...)}`:
a document, an entity, a community), the owners of the changed rows are noted with the counter.

A *watermark* is the counters that something was last made from. Where they equal today's, it is up to date.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Engine, Table, Text, delete, event, insert, select, update

from polyonym.ingest.store.tables import batched, facts, get_fact, insert_rows, metadata, set_fact

editions = Table(
    "editions",
    metadata,
    Column("name", Text, primary_key=True),
    Column("edition", BigInteger, nullable=False),
    Column("known_from", BigInteger, nullable=False),  # the owners of changes with a higher counter are known
)

touched = Table(
    "touched",
    metadata,
    Column("name", Text, primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("edition", BigInteger, nullable=False),
)

Counters = dict[str, int | str]
"""A counter for each table, by name; and what else something was made from: settings, fingerprints of code."""

_CHANGED = "changed tables"
_OURS = (editions, touched, facts)


def count_changes(engine: Engine) -> None:
    """From now on changes of tables over this engine are counted."""
    event.listen(engine, "before_execute", _note_owners)
    event.listen(engine, "after_execute", _note)
    event.listen(engine, "commit", _count)
    event.listen(engine, "rollback", lambda connection: connection.info.pop(_CHANGED, None))


def _note_owners(connection: Connection, statement: Any, many: Any, one: Any, _options: Any) -> None:
    """Whose rows a statement is about to change, while those that it deletes are still there."""
    owners = statement.table.info.get("owners", ()) if getattr(statement, "is_dml", False) else ()
    if not owners:
        return
    changed_owners: set[str] = set()
    if statement.is_insert:
        rows = many or [one]
        for column in owners:
            changed_owners.update([row[column] for row in rows])
    else:
        changed = select(*(statement.table.c[column] for column in owners)).distinct()
        for row in connection.execute(changed if statement.whereclause is None else changed.where(statement.whereclause)):
            changed_owners.update(row)
    if changed_owners:  # a statement that changes nothing counts for none
        connection.info.setdefault(_CHANGED, {}).setdefault(statement.table.name, set()).update(changed_owners)


def _note(connection: Connection, statement: Any, _many: Any, _one: Any, _options: Any, result: Any) -> None:
    if getattr(statement, "is_dml", False) and statement.table not in _OURS and result.rowcount != 0:
        connection.info.setdefault(_CHANGED, {}).setdefault(statement.table.name, set())


def _count(connection: Connection) -> None:
    changed: dict[str, set[str]] = connection.info.pop(_CHANGED, {})
    if not changed:
        return
    rows = connection.execute(select(editions.c.name, editions.c.edition).where(editions.c.name.in_(sorted(changed))))
    next_ = dict.fromkeys(changed, 1) | {r.name: r.edition + 1 for r in rows}
    for name in sorted(changed):
        if next_[name] > 1:
            connection.execute(update(editions).where(editions.c.name == name).values(edition=next_[name]))
        else:
            connection.execute(insert(editions).values(name=name, edition=1, known_from=0))
        for batch in batched(sorted(changed[name]), 500):
            connection.execute(delete(touched).where(touched.c.name == name, touched.c.owner.in_(batch)))
        insert_rows(connection, touched, ({"name": name, "owner": o, "edition": next_[name]} for o in sorted(changed[name])))


def counters_of(connection: Connection, tables: Iterable[Table]) -> Counters:
    """The counters of these tables, changes of this transaction included; 0 for a table that nothing was ever written into."""
    _count(connection)
    names = _names(tables)
    rows = connection.execute(select(editions.c.name, editions.c.edition).where(editions.c.name.in_(names)))
    counted = {r.name: r.edition for r in rows}
    return {name: counted.get(name, 0) for name in names}


def owners_since(connection: Connection, tables: Iterable[Table], before: Mapping[str, int | str]) -> set[str] | None:
    """The owners of the rows of these tables that changed since the counters `before`, in this transaction too; None when that is not known."""
    _count(connection)
    changed_owners: set[str] = set()
    names = _names(tables)
    rows = connection.execute(select(editions.c.name, editions.c.known_from).where(editions.c.name.in_(names)))
    known_from = {r.name: r.known_from for r in rows}
    for name in names:
        since = before.get(name)
        if not isinstance(since, int) or since < known_from.get(name, 0):
            return None
        changed_owners.update(connection.scalars(select(touched.c.owner).where(touched.c.name == name, touched.c.edition > since)))
    return changed_owners


def forget_owners(connection: Connection) -> None:
    """Drop the owners noted so far: what has an older watermark will have to look at everything."""
    connection.execute(update(editions).values(known_from=editions.c.edition))
    connection.execute(delete(touched))


def _names(tables: Iterable[Table]) -> list[str]:
    return sorted({str(t.name) for t in tables})  # (not the subclass of str that knows of quotes)


def watermark(connection: Connection, what: str) -> Counters:
    """The counters that `what` was last made from, {} when it never was."""
    stored: Counters = get_fact(connection, f"seen:{what}", {})
    return stored


def set_watermark(connection: Connection, what: str, made_from: Counters) -> None:
    """Remember the counters that `what` was made from."""
    set_fact(connection, f"seen:{what}", made_from)
