import asyncio
import dataclasses
import random
import threading
import zlib
from itertools import islice

import pytest

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused, ConnectionLost
from triplewire.clients.streams import AsyncStreamConsumer, StreamConsumer


def numbers(items):
    return [int(item.event_id[1:]) for item in items]


class Following:
    """A consumer on a thread, and what it gave."""

    def __init__(self, stream, settings, **options):
        self.items = []
        self.consumer = StreamConsumer(options.pop("url", stream.url), settings=settings, **options)
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        stream.until(lambda: stream.followers)

    def _run(self):
        for item in self.consumer:
            self.items.append(item)

    def close(self):
        self.consumer.close()
        self.thread.join(5)
        assert not self.thread.is_alive()


@pytest.fixture
def follow(stream, quick):
    opened = []

    def opens(**options):
        opened.append(Following(stream, quick, **options))
        return opened[-1]

    yield opens
    for following in opened:
        following.close()


@pytest.mark.parametrize(
    ("access", "coding"),
    [("", "deflate"), ("/compressed", "deflate"), ("/stream", "deflate"), ("/priority", None)],
)
def test_items_are_given_as_they_come(stream, follow, item, access, coding):
    """From each of a stream's URLs, compressed where the server does it."""
    following = follow(url=stream.url + access)
    stream.publish(item(1))
    stream.until(lambda: following.items)
    stream.publish(item(2), item(3))
    stream.until(lambda: len(following.items) == 3)

    assert following.items == [item(1), item(2), item(3)]
    method, target, headers = stream.requests[0]
    assert (method, target) == ("GET", f"/events{access or '/compressed'}")
    assert headers["accept-encoding"] == "deflate, identity;q=0.5"
    assert "authorization" not in headers


def test_without_compression_it_asks_for_none(stream, follow, item):
    """At /stream."""
    following = follow(compressed=False)
    stream.publish(item(1))
    stream.until(lambda: following.items)

    assert stream.requests[0][1] == "/events/stream"
    assert stream.requests[0][2]["accept-encoding"] == "identity"


@pytest.mark.parametrize("end", ["cut", "end"])
def test_nothing_is_lost_and_nothing_comes_twice(stream, follow, item, end):
    """Over connections that break, or end, at any moment, with publishers going on."""
    gaps = []
    following = follow(on_gap=gaps.append)
    rng = random.Random(3)
    number = 0
    for _ in range(12):
        for _ in range(rng.randrange(4)):
            number += 1
            stream.publish(item(number))
        getattr(stream, end)()
        number += 1
        stream.publish(item(number))
        stream.until(lambda: stream.followers)
    stream.until(lambda: len(following.items) == number)

    assert numbers(following.items) == list(range(1, number + 1))
    assert gaps == []


def test_a_gap_is_told(stream, follow, item):
    """Where the server has begun anew, and where its history is too short."""
    gaps = []
    following = follow(on_gap=gaps.append)
    stream.publish(item(1), item(2))
    stream.until(lambda: len(following.items) == 2)
    stream.items.clear()
    stream.cut()
    stream.publish(item(9), live=False)
    stream.until(lambda: len(following.items) == 3)

    assert [(gap.last_seen, gap.first) for gap in gaps] == [("e2", item(9))]


def test_a_server_that_sheds_load_is_asked_again(stream, follow, item):
    """From the first request on."""
    stream.replies.extend([(503, {"Retry-After": "0"}, b"busy"), (500, {}, b"")])
    following = follow()
    stream.publish(item(1))
    stream.until(lambda: following.items)
    assert len(stream.requests) == 3


def test_an_error_of_ours_ends_the_iteration(stream, quick):
    """With what the server said."""
    stream.replies.append(
        (403, {}, b'{"error": "forbidden", "status_code": 403, "error_description": "not you"}')
    )

    with (
        StreamConsumer(stream.url, settings=quick) as consumer,
        pytest.raises(BrokerRefused, match="not you"),
    ):
        list(consumer)


def test_what_is_no_stream_ends_it(stream, quick, item):
    """After the items before it."""
    given = []
    with StreamConsumer(f"{stream.url}/priority", settings=quick) as consumer:

        def publish():
            stream.until(lambda: stream.followers)
            stream.publish(item(1))
            stream.send(b"\r\n")

        thread = threading.Thread(target=publish)
        thread.start()
        with pytest.raises(BrokerMisbehaved):
            given.extend(consumer)
        thread.join()
    assert given == [item(1)]
    assert consumer.last_seen == "e1"


