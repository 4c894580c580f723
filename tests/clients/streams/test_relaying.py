import asyncio

import pytest
from support.fake_stream import FakeStream

from triplewire.broker.errors import BrokerRefused
from triplewire.clients.streams import AsyncStreamConsumer, AsyncStreamPublisher
from triplewire.clients.streams.relaying import relay


@pytest.fixture
def target():
    with FakeStream() as server:
        yield server


async def reached(condition):
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is waited for is on another thread
            await asyncio.sleep(0.005)


async def test_what_comes_is_published_before_more_is_read(stream, target, quick, item):
    """Through losses on both sides; it counts as had when it was taken."""
    lost = []
    target.replies.extend([(503, {}, b"")] * 6)
    async with (
        AsyncStreamConsumer(f"{stream.url}/priority", settings=quick) as consumer,
        AsyncStreamPublisher(target.url, settings=quick) as publisher,
    ):
        task = asyncio.create_task(relay(consumer, publisher, quick, lost.append))
        await reached(lambda: stream.followers)
        stream.publish(item(1), item(2))
        await reached(lambda: lost)
        assert consumer.last_seen is None
        await reached(lambda: len(target.items) == 2)
        await reached(lambda: consumer.last_seen == "e2")
        stream.cut()
        stream.publish(item(3))
        await reached(lambda: len(target.items) == 3)
        await consumer.close()
        await task

    assert list(target.items) == [item(1), item(2), item(3)]
    assert {error.status for error in lost} == {503}


async def test_a_refusal_ends_it(stream, target, quick, item):
    """It would be refused again."""
    stream.publish(item(1))
    target.replies.append((403, {}, b"not you"))
    async with (
        AsyncStreamConsumer(stream.url, settings=quick, last_seen="none") as consumer,
        AsyncStreamPublisher(target.url, settings=quick) as publisher,
    ):
        with pytest.raises(BrokerRefused, match="not you"):
            await relay(consumer, publisher, quick, print)
    assert consumer.last_seen == "none"
