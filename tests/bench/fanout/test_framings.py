"""The readers: any split gives the same payloads, a copy reads on by itself, and what is no frame is refused."""

from __future__ import annotations

import zlib

import pytest
from bench.fanout.framings import (
    Chunks,
    Garbled,
    MqttPackets,
    WebSocketFrames,
    ZmtpFrames,
    mqtt_packet,
    websocket_frame,
)

PAYLOADS = [b"x", b"short", b"y" * 200, b"z" * 70_000, b"", b"last"]


def chunked(payloads):
    return b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in payloads)


def deflated(payloads):
    deflate = zlib.compressobj()
    return chunked(deflate.compress(each) + deflate.flush(zlib.Z_SYNC_FLUSH) for each in payloads)


def server_frame(payload):
    size = len(payload)
    if size < 126:
        return bytes([0x81, size]) + payload
    return (
        b"\x81\x7e" + size.to_bytes(2, "big") if size < 65_536 else b"\x81\x7f" + size.to_bytes(8, "big")
    ) + payload


def zmtp(payload):
    size = len(payload)
    return (bytes([0, size]) if size < 256 else b"\x02" + size.to_bytes(8, "big")) + payload


WIRE = {
    "chunks": (Chunks, chunked(PAYLOADS), PAYLOADS),
    "deflate": (lambda: Chunks(deflate=True), deflated(PAYLOADS), PAYLOADS),
    "websocket": (WebSocketFrames, b"".join(map(server_frame, PAYLOADS)), PAYLOADS),
    "zmtp": (ZmtpFrames, b"".join(map(zmtp, PAYLOADS)), PAYLOADS),
    "mqtt": (
        MqttPackets,
        b"".join(mqtt_packet(0x30, each) for each in PAYLOADS),
        [b"\x30" + each for each in PAYLOADS],
    ),
}


@pytest.mark.parametrize("name", WIRE)
@pytest.mark.parametrize("step", [1, 7, 1000, 10**6])
def test_any_split_gives_the_same(name, step):
    make, wire, payloads = WIRE[name]
    reader = make()
    pieces = [wire[at : at + step] for at in range(0, len(wire), step)]
    assert [payload for piece in pieces for payload in reader.feed(piece)] == payloads
    assert reader.rest == b""


@pytest.mark.parametrize("name", WIRE)
def test_a_copy_reads_on_by_itself(name):
    make, wire, payloads = WIRE[name]
    reader = make()
    half = len(wire) // 2
    begun = reader.feed(wire[:half])
    copy = reader.copy()
    assert begun + copy.feed(wire[half:]) == payloads
    assert begun + reader.feed(wire[half:]) == payloads


@pytest.mark.parametrize(
    ("reader", "wire"),
    [
        (Chunks(), b"zz\r\n"),
        (Chunks(), b"HTTP/1.1 200 OK, not a chunk"),
        (Chunks(), b"1\r\nabc\r\n"),
        (WebSocketFrames(), b"\x01\x05hello"),
        (WebSocketFrames(), b"\x81\x85\0\0\0\0hello"),
        (ZmtpFrames(), b"\x81\x05hello"),
        (MqttPackets(), b"\x30\xff\xff\xff\xff\x01"),
    ],
)
def test_what_is_no_frame_is_refused(reader, wire):
    with pytest.raises(Garbled):
        reader.feed(wire)


@pytest.mark.parametrize("size", [1, 125, 126, 3000])
def test_a_client_s_frame_is_masked_with_zeros(size):
    frame = websocket_frame(b"x" * size)
    assert frame[1] & 0x80
    assert frame.endswith(bytes(4) + b"x" * size)
