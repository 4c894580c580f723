"""The MQTT adapter between real brokers."""

from __future__ import annotations

import asyncio

import pytest
from support.applications import monitoring_profile, running, until
from support.monitoring import FORMATS, MAPPINGS, PRESENT, mapped, rows
from support.running import RunningBroker

from triplewire.conf.monitoring.adapter import Counts, MqttAdapter
from triplewire.conf.monitoring.mappings import Mapping
from triplewire.conf.monitoring.topics_manager import TopicsManager


async def test_a_mapping_counts_from_the_moment_it_is_added(profile_for, broker, mosquitto, quick):
    """And no longer when it is removed."""
    profile = profile_for()
    adapter = MqttAdapter(profile, quick)
    async with running(adapter.run()), mosquitto.publisher() as publish, TopicsManager(profile) as manager:
        await asyncio.wait_for(adapter.link.connected.wait(), 20)
        await publish("new/topic", "1")
        await until(lambda: adapter.counts.unknown == 1)
        await manager.add(Mapping("new/topic", "monitor:New", "unit:Percent", "monitor:Hall", "New"))
        await until(lambda: adapter._topics.observations("new/topic"))
        await publish("new/topic", "2")
        await until(lambda: adapter.counts.updates == 1)
        assert [row["value"].value for row in await rows(broker.http, PRESENT)] == ["2"]
        await manager.remove("monitor:New")
        await until(lambda: not adapter._topics.observations("new/topic"))
        await publish("new/topic", "3")
        await until(lambda: adapter.counts.unknown == 2)
    assert await rows(broker.http, "SELECT * { ?s ?p ?o }") == []


async def test_two_observations_may_share_a_topic(profile_for, broker, mosquitto, quick):
    """Both get the value."""
    profile = profile_for()
    adapter = MqttAdapter(profile, quick)
    async with TopicsManager(profile) as manager:
        for name in ("One", "Other"):
            await manager.add(Mapping("shared", f"monitor:{name}", "unit:Percent", "monitor:Hall", name))
    async with running(adapter.run()), mosquitto.publisher() as publish:
        await asyncio.wait_for(adapter.link.connected.wait(), 20)
        await publish("shared", "5")
        await until(lambda: adapter.counts.updates == 2)
    assert [row["value"].value for row in await rows(broker.http, PRESENT)] == ["5", "5"]


@pytest.mark.timeout(180)
async def test_while_the_broker_is_away_messages_wait(oxigraph, mosquitto, quick, tmp_path):
    """At the MQTT broker; when it is back every one becomes a value, in order."""
    data = ("--data", str(tmp_path / "data"))
    broker = RunningBroker.start(*data, memory=False)
    ports = (
        "--http-port",
        broker.http.rpartition(":")[2],
        "--ws-port",
        broker.ws.split(":")[2].partition("/")[0],
    )
    profile = monitoring_profile(
        broker, mosquitto.port, **{"extended.formats": FORMATS, "extended.semantic-mappings": MAPPINGS}
    )
    try:
        await mapped(profile)
        adapter = MqttAdapter(profile, quick)
        async with running(adapter.run()), mosquitto.publisher() as publish:
            await asyncio.wait_for(adapter.link.connected.wait(), 20)
            await publish("plain/0", "1")
            await until(lambda: adapter.counts.updates == 1)
            await asyncio.to_thread(broker.stop)
            for value in range(2, 202):
                await publish("plain/0", str(value))
            await until(
                lambda: adapter.link.inbox.qsize() >= 19
            )  # what Mosquitto sends before the first is done
            assert adapter.counts.updates == 1
            broker = await asyncio.to_thread(RunningBroker.start, *data, *ports, memory=False)
            await until(lambda: adapter.counts.updates == 201, timeout_s=60)
        assert [row["value"].value for row in await rows(broker.http, PRESENT)] == ["201"]
    finally:
        broker.stop()


async def test_an_update_that_is_refused_is_counted_and_holds_up_nothing(
    profile_for, mosquitto, quick, caplog
):
    """Here UPDATE_VALUE is no SPARQL, and so is STORE_OBSERVATION."""
    profile = profile_for(**{"updates.UPDATE_VALUE.sparql": "INSERT { ?observation ?value ?time"})
    await mapped(profile)
    adapter = MqttAdapter(profile, quick)
    async with running(adapter.run()), mosquitto.publisher() as publish:
        await asyncio.wait_for(adapter.link.connected.wait(), 20)
        await publish("plain/0", "1")
        await publish("plain/0", "2")
        await until(lambda: adapter.counts.refused == 2)
    assert adapter.counts == Counts(messages=2, refused=2)
    assert caplog.text.count("the broker refuses") == 1