def test_nobody_there_is_told_at_once():
    """At first."""
    with (
        StreamConsumer("http://127.0.0.1:1/events") as consumer,
        pytest.raises(ConnectionLost, match="can't reach"),
    ):
        next(iter(consumer))


def test_a_token_goes_with_each_request(stream, follow, item):
    """Another one after a refusal."""
    tokens = iter(["one", "two", "two"])
    stream.replies.append((401, {}, b""))
    follow(authorization=lambda: next(tokens))

    assert [headers["authorization"] for _, _, headers in stream.requests] == ["Bearer one", "Bearer two"]


def test_another_start_goes_on_where_the_state_ends(stream, quick, item, tmp_path):
    """What was broken off comes again, but where `done` was called."""
    state = tmp_path / "seen"
    stream.publish(*map(item, range(1, 9)))

    def some(count, *, done=False, **options):
        with StreamConsumer(stream.url, settings=quick, state=state, **options) as consumer:
            given = list(islice(consumer, count))
            if done:
                consumer.done()
            return numbers(given)

    assert some(3, last_seen="e0") == [1, 2, 3]
    assert some(2, done=True, last_seen="e0") == [3, 4]
    assert some(2) == [5, 6]


def test_filters_are_asked_in_turn(stream, follow, item):
    """What one refuses the next does not see."""
    seen = []
    following = follow(
        filters=[lambda item: item.source_id == "s", lambda item: seen.append(item) or item.event_type == "T"]
    )
    from triplewire.clients.streams import Item

    stream.publish(item(1, event_type="T"), item(2), Item("e3", "other", "text/plain"))
    stream.until(lambda: len(seen) == 2)
    stream.until(lambda: following.items)

    assert numbers(following.items) == [1]
    assert numbers(seen) == [1, 2]


def test_loss_and_return_are_told(stream, follow):
    """None is a clean end."""
    told = []
    follow(on_disconnect=told.append, on_reconnect=lambda: told.append("back"))
    stream.end()
    stream.until(lambda: len(told) == 2)

    assert told == [None, "back"]


async def test_it_is_the_same_under_asyncio(stream, quick, item):
    """In one task; `async with` closes the connection."""
    given = []
    async with AsyncStreamConsumer(stream.url, settings=quick) as consumer:

        async def follow():
            async for each in consumer:
                given.append(each)  # noqa: PERF401 - it must be seen while it goes on

        task = asyncio.create_task(follow())
        for number in range(1, 6):
            await reached(lambda: stream.followers)
            stream.publish(item(number))
            stream.cut()
        await reached(lambda: len(given) == 5)
        assert consumer.last_seen == "e5"
    await task
    assert numbers(given) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("there", [True, False])
async def test_to_close_it_ends_an_iteration_in_another_task(stream, quick, there):
    """Whether it reads, or waits for its next attempt."""
    consumer = AsyncStreamConsumer(
        stream.url, settings=dataclasses.replace(quick, backoff_longest_s=60, backoff_first_s=50)
    )

    async def follow():
        return [each async for each in consumer]

    task = asyncio.create_task(follow())
    await reached(lambda: stream.followers)
    if not there:
        stream.cut()
        await asyncio.sleep(0.05)
    await consumer.close()
    async with asyncio.timeout(5):
        assert await task == []


async def test_batches_are_what_has_come(stream, quick, item):
    """To ask for another says that all of it was dealt with."""
    stream.publish(item(1), item(2))
    async with AsyncStreamConsumer(stream.url, settings=quick, last_seen="none") as consumer:
        batches = consumer.batches()
        assert await anext(batches) == (item(1), item(2))
        assert consumer.last_seen == "none"
        waiting = asyncio.create_task(anext(batches))
        await reached(lambda: consumer.last_seen == "e2")
        stream.publish(item(3))
        assert await waiting == (item(3),)


async def reached(condition):
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is waited for is on another thread
            await asyncio.sleep(0.005)


def test_a_wrong_url_is_refused_at_once():
    """Before anything is opened."""
    with pytest.raises(ValueError, match="a stream's URL"):
        StreamConsumer("http://localhost:8001")


def test_blocks_of_other_compressors_are_read(stream, follow, item):
    """As a server moves its consumers from one group to another."""
    from triplewire.broker.wire.items import encode_item

    following = follow()
    stream.publish(item(1))
    other = zlib.compressobj(wbits=-15)
    block = other.compress(encode_item(item(2))) + other.flush(zlib.Z_SYNC_FLUSH)
    for each in stream._followers:
        each.connection.sendall(b"%x\r\n%b\r\n" % (len(block), block))
    stream.until(lambda: len(following.items) == 2)
    assert numbers(following.items) == [1, 2]
