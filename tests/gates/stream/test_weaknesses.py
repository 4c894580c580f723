"""What is wrong with Ztreamy 0.5, one test each, by the numbers of the list that we keep: here it is right.

1, 2, 3, 5, 8, 9, 10, 11, 15, 17, 18 and 19; those of the items, the streams, the filters and the clients stand with these.
"""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from importlib import metadata
from urllib.parse import urlsplit

import psutil
import pytest
from support.running import RunningBroker

from triplewire.broker.wire.items import encode_item
from triplewire.gates.stream.consumers import Consumer

from .serving import Client, item, on_uvloop, serving, until

PATHS = ["stream", "compressed", "priority"]


@pytest.mark.parametrize("window_s", [0.0, 0.1])
@pytest.mark.parametrize("path", [*PATHS, "ldjson"])
async def test_1_a_disconnect_makes_no_neighbor_lose_a_batch(path, window_s):
    """Six follow, the second closes, and the five others get every item."""
    header = "Accept: application/x-ldjson" if path == "ldjson" else "X: y"
    async with serving({"window_s": window_s, "window_most_s": window_s}) as port:
        at = "/events/stream" if path == "ldjson" else f"/events/{path}"
        consumers = [await port.follow(at, header) for _ in range(6)]
        await port.publish(1)
        await consumers.pop(1).close()
        await port.publish(2)
        await asyncio.sleep(0)
        consumers[3].writer.transport.abort()
        del consumers[3]
        await port.publish(3)
        for consumer in consumers:
            if path != "ldjson":
                assert await consumer.ids(3) == ["1", "2", "3"]
                assert consumer.nothing_more()
                continue
            lines = []
            while len(lines) < 3:
                lines += (await consumer.text()).splitlines()
            assert [json.loads(line)["Event-Id"] for line in lines] == ["1", "2", "3"]


@on_uvloop
async def test_1_nor_does_it_under_a_storm_of_leavers():
    """Two hundred follow, most leave at random while items are published; who stays gets all, once, in order."""
    rng = random.Random(5)
    async with serving() as port:
        consumers = [await port.follow(f"/events/{rng.choice(PATHS)}") for _ in range(200)]
        for number in range(60):
            for _ in range(3):
                consumers.pop(rng.randrange(len(consumers))).writer.transport.abort()
            await port.publish(number)
            await asyncio.sleep(0)
        for consumer in consumers:
            assert await consumer.ids(60) == [str(number) for number in range(60)]
            assert consumer.nothing_more()


@pytest.mark.parametrize("window_s", [0.0, 0.1])
async def test_2_one_that_opens_compressed_and_leaves_breaks_nothing(window_s):
    """Before the next batch; the groups, the other streams and the publishers go on."""
    async with serving({"window_s": window_s, "window_most_s": window_s}) as port:
        before = await port.follow("/events/compressed")
        for number in range(5):
            await (await port.follow("/events/compressed")).close()
            client = await port.connect()
            await client.ask("GET", "/events/compressed")
            client.writer.transport.abort()
            assert await port.post([item(number)]) == 200
        after = await port.follow("/events/compressed?last-seen=2")
        plain = await port.follow("/events/stream?last-seen=2")
        assert await before.ids(5) == ["0", "1", "2", "3", "4"]
        assert await after.ids(2) == await plain.ids(2) == ["3", "4"]
        await until(lambda: port.server.consumers == 3)


@on_uvloop
async def test_3_who_does_not_read_costs_a_bounded_number_of_bytes():
    """Twenty that never read, and one that does: 20 MB go by."""
    async with serving(gate={"unread_bytes": 100_000}) as port:
        stuck = [await port.follow() for _ in range(20)]
        for consumer in stuck:
            consumer.reader._transport.pause_reading()
        good = await port.follow()
        reading = asyncio.create_task(good.ids(200))
        for number in range(200):
            await port.publish(number, body=bytes(100_000))
            await until(lambda: port.stream.sent == port.stream.history.last)
        assert await reading == [str(number) for number in range(200)]
        (fanout,) = port.server._readers.values()
        (lane,) = fanout._lanes.values()
        consumers = [*lane._behind, *lane._audience.all()]
        unread = [each.transport.get_write_buffer_size() for each in consumers]
        assert len(unread) == 21
        assert 0 < max(unread) < 250_000


