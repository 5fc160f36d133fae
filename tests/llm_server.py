"""A real HTTP server on this machine that answers as an OpenAI-compatible endpoint does, faults included."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What the server does with one request: the text it answers with, or a fault.

    `raw` is sent in place of a chat completion; `drip` sends the body byte by byte with so many seconds between;
    `hang_up` closes the connection without a word.
    """

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    drip: float = 0.0
    hang_up: bool = False

    def body(self) -> bytes:
        if self.raw is not None:
            return self.raw
        if self.status != 200:
            return json.dumps({"error": {"message": self.text or "no", "type": "error"}}).encode()
        message = {"role": "assistant", "content": self.text}
        return json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()


Reply = Callable[[dict[str, Any]], Answer]


class LanguageModelServer:
    """Answers each request with what `reply` makes of its JSON body, and keeps all bodies and headers in `asked`."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.asked.append(body)
                server.headers.append({**dict(self.headers), "path": self.path})
                answer = server.reply(body)
                if answer.hang_up:
                    self.close_connection = True
                    return
                data = answer.body()
                self.send_response(answer.status)
                for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    for piece in [data[i : i + 1] for i in range(len(data))] if answer.drip else [data]:
                        self.wfile.write(piece)
                        self.wfile.flush()
                        time.sleep(answer.drip)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@contextmanager
def language_model_server(reply: Reply) -> Iterator[LanguageModelServer]:
    """The server, running."""
    server = LanguageModelServer(reply)
    try:
        yield server
    finally:
        server.close()


def diligent(body: dict[str, Any]) -> Answer:
    """Answers as a good model does: one sentence about each of the first passages, with its number."""
    passages = re.findall(r"^\[(\d+)\] (.+)$", body["messages"][1]["content"], re.MULTILINE)
    return Answer(" ".join(f"The passage says that {text.split('.')[0].lower()} [{number}]." for number, text in passages[:3]))
