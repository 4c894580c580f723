"""A SPARQL endpoint that says what it is told to say, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROWS = {"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "literal", "value": "1"}}]}}


class Stub:
    """An endpoint that says what it is told to say, and remembers what it was asked."""

    def __init__(self):
        self.answer = (200, "application/sparql-results+json", json.dumps(ROWS))
        self.asked = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                stub.asked.append((self.command, self.path, dict(self.headers), body.decode()))
                status, kind, text = stub.answer
                data = text if isinstance(text, bytes) else text.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data) + (stub.missing or 0)))
                self.end_headers()
                self.wfile.write(data)
                self.close_connection = bool(stub.missing)

            do_GET = do_POST = handle_any  # noqa: N815 - names of http.server

            def log_message(self, *_):
                pass

        self.missing = 0
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
