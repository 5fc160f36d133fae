"""Servers that tests share: each is started once a session, on ports and in a folder of its own, and stopped at the end."""

import os
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import NullPool, create_engine, make_url, text

from polyonym.flows.home.home import Home
from polyonym.flows.orchestration.server import prefect_server

_ROOT = Path(__file__).resolve().parent.parent
_SERVER = _ROOT.parent / "shared" / "neo4j" / "server"


@dataclass
class Neo4jServer:
    """A Neo4j to test against. `control` starts and stops it; it is None where somebody else runs it."""

    url: str
    user: str
    password: str
    control: Path | None = None
    folder: Path | None = None
    ports: tuple[str, str] = field(default=("", ""))

    def empty(self) -> None:
        """Delete everything of Polyonym's."""
        import neo4j

        with neo4j.GraphDatabase.driver(self.url, auth=(self.user, self.password)) as driver:
            driver.execute_query("MATCH (x:Polyonym) DETACH DELETE x")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._do("start", *self.ports)

    def stop(self) -> None:
        """Stop it cleanly."""
        self._do("stop")

    def kill(self) -> None:
        """End it as a power cut would."""
        self._do("kill")

    def running(self) -> bool:
        """Whether it runs; a test may have left it stopped."""
        assert self.control is not None
        return subprocess.run([self.control, "status", str(self.folder)], check=False, stdin=subprocess.DEVNULL).returncode == 0

    def _do(self, command: str, *arguments: str) -> None:
        if self.control is None:
            pytest.skip("POLYONYM_TEST_NEO4J_URL names a server that this test must not stop")
        environment = {**os.environ, "NEO4J_PASSWORD": self.password}
        subprocess.run(
            [self.control, command, str(self.folder), *arguments],
            check=True,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is slow comes first, so that no process is left alone with it in the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Of several processes one does all that needs Neo4j, and one all commands, so that servers and first homes are made once.

    (xdist has marks for that, which it loses with this pytest.)
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if "neo4j" in nodeid or "test_graph_store.py" in nodeid:
                return "neo4j"
            return "commands" if "test_cli.py" in nodeid else nodeid

    return Together(config, log)


@pytest.fixture(scope="session")
def neo4j_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jServer]:
    """A running Neo4j, without anything of Polyonym's in it when a session starts."""
    if url := os.environ.get("POLYONYM_TEST_NEO4J_URL"):
        server = Neo4jServer(url, os.environ.get("POLYONYM_TEST_NEO4J_USER", "neo4j"), os.environ.get("POLYONYM_TEST_NEO4J_PASSWORD", ""))
        server.empty()
        yield server
        return
    if not _SERVER.exists():
        pytest.skip(f"no Neo4j: POLYONYM_TEST_NEO4J_URL is not set, and {_SERVER} does not exist")
    bolt, http = _free_ports(2)
    folder = tmp_path_factory.mktemp("neo4j")
    server = Neo4jServer(f"bolt://127.0.0.1:{bolt}", "neo4j", "polyonym-test", _SERVER, folder, (bolt, http))
    server.start()
    try:
        yield server
    finally:
        if server.running():
            server.stop()


@pytest.fixture
def neo4j(neo4j_server: Neo4jServer) -> Neo4jServer:
    """The session's Neo4j, emptied for one test."""
    neo4j_server.empty()
    return neo4j_server


@pytest.fixture(scope="session")
def prefect_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API URL of a Prefect server that runs share, since one of its own costs a run ten seconds."""
    home = Home(tmp_path_factory.mktemp("prefect"))
    home.prefect.mkdir()
    with prefect_server(home) as server:
        server.wait()
        yield server.url


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 60 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=60m", "tmpfs", folder], check=False, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """The URL of an empty PostgreSQL database, dropped afterwards."""
    server = os.environ.get("POLYONYM_TEST_POSTGRES_URL")
    if not server:
        pytest.skip("no PostgreSQL: set POLYONYM_TEST_POSTGRES_URL to the URL of a server whose databases may be made and dropped")
    name = f"polyonym_test_{uuid4().hex[:12]}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    try:
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


def _free_ports(count: int) -> list[str]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [str(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()
