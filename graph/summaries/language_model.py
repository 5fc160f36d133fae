"""A language model behind an OpenAI-compatible endpoint (`POST /chat/completions`), asked with bounded patience."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from polyonym.ingest.errors import ServerAway
from polyonym.ingest.store.database import without_password

_WORTH_ANOTHER_TRY = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 529))
_WRONG_ADDRESS_OR_KEY = frozenset((401, 402, 403, 404, 405))
_LARGEST_ANSWER = 200_000  # bytes
_LONGEST_PAUSE = 60.0  # seconds, whatever Retry-After asks for


class Refused(Exception):
    """The endpoint works, but does not answer this prompt (too long for it, filtered, an empty answer)."""


class _Fault(Exception):
    """One try has failed in a way that another may not. `pause`: seconds that the server asked to be left alone."""

    def __init__(self, what: str, pause: float | None = None) -> None:
        super().__init__(what)
        self.pause = pause


@dataclass(frozen=True)
class LanguageModel:
    """An endpoint's base URL (such as http://localhost:8000/v1), its key ("" for none), and the model to ask for.

    `prompt_tokens` bounds what is sent; `timeout` (seconds) bounds each try as a whole, `attempts` their number, and
    `pause` (seconds) is the first wait between two tries, doubled each time unless the server names one.
    """

    url: str
    key: str
    model: str
    prompt_tokens: int = 4000
    timeout: float = 120.0
    attempts: int = 4
    pause: float = 1.0

    def answer(self, system: str, prompt: str, answer_tokens: int) -> str:
        """The model's answer to `prompt`, not empty, at most about `answer_tokens` long.

        Raises ServerAway when the endpoint cannot be reached, keeps failing, or does not accept the key; Refused when it
        answers, but not to this prompt.
        """
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        body = orjson.dumps({"model": self.model, "messages": messages, "temperature": 0, "max_tokens": answer_tokens})
        patiently = Retrying(
            retry=retry_if_exception_type(_Fault), stop=stop_after_attempt(self.attempts), wait=self._pause_after, reraise=True
        )
        try:
            return patiently(lambda: _text_of(self._post(body)))
        except _Fault as fault:
            raise ServerAway(
                f"The language model at {without_password(self.url)} does not answer after {self.attempts} tries: {fault}. "
                "Check POLYONYM_LLM_URL, or unset it for extractive summaries."
            ) from fault

    def _pause_after(self, tried: RetryCallState) -> float:
        """Seconds until the next try: as many as the server asked for, else more after each."""
        fault = tried.outcome and tried.outcome.exception()
        asked = fault.pause if isinstance(fault, _Fault) else None
        return min(self.pause * 2 ** (tried.attempt_number - 1) if asked is None else asked, _LONGEST_PAUSE)

    def _post(self, body: bytes) -> bytes:
        import requests

        address = self.url.rstrip("/")
        if not address.endswith("/chat/completions"):
            address += "/chat/completions"
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        deadline = time.monotonic() + self.timeout
        try:
            with requests.post(address, data=body, headers=headers, timeout=self.timeout, stream=True) as response:
                # Byte by byte: asked for more, the library waits until it is all there, however slowly it trickles in.
                answer = _bounded(response.iter_content(1), deadline)
        except requests.RequestException as error:
            raise _Fault(_plain(error)) from error
        if response.status_code in _WORTH_ANOTHER_TRY:
            raise _Fault(f"HTTP {response.status_code}", _asked_pause(response.headers.get("Retry-After")))
        if response.status_code in _WRONG_ADDRESS_OR_KEY:
            raise ServerAway(
                f"The language model at {without_password(self.url)} refuses: HTTP {response.status_code}{_reason(answer)}. "
                "Check POLYONYM_LLM_URL, POLYONYM_LLM_KEY and POLYONYM_LLM_MODEL."
            )
        if response.status_code != 200:
            raise Refused(f"HTTP {response.status_code}{_reason(answer)}")
        return answer


def _bounded(parts: Iterator[bytes], deadline: float) -> bytes:
    """All parts, unless they are too many or trickle in too slowly (the library's own timeout looks at each read alone)."""
    whole = bytearray()
    for part in parts:
        whole += part
        if len(whole) > _LARGEST_ANSWER:
            raise _Fault("the answer is too long")
        if time.monotonic() > deadline:
            raise _Fault("the answer takes too long")
    return bytes(whole)


def _text_of(answer: bytes) -> str:
    try:
        choice = orjson.loads(answer)["choices"][0]
        text: Any = choice["message"]["content"]
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise _Fault("its answer is no chat completion") from error
    if not isinstance(text, str) or not text.strip():
        raise Refused("the answer is empty")
    return text


def _reason(answer: bytes) -> str:
    """The endpoint's own words about an error, where it gives any, cut to a line."""
    try:
        message = orjson.loads(answer)["error"]["message"]
    except (ValueError, TypeError, KeyError):
        return ""
    return f" ({' '.join(str(message).split())[:200]})"


def _asked_pause(header: str | None) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or a date."""
    if header is None:
        return None
    try:
        if header.strip().isdigit():
            return float(header)
        when = parsedate_to_datetime(header)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def _plain(error: Exception) -> str:
    import requests

    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.ConnectionError):
        return "no connection, or it broke off"
    return str(error)
