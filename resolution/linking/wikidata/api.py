"""Wikidata's API over HTTP, asked politely: it names its operator, keeps to a rate, waits when told to, and gives up in time.

Protocol: https://www.wikidata.org/w/api.php?action=help&modules=wbsearchentities (and wbgetentities),
https://www.mediawiki.org/wiki/API:Etiquette, https://www.mediawiki.org/wiki/Manual:Maxlag_parameter,
https://www.mediawiki.org/wiki/Wikimedia_APIs/Rate_limits, https://foundation.wikimedia.org/wiki/Policy:User-Agent_policy.
"""

import random
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import orjson
import requests

from polyonym.ingest.errors import WrongUse
from polyonym.resolution.linking.knowledge_base import QID
from polyonym.resolution.linking.wikidata.entity import Entity, convert_entity

IDS_AT_ONCE = 50
"""The most ids that wbgetentities takes in one request."""
NAME_LENGTH = 250
"""The longest label or alias that Wikidata holds, in code points: a longer name has no answer."""

TRIES = 5
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds between tries: doubled each time, up to the longest
LAG_WAIT = 5.0  # what the maxlag manual asks for when the answer doesn't say how long
PATIENCE = 180.0  # told to wait longer than this, we leave the rest to the next run
FAILURES = 3  # so many names or single ids in a row that got no answer: the server stays away
BODY_LIMIT = 64 << 20


@dataclass(frozen=True)
class WikidataSettings:
    """How Wikidata is asked. `contact` (a mail address or a page) goes into the User-Agent; without it nothing is asked."""

    contact: str = ""
    languages: tuple[str, ...] = ("en", "mul")
    url: str = "https://www.wikidata.org/w/api.php"
    limit: int = 20  # hits a search
    per_minute: float = 200
    at_once: int = 3
    requests_a_run: int = 1000
    age_days: float = 30
    timeout: float = 30  # seconds for one request, its answer included


@dataclass(frozen=True)
class Clock:
    """Time as the client sees it, so that tests need not wait."""

    now: Callable[[], float] = time.time  # seconds since the epoch
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True)
class Hit:
    """One hit of a search: the item, and the label or alias by which it was found."""

    id: str
    kind: str  # label or alias
    text: str


@dataclass
class Entities:
    """What became of the ids asked for."""

    found: dict[str, Entity] = field(default_factory=dict)  # by the id asked for, whose entity may be another (a redirect)
    missing: list[str] = field(default_factory=list)  # well-formed or not: there is no such item
    failed: dict[str, str] = field(default_factory=dict)  # asked for alone, without an answer; with the reason
    unasked: list[str] = field(default_factory=list)  # the run's requests ended before them


class Unanswered(Exception):
    """A request came to nothing; says why."""


class Stopped(Unanswered):
    """No further request is sent in this run: the server stays away, or the run's requests are used up."""


class _Refused(Unanswered):
    """The server answered, and will not change its mind; `code` is its error code, `culprit` the id that it objects to."""

    def __init__(self, code: str, info: str, culprit: str | None = None) -> None:
        super().__init__(f"{code}: {info}")
        self.code = code
        self.culprit = culprit


