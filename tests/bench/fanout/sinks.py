"""Where items are published to: a request each for HTTP and Faye, one connection for MQTT and ZeroMQ."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from .framings import mqtt_packet
from .handshakes import CHANNEL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_TYPE = "application/ztreamy-event"


class HttpSink:
    """Requests over connections that are kept; each is on one that waits for nothing."""

    def __init__(self, host: str, port: int, path: str) -> None:
        self._host, self._port, self._path = host, port, path
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self.content_type = _TYPE

    def body(self, made: bytes) -> bytes:
        """The request's, of the item."""
        return made

    async def publish(self, make: Callable[[], bytes]) -> None:
        reader, writer = (
            self._free.pop() if self._free else await asyncio.open_connection(self._host, self._port)
        )
        body = self.body(make())
        writer.write(
            f"POST {self._path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nContent-Type: {self.content_type}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(_length(head))
        if not head.split(b" ", 2)[1].startswith(b"2"):
            writer.close()
            raise OSError(f"answered {head[:200]!r}")
        self._free.append((reader, writer))


class FayeSink(HttpSink):
    """Bayeux messages in requests, which need no handshake."""

    def __init__(self, host: str, port: int, path: str) -> None:
        super().__init__(host, port, path)
        self.content_type = "application/json"

    def body(self, made: bytes) -> bytes:
        return json.dumps({"channel": f"/{CHANNEL}", "data": made.decode()}).encode()


class MqttSink:
    """PUBLISH of quality 0 (MQTT 3.1.1 section 3.3), which is not answered."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def publish(self, make: Callable[[], bytes]) -> None:
        topic = CHANNEL.encode()
        self._writer.write(mqtt_packet(0x30, len(topic).to_bytes(2, "big") + topic + make()))
        await self._writer.drain()


class ZmqSink:
    """A PUSH socket."""

    def __init__(self, host: str, port: int) -> None:
        import zmq

        self._socket = zmq.Context.instance().socket(zmq.PUSH)
        self._socket.connect(f"tcp://{host}:{port}")

    async def publish(self, make: Callable[[], bytes]) -> None:
        self._socket.send(make())


async def _http(host: str, port: int, path: str) -> HttpSink:
    return HttpSink(host, port, path)


async def _faye(host: str, port: int, path: str) -> FayeSink:
    return FayeSink(host, port, path)


async def _mqtt(host: str, port: int, _path: str) -> MqttSink:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(mqtt_packet(0x10, b"\x00\x04MQTT\x04\x02\x00\x00\x00\x00"))
    if (answer := await reader.readexactly(4)) != b"\x20\x02\x00\x00":
        raise OSError(f"CONNECT was answered {answer!r}")
    return MqttSink(writer)


async def _zeromq(host: str, port: int, _path: str) -> ZmqSink:
    return ZmqSink(host, port)


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return 0


SINKS: dict[str, Callable[[str, int, str], Awaitable[HttpSink | MqttSink | ZmqSink]]] = {
    "http": _http,
    "faye": _faye,
    "mqtt": _mqtt,
    "zeromq": _zeromq,
}
