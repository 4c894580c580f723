"""The clients of streams and a real broker that asks who they are, over TLS."""

from __future__ import annotations

from itertools import islice

import pytest
from support.secured import SecuredBroker

from triplewire.broker.errors import BrokerRefused, ConnectionLost
from triplewire.broker.wire.items import encode_item
from triplewire.clients import ClientCredentials, cli
from triplewire.clients.addresses import Addresses
from triplewire.clients.streams import (
    AsyncContinuousPublisher,
    AsyncStreamConsumer,
    AsyncStreamPublisher,
    Item,
    StreamConsumer,
    StreamPublisher,
    StreamSettings,
    new_item,
)


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    with SecuredBroker(tmp_path_factory.mktemp("secured")) as broker:
        yield broker


@pytest.fixture
def settings(secured):
    return StreamSettings(ca_file=str(secured.authority.ca), backoff_first_s=0.01)


@pytest.fixture
def url(secured):
    return f"{secured.running.streams_tls.rstrip('/')}/events"


@pytest.fixture(scope="module")
def secrets(tmp_path_factory):
    """Where they are kept: an identity is registered once."""
    return tmp_path_factory.mktemp("secrets") / "credentials.json"


@pytest.fixture
def credentials(secured, settings, secrets):
    """Of an identity: registered and exchanged for tokens at the HTTPS port."""
    at = Addresses.of(secured.running.https)

    def of(identity):
        return ClientCredentials(identity, at.register, at.token, settings=settings, file=secrets)

    return of


def test_an_identity_publishes_and_follows(url, settings, credentials):
    """With tokens that it gets by itself."""
    authorization = credentials("all")
    first, second = (new_item("s", "text/plain", body) for body in (b"one", b"two"))
    with StreamPublisher(url, settings=settings, authorization=authorization) as publisher:
        publisher.publish(first, second)
    options = {"settings": settings, "authorization": authorization, "last_seen": first.event_id}
    with StreamConsumer(url, **options) as consumer:
        assert [item.event_id for item in islice(consumer, 1)] == [second.event_id]


async def test_it_is_the_same_under_asyncio(url, settings, credentials):
    """A continuous publisher over TLS, too; a token that is not good is followed by another."""
    good = credentials("all")
    tokens = iter(["no.good.token"])
    first, second = (new_item("s", "text/plain", body) for body in (b"one", b"two"))
    async with AsyncStreamPublisher(url, settings=settings, authorization=good) as publisher:
        await publisher.publish(first)

    def mixed():
        return next(tokens, None) or good.token().text

    async with AsyncContinuousPublisher(url, settings=settings, authorization=mixed) as publisher:
        await publisher.publish(second)
        await publisher.flush(10)
    options = {"settings": settings, "authorization": good, "last_seen": first.event_id}
    async with AsyncStreamConsumer(url, **options) as consumer:
        assert [item.event_id for item in await anext(consumer.batches())] == [second.event_id]


@pytest.mark.parametrize(("identity", "status"), [(None, 401), ("reader", 403), ("some", 403)])
def test_who_may_not_publish_is_told(url, settings, credentials, identity, status):
    """Without a token, without the scope."""
    authorization = None if identity is None else credentials(identity)
    with (
        StreamPublisher(url, settings=settings, authorization=authorization) as publisher,
        pytest.raises(BrokerRefused) as caught,
    ):
        publisher.publish(Item("e", "s", "text/plain"))
    assert caught.value.status == status


@pytest.mark.parametrize(("identity", "status"), [(None, 401), ("reader", 403)])
def test_who_may_not_follow_is_told(url, settings, credentials, identity, status):
    """It is no reason to try again."""
    authorization = None if identity is None else credentials(identity)
    with (
        StreamConsumer(url, settings=settings, authorization=authorization) as consumer,
        pytest.raises(BrokerRefused) as caught,
    ):
        next(iter(consumer))
    assert caught.value.status == status


def test_a_certificate_that_is_not_believed_is_no_connection(url):
    """Without the authority's file."""
    with StreamConsumer(url) as consumer, pytest.raises(ConnectionLost):
        next(iter(consumer))


def test_the_command_line_has_an_identity(secured, url, settings, tmp_path, capsysbinary):
    """Whose tokens come from the broker's own port."""
    first, second = (new_item("s", "text/plain", body) for body in (b"one", b"two"))
    file = tmp_path / "items"
    file.write_bytes(encode_item(first) + encode_item(second))
    who = ["--identity", "admin", "--url", secured.running.https, "--ca", settings.ca_file]

    assert cli.run(["publish", *who, url, str(file)]) == 0
    arguments = ["--last-seen", first.event_id, "--count", "1", "--format", "bodies"]
    assert cli.run(["consume", *who, *arguments, url]) == 0
    assert capsysbinary.readouterr().out == b"two\n"