class _Passing(Exception):
    """A fault that may pass; `wait` is how many seconds the server asked for, if it did."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class Api:
    """One run's conversation with the server. Its methods may be called from several threads."""

    def __init__(self, settings: WikidataSettings, clock: Clock, seed: int = 0) -> None:
        """Raises WrongUse when the contact cannot be put into a header."""
        if not settings.contact.isascii() or not settings.contact.isprintable():
            raise WrongUse(f"POLYONYM_WIKIDATA_CONTACT is {settings.contact!r}: give a mail address or a URL in plain ASCII.")
        self.settings = settings
        self.requests = 0
        self.stopped: str | None = None  # why no further request is sent
        self.limited = False  # because the run's requests are used up
        self._clock = clock
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._tokens = float(settings.at_once)
        self._filled = clock.monotonic()
        self._not_before = 0.0
        self._failures = 0
        self._session = requests.Session()
        self._session.headers.update({"User-Agent": _user_agent(settings.contact), "Accept-Encoding": "gzip"})

    def close(self) -> None:
        """Send nothing more."""
        self.stopped = self.stopped or "the run was ended"
        self._session.close()

    def search(self, name: str) -> list[Hit]:
        """The items that Wikidata finds for a name, best first. Raises Unanswered."""
        parameters = {
            "action": "wbsearchentities",
            "search": name,
            "language": self.settings.languages[0],  # others are searched as well, this one comes first
            "type": "item",
            "limit": str(self.settings.limit),
            "props": "",
        }
        try:
            body = self._ask(parameters, "search", list)
        except Stopped:
            raise
        except Unanswered as error:
            self._fail(str(error))
            raise
        hits: dict[str, Hit] = {}
        for row in body["search"]:
            match = row.get("match") if isinstance(row, dict) else None
            # A name that looks like an id ("Q4") finds the item of that id: that is not its name.
            if isinstance(match, dict) and match.get("type") in ("label", "alias") and QID.fullmatch(str(row.get("id"))):
                hits.setdefault(row["id"], Hit(row["id"], match["type"], str(match.get("text", ""))))
        return list(hits.values())

    def entities(self, ids: Sequence[str]) -> Entities:
        """The entities of up to IDS_AT_ONCE ids; one that the server chokes on fails alone. Raises nothing but WrongUse.

        A batch without an answer is halved until the culprit stands alone. Only single ids speak for a server that stays away: the
        halves that hold a culprit fail one after the other however well it is. They are tried once, for they fail with the batch.
        """
        result = Entities()
        todo, tries = [list(ids)], TRIES
        while todo:
            batch = todo.pop()
            try:
                self._take(batch, result, tries)
            except Stopped:
                result.unasked += [*batch, *(id for rest in reversed(todo) for id in rest)]
                break
            except Unanswered as error:
                gone = _no_such(error, batch)
                if gone:
                    self._failures = 0  # the server is well, and says so
                    result.missing.append(gone)
                    todo += [rest] if (rest := [id for id in batch if id != gone]) else []
                elif len(batch) == 1:
                    result.failed[batch[0]] = str(error)
                    self._fail(str(error))
                else:
                    todo += [batch[len(batch) // 2 :], batch[: len(batch) // 2]]
                    tries = 1
        return result

    def _take(self, ids: list[str], result: Entities, tries: int) -> None:
        parameters = {
            "action": "wbgetentities",
            "ids": "|".join(ids),
            "props": "labels|aliases|descriptions|claims|sitelinks",
            "languages": "|".join(self.settings.languages),
            "redirects": "yes",
        }
        entities = self._ask(parameters, "entities", dict, tries)["entities"]
        for id in ids:
            entity = entities.get(id)
            if isinstance(entity, dict) and "missing" in entity:
                result.missing.append(id)
                continue
            try:
                result.found[id] = convert_entity(entity)
            except ValueError as error:
                result.failed[id] = f"no entity in the answer: {error}"

    def _ask(self, parameters: dict[str, str], wanted: str, kind: type, tries: int = TRIES) -> dict[str, Any]:
        """The answer to one request, tried as often as makes sense: an object whose `wanted` is a `kind`. Raises Unanswered."""
        reason = ""
        for attempt in range(tries):
            self._wait_for_turn(reason)
            try:
                body = self._once(parameters)
                if not isinstance(body.get(wanted), kind):
                    raise _Passing(f"the answer has no `{wanted}`")
            except _Passing as error:
                reason = str(error)
                self._hold(attempt, error)
            else:
                self._failures = 0
                return body
        raise Unanswered(reason)

    def _wait_for_turn(self, reason: str) -> None:
        """Sleep until the rate and the waits that the server asked for allow a request. Raises Stopped when there shall be none."""
        settings = self.settings
        while True:
            with self._lock:
                if self.stopped is None and self.requests >= settings.requests_a_run:
                    self.stopped = f"the limit of {settings.requests_a_run} requests a run is reached"
                    self.limited = True
                if self.stopped is not None:
                    raise Stopped(f"{self.stopped} (before that: {reason})" if reason and reason not in self.stopped else self.stopped)
                now = self._clock.monotonic()
                rate = settings.per_minute / 60
                self._tokens = min(float(settings.at_once), self._tokens + (now - self._filled) * rate)
                self._filled = now
                wait = max(self._not_before - now, (1 - self._tokens) / rate)
                if wait <= 1e-9:
                    self._tokens -= 1
                    self.requests += 1
                    return
            self._clock.sleep(min(wait, 1.0))  # in short steps, so that a stop is noticed

    def _hold(self, attempt: int, error: _Passing) -> None:
        """Hold all requests back after a fault: as long as the server asked for, else longer after each attempt."""
        with self._lock:
            growing = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt) * (0.5 + self._random.random() / 2)
            wait = growing if error.wait is None else error.wait + self._random.random()
            if wait > PATIENCE:
                self.stopped = self.stopped or f"{error}, and asks for {wait:.0f} seconds of patience"
            self._not_before = max(self._not_before, self._clock.monotonic() + wait)

    def _fail(self, reason: str) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= FAILURES:
                self.stopped = self.stopped or reason

    def _once(self, parameters: dict[str, str]) -> dict[str, Any]:
        """One request. Raises _Passing or _Refused."""
        try:
            with self._session.get(
                self.settings.url, params={**parameters, "format": "json", "maxlag": "5"}, timeout=self.settings.timeout, stream=True
            ) as response:
                return self._judge(response, self._read(response))
        except (requests.exceptions.InvalidURL, requests.exceptions.MissingSchema, requests.exceptions.InvalidSchema) as error:
            raise WrongUse(f"The address of Wikidata's API cannot be used: {error}") from error
        except requests.RequestException as error:
            raise _Passing(f"{type(error).__name__} at {self.settings.url}") from error

    def _read(self, response: requests.Response) -> bytes:
        # The timeout of requests is one for each read: a server that trickles would keep us for ever.
        deadline = time.monotonic() + self.settings.timeout
        body = bytearray()
        for piece in response.iter_content(1 << 16):
            body += piece
            if time.monotonic() > deadline or len(body) > BODY_LIMIT:
                raise _Passing("the answer is too slow or too long")
        return bytes(body)

    def _judge(self, response: requests.Response, text: bytes) -> dict[str, Any]:
        status = response.status_code
        wait = _retry_after(response.headers.get("Retry-After"), self._clock.now())
        try:
            body = orjson.loads(text)
        except ValueError:
            body = None
        error = body.get("error") if isinstance(body, dict) else None
        if isinstance(error, dict):
            code, info = str(error.get("code")), str(error.get("info"))
            if code == "maxlag":
                raise _Passing(f"maxlag: {info}", LAG_WAIT if wait is None else wait)
            if code in ("ratelimited", "readonly") or code.startswith("internal_api_error") or status == 429 or status >= 500:
                raise _Passing(f"{code}: {info}", wait)
            named = re.search(r"\((?:Invalid|No such) id: (.*)\)", info)
            raise _Refused(code, info, error["id"] if isinstance(error.get("id"), str) else named and named.group(1))
        if status in (408, 425, 429) or status >= 500:
            raise _Passing(f"HTTP {status}", wait)
        if status >= 400:
            raise _Refused(f"HTTP {status}", response.reason or "refused")
        if not isinstance(body, dict):
            raise _Passing("the answer is a web page" if text.lstrip()[:1] == b"<" else "the answer is cut short or no JSON", wait)
        return body


def _no_such(error: Unanswered, batch: list[str]) -> str | None:
    """The id of the batch that does not exist by this answer, None when the answer says something else."""
    if not isinstance(error, _Refused) or error.code != "no-such-entity":
        return None
    return error.culprit if error.culprit in batch else batch[0] if len(batch) == 1 else None


def _user_agent(contact: str) -> str:
    try:
        own = version("polyonym")
    except PackageNotFoundError:
        own = "0"
    return f"polyonym/{own} ({contact}) python-requests/{requests.__version__}"


def _retry_after(header: str | None, now: float) -> float | None:
    """Seconds to wait by a Retry-After header, which holds seconds or a date (RFC 9110, 10.2.3); None when it holds neither."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - now)
    except ValueError:
        return None
