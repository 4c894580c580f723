import asyncio
import queue

import pytest
from pyoxigraph import Literal

from triplewire.broker.errors import BrokerRefused, ProfileError
from triplewire.broker.model import Failure
from triplewire.clients import AsyncConsumer, Consumer

SEVEN = "INSERT DATA { <http://example.org/one> <http://example.org/value> 7 }"
EIGHT = "INSERT DATA { <http://example.org/two> <http://example.org/value> 8 }"


def values(*numbers):
    return [{"value": Literal(number)} for number in numbers]


@pytest.fixture
def heard():
    return queue.Queue()


def test_it_can_be_given_functions(fake, profile, heard):
    """One keyword each."""
    with Consumer(profile, "VALUES", on_first_results=heard.put, on_added=heard.put) as consumer:
        consumer.subscribe()
        fake.update(SEVEN)

        assert heard.get(timeout=5) == []
        assert heard.get(timeout=5) == values(7)


def test_its_methods_can_be_overridden(fake, profile, heard):
    """In a subclass, as with SEPA's own."""

    class Mine(Consumer):
        def on_added(self, rows):
            heard.put((self, rows))

    with Mine(profile, "VALUES") as consumer:
        consumer.subscribe()
        fake.update(SEVEN)

        assert heard.get(timeout=5) == (consumer, values(7))


def test_the_last_subscribe_counts(fake, profile, heard):
    """The one before is let go."""
    with Consumer(profile, "VALUES", on_added=heard.put, on_unsubscribe=heard.put) as consumer:
        first = consumer.subscribe()
        consumer.subscribe(sensor="ex:two")
        assert heard.get(timeout=5) == first.spuid
        fake.update(SEVEN)
        fake.update(EIGHT)

        assert heard.get(timeout=5) == values(8)
        assert fake.subscriptions == 1


def test_it_can_be_unsubscribed(fake, profile, heard):
    """And does nothing the second time."""
    with Consumer(profile, "VALUES", on_added=heard.put) as consumer:
        consumer.subscribe()
        consumer.unsubscribe()
        consumer.unsubscribe()

        assert fake.subscriptions == 0
        assert consumer.live is None


def test_a_wrong_value_is_told_before_anything_is_sent(fake, profile):
    """And what was followed goes on."""
    with Consumer(profile, "VALUES") as consumer:
        consumer.subscribe()
        with pytest.raises(ProfileError):
            consumer.subscribe(colour="red")

        assert fake.subscriptions == 1


def test_a_refusal_is_raised(fake, profile):
    """By subscribe."""
    fake.refusals.append(Failure("parsing failed", 400, "no"))
    with Consumer(profile, "VALUES") as consumer, pytest.raises(BrokerRefused):
        consumer.subscribe()


def test_one_that_never_subscribed_can_be_closed(profile):
    """There is nothing to close."""
    Consumer(profile, "VALUES").close()


async def test_it_does_the_same_under_asyncio(fake, profile):
    """With coroutine functions too."""
    heard = asyncio.Queue()

    class Mine(AsyncConsumer):
        async def on_added(self, rows):
            await heard.put(rows)

    async with Mine(profile, "VALUES", on_first_results=heard.put_nowait) as consumer:
        live = await consumer.subscribe(sensor="ex:two")
        await asyncio.to_thread(fake.update, EIGHT)
        async with asyncio.timeout(5):
            assert await heard.get() == []
            assert await heard.get() == values(8)
        assert live.answer == values(8)
        await consumer.subscribe()
        assert fake.subscriptions == 1
        await consumer.unsubscribe()
        assert fake.subscriptions == 0
