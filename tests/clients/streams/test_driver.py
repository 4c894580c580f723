import asyncio
import dataclasses
import threading
import time
from itertools import chain

import httpx
import pytest
from support.fake_stream import FakeStream
from support.fake_tracker import FakeTracker

from triplewire.broker.errors import ConnectionLost
from triplewire.broker.wire.items import Item, encode_item
from triplewire.clients.authorization import Authorize, Token
from triplewire.clients.flows import Call, Wait
from triplewire.clients.streams.driver import AsyncFollowDriver, FollowDriver
from triplewire.clients.streams.following import Read
from triplewire.clients.streams.settings import StreamSettings

CALL = Call("GET", "http://h/events/stream?source=a", (("last-seen", "é&1"),), {"x-a": "b"}, streamed=True)


def steps(*before):
    """A flow that does these steps and gives what came of them."""
    for step in before:
        came = yield step
        yield (came,)


def run(flow, transport, settings=None):
    driver = FollowDriver(settings or StreamSettings(), transport)
    try:
        return list(chain.from_iterable(driver.items(flow)))
    finally:
        driver.close()


async def run_async(flow, transport, settings=None):
    driver = AsyncFollowDriver(settings or StreamSettings(), transport)
    try:
        return [came async for batch in driver.items(flow) for came in batch]
    finally:
        await driver.close()


@pytest.fixture(params=["blocking", "asyncio"])
def runs(request):
    async def blocking(*given):
        return run(*given)

    return blocking if request.param == "blocking" else run_async


def reading(read):
    reply = yield CALL
    yield (reply,)
    for _ in range(read):
        yield ((yield Read(reply)),)


async def test_a_body_is_read_as_it_is(runs):
    """Not decoded, without its empty pieces, with empty bytes at the end and behind it."""
    seen = []

    def answer(request):
        seen.append(request)
        return httpx.Response(200, headers={"Content-Encoding": "deflate"}, stream=Pieces(b"a", b"", b"b"))

    reply, *read = await runs(reading(4), httpx.MockTransport(answer))
    assert (reply.status, reply.headers["content-encoding"]) == (200, "deflate")
    assert read == [b"a", b"b", b"", b""]
    assert str(seen[0].url) == "http://h/events/stream?source=a&last-seen=%C3%A9%261"
    assert seen[0].headers["x-a"] == "b"


class Pieces(httpx.SyncByteStream, httpx.AsyncByteStream):
    def __init__(self, *pieces):
        self.pieces = pieces

    def __iter__(self):
        yield from self.pieces

    async def __aiter__(self):
        for piece in self.pieces:
            yield piece


async def test_the_body_of_an_error_comes_with_it(runs):
    """Only the first of a long one."""
    pieces = Pieces(*[b"x" * 30_000] * 100)

    (reply,) = await runs(steps(CALL), httpx.MockTransport(lambda _: httpx.Response(404, stream=pieces)))
    assert reply.status == 404
    assert 64 * 1024 <= len(reply.body) < 100_000


class Trickle(httpx.SyncByteStream, httpx.AsyncByteStream):
    def __iter__(self):
        for _ in range(400):
            time.sleep(0.05)
            yield b"x"

    async def __aiter__(self):
        for _ in range(400):
            await asyncio.sleep(0.05)
            yield b"x"


async def test_the_body_of_an_error_is_not_waited_for_for_ever(runs):
    """No longer than its head would have been: some server may send it byte by byte."""
    seen = []

    def answer(request):
        seen.append(request)
        return httpx.Response(307, stream=Trickle())

    settings = StreamSettings(timeout_s=0.4)
    for call in (dataclasses.replace(CALL, head_s=0.2), CALL):
        (reply,) = await runs(steps(call), httpx.MockTransport(answer), settings)
        assert reply.status == 307
        assert len(reply.body) < 20
    assert [request.extensions["timeout"]["read"] for request in seen] == [0.2, 0.4]


async def test_errors_of_httpx_are_ours(runs):
    """With the URL."""

    def answer(_):
        raise httpx.ConnectError("nobody")

    with pytest.raises(ConnectionLost, match="can't reach http://h/events/stream"):
        await runs(steps(CALL), httpx.MockTransport(answer))


