"""A small server of one stream, `/events`, whose connections a test can cut and whose answers it can script."""

from __future__ import annotations

import contextlib
import gzip
import socket
import threading
import time
import zlib
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlsplit

from triplewire.broker.wire.item_json import decode_json
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import Item, ItemError, encode_item


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_) -> None:
        """It does not print that a client hung up."""


class _Follower:
    """One response that goes on."""

    def __init__(self, connection: socket.socket, *, compressed: bool) -> None:
        self.connection = connection
        self._zlib = zlib.compressobj() if compressed else None
        self.over = threading.Event()

    def send(self, data: bytes) -> None:
        if self._zlib is not None:
            data = self._zlib.compress(data) + self._zlib.flush(zlib.Z_SYNC_FLUSH)
        if data:
            self.connection.sendall(b"%x\r\n%b\r\n" % (len(data), data))


class FakeStream:
    """`with FakeStream() as stream:`; `requests` are (method, target, headers), `items` is its history."""

    def __init__(self, *, history: int = 1000) -> None:
        self.items: deque[Item] = deque(maxlen=history)
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.replies: deque[tuple[int, dict[str, str], bytes]] = deque()  # instead of an answer, in turn
        self.cuts_posts = 0  # so many POSTs are read, taken and not answered
        self.posts: list[list[Item]] = []
        self._followers: list[_Follower] = []
        self._lock = threading.RLock()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/events"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def followers(self) -> int:
        return len(self._followers)

    def publish(self, *items: Item, live: bool = True) -> None:
        """Into the history, where their ids are not there, and to those who follow."""
        with self._lock:
            known = {item.event_id for item in self.items}
            new = [item for item in items if item.event_id not in known]
            self.items.extend(new)
            if live and new:
                self.send(b"".join(map(encode_item, new)))

    def send(self, data: bytes) -> None:
        """These bytes, to those who follow."""
        with self._lock:
            for follower in list(self._followers):
                with contextlib.suppress(OSError):
                    follower.send(data)

    def cut(self) -> None:
        """Break all connections of followers."""
        with self._lock:
            for follower in self._followers:
                with contextlib.suppress(OSError):
                    follower.connection.shutdown(socket.SHUT_RDWR)
                follower.over.set()
            self._followers.clear()

    def end(self) -> None:
        """End all responses cleanly."""
        with self._lock:
            for follower in self._followers:
                with contextlib.suppress(OSError):
                    follower.connection.sendall(b"0\r\n\r\n")
                follower.over.set()
            self._followers.clear()

    def until(self, reached, timeout_s: float = 10) -> None:
        """Wait until something is so."""
        deadline = time.monotonic() + timeout_s
        while not reached():
            assert time.monotonic() < deadline, "it was not reached in time"
            time.sleep(0.005)

    def _handler(self):
        stream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                stream._note(self)
                if not stream._scripted(self):
                    stream._follow(self)

            def do_POST(self):
                stream._note(self)
                body = self._body()
                if not stream._scripted(self):
                    stream._taken(self, body)

            def _body(self):
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            def log_message(self, *_):
                pass

        return Handler

    def _note(self, handler) -> None:
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.requests.append((handler.command, handler.path, headers))

    def _scripted(self, handler) -> bool:
        if not self.replies:
            return False
        status, headers, body = self.replies.popleft()
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        return True

    def _follow(self, handler) -> None:
        target = urlsplit(handler.path)
        access = target.path.rpartition("/")[2]
        accepted = handler.headers.get("Accept-Encoding", "")
        compressed = access == "compressed" or (access == "stream" and "deflate" in accepted)
        last_seen = parse_qs(target.query).get("last-seen", [None])[0]
        follower = _Follower(handler.connection, compressed=compressed)
        with self._lock:
            handler.send_response(200)
            handler.send_header("Content-Type", "application/ztreamy-stream")
            handler.send_header("Transfer-Encoding", "chunked")
            if compressed:
                handler.send_header("Content-Encoding", "deflate")
            handler.end_headers()
            if last_seen is not None:
                follower.send(b"".join(map(encode_item, self._after(last_seen))))
            self._followers.append(follower)
        follower.over.wait(60)
        handler.close_connection = True

    def _after(self, last_seen: str) -> list[Item]:
        items = list(self.items)
        ids = [item.event_id for item in items]
        return items[ids.index(last_seen) + 1 :] if last_seen in ids else items

    def _taken(self, handler, body: bytes) -> None:
        if handler.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        try:
            if handler.headers["Content-Type"] == "application/json":
                items = decode_json(body)
            else:
                reader = ItemReader()
                items = reader.feed(body) if body else []
                reader.finish()
        except ItemError as error:
            handler.send_error(400, str(error))
            return
        self.posts.append(items)
        self.publish(*items)
        if self.cuts_posts:
            self.cuts_posts -= 1
            handler.close_connection = True
            return
        handler.send_response(200)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
