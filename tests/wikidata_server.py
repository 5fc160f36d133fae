"""A local HTTP server that answers as Wikidata's API does, faults included, for the tests.

Its items and the order of its hits are recorded ones where the data folder is present (see `recorded_world`), else a few of our
own (`small_world`). The forms of answers follow recorded ones: wbsearchentities, wbgetentities, a missing id, a redirect, `maxlag`,
`no-such-entity`. These were made by us from public error reports and the API's documentation, for want of recordings: `ratelimited`,
the HTML page of a 429, 500 and 503, Retry-After as seconds and as a date, JSON cut short, an HTML page with status 200, a reset
connection, an answer that comes too late, an answer that leaves an id out.
"""

import gzip
import json
import os
import re
import socket
import struct
import threading
import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

Entity = dict[str, Any]

FAULTS = (
    "429", "429 date", "maxlag", "maxlag bare", "ratelimited", "500", "internal", "503", "truncated", "cut", "html", "empty", "reset",
    "left out", "no such key",
)  # fmt: skip
"""All that a server may do to a request, but for "slow", which costs real time."""


class FakeClock:
    """Time that passes only when someone sleeps. Its methods are those of polyonym.resolution.linking.wikidata.client.Clock."""

    START = 1_700_000_000.0

    def __init__(self) -> None:
        self.elapsed = 0.0
        self._lock = threading.Lock()

    def now(self) -> float:
        return self.START + self.elapsed

    def monotonic(self) -> float:
        return self.elapsed

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.elapsed += seconds


def entity(
    id: str,
    label: str,
    *,
    aliases: tuple[str, ...] = (),
    description: str = "",
    classes: tuple[str, ...] = ("Q5",),
    sitelinks: int = 1,
    **more: Any,
) -> Entity:
    """An item in Wikidata's JSON form. `more` holds further claims by property."""
    claims: dict[str, Any] = {"P31": [statement({"entity-type": "item", "numeric-id": int(c[1:]), "id": c}) for c in classes], **more}
    return {
        "type": "item",
        "id": id,
        "labels": {"en": {"language": "en", "value": label}} if label else [],
        "descriptions": {"en": {"language": "en", "value": description}} if description else [],
        "aliases": {"en": [{"language": "en", "value": alias} for alias in aliases]} if aliases else [],
        "claims": claims,
        "sitelinks": {f"s{n}wiki": {"site": f"s{n}wiki", "title": label, "badges": []} for n in range(sitelinks)} or [],
    }


def statement(value: Any, rank: str = "normal", **qualifiers: Any) -> dict[str, Any]:
    """One statement with a value and qualifiers (property to list of values)."""
    return {
        "mainsnak": snak(value),
        "type": "statement",
        "rank": rank,
        "qualifiers": {property: [snak(v) for v in values] for property, values in qualifiers.items()},
    }


def snak(value: Any) -> dict[str, Any]:
    return {"snaktype": "somevalue"} if value is None else {"snaktype": "value", "datavalue": {"value": value}}


@dataclass
class World:
    """What the server knows: entities by id, redirects, and for some searches the recorded order of ids."""

    entities: dict[str, Entity]
    redirects: dict[str, str] = field(default_factory=dict)
    searches: dict[str, list[str]] = field(default_factory=dict)
    odd_hits: dict[str, list[str]] = field(default_factory=dict)  # ids that a search returns besides, whether or not they exist
    _sorted: tuple[list[str], list[tuple[str, ...]]] | None = None

    def search(self, text: str, language: str, limit: int) -> list[dict[str, Any]]:
        """Labels and aliases in all languages that begin with the text: equal ones first, then by sitelinks (or as recorded)."""
        wanted = text.casefold()
        best: dict[str, tuple[bool, bool, bool, str]] = {}
        terms = self._terms()
        for folded, id, kind, lang, value in terms[bisect_left(terms, (wanted,)) :]:
            if not folded.startswith(wanted):
                break
            hit = (folded != wanted, lang != language, kind != "label", value)
            best[id] = min(hit, best.get(id, hit))
        recorded = {id: place for place, id in enumerate(self.searches.get(wanted, ()))}
        known = self.entities
        order = sorted(best, key=lambda id: (best[id][0], recorded.get(id, len(recorded)), -len(known[id].get("sitelinks") or ()), id))
        rows = [
            {"id": id, "title": id, "match": {"type": "alias" if best[id][2] else "label", "language": language, "text": best[id][3]}}
            for id in order
        ]
        if text.upper() in known:
            rows.insert(0, {"id": text.upper(), "title": text.upper(), "match": {"type": "entityId", "text": text.upper()}})
        odd = [
            {"id": id, "title": id, "match": {"type": "label", "language": language, "text": text}} for id in self.odd_hits.get(wanted, ())
        ]
        return [*odd, *rows][:limit]

    def _terms(self) -> list[tuple[str, ...]]:
        if self._sorted is None or self._sorted[0] != sorted(self.entities):
            terms = []
            for id, known in self.entities.items():
                terms += [
                    (term["value"].casefold(), id, "label", lang, term["value"]) for lang, term in dict(known["labels"] or {}).items()
                ]
                groups = dict(known["aliases"] or {}).items()
                terms += [(term["value"].casefold(), id, "alias", lang, term["value"]) for lang, group in groups for term in group]
            self._sorted = (sorted(self.entities), sorted(terms))
        return self._sorted[1]


