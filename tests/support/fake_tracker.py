"""A tracker that sends consumers to the first of its relays that they don't avoid, and can be silent, or dead."""

from __future__ import annotations

import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qsl, urlencode, urlsplit


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_) -> None:
        """It does not print that a client hung up."""


class FakeTracker:
    """`with FakeTracker() as tracker:`; `relays` are their names with their base URLs, the best first.

    `asked` has the parameters of each request, `tokens` what was in Authorization.  `replies` (status, headers) come
    first, in turn.
    """

    def __init__(self, relays: dict[str, str] | None = None) -> None:
        self.relays = dict(relays or {})
        self.asked: list[dict[str, str]] = []
        self.tokens: list[str | None] = []
        self.replies: deque[tuple[int, dict[str, str]]] = deque()
        self.tells_nodes = True
        self.speaks = threading.Event()
        self.speaks.set()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.base = f"http://127.0.0.1:{self._server.server_port}"
        self.url = f"{self.base}/consume/events"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nobody is there any more; may be called again."""
        self.speaks.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def _handler(self):
        tracker = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                status, headers = tracker._answer(self)
                tracker.speaks.wait(60)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        return Handler

    def _answer(self, handler) -> tuple[int, dict[str, str]]:
        target = urlsplit(handler.path)
        given = parse_qsl(target.query)
        self.asked.append(dict(given))
        self.tokens.append(handler.headers.get("Authorization"))
        if self.replies:
            return self.replies.popleft()
        avoided = {value for name, value in given if name == "avoid"}
        chosen = [(node, base) for node, base in self.relays.items() if avoided.isdisjoint({node, base})]
        if not chosen or not target.path.startswith("/consume/"):
            return 503, {"Retry-After": "0"}
        node, base = chosen[0]
        query = urlencode([pair for pair in given if pair[0] not in {"region", "avoid"}])
        location = f"{base}/{target.path.removeprefix('/consume/')}{'?' if query else ''}{query}"
        return 307, {"Location": location, **({"Triplewire-Node": node} if self.tells_nodes else {})}
