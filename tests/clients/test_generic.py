import asyncio
import queue

import pytest
from pyoxigraph import Literal, NamedNode

from triplewire.broker.errors import BrokerRefused
from triplewire.broker.model import Bindings
from triplewire.clients import AsyncGenericClient, GenericClient
from triplewire.clients.live_query import State

ONE = NamedNode("http://example.org/one")


@pytest.fixture
def client(profile):
    with GenericClient(profile) as client:
        yield client


def test_it_asks_and_changes_by_id(client):
    """With values."""
    client.update("MEASURE", value=7)
    client.update("MEASURE", {"sensor": "ex:two", "value": 8})

    assert client.query("VALUES") == Bindings(("value",), ((Literal(7),),))
    assert client.query("VALUES", sensor="ex:two") == Bindings(("value",), ((Literal(8),),))


def test_it_asks_and_changes_by_text(client):
    """With the profile's prefixes."""
    client.update("INSERT DATA { ex:one ex:value 7 }")

    assert client.query("SELECT ?v { ?s ex:value ?v }", s=ONE) == Bindings(("v",), ((Literal(7),),))


def test_it_follows_by_id_and_by_text(client, fake):
    """Each on the same WebSocket, with callbacks and values as keywords."""
    heard = queue.Queue()
    client.subscribe("VALUES", alias="by id", sensor="ex:two", on_added=lambda rows: heard.put(("id", rows)))
    client.subscribe("SELECT ?v { ?s ex:value ?v }", s=ONE, on_added=lambda rows: heard.put(("text", rows)))
    client.update("MEASURE", value=7)
    client.update("MEASURE", sensor="ex:two", value=8)

    assert heard.get(timeout=5) == ("text", [{"v": Literal(7)}])
    assert heard.get(timeout=5) == ("id", [{"value": Literal(8)}])
    assert len(fake._sockets) == 1


def test_two_live_queries_of_one_alias_are_unsubscribed_one_by_one(client, fake):
    """The handle counts, not the alias."""
    one = client.subscribe("VALUES", alias="mine")
    other = client.subscribe("VALUES", alias="mine")

    client.unsubscribe(one)

    assert (one.state, other.state) == (State.ENDED, State.LIVE)
    assert fake.subscriptions == 1


def test_a_live_query_of_another_client_is_let_be(client, profile):
    """Only its owner can end it."""
    with GenericClient(profile) as other:
        live = other.subscribe("VALUES")

        client.unsubscribe(live)

        assert live.state is State.LIVE


def test_a_refusal_is_raised(client):
    """By whatever was refused."""
    with pytest.raises(BrokerRefused):
        client.query("SELEKT all")


async def test_it_does_the_same_under_asyncio(profile, fake):
    """With coroutine functions too."""
    heard = asyncio.Queue()
    async with AsyncGenericClient(profile) as client:
        live = await client.subscribe("VALUES", alias="mine", on_added=heard.put)
        await client.update("MEASURE", value=7)
        async with asyncio.timeout(5):
            assert await heard.get() == [{"value": Literal(7)}]
        assert await client.query("VALUES") == Bindings(("value",), ((Literal(7),),))
        await client.unsubscribe(live)
        assert fake.subscriptions == 0