def small_world() -> World:
    """A few items of our own."""
    items = [
        entity("Q101", "Apple Inc.", aliases=("Apple", "Apple Computer"), description="maker of computers", classes=("Q4830453",), sitelinks=9,
               P414=[statement({"id": "Q82059"}, P249=["AAPL"])], P1813=[statement({"text": "Apple", "language": "en"})]),
        entity("Q102", "apple", description="fruit", classes=("Q3314483",), sitelinks=7),
        entity("Q103", "Apple", description="Wikimedia disambiguation page", classes=("Q4167410",), sitelinks=2),
        entity("Q104", "Applebee's", classes=("Q4830453",), sitelinks=3),
        entity("Q105", "Apple Store", classes=("Q4830453",), sitelinks=4),
        entity("Q106", "Berlin", classes=("Q515",), sitelinks=8, description="capital of Germany"),
        entity("Q107", "Berlin", classes=("Q5",), sitelinks=1),
        entity("Q108", "Angela Merkel", aliases=("Merkel",), sitelinks=6),
        entity("Q109", "International Business Machines", aliases=("IBM",), classes=("Q4830453",), sitelinks=6),
        entity("Q110", "Zoe", sitelinks=0, classes=()),
        *(entity(f"Q{200 + n}", f"Lord Number {n}", aliases=(f"Ada {n}",), sitelinks=n % 4) for n in range(60)),
    ]  # fmt: skip
    return World({item["id"]: item for item in items}, {"Q990": "Q106"})


