"""How often each table has changed: what rests on tables that have no new edition need not be made, or compared, again.

Counted where statements are executed, so that nobody who writes has to remember it: every transaction that changed rows of a
table gives it the next edition as it commits.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Engine, Table, Text, event, select, update

from ingest.state import facts, get_fact, metadata, set_fact

editions = Table("editions", metadata, Column("name", Text, primary_key=True), Column("edition", BigInteger, nullable=False))

Editions = dict[str, int | str]
"""Of tables; and what else something was made from: settings, versions of rules."""

_CHANGED = "changed tables"


def count_editions(engine: Engine) -> None:
    """From now on the tables that are changed over this engine get new editions."""
    event.listen(engine, "after_execute", _note)
    event.listen(engine, "commit", _count)
    event.listen(engine, "rollback", lambda connection: connection.info.pop(_CHANGED, None))


def _note(connection: Connection, statement: Any, _many: Any, _one: Any, _options: Any, result: Any) -> None:
    if getattr(statement, "is_dml", False) and statement.table not in (editions, facts) and result.rowcount != 0:
        connection.info.setdefault(_CHANGED, set()).add(statement.table.name)


def _count(connection: Connection) -> None:
    changed = sorted(connection.info.pop(_CHANGED, ()))
    if not changed:
        return
    known = set(connection.execute(select(editions.c.name).where(editions.c.name.in_(changed))).scalars())
    connection.execute(update(editions).where(editions.c.name.in_(changed)).values(edition=editions.c.edition + 1))
    if new := [{"name": t, "edition": 1} for t in changed if t not in known]:
        connection.execute(editions.insert(), new)


def editions_of(connection: Connection, tables: Iterable[Table]) -> Editions:
    """The editions of these tables, 0 for one that nothing was ever written into."""
    names = sorted({str(t.name) for t in tables})  # (not the subclass of str that knows of quotes)
    rows = connection.execute(select(editions).where(editions.c.name.in_(names)))
    held = {r.name: r.edition for r in rows}
    return {name: held.get(name, 0) for name in names}


def seen(connection: Connection, what: str) -> Editions:
    """The editions from which `what` was last made, {} when it never was."""
    held: Editions = get_fact(connection, f"seen:{what}", {})
    return held


def see(connection: Connection, what: str, made_from: Editions) -> None:
    """Remember from which editions `what` was made."""
    set_fact(connection, f"seen:{what}", made_from)
