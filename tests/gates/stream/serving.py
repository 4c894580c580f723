"""A stream port in the test's own loop, over real sockets, and clients that see every byte."""

from __future__ import annotations

import asyncio
import functools
import json
import zlib
from contextlib import asynccontextmanager, suppress

import uvloop

from triplewire.broker.config import LimitsConfig, StreamConfig, StreamGateConfig
from triplewire.broker.security.authority import Nobody
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import FOLLOWED, Item, encode_item
from triplewire.gates.stream.server import StreamServer
from triplewire.gates.stream.stream import open_stream


def item(event_id, body=b"<a> <b> <c> .", **fields):
    """An item, as somebody publishes it."""
    return Item(str(event_id), "src-1", "text/turtle", body, **fields)


class Client:
    """One connection."""

    def __init__(self, reader, writer):
        self.reader = reader
        self.writer = writer
        self.status = 0
        self.headers = {}
        self._zlib = None
        self._items = ItemReader(FOLLOWED)
        self._ready = []

    async def ask(self, method, path, *headers, body=b"", version="1.1"):
        """Send a request."""
        lines = [f"{method} {path} HTTP/{version}", "Host: localhost", *headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await self.writer.drain()

    async def head(self):
        """The status; the headers are in `headers`, in lower case."""
        head = (await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 5)).decode()
        first, *lines = head.split("\r\n")[:-2]
        self.status = int(first.split()[1])
        self.headers = {}
        for line in lines:
            name, _, value = line.partition(": ")
            assert name.lower() not in self.headers
            self.headers[name.lower()] = value
        if self.headers.get("content-encoding") == "deflate":
            self._zlib = zlib.decompressobj()
        return self.status

    async def body(self):
        """The whole body of a response that has a length."""
        return await asyncio.wait_for(self.reader.readexactly(int(self.headers["content-length"])), 5)

    async def chunk(self):
        """The next chunk as it was sent; b"" for the last."""
        size = int(await asyncio.wait_for(self.reader.readline(), 5), 16)
        data = await asyncio.wait_for(self.reader.readexactly(size), 5)
        assert await self.reader.readexactly(2) == b"\r\n"
        return data

    async def text(self):
        """The next chunk, without its compression."""
        data = await self.chunk()
        return self._zlib.decompress(data) if self._zlib else data

    async def items(self, count):
        """The next items."""
        while len(self._ready) < count:
            self._ready += self._items.feed(await self.text())
        found, self._ready = self._ready[:count], self._ready[count:]
        return found

    async def ids(self, count):
        """Their ids."""
        return [each.event_id for each in await self.items(count)]

    def nothing_more(self):
        """No item is there that was not asked for."""
        return not self._ready

    async def error(self):
        """The error object."""
        return json.loads(await self.body())

    async def close(self):
        """Hang up."""
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()


class Port:
    """The port, its one stream, and clients that are closed in the end."""

    def __init__(self, server, stream, number):
        self.server = server
        self.stream = stream
        self.number = number
        self.clients = []

    async def connect(self):
        """A connection."""
        client = Client(*await asyncio.open_connection("127.0.0.1", self.number))
        self.clients.append(client)
        return client

    async def follow(self, path="/events/stream", *headers, version="1.1"):
        """A consumer that has its head."""
        client = await self.connect()
        await client.ask("GET", path, *headers, version=version)
        assert await client.head() == 200
        if client.headers.get("content-encoding") == "deflate" and version == "1.1":
            assert await client.text() == b""  # zlib's header, in a chunk of its own
        return client

    async def request(self, method, path, *headers, body=b"", version="1.1"):
        """A client that has the head of its answer."""
        client = await self.connect()
        await client.ask(method, path, *headers, body=body, version=version)
        await client.head()
        return client

    async def post(self, items, path="/events/publish", media_type="application/ztreamy-event", *headers):
        """Publish; the status."""
        body = items if isinstance(items, bytes) else b"".join(map(encode_item, items))
        client = await self.request("POST", path, f"Content-Type: {media_type}", *headers, body=body)
        await client.close()
        return client.status

    async def publish(self, *ids, body=b"<a> <b> <c> ."):
        """Items into the stream, past the wire."""
        await self.stream.publish([item(each, body) for each in ids], "")


@asynccontextmanager
async def serving(stream=None, *, gate=None, limits=None, authority=None, **more):
    """A port with the stream `events`; the settings as dicts of what differs."""
    loop = asyncio.get_running_loop()
    events = open_stream("events", StreamConfig(**(stream or {})), loop)
    server = StreamServer(
        {"events": events},
        authority or Nobody(),
        LimitsConfig(**(limits or {})),
        StreamGateConfig(**({"port": 0} | (gate or {}))),
        **more,
    )
    port = Port(server, events, (await server.start())[0])
    try:
        yield port
    finally:
        for client in port.clients:
            await client.close()
        await server.close()
        events.close()


def on_uvloop(test):
    """Run an async test on the loop that brokers have: when a transport says that it is slow is its own affair."""

    @functools.wraps(test)
    def run(*arguments, **named):
        uvloop.run(test(*arguments, **named))

    return run


async def until(condition, timeout_s=5):
    """Wait for something that will be so."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - whatever it is
            await asyncio.sleep(0.005)
