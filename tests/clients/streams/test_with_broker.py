"""The clients, and the doubles of foreign ones, with the real broker."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
import uuid
from itertools import count, islice

import psutil
import pytest
from support.running import RunningBroker
from support.strict_consumer import LineConsumer, LineJsonConsumer, StrictConsumer

from triplewire.broker.errors import BrokerRefused
from triplewire.clients import cli
from triplewire.clients.streams import (
    AsyncContinuousPublisher,
    AsyncStreamConsumer,
    AsyncStreamPublisher,
    ContinuousPublisher,
    Item,
    StreamConsumer,
    StreamPublisher,
    StreamSettings,
)
from triplewire.clients.streams.relaying import relay

STREAMS = """
[streams.events]
kind = "publish"

[streams.copy]
kind = "publish"

[streams.short]
kind = "publish"
history_items = 3
"""
QUICK = StreamSettings(backoff_first_s=0.01, backoff_longest_s=0.2)


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    config = tmp_path_factory.mktemp("streams") / "broker.toml"
    config.write_text(STREAMS)
    running = RunningBroker.start("--config", str(config))
    yield running
    assert running.stop() == 0


@pytest.fixture
def url(broker):
    return f"{broker.streams.rstrip('/')}/events"


@pytest.fixture
def item(request):
    """Makes items of a source of the test's own, as all tests share one history."""
    source = f"{abs(hash(request.node.nodeid)):x}"

    def made(number: int, **fields) -> Item:
        return Item(f"{source}-{number}", source, "text/turtle", b"<a:a> <a:b> %d ." % number, **fields)

    made.source = source
    return made


def last_id(url):
    """Publishes an item and returns its id: what comes after it is the test's own."""
    mark = Item(str(uuid.uuid4()), "mark", "text/plain")
    with StreamPublisher(url) as publisher:
        publisher.publish(mark)
    return mark.event_id


def ids(items):
    return [item.event_id for item in items]


@pytest.mark.parametrize("access", ["", "/stream", "/compressed", "/priority"])
@pytest.mark.parametrize("options", [{}, {"as_json": True}, {"compressed": True}])
def test_what_is_published_is_followed(url, item, access, options):
    """In every form, from every access; the body is untouched."""
    mark = last_id(url)
    items = [dataclasses.replace(item(n), event_id=f"{mark}-{n}", headers=(("X-É", "ü"),)) for n in range(20)]
    with StreamPublisher(url, settings=QUICK, **options) as publisher:
        publisher.publish(*items[:10])
        with StreamConsumer(url + access, settings=QUICK, last_seen=mark) as consumer:
            given = []
            for each in consumer:
                given.append(each)
                if len(given) == 10:
                    publisher.publish(*items[10:])
                if len(given) == 20:
                    break

    assert ids(given) == ids(items)
    assert [(each.body, each.headers) for each in given] == [(each.body, each.headers) for each in items]


async def test_under_asyncio_a_continuous_publisher_is_followed(url, item):
    """Two hundred items, in order, each once."""
    mark = last_id(url)
    async with AsyncStreamConsumer(url, settings=QUICK, last_seen=mark) as consumer:

        async def follow():
            given = []
            async for each in consumer:
                given.append(each)
                if len(given) == 200:
                    return given
            return given

        following = asyncio.create_task(follow())
        async with AsyncContinuousPublisher(url, settings=QUICK) as publisher:
            for number in range(200):
                await publisher.publish(item(number))
            await publisher.flush(10)
            assert publisher.unanswered == 0
        async with asyncio.timeout(10):
            given = await following
    assert ids(given) == [item(number).event_id for number in range(200)]


def test_what_was_published_before_is_not_published_twice(url, item):
    """As when an answer was lost."""
    mark = last_id(url)
    with StreamPublisher(url, settings=QUICK) as publisher:
        publisher.publish(item(1), item(2))
        publisher.publish(item(1), item(2), item(3))
    with StreamConsumer(url, settings=QUICK, last_seen=mark) as consumer:
        given = list(islice(consumer, 3))
    assert ids(given) == ids([item(1), item(2), item(3)])


