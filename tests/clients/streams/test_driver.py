import threading
import time
from itertools import chain

import httpx
import pytest

from triplewire.broker.errors import ConnectionLost
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
    import dataclasses

    settings = dataclasses.replace(quick, silence_s=0.05)
    call = Call("GET", f"{stream.url}/stream", streamed=True)

    def flow():
        yield ((yield Read((yield call))),)

    with pytest.raises(ConnectionLost, match="no answer"):
        run(flow(), None, settings)


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
