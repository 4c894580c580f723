import pytest

from triplewire.broker.errors import BrokerRefused, ConnectionLost
from triplewire.clients.streams import AsyncStreamPublisher, StreamPublisher


@pytest.mark.parametrize("options", [{}, {"as_json": True}, {"compressed": True}])
def test_what_is_published_is_taken(stream, quick, item, options):
    """In each form, on a connection that is kept."""
    with StreamPublisher(stream.url, settings=quick, **options) as publisher:
        publisher.publish(item(1))
        publisher.publish(item(2), item(3))

    assert stream.posts == [[item(1)], [item(2), item(3)]]
    assert {target for _, target, _ in stream.requests} == {"/events/publish"}


async def test_it_is_the_same_under_asyncio(stream, quick, item):
    """With a token."""
    async with AsyncStreamPublisher(stream.url, settings=quick, authorization=lambda: "t") as publisher:
        await publisher.publish(item(1), item(2))

    assert stream.posts == [[item(1), item(2)]]
    assert stream.requests[0][2]["authorization"] == "Bearer t"


def test_a_lost_answer_does_not_make_two_of_one(stream, quick, item):
    """What is sent again has the same id."""
    stream.cuts_posts = 1
    with StreamPublisher(stream.url, settings=quick) as publisher:
        publisher.publish(item(1))

    assert stream.posts == [[item(1)], [item(1)]]
    assert list(stream.items) == [item(1)]


def test_a_refusal_is_an_error(stream, quick, item):
    """With the server's own words."""
    stream.replies.append((403, {}, b"not you"))
    with (
        StreamPublisher(stream.url, settings=quick) as publisher,
        pytest.raises(BrokerRefused, match="not you"),
    ):
        publisher.publish(item(1))


def test_nobody_there_is_an_error(item):
    """Nothing is kept for later."""
    with StreamPublisher("http://127.0.0.1:1/events") as publisher, pytest.raises(ConnectionLost):
        publisher.publish(item(1))
