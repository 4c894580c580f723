"""How a consumer becomes one, protocol by protocol: generators that do no I/O.

Each yields what is to be sent, is sent what came, and returns what it has come to. Up to then consumers differ (dates, names of clients); from then on all are told the same bytes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from .framings import (
    Chunks,
    Framing,
    Garbled,
    MqttPackets,
    WebSocketFrames,
    ZmtpFrames,
    mqtt_packet,
    websocket_frame,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    Handshake = Generator[bytes, bytes, "Joined"]

CHANNEL = "events"


class Joined(NamedTuple):
    """A reader that has read nothing yet, what is there for it already, and what is still to be sent."""

    framing: Framing
    rest: bytes = b""
    last: bytes = b""


def http(path: str, *, deflate: bool = False) -> Handshake:
    """A stream over HTTP in chunks; nchan wants to be told that they may be (TE)."""
    coding = "deflate" if deflate else "identity"
    head, rest = yield from _head(
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nAccept-Encoding: {coding}\r\nTE: chunked\r\n\r\n",
        200,
    )
    if "transfer-encoding: chunked" not in head:
        raise Garbled(f"no chunks after {head!r}")
    if ("content-encoding: deflate" in head) != deflate:
        raise Garbled(f"asked for {coding}, answered {head!r}")
    return Joined(Chunks(deflate=deflate), rest)


def faye(path: str) -> Handshake:
    """Bayeux over a WebSocket: handshake, subscribe, connect; Faye answers that when its time is up, which is never."""
    _, rest = yield from _head(
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        101,
    )
    frames = WebSocketFrames()
    frames.feed(rest)
    asked = {"channel": "/meta/handshake", "version": "1.0", "supportedConnectionTypes": ["websocket"]}
    client = (yield from _bayeux(frames, asked))["clientId"]
    yield from _bayeux(
        frames, {"channel": "/meta/subscribe", "clientId": client, "subscription": f"/{CHANNEL}"}
    )
    connect = {"channel": "/meta/connect", "clientId": client, "connectionType": "websocket"}
    return Joined(WebSocketFrames(), frames.rest, websocket_frame(json.dumps([connect]).encode()))


def _bayeux(frames: WebSocketFrames, message: dict[str, object]) -> Generator[bytes, bytes, dict[str, str]]:
    """Ask, and the answer."""
    data = yield websocket_frame(json.dumps([message]).encode())
    while True:
        for payload in frames.feed(data):
            for answer in json.loads(payload):
                if answer["channel"] == message["channel"]:
                    if not answer["successful"]:
                        raise Garbled(f"{message['channel']} was answered {answer}")
                    return answer
        data = yield b""


def zeromq(_path: str = "") -> Handshake:
    """A SUB socket that wants everything (ZMTP 3.0: greeting, READY, a message 01 and the prefix)."""
    greeting = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + b"\0" + bytes(31)
    data = yield greeting
    while len(data) < len(greeting):
        data += yield b""
    if data[:1] != b"\xff" or data[12:16] != b"NULL":
        raise Garbled(f"greeted by {data[:64]!r}")
    frames = ZmtpFrames()
    answers = frames.feed(data[len(greeting) :])
    while not answers:
        answers = frames.feed((yield b""))
    if not answers[0].startswith(b"\x05READY"):
        raise Garbled(f"READY was wanted, and {answers[0]!r} came")
    ready = b"\x05READY\x0bSocket-Type" + (3).to_bytes(4, "big") + b"SUB"
    # A command of ours, and a message: subscribe to what begins with nothing.
    return Joined(ZmtpFrames(), frames.rest, b"\x04" + bytes([len(ready)]) + ready + b"\x00\x01\x01")


def mqtt(_path: str = "") -> Handshake:
    """A subscriber of quality 0 (MQTT 3.1.1 sections 3.1 and 3.8)."""
    packets = MqttPackets()
    # A clean session, no keep-alive, no client's name: the server makes one.
    yield from _packet(packets, mqtt_packet(0x10, b"\x00\x04MQTT\x04\x02\x00\x00\x00\x00"), b"\x20\x00\x00")
    topic = CHANNEL.encode()
    subscribe = mqtt_packet(0x82, b"\x00\x01" + len(topic).to_bytes(2, "big") + topic + b"\x00")
    yield from _packet(packets, subscribe, b"\x90\x00\x01\x00")
    return Joined(MqttPackets(), packets.rest)


def _packet(packets: MqttPackets, asked: bytes, wanted: bytes) -> Generator[bytes, bytes, None]:
    data = yield asked
    while not (answers := packets.feed(data)):
        data = yield b""
    if answers[0] != wanted:
        raise Garbled(f"wanted {wanted!r}, answered {answers[0]!r}")


def _head(request: str, status: int) -> Generator[bytes, bytes, tuple[str, bytes]]:
    """Ask over HTTP: the answer's head in lower case, and what came behind it."""
    data = yield request.encode()
    while b"\r\n\r\n" not in data:
        data += yield b""
    head, rest = data.split(b"\r\n\r\n", 1)
    if int(head.split(b" ", 2)[1]) != status:
        raise Garbled(f"wanted {status}, answered {head[:200]!r}")
    return head.decode("latin-1").lower(), rest


HANDSHAKES: dict[str, Callable[[str], Handshake]] = {
    "http": http,
    "deflate": lambda path: http(path, deflate=True),
    "faye": faye,
    "zeromq": zeromq,
    "mqtt": mqtt,
}