async def test_5_bodies_are_passed_on_as_they_are():
    """Good RDF and bad: not a byte is another, nothing is parsed, nobody is stopped by it (16, too)."""
    bodies = [b"@prefix a: <b> .\n", b"<a> <b> nonsense", b"\x00\xff\r\n\r\n", b'{"a": 1}', b""]
    async with serving() as port:
        plain, compressed = await port.follow(), await port.follow("/events/compressed")
        for number, body in enumerate(bodies):
            assert await port.post([item(number, body)]) == 200
        assert [each.body for each in await plain.items(5)] == bodies
        assert [each.body for each in await compressed.items(5)] == bodies


@pytest.mark.parametrize("path", PATHS)
async def test_8_the_head_comes_at_once(path):
    """With nothing published; no cache keeps it, no proxy holds it back."""
    async with serving({"window_s": 60, "window_most_s": 60}) as port:
        began = time.perf_counter()
        consumer = await port.follow(f"/events/{path}")
        assert time.perf_counter() - began < 1
        assert consumer.headers["cache-control"] == "no-store"
        assert consumer.headers["x-accel-buffering"] == "no"
        assert "accept-encoding" in consumer.headers["vary"].lower()


async def test_9_a_consumer_has_no_task_and_no_timer():
    """Whatever the number; its parser and its request are gone, too."""
    async with serving() as port:
        before = len(asyncio.all_tasks())
        for number in range(100):
            await port.follow(f"/events/{PATHS[number % 3]}")
        gc.collect()
        assert len(asyncio.all_tasks()) == before
        assert not port.server._connections
        alive = [each for each in gc.get_objects() if type(each).__name__ in {"Connection", "StreamRequest"}]
        assert not [each for each in alive if type(each).__module__.startswith("triplewire.gates.stream")]


async def test_15_a_bomb_is_never_inflated_whole():
    """A kilobyte that would be a megabyte a hundred times over: 413, and the port goes on meanwhile."""
    bomb = gzip.compress(gzip.compress(bytes(100_000_000), 9), 9)
    inner = gzip.decompress(bomb)
    async with serving(gate={"body_bytes": 1_000_000}) as port:
        head = encode_item(item(1))
        sent = asyncio.create_task(
            port.post(inner, "/events/publish", "application/ztreamy-event", "Content-Encoding: gzip")
        )
        assert await port.post(head) == 200
        assert await sent in {400, 413}
        whole = gzip.compress(
            head.replace(b"Body-Length: 13", b"Body-Length: 99000000")[:-13] + bytes(99_000_000)
        )
        status = await port.post(
            whole, "/events/publish", "application/ztreamy-event", "Content-Encoding: gzip"
        )
        assert status in {400, 413}
        assert len(port.stream.history) == 1


async def test_17_lines_of_json_may_be_split_anywhere():
    """Over publish-cont, in pieces of seven bytes."""
    lines = b"".join(
        json.dumps({"Event-Id": str(n), "Source-Id": "s", "Syntax": "text/plain", "Body": "é" * n}).encode()
        + b"\r\n"
        for n in range(5)
    )
    async with serving() as port:
        client = await port.connect()
        headers = ("Content-Type: application/x-ldjson", "Transfer-Encoding: chunked")
        await client.ask("POST", "/events/publish-cont", *headers)
        for start in range(0, len(lines), 7):
            part = lines[start : start + 7]
            client.writer.write(b"%x\r\n%b\r\n" % (len(part), part))
            await asyncio.sleep(0)
        client.writer.write(b"0\r\n\r\n")
        assert await client.head() == 200
        assert [entry.item.event_id for entry in port.stream.history] == ["0", "1", "2", "3", "4"]


