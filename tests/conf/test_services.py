"""What the agents of the monitoring have in common."""

from __future__ import annotations

import asyncio
import io

import pytest
from support.applications import running, until

from triplewire.clients import BrokerRefused, ConnectionLost
from triplewire.conf.monitoring.adapter import MqttAdapter
from triplewire.conf.monitoring.services import finished, together, unless
from triplewire.conf.monitoring.storing import StoringService
from triplewire.conf.monitoring.values import Values


@pytest.mark.parametrize("agent", [MqttAdapter, StoringService])
async def test_an_agent_ends_with_what_ends_its_subscription(profile_for, quick, agent):
    """It does not go on half alive."""
    profile = profile_for(
        **{"queries.TOPICS.sparql": "SELECT {", "queries.OBSERVATIONS_VALUES.sparql": "SELECT {"}
    )
    with pytest.raises(BrokerRefused):
        await agent(profile, quick).run()
    nowhere = profile_for(**{"sparql11seprotocol.availableProtocols.ws.port": 1})
    with pytest.raises(ConnectionLost):
        await agent(nowhere, quick).run()


async def test_what_fails_ends_the_others_in_their_order():
    """And its error is the one that is raised."""
    ended = []

    async def works(name: str) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0)
            ended.append(name)

    async def fails() -> None:
        await asyncio.sleep(0.01)
        raise ConnectionLost("away")

    with pytest.raises(ConnectionLost):
        await together(works("first"), fails(), works("last"))
    assert ended == ["first", "last"]


async def test_what_was_begun_is_finished():
    """A cancellation is raised after it, or when its time is over."""
    steps = []

    async def work(seconds: float) -> None:
        await asyncio.sleep(seconds)
        steps.append(seconds)

    for seconds in (0.05, 30):
        task = asyncio.create_task(finished(work(seconds), 0.2))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert steps == [0.05]


async def test_what_can_wait_no_longer_is_given_up():
    """When the event comes first."""
    event, queue = asyncio.Event(), asyncio.Queue(1)
    assert await unless(event, queue.put(1))
    asyncio.get_running_loop().call_later(0.01, event.set)
    assert not await unless(event, queue.put(2))
    assert queue.qsize() == 1


@pytest.mark.parametrize("delay_s", [0, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05])
async def test_services_can_be_stopped_while_they_start(profile_for, quick, delay_s):
    """At any moment, with nothing left behind."""
    profile = profile_for()
    before = len(asyncio.all_tasks())
    async with (
        running(StoringService(profile, quick).run()),
        running(MqttAdapter(profile, quick).run()),
        running(Values(profile, io.StringIO(), quick).run()),
    ):
        await asyncio.sleep(delay_s)
    await until(lambda: len(asyncio.all_tasks()) <= before)
