"""One POST whose body is sent as it comes, in chunks (RFC 9112, 7.1), and whose answer may come before its end.

httpx looks for the answer only when the whole body has been sent, and this one is sent for seconds.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httptools

from triplewire.broker.errors import BrokerMisbehaved, ConnectionLost
from triplewire.clients.flows import Dropped, Reply
from triplewire.clients.trust import tls_context

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .settings import StreamSettings

_MOST_OF_AN_ANSWER = 64 * 1024
_MOST_HEADERS = 100


class Answered(Exception):
    """The server has answered before the body's end, and will read no more of it."""


class ChunkedPost:
    """One connection, one POST."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, url: str) -> None:
        self._writer = writer
        self._url = url
        self._reply = asyncio.ensure_future(_answer(reader, url))

    @classmethod
    async def open(cls, url: str, headers: Mapping[str, str], settings: StreamSettings) -> ChunkedPost:
        """Connect, and send the head.

        Raises:
            ConnectionLost: nobody is there.
        """
        parts = urlsplit(url)
        tls = tls_context(settings) if parts.scheme == "https" else None
        port = parts.port or (443 if tls is not None else 80)
        try:
            async with asyncio.timeout(settings.timeout_s):
                reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=tls)
        except (OSError, TimeoutError) as error:
            raise ConnectionLost(f"can't reach {url}: {error or 'no connection in time'}") from error
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        lines = [f"POST {target} HTTP/1.1", f"Host: {parts.netloc.rpartition('@')[2]}"]
        lines += ["Transfer-Encoding: chunked", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        return cls(reader, writer, url)

    async def send(self, data: bytes) -> None:
        """One chunk.

        Raises:
            Answered: `finish` has the answer.
            ConnectionLost: the connection broke.
        """
        if self._reply.done():
            raise Answered
        self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        try:
            await self._writer.drain()
        except ConnectionError as error:
            # What the server said before it closed the connection may be there to be read.
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._reply), 1.0)
                raise Answered from error
            raise Dropped(f"the connection to {self._url} broke: {error}") from error

    async def finish(self, timeout_s: float) -> Reply:
        """End the body, where that is still wanted, and the answer to it.

        Raises:
            ConnectionLost: there is none, or not in time.
            BrokerMisbehaved: it is not HTTP.
        """
        if not self._reply.done():
            self._writer.write(b"0\r\n\r\n")
        try:
            return await asyncio.wait_for(self._reply, timeout_s)
        except TimeoutError as error:
            raise ConnectionLost(f"no answer from {self._url} in time") from error

    async def close(self) -> None:
        """Close the connection, whatever is under way on it."""
        self._reply.cancel()
        # Its error is of no interest to whoever closes, and asyncio complains where nobody has looked at it.
        await asyncio.wait([self._reply])
        if not self._reply.cancelled():
            self._reply.exception()
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


class _Answer:
    """What httptools found in it."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.body = b""
        self.complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) < _MOST_HEADERS:
            self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self.body = (self.body + body)[:_MOST_OF_AN_ANSWER]

    def on_message_complete(self) -> None:
        self.complete = True


async def _answer(reader: asyncio.StreamReader, url: str) -> Reply:
    answer = _Answer()
    parser = httptools.HttpResponseParser(answer)
    read = 0
    while not answer.complete:
        try:
            data = await reader.read(_MOST_OF_AN_ANSWER)
        except OSError as error:
            raise Dropped(f"the connection to {url} broke: {error}") from error
        read += len(data)
        if not data or read > 2 * _MOST_OF_AN_ANSWER:
            break  # an answer without a length ends with the connection
        try:
            parser.feed_data(data)
        except httptools.HttpParserError as error:
            raise BrokerMisbehaved(f"{url} did not speak HTTP: {error}") from error
    if not read or not parser.get_status_code():
        raise Dropped(f"{url} closed the connection without an answer")
    return Reply(parser.get_status_code(), answer.headers, answer.body)
