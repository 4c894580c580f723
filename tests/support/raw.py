"""HTTP as bytes on a socket, for what no client library would send."""

from __future__ import annotations

import http.client
import socket
from typing import Any, Self
from urllib.parse import urlsplit


class Raw:
    """One TCP connection."""

    def __init__(self, url: str, timeout_s: float = 10) -> None:
        address = urlsplit(url)
        self.socket = socket.create_connection((address.hostname, address.port), timeout_s)
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._file.close()
        self.socket.close()

    def send(self, *parts: str | bytes) -> None:
        """Send bytes, and texts as UTF-8."""
        self.socket.sendall(b"".join(part.encode() if isinstance(part, str) else part for part in parts))

    def response(self, method: str = "GET") -> tuple[int, http.client.HTTPMessage, bytes]:
        """Status, headers and body of the next response."""
        response = http.client.HTTPResponse(_Connection(self._file), method=method)  # type: ignore[arg-type]
        response.begin()
        return response.status, response.headers, response.read()

    def line(self) -> bytes:
        """The next line."""
        return self._file.readline()

    def rest(self) -> bytes:
        """All bytes until the broker closes."""
        return self._file.read()


class _Connection:
    """Stands for the socket: the response reads the bytes that are its own and leaves the file open."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def makefile(self, _: str) -> Self:
        return self

    def close(self) -> None:
        """The next response is read from the same file."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def exchange(
    url: str, *parts: str | bytes, method: str = "GET"
) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Send bytes on a connection of their own; status, headers and body of the response."""
    with Raw(url) as raw:
        raw.send(*parts)
        return raw.response(method)
