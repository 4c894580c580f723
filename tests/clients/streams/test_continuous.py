import asyncio
import dataclasses
import threading

import pytest

from triplewire.broker.errors import BrokerRefused, ConnectionLost
from triplewire.clients.authorization import Token
from triplewire.clients.streams import AsyncContinuousPublisher, ContinuousPublisher


def posted(stream):
    return [item for post in stream.posts for item in post]


async def test_what_is_published_goes_in_one_post(stream, quick, item):
    """Which is answered at a flush."""
    async with AsyncContinuousPublisher(stream.url, settings=quick) as publisher:
        for number in range(1, 51):
            await publisher.publish(item(number))
        assert publisher.unanswered == 50
        await publisher.flush(10)
        assert publisher.unanswered == 0

    assert stream.posts == [[item(number) for number in range(1, 51)]]
    method, target, headers = stream.requests[0]
    assert (method, target) == ("POST", "/events/publish-cont")
    assert headers["content-type"] == "application/ztreamy-stream"
    assert headers["transfer-encoding"] == "chunked"


async def test_a_post_ends_by_time_and_by_number(stream, quick, item):
    """So that little has to be sent again."""
    settings = dataclasses.replace(quick, post_items=10, post_s=0.05)
    async with AsyncContinuousPublisher(stream.url, settings=settings) as publisher:
        await publisher.publish(*map(item, range(25)))
        async with asyncio.timeout(10):
            while publisher.unanswered:  # noqa: ASYNC110 - there is nothing to be told by
                await asyncio.sleep(0.005)

    assert [len(post) for post in stream.posts] == [10, 10, 5]
    assert posted(stream) == [item(number) for number in range(25)]


async def test_a_post_without_an_answer_is_sent_again_as_a_whole(stream, quick, item):
    """Under the same ids, so that nothing comes twice."""
    stream.cuts_posts = 2
    async with AsyncContinuousPublisher(stream.url, settings=quick) as publisher:
        await publisher.publish(item(1), item(2))
        await publisher.flush(10)

    assert stream.posts == [[item(1), item(2)]] * 3
    assert list(stream.items) == [item(1), item(2)]


async def test_a_server_that_sheds_load_is_tried_again(stream, quick, item):
    """Also where it is too busy in a 4xx."""
    stream.replies.extend([(503, {"Retry-After": "0"}, b""), (500, {}, b""), (429, {}, b"")])
    async with AsyncContinuousPublisher(stream.url, settings=quick) as publisher:
        await publisher.publish(item(1))
        await publisher.flush(10)

    assert posted(stream) == [item(1)]
    assert len(stream.requests) == 4


async def test_a_refusal_ends_it(stream, quick, item):
    """For all who wait, and all who come later."""
    stream.replies.append((403, {}, b"not you"))
    publisher = AsyncContinuousPublisher(stream.url, settings=quick)
    await publisher.publish(item(1))
    for work in (publisher.flush(10), publisher.publish(item(2)), publisher.close()):
        with pytest.raises(BrokerRefused, match="not you"):
            await work


async def test_a_refused_token_is_followed_by_another(stream, quick, item):
    """Once."""

    class Source:
        def known(self, refused=None):
            return Token("old") if refused is None else None

        async def token_async(self, refused=None):
            assert refused == "old"
            return Token("new")

    stream.replies.append((401, {}, b""))
    async with AsyncContinuousPublisher(stream.url, settings=quick, authorization=Source()) as publisher:
        await publisher.publish(item(1))
        await publisher.flush(10)

    assert [headers["authorization"] for *_, headers in stream.requests] == ["Bearer old", "Bearer new"]
    assert posted(stream) == [item(1)]


async def test_publishing_waits_while_too_much_waits(quick, item):
    """And goes on when somebody is there to take it."""
    settings = dataclasses.replace(quick, waiting_items=3)
    publisher = AsyncContinuousPublisher("http://127.0.0.1:1/events", settings=settings)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(publisher.publish(*map(item, range(20))), 0.1)
    assert publisher.unanswered <= 3 + 3, "what waits, and what was taken for the POST that fails"
    with pytest.raises(ConnectionLost, match="items were not taken in time: can't reach"):
        await publisher.close(0.05)


async def test_nobody_there_is_waited_for(stream, quick, item):
    """What was published before the server came is taken."""
    publisher = AsyncContinuousPublisher(stream.url, settings=quick)
    right, publisher._url = publisher._url, "http://127.0.0.1:1/events/publish-cont"
    await publisher.publish(item(1))
    await asyncio.sleep(0.02)
    publisher._url = right
    await publisher.close()
    assert posted(stream) == [item(1)]


async def test_one_that_was_never_used_closes(stream):
    """Nothing is opened."""
    async with AsyncContinuousPublisher(stream.url) as publisher:
        await publisher.flush(1)
    assert stream.requests == []


def test_blocking_code_has_it_too(stream, quick, item):
    """Threads may share it."""
    with ContinuousPublisher(stream.url, settings=quick) as publisher:
        threads = [threading.Thread(target=publisher.publish, args=[item(number)]) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        publisher.flush(10)
        assert publisher.unanswered == 0
        publisher.publish(item(8))

    assert sorted(item.event_id for item in posted(stream)) == [f"e{number}" for number in range(9)]


def test_a_wrong_url_is_refused_at_once():
    """On the thread that gave it."""
    with pytest.raises(ValueError, match="a stream's URL"):
        ContinuousPublisher("http://localhost")
