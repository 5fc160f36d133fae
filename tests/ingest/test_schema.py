"""State stores of older versions are brought up to date, or refused with what to do; SQLite and PostgreSQL."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine, insert, make_url, select, text

from polyonym.flows.home.tables import metadata
from polyonym.ingest.errors import Damaged
from polyonym.ingest.store import schema
from polyonym.ingest.store.database import open_state
from polyonym.ingest.store.schema import BASELINE, NEWEST, migrate, revisions
from polyonym.ingest.store.tables import facts, get_fact, set_fact

POSTGRES = os.environ.get("POLYONYM_TEST_POSTGRES_URL", "")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where an empty store can be made."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'state.db'}"
        return
    if not POSTGRES:
        pytest.skip("no PostgreSQL: POLYONYM_TEST_POSTGRES_URL is not set")
    name = f"schema_{uuid4().hex}"
    server = create_engine(POSTGRES, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with server.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"))
    yield make_url(POSTGRES).set(database=name).render_as_string(hide_password=False)
    with server.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


def of_the_baseline(url: str) -> None:
    """Make a store as the last version wrote it that knew no migrations."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        migrate(connection, BASELINE)
        revisions.drop(connection)
        set_fact(connection, "schema_version", 3)
        connection.execute(insert(facts).values(key="home_id", value="kept"))


def differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_type": False})
    return [d for d in compare_metadata(context, metadata) if revisions.name not in str(d)]


def test_the_newest_migration_is_the_one_that_new_stores_are_taken_for() -> None:
    folder = Path(schema.__file__).parent / "migrations"
    scripts = ScriptDirectory(str(folder))
    assert scripts.get_heads() == [NEWEST]
    numbers = [script.revision for script in scripts.walk_revisions()]
    assert numbers == sorted(numbers, reverse=True) and numbers[-1] == BASELINE


def test_an_older_store_is_migrated_to_what_a_new_one_has(url: str) -> None:
    of_the_baseline(url)
    engine = open_state(url)
    with engine.connect() as connection:
        assert differences(connection) == []
        assert connection.execute(select(revisions.c.version_num)).scalar_one() == NEWEST
        assert get_fact(connection, "home_id") == "kept"
    open_state(url).dispose()  # and again


def test_a_new_store_is_as_the_code_has_it(url: str) -> None:
    with open_state(url).connect() as connection:
        assert differences(connection) == []
        assert connection.execute(select(revisions.c.version_num)).scalar_one() == NEWEST


def test_two_that_open_an_older_store_at_once_migrate_it_once(url: str) -> None:
    of_the_baseline(url)
    failures: list[BaseException] = []

    def opens() -> None:
        try:
            open_state(url).dispose()
        except BaseException as error:
            failures.append(error)

    both = [threading.Thread(target=opens) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert failures == []
    with open_state(url).connect() as connection:
        assert differences(connection) == []


def test_a_store_from_before_the_baseline_is_refused_with_what_to_do(url: str) -> None:
    of_the_baseline(url)
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        set_fact(connection, "schema_version", 2)
    with pytest.raises(Damaged, match=r"early version \(schema 2\).*into a new home.*judgements import"):
        open_state(url)


def test_a_store_of_a_newer_version_is_refused(url: str) -> None:
    with open_state(url).begin() as connection:
        connection.execute(revisions.update().values(version_num="9999"))
    with pytest.raises(Damaged, match=r"newer version .schema 9999.*Install the newer"):
        open_state(url)
