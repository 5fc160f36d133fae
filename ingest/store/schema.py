"""The schema of a state store: made when the store is new, brought up to date when an older version wrote it."""

from pathlib import Path

from sqlalchemy import Column, Connection, Engine, MetaData, String, Table, insert, select

from polyonym.ingest.errors import Damaged
from polyonym.ingest.store.tables import facts, get_fact, metadata, set_fact

NEWEST = "0007"
"""The last of the migrations, which makes the tables as they stand in the code."""

BASELINE = "0003"
_COUNTED = 3  # the last schema that was counted, before migrations
_MIGRATED = 5  # what programs that know no migrations see of a store that has some: a newer version

revisions = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))
"""Alembic's own table: which migration a store has come to."""


def bring_up_to_date(engine: Engine, where: str) -> None:
    """Make the tables of a new store, or migrate an older one; `where` names the store in messages.

    Raises Damaged for a store that was written by a newer version, or before there were migrations to bring it here.
    """
    with engine.connect() as connection:
        is_new = not engine.dialect.has_table(connection, facts.name)
        if not is_new and _check(connection, where) == NEWEST:
            return
    with engine.begin() as connection:
        if is_new:
            metadata.create_all(connection)
            revisions.metadata.create_all(connection)
            connection.execute(insert(revisions).values(version_num=NEWEST))
            set_fact(connection, "schema_version", _MIGRATED)
            return
        # First: of two programs that migrate at once one waits here for the other.
        connection.execute(facts.update().where(facts.c.key == "schema_version").values(value=_MIGRATED))
        if _check(connection, where) != NEWEST:
            migrate(connection, NEWEST)


def migrate(connection: Connection, revision: str) -> None:
    """Run all migrations up to `revision`, in the connection's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    if not connection.dialect.has_table(connection, revisions.name) and connection.dialect.has_table(connection, facts.name):
        command.stamp(config, BASELINE)
    command.upgrade(config, revision)


def _check(connection: Connection, where: str) -> str:
    """The migration that a store has come to, "" before the first."""
    counted = get_fact(connection, "schema_version", 0)
    if counted not in (_COUNTED, _MIGRATED) and counted < _MIGRATED:
        raise Damaged(
            f"The state store {where} was written by an early version (schema {counted}), which cannot be brought up to date. Ingest the documents "
            "into a new home; judgements can be taken along: export them with the version that made it, then `polyonym judgements import`."
        )
    revision = ""
    if connection.dialect.has_table(connection, revisions.name):
        revision = connection.execute(select(revisions.c.version_num)).scalar() or ""
    if counted > _MIGRATED or revision > NEWEST:  # migrations are numbered in order
        raise Damaged(
            f"The state store {where} was written by a newer version (schema {revision or counted}, this one knows {NEWEST}). Install the newer polyonym."
        )
    return revision
