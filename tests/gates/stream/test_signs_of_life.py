"""What the head of a stream promises: that something comes at least so often, if it is a sign of life."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stepped import SteppedLoop, item, stream_of
from websockets.asyncio.client import connect

from triplewire.broker.config import Config, StreamConfig, StreamGateConfig
from triplewire.broker.overlay_config import RelayConfig
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


async def test_what_passes_a_filter_may_never_come():
    """As long as others come there is no sign of life, so none is promised."""
    async with serving() as port:
        port.server._select = Selections(port.server.config, Config().limits).of
        assert PROMISE not in (await port.request("GET", "/events/stream?source=a")).headers
        assert PROMISE in (await port.request("GET", "/events/stream")).headers


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
    waits=st.lists(eighths(40), max_size=12),
)
def test_it_is_kept(silence_s, least_s, most_s, waits):
    """Whenever items come, and however long they wait for each other: for those who hear at once, and the others."""
    loop = SteppedLoop()
    stream = stream_of(loop, silence_s=silence_s, window_s=least_s, window_most_s=most_s)
    heard, heard_now = [loop.time()], [loop.time()]
    stream.listen(lambda _: heard.append(loop.time()))
    stream.listen_now(lambda _: heard_now.append(loop.time()))
    for number, wait_s in enumerate(waits):
        loop.advance(wait_s)
        stream.take([item(f"e{number}")], "us")
        loop.settle()
    loop.advance(4 * stream.sign_of_life_s)
    for moments in (heard, heard_now):
        assert len(moments) >= 4
        apart = [later - earlier for earlier, later in zip(moments, [*moments[1:], loop.time()], strict=True)]
        assert max(apart) <= stream.sign_of_life_s + 1e-6


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
