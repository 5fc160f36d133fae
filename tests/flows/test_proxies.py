"""Proxies in the environment: this machine's own servers are never asked through one, all others are."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from llm_server import Answer, language_model_server

from polyonym.flows.home.proxies import spare_loopback
from polyonym.graph.summaries.language_model import LanguageModel

_NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _NAMES:
        monkeypatch.setenv(name, "")  # remembered, so that what the code sets is taken back
        monkeypatch.setenv(name.upper(), "")
        monkeypatch.delenv(name)
        monkeypatch.delenv(name.upper())


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """A proxy that knows no way: its address, and what it has been asked for."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def _refuse(self) -> None:
            seen.append(self.path)
            self.send_error(502)

        do_GET = do_POST = do_CONNECT = _refuse

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", seen
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.slow
@pytest.mark.parametrize(
    "variables",
    [
        {"HTTP_PROXY": "PROXY", "http_proxy": "PROXY"},
        {"ALL_PROXY": "PROXY", "HTTPS_PROXY": "PROXY", "NO_PROXY": "intranet.example,[::1],fe80::/10"},
        {"ALL_PROXY": "nonsense://[", "https_proxy": "socks://127.0.0.1:9", "no_proxy": ""},
    ],
    ids=["http", "all", "nonsense"],
)
def test_a_run_starts_and_uses_its_own_server_whatever_the_proxy(
    tmp_path: Path, asked: tuple[str, list[str]], variables: dict[str, str]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("Angela Merkel met Emmanuel Macron in Berlin.\n")
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    environment |= {name: value.replace("PROXY", asked[0]) for name, value in variables.items()}
    ended = subprocess.run(
        [sys.executable, "-c", "from polyonym.flows.cli import main; main()", "ingest", tmp_path / "in", "--home", tmp_path / "home"],
        check=False, capture_output=True, text=True, env=environment, timeout=100,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert asked[1] == []
    assert ("is no address of a proxy" in ended.stderr) == ("nonsense" in str(variables))


@pytest.mark.parametrize("no_proxy", ["", "intranet.example", "127.0.0.1", "[::1]:*"])
def test_a_language_model_here_is_asked_itself_and_one_elsewhere_through_the_proxy(
    monkeypatch: pytest.MonkeyPatch, asked: tuple[str, list[str]], no_proxy: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", asked[0])
    monkeypatch.setenv("NO_PROXY", no_proxy)
    spare_loopback()
    with language_model_server(lambda _: Answer("Yes.")) as server:
        assert LanguageModel(server.url, "", "tiny", attempts=1).answer("Be brief.", "Well?", 10) == "Yes."
    assert asked[1] == []
    with pytest.raises(Exception, match="HTTP 502"):
        LanguageModel("http://models.example/v1", "", "tiny", attempts=1).answer("Be brief.", "Well?", 10)
    assert asked[1] == ["http://models.example/v1/chat/completions"]


def test_where_nothing_goes_through_a_proxy_nothing_does(monkeypatch: pytest.MonkeyPatch, asked: tuple[str, list[str]]) -> None:
    monkeypatch.setenv("HTTP_PROXY", asked[0])
    monkeypatch.setenv("NO_PROXY", "intranet.example, *")
    spare_loopback()
    with language_model_server(lambda _: Answer("Yes.")) as server:
        monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("127.0.0.1", int(server.url.split(":")[2][:-3])))])
        assert LanguageModel("http://models.example/v1", "", "tiny", attempts=1).answer("Be brief.", "Well?", 10) == "Yes."
    assert asked[1] == []


@pytest.mark.parametrize(
    ("given", "used"), [("socks://127.0.0.1:9", "socks5://127.0.0.1:9"), ("127.0.0.1:9", "127.0.0.1:9"), ("gopher://a", None)]
)
def test_an_address_that_no_client_can_use_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: str, used: str | None
) -> None:
    monkeypatch.setenv("ALL_PROXY", given)
    for _ in range(2):
        spare_loopback()
        assert os.environ.get("ALL_PROXY") == used
    httpx.Client().close()
    assert capsys.readouterr().err.count("ALL_PROXY is left out") == (used is None)
    monkeypatch.setenv("HTTPS_PROXY", "what://me:hunter2@host")
    spare_loopback()
    assert "hunter2" not in capsys.readouterr().err


def test_without_proxies_the_environment_stays_as_it_is() -> None:
    before = dict(os.environ)
    spare_loopback()
    assert dict(os.environ) == before