def test_a_history_that_is_too_short_is_a_gap(broker, item, tmp_path):
    """And one that is long enough is none."""
    short = f"{broker.streams.rstrip('/')}/short"
    gaps = []

    def follow(count):
        options = {"state": tmp_path / "seen", "on_gap": gaps.append, "last_seen": "none"}
        with StreamConsumer(short, settings=QUICK, **options) as consumer:
            given = list(islice(consumer, count))
            consumer.done()
        return [each.body for each in given]

    with StreamPublisher(short, settings=QUICK) as publisher:
        publisher.publish(item(1), item(2))
        assert len(follow(2)) == 2
        publisher.publish(item(3))
        assert follow(1) == [item(3).body]
        assert gaps == []
        publisher.publish(*map(item, range(4, 9)))
        assert follow(3) == [item(number).body for number in (6, 7, 8)]

    assert [(gap.last_seen, gap.first.event_id) for gap in gaps] == [(item(3).event_id, item(6).event_id)]


def test_a_stream_that_is_not_there_is_refused(broker):
    """For both."""
    nowhere = f"{broker.streams.rstrip('/')}/nowhere"
    with StreamConsumer(nowhere) as consumer, pytest.raises(BrokerRefused):
        next(iter(consumer))
    with StreamPublisher(nowhere) as publisher, pytest.raises(BrokerRefused):
        publisher.publish(Item("e", "s", "text/plain"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--filter", "event-type=T"],
        ["--filter", 'triple=* <a:b> "1"^^<http://www.w3.org/2001/XMLSchema#integer>'],
        ["--filter", "ask=ASK { ?s <a:b> 1 }", "--filter", "event-type=T"],
        ["--filter", "event-type=T", "--filter-here"],
    ],
)
def test_filters_mean_the_same_here_and_there(url, item, capsysbinary, arguments):
    """So the server can be told them, or not."""
    mark = last_id(url)
    with StreamPublisher(url, settings=QUICK) as publisher:
        publisher.publish(item(0), item(1, event_type="T"), item(2))
    source = ["--filter", f"source={item.source}", "--last-seen", mark, "--count", "1", "--format", "bodies"]

    assert cli.run(["consume", *arguments, *source, url]) == 0
    assert capsysbinary.readouterr().out == item(1).body + b"\n"


async def test_a_relay_goes_from_one_stream_to_another(url, item):
    """What is published in the one is in the other at once."""
    copy = url.removesuffix("events") + "copy"
    consumer = AsyncStreamConsumer(f"{url}/priority", settings=QUICK, compressed=False)
    publisher = AsyncStreamPublisher(copy, settings=QUICK)
    task = asyncio.create_task(relay(consumer, publisher, QUICK, print))
    try:
        async with AsyncStreamConsumer(copy, settings=QUICK) as follower, AsyncStreamPublisher(url) as first:
            came = asyncio.create_task(anext(follower.batches()))
            await asyncio.sleep(0.3)
            await first.publish(item(1))
            async with asyncio.timeout(10):
                assert ids(await came) == [item(1).event_id]
    finally:
        await consumer.close()
        await task
        await publisher.close()


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        (StrictConsumer, "/stream"),
        (StrictConsumer, "/compressed"),
        (StrictConsumer, "/priority"),
        (LineJsonConsumer, "/stream?last-seen="),
        (LineJsonConsumer, "/compressed?last-seen="),
        (LineConsumer, "/stream"),
    ],
)
def test_foreign_clients_read_what_ours_publish(url, item, kind, target):
    """In order, each once, and nothing that they die of."""
    mark = last_id(url)
    with kind(url + target) as consumer, StreamPublisher(url, settings=QUICK) as publisher:
        consumer.reached(lambda: consumer.requests)
        for number in range(10):
            publisher.publish(dataclasses.replace(item(number), event_id=f"{mark}-{number}"))
        consumer.reached(lambda: consumer.items and consumer.items[-1].event_id == f"{mark}-9")
    ours = [each for each in consumer.items if each.event_id.startswith(f"{mark}-")]

    assert [each.body for each in ours] == [item(number).body for number in range(10)]
    assert consumer.deaths == []


