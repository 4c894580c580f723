"""The chat example on loopback: from sending a message to its receiver's having it.

Prints figures; asserts only that each message came once, as it was.  `chat` are the example's own clients, with all that
they do about each message; `sockets` is its profile on sockets of our own: what the broker takes, and little more.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from urllib.parse import urlencode, urlsplit

import pytest
import websockets
from pyoxigraph import NamedNode
from support.applications import chat_profile
from support.benchmarks import Table, quantile
from support.following import journal
from support.running import RunningBroker

from triplewire.conf.chat.client import Client
from triplewire.conf.chat.messages import Listener

MESSAGES = int(os.environ.get("TRIPLEWIRE_MESSAGES", "1000"))
WARM = 20
ALICE, BOB = (NamedNode(f"http://example.org/chat/user/{name}") for name in ("alice", "bob"))


class Moments(Listener):
    """When a message came to its receiver, and when it was gone again."""

    def __init__(self):
        self.texts = []
        self.came_s = 0.0
        self.gone = asyncio.Event()
        self.errors = []

    def on_message(self, message):
        self.came_s = time.perf_counter()
        self.texts.append(message.text)

    def on_known(self, _):
        self.gone.set()

    def on_error(self, error):
        self.errors.append(error)


async def by_chat(broker):
    """Seconds from saying to hearing, and from saying to the end of the message's way through the store."""
    profile, moments = chat_profile(broker), Moments()
    heard, ended = [], []
    async with Client(profile, "alice") as alice, Client(profile, "bob", moments) as bob:
        for number in range(MESSAGES + WARM):
            moments.gone.clear()
            began = time.perf_counter()
            await alice.say(bob.user, f"message {number}")
            await asyncio.wait_for(moments.gone.wait(), 10)
            ended.append(time.perf_counter() - began)
            heard.append(moments.came_s - began)
    assert moments.texts == [f"message {number}" for number in range(MESSAGES + WARM)]
    assert not moments.errors
    return heard[WARM:], ended[WARM:]


async def by_sockets(broker):
    """The same updates and queries; seconds from sending an update to having its notification."""
    profile = chat_profile(broker)
    web = urlsplit(profile.update_url("SEND"))
    reader, writer = await asyncio.open_connection(web.hostname, web.port)

    async def update(name, **values):
        form = profile.update(name, **values)
        body = urlencode(
            {"update": form.sparql, "using-named-graph-uri": form.using_named_graphs}, doseq=True
        ).encode()
        head = (
            f"POST {web.path} HTTP/1.1\r\nHost: {web.netloc}\r\nContent-Length: {len(body)}\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
        )
        return head.encode() + body

    async def answered():
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        await reader.readexactly(int(length.split(b":")[1]))

    for name in ("alice", "bob"):
        writer.write(await update("REGISTER_USER", userName=name))
        await answered()
    heard, ended = [], []
    async with websockets.connect(profile.subscribe_url("SENT"), compression=None) as socket:
        query = profile.query("SENT", receiver=BOB)
        await socket.send(
            json.dumps({"subscribe": {"sparql": query.sparql, "named-graph-uri": list(query.named_graphs)}})
        )
        await socket.recv()
        for number in range(MESSAGES + WARM):
            request = await update("SEND", sender=ALICE, receiver=BOB, text=f"message {number}")
            began = time.perf_counter()
            writer.write(request)
            told = await socket.recv()
            heard.append(time.perf_counter() - began)
            await answered()
            ended.append(time.perf_counter() - began)
            (row,) = json.loads(told)["notification"]["addedResults"]["results"]["bindings"]
            assert row["text"]["value"] == f"message {number}"
    writer.close()
    return heard[WARM:], ended[WARM:]


@pytest.fixture(scope="module")
def table():
    found = Table(
        f"the chat, {MESSAGES:,} messages one after the other; ms from sending",
        *("clients", "store", "p50 until it is heard", "p99", "p50 until all is done", "p99"),
    )
    yield found
    found.print()


@pytest.mark.parametrize("store", ["memory", "journal"])
@pytest.mark.parametrize("clients", [by_chat, by_sockets], ids=["chat", "sockets"])
async def test_chat_latency(clients, store, table, tmp_path):
    """Two users, one of whom writes."""
    kept = ["--data", str(tmp_path / "data")] if store == "journal" else []
    broker = RunningBroker.start("--set", "log.level=WARNING", *kept, memory=not kept)
    try:
        heard, ended = await clients(broker)
        if kept:
            assert journal(broker)["last_sequence"] >= MESSAGES
        table.add(
            *(clients.__name__.removeprefix("by_"), store),
            *(quantile(times, share) * 1e3 for times in (heard, ended) for share in (0.5, 0.99)),
        )
    finally:
        broker.stop()
