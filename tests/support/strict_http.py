"""GET of a response that goes on, by hand: the very bytes of a foreign client's request, and what libcurl makes of the answer."""

from __future__ import annotations

import socket
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

BITS = {"deflate": 15, "gzip": 31}


class Cut(Exception):
    """The connection ended where the response had not."""


class Getting:
    """One connection, one request; `status` and `headers` (in lower case) are there when it is made.

    Raises OSError where nobody is there or nothing comes in time, Cut where there is no whole head.
    """

    def __init__(self, url: str, headers: list[tuple[str, str]], timeout_s: float) -> None:
        parts = urlsplit(url)
        self.connection = socket.create_connection((parts.hostname, parts.port), timeout_s)
        self._data = b""
        try:
            target = url[url.index(parts.netloc) + len(parts.netloc) :]  # as it is: nothing is escaped
            lines = [f"GET {target} HTTP/1.1", f"Host: {parts.netloc}"]
            lines += [f"{name}: {value}" for name, value in headers]
            self.connection.sendall("\r\n".join([*lines, "", ""]).encode())
            status, *fields = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        except BaseException:
            self.connection.close()
            raise
        self.status = int(status.split()[1])
        pairs = (field.partition(":") for field in fields if field)
        self.headers = {name.lower(): value.strip() for name, _, value in pairs}

    def chunks(self) -> Iterator[bytes]:
        """The body's chunks as they are on the wire, until it ends.

        Raises:
            Cut: it ended in the midst.
        """
        if self.headers.get("transfer-encoding") == "chunked":
            while size := int(self._until(b"\r\n").split(b";")[0], 16):
                yield self._exactly(size)
                assert self._exactly(2) == b"\r\n", "a chunk must end behind its length"
        elif "content-length" in self.headers:
            yield self._exactly(int(self.headers["content-length"]))
        else:
            if self._data:
                yield self._data
            while data := self.connection.recv(65_536):
                yield data

    def decoded(self) -> Iterator[bytes]:
        """The same with its content coding undone, as libcurl does it: deflate without its header passes, too."""
        coding = self.headers.get("content-encoding")
        if coding is None:
            yield from self.chunks()
            return
        stream, began = zlib.decompressobj(BITS[coding]), False
        for chunk in self.chunks():
            try:
                yield stream.decompress(chunk)
            except zlib.error:
                assert not began and coding == "deflate", "the body is not what its encoding says"
                stream = zlib.decompressobj(-15)
                yield stream.decompress(chunk)
            began = True

    def close(self) -> None:
        """From any thread: a read that waits is woken."""
        with suppress(OSError):  # it is over
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    def _until(self, end: bytes) -> bytes:
        while end not in self._data:
            self._more()
        found, _, self._data = self._data.partition(end)
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self._data) < size:
            self._more()
        found, self._data = self._data[:size], self._data[size:]
        return found

    def _more(self) -> None:
        data = self.connection.recv(65_536)
        if not data:
            raise Cut
        self._data += data
