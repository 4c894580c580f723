"""One change for thousands of subscribers of one query: until the last of them has it, and what it costs the broker.

Prints figures; asserts only that each was told once, in order.  The clients are a process of their own that counts
frames and reads no more of them than their place in the order.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import time
from urllib.parse import urlsplit

import psutil
import pytest
from support.benchmarks import Table, apart, quantile
from support.running import RunningBroker

SOCKETS = int(os.environ.get("TRIPLEWIRE_SOCKETS", "500"))
EACH = 10
SUBSCRIBERS = SOCKETS * EACH
UPDATES = 20
QUERY = "SELECT ?s ?v { ?s <http://example.org/value> ?v }"
_SEQUENCE = re.compile(rb'"sequence":(\d+)')
_MASK = b"\0\0\0\0"


class Crowd:
    """What all connections have heard together."""

    def __init__(self):
        self.told = 0
        self.bytes = 0
        self.wanted = SUBSCRIBERS
        self.sequence = 0
        self.all_told = asyncio.Event()

    def tell(self, head):
        assert int(_SEQUENCE.search(head)[1]) == self.sequence, head
        self.told += 1
        if self.told == self.wanted:
            self.all_told.set()

    async def hear(self, sequence):
        """Until all have the notification of this number; `told` is set back before it is caused."""
        await asyncio.wait_for(self.all_told.wait(), 120)
        assert self.told == self.wanted and self.sequence == sequence

    def expect(self, sequence):
        self.told, self.sequence = 0, sequence
        self.all_told.clear()


class Listener(asyncio.Protocol):
    """A WebSocket connection with several subscriptions; whole frames are counted, not decoded."""

    def __init__(self, crowd, host):
        self.crowd = crowd
        self.host = host
        self.held = b""
        self.is_open = False

    def connection_made(self, transport):
        self.transport = transport
        key = base64.b64encode(os.urandom(16)).decode()
        transport.write(
            f"GET /subscribe HTTP/1.1\r\nHost: {self.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )

    def data_received(self, data):
        self.crowd.bytes += len(data)
        data = self.held + data if self.held else data
        if not self.is_open:
            head, end, data = data.partition(b"\r\n\r\n")
            if not end:
                self.held = head
                return
            assert head.startswith(b"HTTP/1.1 101"), head
            self.is_open = True
            for _ in range(EACH):
                self.say(json.dumps({"subscribe": {"sparql": QUERY}}).encode())
        self.held = self.count(data)

    def say(self, payload):
        assert len(payload) < 126
        self.transport.write(bytes([0x81, 0x80 | len(payload)]) + _MASK + payload)

    def count(self, data):
        """Count the whole frames; the rest."""
        at, end = 0, len(data)
        while end - at >= 2:
            size, body = data[at + 1], at + 2
            if size >= 126:
                body += 2 if size == 126 else 8
                if end < body:
                    break
                size = int.from_bytes(data[at + 2 : body], "big")
            if end - body < size:
                break
            if data[at] == 0x81:
                self.crowd.tell(data[body : body + 150])
            at = body + size
        return data[at:]


async def listen(http, ws, pid, rows):
    """Seconds of each update until the last notification; CPU seconds of the broker; bytes a notification."""
    loop = asyncio.get_running_loop()
    crowd, address = Crowd(), urlsplit(ws)
    connections = []
    for _ in range(SOCKETS):
        made = await loop.create_connection(
            lambda: Listener(crowd, address.netloc), address.hostname, address.port
        )
        connections.append(made[0])
    await crowd.hear(0)
    web = urlsplit(http)
    reader, writer = await asyncio.open_connection(web.hostname, web.port)
    broker = psutil.Process(pid)
    took = []
    for number in range(UPDATES + 1):
        triples = " . ".join(
            f"<http://example.org/s{number}_{row}> <http://example.org/value> {row}" for row in range(rows)
        )
        body = f"INSERT DATA {{ {triples} }}".encode()
        head = (
            f"POST /update HTTP/1.1\r\nHost: {web.netloc}\r\nContent-Type: application/sparql-update\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        if number == 1:  # the first warms up
            cpu, crowd.bytes = busy(broker), 0
        crowd.expect(number + 1)
        began = time.perf_counter()
        writer.write(head.encode() + body)
        await crowd.hear(number + 1)
        took.append(time.perf_counter() - began)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200"), answer
        await reader.readexactly(int(re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)[1]))
    cpu = busy(broker) - cpu
    writer.close()
    for transport in connections:
        transport.abort()
    return took[1:], cpu, crowd.bytes / UPDATES / SUBSCRIBERS


def busy(process):
    """CPU seconds so far."""
    times = process.cpu_times()
    return times.user + times.system


def crowd(*arguments):
    """The clients, in a process of their own."""
    return asyncio.run(listen(*arguments))


@pytest.fixture(scope="module")
def table():
    found = Table(
        f"one change for {SUBSCRIBERS:,} subscribers of one query on {SOCKETS:,} sockets, {UPDATES} updates",
        *("rows a change", "bytes each", "until the last has it, p50 ms", "most ms", "notifications/s"),
        "CPU us a notification",
    )
    yield found
    found.print()


@pytest.mark.parametrize("rows", [1, 100])
def test_fan_out(rows, table):
    """From sending the update to the last subscriber's having the change."""
    broker = RunningBroker.start("--set", "log.level=WARNING")
    try:
        took, cpu, size = apart(crowd, broker.http, broker.ws, broker.process.pid, rows)
        p50 = quantile(took, 0.5)
        each = cpu / UPDATES / SUBSCRIBERS * 1e6
        table.add(rows, size, p50 * 1e3, max(took) * 1e3, SUBSCRIBERS / p50, f"{each:.1f}")
    finally:
        broker.stop()
