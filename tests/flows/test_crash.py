"""Promise 9: a crash loses nothing. POLYONYM_CRASH_KILLS says how often runs are killed for each store (`make crash`: 200).

Without it, 50 kills are shared out: most for the stores inside the home, some for each of those on a server, where there is one.
"""

import os
from pathlib import Path

import crashing
import pytest
from conftest import Neo4jServer
from home_fixtures import POSTGRES, new_database

pytestmark = pytest.mark.slow


def kills(share: int) -> int:
    """How often a store's runs are killed: as often as was asked for, else its share of the 50."""
    return int(os.environ.get("POLYONYM_CRASH_KILLS", share))


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYONYM_PROCESSES", "1")


@pytest.mark.timeout(2400)
def test_killed_runs_end_as_uninterrupted_ones(tmp_path: Path) -> None:
    counted = crashing.kill_and_compare(tmp_path, kills(30), seed=1)
    assert counted["kills"] >= kills(30)


@pytest.mark.timeout(7200)
@pytest.mark.skipif(not POSTGRES, reason="no PostgreSQL: set POLYONYM_TEST_POSTGRES_URL to the URL of a server whose databases may be made")
def test_killed_runs_with_postgres_as_the_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Databases that a killed run leaves behind go with the server, which is the test's own.
    counted = crashing.kill_and_compare(tmp_path, kills(10), 2, lambda: monkeypatch.setenv("POLYONYM_STATE_URL", new_database([])))
    assert counted["kills"] >= kills(10)


@pytest.mark.timeout(7200)
def test_killed_runs_with_neo4j_as_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, neo4j_server: Neo4jServer) -> None:
    monkeypatch.setenv("POLYONYM_GRAPH_URL", neo4j_server.url)
    monkeypatch.setenv("POLYONYM_GRAPH_USER", neo4j_server.user)
    monkeypatch.setenv("POLYONYM_GRAPH_PASSWORD", neo4j_server.password)
    counted = crashing.kill_and_compare(tmp_path, kills(10), 3, neo4j_server.empty)
    assert counted["kills"] >= kills(10)