async def test_waits_and_tokens_are_done(runs):
    """As in every flow."""

    class Source:
        def token(self, refused):
            return Token(refused)

        async def token_async(self, refused):
            return Token(refused)

    assert await runs(steps(Wait(0.001), Authorize(Source(), "t")), None) == [None, Token("t")]


def test_silence_is_a_loss(stream, quick):
    """After the time that the settings have."""
    settings = dataclasses.replace(quick, silence_s=0.05)
    call = Call("GET", f"{stream.url}/stream", streamed=True)

    def flow():
        yield ((yield Read((yield call))),)

    with pytest.raises(ConnectionLost, match="no answer"):
        run(flow(), None, settings)


async def test_the_head_of_an_answer_can_be_hurried(runs):
    """And then the stream may be as silent as ever."""
    with FakeTracker() as server, FakeStream() as stream:
        server.speaks.clear()
        began = time.monotonic()
        with pytest.raises(ConnectionLost, match="no answer"):
            await runs(steps(Call("GET", server.url, streamed=True, head_s=0.2)), None)
        assert time.monotonic() - began < 5

        def flow():
            reply = yield Call("GET", f"{stream.url}/priority", streamed=True, head_s=0.2)
            threading.Timer(0.6, stream.publish, [Item("e1", "s", "text/plain")]).start()
            yield ((yield Read(reply)),)

        assert await runs(flow(), None) == [encode_item(Item("e1", "s", "text/plain"))]


@pytest.mark.parametrize(
    ("promised", "silence_s", "waited_s"),
    [
        ("11", 900.0, 33.0),
        ("0.5", 900.0, 5.0),
        ("301", 900.0, 900.0),
        ("11", 20.0, 20.0),
        ("1", 2.0, 2.0),
        (None, 900.0, 900.0),
        ("soon", 900.0, 900.0),
        ("-1", 900.0, 900.0),
        ("nan", 900.0, 900.0),
        ("1e3", 900.0, 900.0),
        ("9" * 400, 900.0, 900.0),
    ],
)
async def test_who_promises_signs_of_life_is_waited_for_less(runs, promised, silence_s, waited_s):
    """Three times as long as it promises, five seconds at least, never longer than the settings have."""
    seen = []

    def answer(request):
        seen.append(request)
        headers = {} if promised is None else {"Triplewire-Sign-Of-Life": promised}
        return httpx.Response(200, headers=headers, stream=Pieces(b"a"))

    call = dataclasses.replace(CALL, head_s=5.0)
    await runs(steps(call), httpx.MockTransport(answer), StreamSettings(silence_s=silence_s))
    assert seen[0].extensions["timeout"]["read"] == waited_s


def test_it_can_be_stopped_before_there_is_an_answer():
    """There are servers that hold their heads back until there is an item; also on a connection that was there."""
    with FakeTracker({"r1": "http://r"}) as server:
        for before in (0, 1):
            driver = FollowDriver(StreamSettings())

            def flow(before=before):
                for _ in range(before):
                    server.speaks.set()
                    yield Call("GET", server.url, streamed=True)
                server.speaks.clear()
                yield Call("GET", server.url, streamed=True)
                yield ("more",)

            ended, asked = [], len(server.asked)
            thread = threading.Thread(target=lambda: ended.extend(driver.items(flow())))  # noqa: B023
            thread.start()
            deadline = time.monotonic() + 10
            while len(server.asked) <= asked + before:
                assert time.monotonic() < deadline
                time.sleep(0.005)
            driver.close()
            thread.join(5)
            server.speaks.set()
            assert not thread.is_alive()
            assert ended == []


@pytest.mark.parametrize("step", ["read", "wait"])
def test_it_can_be_stopped_from_another_thread(stream, step):
    """Whatever it waits for."""
    driver = FollowDriver(StreamSettings())

    def flow():
        reply = yield Call("GET", f"{stream.url}/stream", streamed=True)
        yield Read(reply) if step == "read" else Wait(60)
        yield ("more",)

    ended = []
    thread = threading.Thread(target=lambda: ended.extend(driver.items(flow())))
    thread.start()
    stream.until(lambda: stream.followers)
    time.sleep(0.05)
    driver.close()
    thread.join(5)

    assert not thread.is_alive()
    assert ended == []
