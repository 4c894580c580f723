"""The registry and real relays: who stands in it publishes, and who is taken out does not, at once; nobody else minds."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest
from support.closed_overlay import GRAPH, PREFIXES, ClosedSite
from support.running_relay import RunningRelay
from support.streams import until

from triplewire.broker.errors import BrokerRefused
from triplewire.clients.streams import AsyncStreamConsumer, AsyncStreamPublisher, new_item

pytestmark = pytest.mark.xdist_group("tracker-closed")

TAKEN_OUT = f"{PREFIXES} DELETE DATA {{ GRAPH <{GRAPH}> {{ <urn:s:weather> tw:mayPublish 'other' }} }}"


@pytest.fixture
def site(tmp_path):
    with ExitStack() as stack:
        made = ClosedSite(stack, tmp_path / "site")
        made.tracker = made.started("tracker.heartbeat_s=0.5", "tracker.silent_s=8")  # relays ask as often
        yield made


def relay(site, identity):
    """A relay of a client, whose own stream port is open on this machine."""
    broker = site.broker
    running = RunningRelay.start(
        *("--tracker", site.tracker.http, "--identity", identity, "--url", broker.running.https),
        *("--ca", str(broker.authority.ca), "--node", f"node-{identity}"),
        *("--set", f"relay.credentials={site.directory / identity}.json"),
        streams=("weather",),
    )
    site.stack.callback(running.stop)
    return running


async def refusal_of(publisher):
    """Why an item is not taken; None where it is."""
    try:
        await publisher.publish(new_item("urn:test", "text/plain", b"late"))
    except BrokerRefused as error:
        return error
    return None


async def test_a_publisher_that_is_taken_out_is_refused(site):
    """What it published before has come; then 403, and what others are let publish goes on."""
    one, two = await asyncio.gather(*(asyncio.to_thread(relay, site, name) for name in ("other", "another")))
    got = []

    async def follow():
        async with AsyncStreamConsumer(f"{two.streams}/weather/stream") as consumer:
            async for items in consumer.batches():
                got.extend(item.body for item in items)

    following = asyncio.create_task(follow())
    try:
        async with (
            AsyncStreamPublisher(f"{one.streams}/weather/publish") as allowed,
            AsyncStreamPublisher(f"{two.streams}/weather/publish") as never,
        ):
            await allowed.publish(new_item("urn:test", "text/plain", b"early"))
            await until(lambda: b"early" in got, 20)
            refused = await refusal_of(never)
            assert refused is not None
            assert refused.status == 403
            assert site.broker.update(TAKEN_OUT, site.broker.headers("keeper")).status_code == 200

            async def is_out():
                refused = await refusal_of(allowed)
                return refused is not None and refused.status == 403

            async with asyncio.timeout(20):
                while not await is_out():  # noqa: ASYNC110 - it has no event
                    await asyncio.sleep(0.05)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
