"""HTTP as bytes on a socket, for what no client library would send."""

from __future__ import annotations

import http.client
import socket
from typing import Self
from urllib.parse import urlsplit


class Raw:
    """One TCP connection."""

    def __init__(self, url: str, timeout_s: float = 10) -> None:
        address = urlsplit(url)
        self.socket = socket.create_connection((address.hostname, address.port), timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *parts: str | bytes) -> None:
        """Send bytes, and texts as UTF-8."""
        self.socket.sendall(b"".join(part.encode() if isinstance(part, str) else part for part in parts))

    def response(self, method: str = "GET") -> tuple[int, http.client.HTTPMessage, bytes]:
        """Status, headers and body of the next response."""
        response = http.client.HTTPResponse(self.socket, method=method)
        response.begin()
        return response.status, response.headers, response.read()

    def rest(self) -> bytes:
        """All bytes until the broker closes."""
        return b"".join(iter(lambda: self.socket.recv(65536), b""))


def exchange(url: str, *parts: str | bytes) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Send bytes on a connection of their own; status, headers and body of the response."""
    with Raw(url) as raw:
        raw.send(*parts)
        return raw.response()
