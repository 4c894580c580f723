"""The monitoring from end to end: a real Mosquitto, a real broker, and Oxigraph as the second endpoint."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from decimal import Decimal

import pytest
from support.applications import running, until
from support.monitoring import PRESENT, STORED, TOPICS, mapped, message, observation, rows

from triplewire.conf.monitoring.adapter import Counts, MqttAdapter
from triplewire.conf.monitoring.storing import StoringService


@pytest.mark.timeout(180)
async def test_a_thousand_messages_are_a_thousand_stored_observations(
    profile_for, broker, oxigraph, mosquitto, caplog
):
    """20 topics of four formats, equal values in a row, noise among them, and a restart of Mosquitto in between."""
    profile = profile_for()
    await mapped(profile)
    adapter, storing = MqttAdapter(profile), StoringService(profile)
    async with running(storing.run()), running(adapter.run()):
        await asyncio.wait_for(adapter.link.connected.wait(), 20)
        await asyncio.wait_for(storing.following.wait(), 20)
        await publish_all(mosquitto, range(25))
        mosquitto.stop()
        await until(lambda: not adapter.link.connected.is_set())
        mosquitto.start()
        await publish_all(mosquitto, range(25, 50))
        await until(lambda: storing.stored == 1000, timeout_s=120)
        await until(lambda: adapter.counts.messages == 1100)
    assert adapter.counts == Counts(messages=1100, updates=1000, unparsable=50, unknown=50)
    assert (adapter.link.lost, storing.stored, storing.refused) == (0, 1000, 0)
    assert caplog.text.count("told once") == 2
    stored = await rows(oxigraph.url, STORED)
    assert len(stored) == 1000
    values = defaultdict(list)
    for row in stored:  # by time, so each topic's are in order
        values[row["observation"].value].append(Decimal(row["value"].value))
    expected = {
        observation(topic): [Decimal(number // 2) + Decimal(index) / 100 for number in range(50)]
        for index, topic in enumerate(TOPICS)
    }
    assert values == expected
    present = {
        row["observation"].value: Decimal(row["value"].value) for row in await rows(broker.http, PRESENT)
    }
    assert present == {name: numbers[-1] for name, numbers in expected.items()}


async def publish_all(mosquitto, numbers: range) -> None:
    """The messages of these numbers of all topics, and with each number one that is no reading and one of nothing."""
    async with mosquitto.publisher() as publish:
        for number in numbers:
            await asyncio.gather(*(publish(*message(topic, number)) for topic in TOPICS))
            await publish("plain/0", "out of order")
            await publish("unknown/topic", "21.5")


async def test_stored_numbers_compare_as_numbers_and_times_as_times(profile_for, oxigraph, mosquitto, quick):
    """9 is less than 10, and a double can be compared with a decimal."""
    profile = profile_for(**{"extended.formats": [{"value": "(?<value>.+)"}]})
    await mapped(profile)
    adapter, storing = MqttAdapter(profile, quick), StoringService(profile, quick)
    async with running(storing.run()), running(adapter.run()), mosquitto.publisher() as publish:
        await asyncio.wait_for(adapter.link.connected.wait(), 20)
        for value in ("9", "10", "1.1e1"):
            await publish("plain/0", value)
        await until(lambda: storing.stored == 3)
    larger = STORED.replace(
        "} ORDER", "FILTER(?value > 9.5 && ?time > '2020-01-01T00:00:00Z'^^xsd:dateTime) } ORDER"
    )
    found = [row["value"] for row in await rows(oxigraph.url, larger)]
    assert [(float(value.value), value.datatype.value.rpartition("#")[2]) for value in found] == [
        (10.0, "decimal"),
        (11.0, "double"),
    ]
