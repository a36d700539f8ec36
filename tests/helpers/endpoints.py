"""A small real HTTP server on loopback that answers as a script says."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """One HTTP response: a chat completion with `text`, or another status or body."""

    text: str = "Fine.\nGrade: 7"
    status: int = 200
    body: str | None = None
    finish: str = "stop"
    headers: dict[str, str] = field(default_factory=dict)

    def bytes(self) -> bytes:
        if self.body is not None:
            return self.body.encode()
        message = {"role": "assistant", "content": self.text}
        choice = {"index": 0, "finish_reason": self.finish, "message": message}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        whole = {"id": "1", "object": "chat.completion", "created": 0, "model": "toy"}
        return json.dumps(whole | {"choices": [choice], "usage": usage}).encode()


@dataclass
class Endpoint:
    """Where it listens, and every chat request that came: its body, key and time in seconds."""

    base_url: str
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)


@contextmanager
def endpoint(script: Callable[[int, str], Answer], models: int = 200) -> Iterator[Endpoint]:
    """`script` gets a request's number from 0 and its prompt; `models` is /models' status."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(Answer(status=models, body='{"object": "list", "data": []}'))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                number = len(found.bodies)
                found.bodies.append(body)
                found.keys.append(self.headers["authorization"])
                found.times.append(time.monotonic())
            self._send(script(number, body["messages"][0]["content"]))

        def _send(self, answer: Answer) -> None:
            data = answer.bytes()
            self.send_response(answer.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: object) -> None:
            pass

    lock = threading.Lock()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Endpoint(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
