"""What the head of a stream promises: that something comes at least so often, if it is a sign of life."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stepped import SteppedLoop, item, stream_of
from websockets.asyncio.client import connect

from triplewire.broker.config import Config, StreamConfig, StreamGateConfig
from triplewire.broker.overlay_config import RelayConfig
from triplewire.broker.wire.items import TEST_CONNECTION
from triplewire.gates.stream.selection import Selections
from triplewire.gates.stream.stream import silence_of

from .serving import serving
from .test_workers import working

PROMISE = "triplewire-sign-of-life"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("access", "header"),
    [
        ("stream", "Accept: */*"),
        ("stream", "Accept-Encoding: deflate"),
        ("stream", "Accept: application/x-ldjson"),
        ("stream", "Accept: text/event-stream"),
        ("compressed", "Accept: */*"),
        ("priority", "Accept: */*"),
    ],
)
async def test_the_head_promises_it(method, access, header):
    """With the second that what comes then may wait for others."""
    async with serving() as port:
        client = await port.request(method, f"/events/{access}", header)
        assert client.headers[PROMISE] == "301"


async def test_the_head_of_a_websocket_promises_it():
    """Where it is a pong."""
    async with (
        serving() as port,
        connect(f"ws://127.0.0.1:{port.number}/events/stream", proxy=None) as socket,
    ):
        assert socket.response.headers[PROMISE] == "301"


async def test_workers_promise_the_same():
    """They pass on what the main process sends."""
    async with working(1) as port:
        assert (await port.follow("/events/stream")).headers[PROMISE] == "301"
        assert (await port.follow("/events/stream?source=a")).headers[PROMISE] == "602"


async def test_what_passes_a_filter_may_never_come():
    """A sign of life does, after twice as long."""
    async with serving() as port:
        port.server._select = Selections(port.server.config, Config().limits).of
        for access in ("stream", "compressed", "priority"):
            assert (await port.follow(f"/events/{access}?source=a")).headers[PROMISE] == "602"
        assert (await port.request("GET", "/events/stream")).headers[PROMISE] == "301"


async def test_it_comes_to_who_has_a_filter():
    """While others come all the time: with the batches, and at once."""
    async with serving({"window_most_s": 0.0}) as port:
        port.stream._silence_s = 0.05
        port.server._select = Selections(port.server.config, Config().limits).of
        consumers = [await port.follow(f"/events/{access}?source=a") for access in ("stream", "priority")]
        reading = asyncio.gather(*(consumer.items(1) for consumer in consumers))
        while not reading.done():
            await port.publish(port.stream.history.last)
            await asyncio.sleep(0.005)
        signs = [sign for (sign,) in await reading]
        assert [sign.command for sign in signs] == [TEST_CONNECTION] * 2
        assert signs[0].event_id == signs[1].event_id


async def test_a_long_poll_promises_nothing():
    """It is answered once."""
    async with serving() as port:
        await port.publish("e1")
        client = await port.request("GET", "/events/long-polling?past-events-limit=1")
        assert (client.status, client.headers.get(PROMISE)) == (200, None)


def test_nothing_is_promised_where_there_is_no_sign():
    """With a silence of 0."""
    loop = SteppedLoop()
    assert stream_of(loop, silence_s=0.0).sign_of_life_s == 0
    assert stream_of(loop, silence_s=10.0, window_s=3.0).sign_of_life_s == 13


def eighths(most_s):
    """Seconds that are exact: the hand-turned clock stands still where a rest of less than it can tell is waited for."""
    return st.integers(1, most_s * 8).map(lambda eighth: eighth / 8)


@given(
    silence_s=eighths(20),
    least_s=st.sampled_from([0.0, 0.5, 3.0, 30.0]),
    most_s=st.sampled_from([0.0, 1.0, 40.0]),
    waits=st.lists(st.tuples(eighths(40), st.booleans()), max_size=12),
    is_filtered=st.booleans(),
)
def test_it_is_kept(silence_s, least_s, most_s, waits, is_filtered):
    """Whenever items come, and however long they wait for each other: for those who hear at once, and the others.

    What passes a filter comes in order all the same.
    """
    loop = SteppedLoop()
    stream = stream_of(loop, silence_s=silence_s, window_s=least_s, window_most_s=most_s)
    selections = Selections(StreamGateConfig(), Config().limits, loop.time)
    feed = selections.of(stream, [("event-type", "a")]) if is_filtered else stream
    heard, heard_now = [(loop.time(), 0)], [(loop.time(), 0)]
    feed.listen(lambda batch: heard.append((loop.time(), batch.last)))
    feed.listen_now(lambda batch: heard_now.append((loop.time(), batch.last)))
    for number, (wait_s, passes) in enumerate(waits):
        loop.advance(wait_s)
        stream.take([item(f"e{number}", event_type="a" if passes else "b")], "us")
        loop.settle()
    loop.advance(4 * feed.sign_of_life_s)
    for those in (heard, heard_now):
        assert len(those) >= 4
        moments = [moment for moment, _ in those]
        apart = [later - earlier for earlier, later in zip(moments, [*moments[1:], loop.time()], strict=True)]
        assert max(apart) <= feed.sign_of_life_s + 1e-6
        numbers = [last for _, last in those]
        assert numbers == sorted(set(numbers))
    assert feed.sign_of_life_s == stream.sign_of_life_s * (2 if is_filtered else 1)


@pytest.mark.parametrize(
    ("overlay", "everywhere_s", "overlay_s", "silence_s"),
    [
        (True, 300.0, 10.0, 10.0),
        (False, 300.0, 10.0, 300.0),
        (True, 5.0, 10.0, 5.0),
        (True, 300.0, 0.0, 300.0),
        (True, 0.0, 10.0, 10.0),
        (False, 0.0, 10.0, 0.0),
    ],
)
def test_where_there_are_other_relays_it_comes_sooner(overlay, everywhere_s, overlay_s, silence_s):
    """0 is as the other setting."""
    config = Config(
        stream=StreamGateConfig(silence_s=everywhere_s), relay=RelayConfig(sign_of_life_s=overlay_s)
    )
    assert silence_of(config, StreamConfig(overlay=overlay)) == silence_s


@pytest.mark.parametrize("workers", [0, 1])
async def test_who_follows_a_stream_that_has_lost_the_others_is_sent_away(workers):
    """The response ends as it should, so that who has no limit on silence comes back; until the others are there it is 503."""
    select = Selections(StreamGateConfig(), Config().limits).of
    async with working(workers) if workers else serving(select=select) as port:
        stream, there = port.stream, True
        stream.is_there = lambda: there
        paths = ("stream", "compressed", "priority", "stream?event-type=alarm")
        consumers = [await port.follow(f"/events/{path}") for path in paths]
        poll = await port.connect()
        await poll.ask("GET", "/events/long-polling")
        there = False
        stream._silence.cancel()
        stream._silence_s = 0.05
        stream._break_silence()
        for consumer in consumers:
            assert await consumer.chunk() == b""
            assert await consumer.reader.read() == b""
        assert await poll.head() == 200
        for path in (*paths, "long-polling"):
            for method in ("GET", "HEAD"):
                refused = await port.request(method, f"/events/{path}")
                assert (refused.status, refused.headers["content-length"]) == (503, "0")
        there = True
        async with asyncio.timeout(5):
            while (await port.request("HEAD", "/events/stream")).status != 200:  # noqa: ASYNC110 - it is asked
                await asyncio.sleep(0.01)
        for path in paths:
            await port.follow(f"/events/{path}")