def data_folder() -> Path:
    """Where recorded data would lie."""
    return Path(os.environ.get("POLYONYM_TEST_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


def recorded_entities(folder: Path) -> Iterator[Entity]:
    with gzip.open(folder / "wikidata_api" / "openrefine_wikibase" / "entities.jsonl.gz") as lines:
        for line in lines:
            known = json.loads(line)["entity"]
            if known and known["type"] == "item":
                yield known


def recorded_world() -> World | None:
    """Items and searches recorded from the real server; None where they are absent."""
    folder = data_folder()
    if not (folder / "wikidata_api" / "openrefine_wikibase" / "entities.jsonl.gz").exists():
        return None
    searches = {}
    for path in sorted((folder / "wikidata_api" / "openrefine_wikibase" / "search").glob("*_50_en.json")):
        searches[path.name[: -len("_50_en.json")].replace("_", " ").casefold()] = list(dict.fromkeys(json.loads(path.read_text())))
    return World({known["id"]: known for known in recorded_entities(folder)}, searches=searches)


@dataclass
class Request:
    """One request as the server saw it. `fault` is what was done to it, None when it was answered."""

    action: str
    parameters: dict[str, str]
    headers: dict[str, str]
    time: float
    fault: str | None


class WikidataServer:
    """A running server. Set `world` and `faults` (one is used up by each request, None: answer it), read `log`."""

    def __init__(self, world: World) -> None:
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/w/api.php"
        self.reset(world)

    def reset(self, world: World) -> None:
        self.world = world
        self.clock = FakeClock()
        self.faults: deque[str | None] = deque()
        self.poison: Callable[[dict[str, str]], str | None] = lambda _parameters: None  # a fault for certain requests, every time
        self.log: list[Request] = []
        self.retry_after = 7
        self.raw = b""  # what the fault "raw" answers
        self.slowness = 1.5
        self.at_once = self.most_at_once = 0

    def answered(self, action: str) -> Counter[str]:
        """How often each name (or id) got its answer."""
        key = "search" if action == "wbsearchentities" else "ids"
        return Counter(
            part for request in self.log if request.action == action and request.fault is None
            for part in ([request.parameters[key]] if key == "search" else request.parameters[key].split("|"))
        )  # fmt: skip

    def handle(self, parameters: dict[str, str], headers: dict[str, str]) -> tuple[int, dict[str, str], bytes, str | None]:
        action = parameters.get("action", "")
        with self._lock:
            fault = self.poison(parameters) or (self.faults.popleft() if self.faults else None)
            if action == "wbgetentities" and fault is None:
                for id in parameters["ids"].split("|"):
                    if not re.fullmatch(r"[QPL][1-9]\d{0,9}", id):
                        fault = f"no-such-entity {id}"
                        break
            if fault == "left out" and action != "wbgetentities":
                fault = None
            self.log.append(Request(action, parameters, headers, self.clock.elapsed, fault))
        return *self._answer(action, parameters, fault), fault

    def _answer(self, action: str, parameters: dict[str, str], fault: str | None) -> tuple[int, dict[str, str], bytes]:
        page = b"<!DOCTYPE html>\n<html><body><h1>Error</h1><p>Our servers are currently under maintenance.</p></body></html>"
        html = {"Content-Type": "text/html; charset=utf-8"}
        wait = {"Retry-After": str(self.retry_after)}
        if fault == "429":
            return 429, {**html, **wait}, page
        if fault == "429 date":
            return 429, {**html, "Retry-After": formatdate(self.clock.now() + self.retry_after, usegmt=True)}, page
        if fault == "503":
            return 503, {**html, **wait}, page
        if fault == "500":
            return 500, html, page
        if fault == "html":
            return 200, html, page
        if fault == "raw":
            return 200, {}, self.raw
        if fault == "empty":
            return 200, {}, b""
        if fault in ("403", "404"):
            return int(fault), html, page
        if fault in ("maxlag", "maxlag bare"):
            lag = {"host": "all", "lag": 3.45, "type": "wikibase-queryservice", "queryserviceLag": 626}
            return 200, wait if fault == "maxlag" else {}, _error("maxlag", "Waiting for all: 3.45 seconds lagged.", **lag)
        if fault == "ratelimited":
            return 200, {}, _error("ratelimited", "You've exceeded your rate limit. Please wait some time and try again.")
        if fault == "internal":
            return 500, {}, _error("internal_api_error_DBQueryError", "[abc] Caught exception of type DBQueryError")
        if fault and fault.startswith("refused"):
            return 200, {}, _error("badvalue", "Unrecognized value for parameter.")
        if fault and fault.startswith("no-such-entity"):
            return 200, {}, _error("no-such-entity", f"Could not find such an entity (Invalid id: {fault.split(' ', 1)[1]})")
        body = self._search(parameters) if action == "wbsearchentities" else self._entities(parameters, fault == "left out")
        if fault == "no such key":
            body = {"success": 1}
        text = json.dumps(body).encode()
        return 200, {"Content-Type": "application/json; charset=utf-8"}, text[: len(text) // 2] if fault == "truncated" else text

    def _search(self, parameters: dict[str, str]) -> dict[str, Any]:
        rows = self.world.search(parameters["search"], parameters["language"], int(parameters["limit"]))
        return {"searchinfo": {"search": parameters["search"]}, "search": rows, "success": 1}

    def _entities(self, parameters: dict[str, str], leave_out: bool) -> dict[str, Any]:
        languages = set(parameters["languages"].split("|"))
        entities: dict[str, Any] = {}
        ids = parameters["ids"].split("|")
        for asked in ids[1:] if leave_out else ids:
            id = self.world.redirects.get(asked, asked)
            known = self.world.entities.get(id)
            if known is None:
                entities[asked] = {"id": asked, "missing": ""}
                continue
            terms: dict[str, Any] = {
                part: {lang: term for lang, term in dict(known[part] or {}).items() if lang in languages} or []
                for part in ("labels", "descriptions", "aliases")
            }
            redirected = {"redirects": {"from": asked, "to": id}} if asked != id else {}
            entities[asked] = {**redirected, **known, **terms}
        return {"entities": entities, "success": 1}


def _error(code: str, info: str, **more: Any) -> bytes:
    error = {"code": code, "info": info, **more, "*": "See https://www.wikidata.org/w/api.php for API usage."}
    return json.dumps({"error": error, "servedby": "mw1280"}).encode()


def _handler(server: WikidataServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_GET(self) -> None:
            with server._lock:
                server.at_once += 1
                server.most_at_once = max(server.most_at_once, server.at_once)
            try:
                self._answer()
            finally:
                with server._lock:
                    server.at_once -= 1

        def _answer(self) -> None:
            parameters = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query, keep_blank_values=True).items()}
            status, headers, body, fault = server.handle(parameters, {key.lower(): value for key, value in self.headers.items()})
            if fault == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True
                return
            if fault == "slow":
                time.sleep(server.slowness)
            if "gzip" in self.headers.get("Accept-Encoding", ""):
                body = gzip.compress(body, 1)
                headers = {**headers, "Content-Encoding": "gzip"}
            try:
                self.send_response(status)
                for key, value in headers.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)
                self.wfile.flush()
            except OSError:
                self.close_connection = True  # the client went away
            if fault == "cut":
                self.close_connection = True

        def finish(self) -> None:
            with suppress(OSError, ValueError):  # the connection may have been reset on purpose
                super().finish()

        def log_message(self, *_arguments: Any) -> None:
            pass

    return Handler


@contextmanager
def running(world: World) -> Iterator[WikidataServer]:
    """A server on a free port of the local machine, stopped at the end."""
    server = WikidataServer(world)
    thread = threading.Thread(target=server._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server._server.shutdown()
        server._server.server_close()
        thread.join()