def test_a_broker_that_comes_back_is_followed_on(item):
    """On the same port; its history was in memory, so there is a gap, which is told."""
    first = RunningBroker.start()
    port = first.streams.rstrip("/").rpartition(":")[2]
    url = f"{first.streams.rstrip('/')}/events"
    gaps, given = [], []
    consumer = StreamConsumer(url, settings=QUICK, on_gap=gaps.append)
    thread = threading.Thread(target=lambda: given.extend(consumer))
    try:
        thread.start()
        with StreamPublisher(url, settings=QUICK) as publisher, StrictConsumer(f"{url}/stream") as strict:
            strict.reached(lambda: strict.requests)
            for number in count(10):
                publisher.publish(item(number))
                time.sleep(0.02)
                if len(given) >= 2:  # the consumer is there, too
                    break
        first.kill()
        second = RunningBroker.start("--stream-port", port)
        try:
            with StreamPublisher(url, settings=QUICK) as publisher, StrictConsumer(f"{url}/stream") as strict:
                publisher.publish(item(7))
                strict.reached(lambda: given[-1].event_id == item(7).event_id)
        finally:
            consumer.close()
            thread.join(10)
            second.stop()
    finally:
        consumer.close()

    assert len(ids(given)) == len(set(ids(given)))
    assert [gap.first.event_id for gap in gaps] == [item(7).event_id]


def test_workers_that_are_killed_lose_nothing(item):
    """Consumers and publishers go on at others: each item once, in order, and no gap."""
    broker = RunningBroker.start("--stream-workers", "2")
    url = f"{broker.streams.rstrip('/')}/events"
    gaps, lost = [], []
    consumers = [
        StreamConsumer(url, settings=QUICK, on_gap=gaps.append, on_disconnect=lost.append) for _ in range(6)
    ]
    given = [[] for _ in consumers]
    threads = [
        threading.Thread(target=into.extend, args=[consumer])
        for into, consumer in zip(given, consumers, strict=True)
    ]
    try:
        for thread in threads:
            thread.start()
        with (
            ContinuousPublisher(url, settings=QUICK) as publisher,
            StrictConsumer(f"{url}/stream") as strict,
        ):
            for (
                number
            ) in count():  # until all are there: an item that nobody has seen is no place to go on from
                publisher.publish(item(number))
                publisher.flush(10)
                if all(given) and strict.items:
                    break
                time.sleep(0.02)
            first = [int(items[0].event_id.rpartition("-")[2]) for items in (*given, strict.items)]
            children = psutil.Process(broker.process.pid).children()
            workers = [each for each in children if any(part.endswith(".worker") for part in each.cmdline())]
            for later in range(number + 1, number + 301):
                publisher.publish(item(later))
                if later in {number + 100, number + 200}:
                    workers.pop().kill()
                time.sleep(0.002)
            publisher.flush(20)
            last = item(later).event_id
            strict.reached(
                lambda: all(items[-1].event_id == last for items in (*given, strict.items)), timeout_s=20
            )
    finally:
        for consumer in consumers:
            consumer.close()
        for thread in threads:
            thread.join(10)
        broker.stop()

    for begin, items in zip(first, (*given, strict.items), strict=True):
        assert ids(items) == [item(each).event_id for each in range(begin, later + 1)]
    assert gaps == []
    assert len(lost) >= len(consumers), "both workers were killed"
    assert (strict.deaths, strict.gave_up) == ([], None)
