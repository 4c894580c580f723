import pytest

from triplewire.broker.errors import BrokerRefused, ProfileError
from triplewire.clients import AsyncProducer, Producer

VALUE = "ASK { <http://example.org/two> <http://example.org/value> 7 }"


def test_it_makes_its_update_with_new_values(fake, profile):
    """By keywords, by a mapping, or both."""
    with Producer(profile, "MEASURE") as producer:
        producer.update({"sensor": "ex:two"}, value=7)

    assert fake.store.query(VALUE)


def test_nothing_is_remembered_from_call_to_call(fake, profile):
    """A value that is required is required each time."""
    with Producer(profile, "MEASURE") as producer:
        producer.update(value=7)
        with pytest.raises(ProfileError, match="value"):
            producer.update()


def test_a_refusal_is_raised(fake, profile):
    """As the broker said it."""
    fake.replies.append((403, {}, b"not you"))
    with Producer(profile, "MEASURE") as producer, pytest.raises(BrokerRefused, match="not you"):
        producer.update(value=7)


def test_the_token_goes_with_it(fake, profile):
    """As a bearer token."""
    with Producer(profile, "MEASURE", authorization=lambda: "secret") as producer:
        producer.update(value=7)

    assert fake.requests[0]["headers"]["Authorization"] == "Bearer secret"


async def test_it_does_the_same_under_asyncio(fake, profile):
    """Method for method."""
    async with AsyncProducer(profile, "MEASURE") as producer:
        await producer.update({"sensor": "ex:two"}, value=7)

    assert fake.store.query(VALUE)
