"""The storing service between a real broker and a second endpoint."""

from __future__ import annotations

import asyncio

import pytest
from support.applications import monitoring_profile, running, until
from support.monitoring import FORMATS, MAPPINGS, STORED, TOPICS, mapped, observation, rows
from support.running import RunningBroker

from triplewire.clients import AsyncProducer
from triplewire.conf.brokers import endpoint
from triplewire.conf.monitoring import storing as storing_module
from triplewire.conf.monitoring.adapter import MqttAdapter
from triplewire.conf.monitoring.storing import StoringService


@pytest.mark.timeout(180)
async def test_while_the_second_endpoint_is_away_values_wait(broker, mosquitto, quick, caplog):
    """In the storing service; and what is there at its start is stored too, but not twice."""
    second = RunningBroker.start()
    port = ("--http-port", second.http.rpartition(":")[2])
    url = f"{second.http}/update"
    profile = monitoring_profile(
        broker, mosquitto.port, url, **{"extended.formats": FORMATS, "extended.semantic-mappings": MAPPINGS}
    )
    try:
        await mapped(profile)
        adapter, storing = MqttAdapter(profile, quick), StoringService(profile, quick)
        async with running(adapter.run()), mosquitto.publisher() as publish:
            await asyncio.wait_for(adapter.link.connected.wait(), 20)
            await publish("plain/0", "1")
            await until(lambda: adapter.counts.updates == 1)
            second.stop()
            async with running(storing.run()):
                await until(lambda: f"can't reach {url}" in caplog.text)  # the value of the moment
                for value in range(2, 12):
                    await publish("plain/0", str(value))
                await until(lambda: adapter.counts.updates == 11)
                await until(lambda: storing._rows.qsize() == 10)
                second = RunningBroker.start(*port)
                await until(lambda: storing.stored == 11)
            again = StoringService(profile, quick)
            async with running(again.run()):
                await until(lambda: again.stored == 1)
        stored = await rows(second.http, STORED)
        assert [row["value"].value for row in stored] == [str(value) for value in range(1, 12)]
    finally:
        second.stop()


async def test_what_waits_is_stored_when_the_service_is_stopped(profile_for, oxigraph, mosquitto, quick):
    """It does not end with values that nobody will have."""
    profile = profile_for()
    await mapped(profile)
    adapter, storing = MqttAdapter(profile, quick), StoringService(profile, quick)
    async with running(adapter.run()), mosquitto.publisher() as publish:
        await asyncio.wait_for(adapter.link.connected.wait(), 20)
        async with running(storing.run()):
            for value in range(30):
                await publish("plain/0", str(value))
            await until(lambda: adapter.counts.updates == 30)
            await until(lambda: storing.stored + storing._rows.qsize() >= 29)
    assert len(await rows(oxigraph.url, STORED)) == storing.stored >= 29


async def test_a_second_endpoint_that_refuses_is_told_of(profile_for, mosquitto, quick, caplog):
    """Each value that could not be stored."""
    profile = profile_for(
        **{"updates.STORE_OBSERVATION.sparql": "INSERT { ?observation ?unit ?value ; ?time"}
    )
    await mapped(profile)
    adapter, storing = MqttAdapter(profile, quick), StoringService(profile, quick)
    async with running(storing.run()), running(adapter.run()), mosquitto.publisher() as publish:
        await asyncio.wait_for(adapter.link.connected.wait(), 20)
        await publish("plain/0", "1")
        await until(lambda: storing.refused == 1)
    assert "the second endpoint refuses" in caplog.text


async def test_a_full_queue_does_not_hold_up_the_end(profile_for, quick, monkeypatch, caplog):
    """The second endpoint is away, and more waits than there is room for."""
    monkeypatch.setattr(storing_module, "WAITING", 2)
    monkeypatch.setattr(storing_module, "_GRACE_S", 0.1)
    away = {"updates.STORE_OBSERVATION.sparql11protocol": endpoint("http://127.0.0.1:1/update", "update")}
    profile = profile_for(**away)
    await mapped(profile)
    async with AsyncProducer(profile, "UPDATE_VALUE") as update:
        for topic in TOPICS:
            await update.update(observation=observation(topic), value="1", time="2030-01-01T00:00:00Z")
    storing = StoringService(profile, quick)
    task = asyncio.create_task(storing.run())
    await until(lambda: storing._rows.full() and "can't reach" in caplog.text)
    task.cancel()
    await asyncio.wait({task}, timeout=5)
    assert task.cancelled()
    assert storing.stored == 0