@on_uvloop
async def test_18_nothing_is_kept_of_those_who_have_left():
    """A thousand come and go, of each kind, with and without a batch between."""
    async with serving() as port:
        stays = await port.follow("/events/compressed")
        for number in range(20):
            for path in PATHS:
                for _ in range(5):
                    client = Client(*await asyncio.open_connection("127.0.0.1", port.number))
                    await client.ask("GET", f"/events/{path}")
                    await client.head()
                    await client.close()
            await port.publish(number)
        await until(lambda: port.server.consumers == 1)
        await stays.ids(20)
        await until(lambda: len(port.server._readers) == 1)
        gc.collect()
        served = [each.lane._fanout for each in gc.get_objects() if isinstance(each, Consumer)]
        assert len([each for each in served if each.feed is port.stream]) == 1


async def test_19_server_sent_events_for_browsers():
    """No library is needed to follow a stream in a page: an EventSource reads it, and resumes by itself."""
    async with serving() as port:
        page = await port.follow("/events/stream", "Accept: text/event-stream")
        await port.publish(1)
        event = (await page.text()).decode()
        assert event.startswith("id: 1\ndata: {")
        again = await port.follow("/events/stream", "Accept: text/event-stream", "Last-Event-ID: 1")
        await port.publish(2)
        assert (await again.text()).startswith(b"id: 2\n")


def owners(broker, clients):
    """The process that has each client's connection, by what the system says."""
    main = psutil.Process(broker.process.pid)
    found = {}
    for process in (main, *main.children()):
        for connection in process.net_connections(kind="tcp"):
            if connection.raddr:
                found[connection.raddr.port] = process.pid
    return [found[client.writer.get_extra_info("sockname")[1]] for client in clients]


async def test_10_one_small_machine_has_several_cores():
    """Three processes share the consumers; all get everything, whichever of them it was published to."""
    broker = RunningBroker.start("--stream-workers", "3", "--set", "log.level=WARNING")
    place = urlsplit(broker.streams)
    clients = []
    try:
        for number in range(60):
            clients.append(Client(*await asyncio.open_connection(place.hostname, place.port)))
            await clients[-1].ask("GET", f"/events/{PATHS[number % 3]}")
            assert await clients[-1].head() == 200
            if clients[-1].headers.get("content-encoding"):
                assert await clients[-1].text() == b""
        serving_them = Counter(owners(broker, clients))
        assert broker.process.pid not in serving_them
        assert len(serving_them) == 3
        assert min(serving_them.values()) >= 3  # the kernel deals them out by a hash; 20 on average
        taken_by, ids = set(), []
        while len(taken_by) < 3:
            publisher = Client(*await asyncio.open_connection(place.hostname, place.port))
            ids.append(str(len(ids)))
            headers = ("Content-Type: application/ztreamy-event",)
            await publisher.ask("POST", "/events/publish", *headers, body=encode_item(item(ids[-1])))
            assert await publisher.head() == 200
            taken_by.update(owners(broker, [publisher]))
            await publisher.close()
        for client in clients:
            assert await client.ids(len(ids)) == ids
            assert client.nothing_more()
    finally:
        await asyncio.gather(*(client.close() for client in clients))
        broker.stop()


def test_11_it_runs_on_what_is_maintained():
    """The Pythons of today, none of Ztreamy's libraries, and a license that lets others build on it."""
    about = metadata.metadata("triplewire")
    running = f"Programming Language :: Python :: {sys.version_info.major}.{sys.version_info.minor}"
    assert running in about.get_all("Classifier")
    assert about["License-Expression"] == "Apache-2.0"
    names = "triplewire.broker.app, triplewire.gates.stream.worker, triplewire.clients.streams, triplewire.clients.cli"
    look = f"import sys, {names}; print(*(sys.modules.keys() & {{'tornado', 'pycurl', 'ztreamy'}}))"
    asked = [sys.executable, "-P", "-c", look]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "\n"
    wanted = {re.split(r"[^\w.-]", each)[0].lower() for each in metadata.requires("triplewire")}
    assert not wanted & {"tornado", "pycurl", "ztreamy"}
