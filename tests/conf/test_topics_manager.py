"""Mappings in the broker."""

from __future__ import annotations

import asyncio

import pytest
from pyoxigraph import Literal, NamedNode
from support.applications import running, until
from support.monitoring import MAPPINGS, mapped, rows

from triplewire.broker.errors import ProfileError
from triplewire.conf.monitoring.adapter import MqttAdapter
from triplewire.conf.monitoring.mappings import Mapping
from triplewire.conf.monitoring.storing import StoringService
from triplewire.conf.monitoring.topics_manager import TopicsManager


async def test_adding_a_mapping_again_keeps_the_value_and_notifies_nobody(
    profile_for, broker, mosquitto, quick
):
    """Unless it has changed; then only what has."""
    profile = profile_for()
    await mapped(profile)
    adapter, storing = MqttAdapter(profile, quick), StoringService(profile, quick)
    heard = []
    storing.on_notification = heard.append
    async with running(storing.run()), running(adapter.run()), mosquitto.publisher() as publish:
        await asyncio.wait_for(adapter.link.connected.wait(), 20)
        await publish("plain/0", "21.5")
        await until(lambda: storing.stored == 1)
        before = await rows(broker.http, "SELECT * { ?s ?p ?o } ORDER BY ?s ?p ?o")
        await mapped(profile)
        assert await rows(broker.http, "SELECT * { ?s ?p ?o } ORDER BY ?s ?p ?o") == before
        assert len(heard) == 1
        async with TopicsManager(profile) as manager:
            await manager.add(
                Mapping(
                    **{"topic": "plain/0", **MAPPINGS["plain/0"], "label": "Renamed", "unit": "unit:Kelvin"}
                )
            )
        await until(lambda: len(heard) == 2)
        (removed,), (added,) = heard[1].delta.removed, heard[1].delta.added
        assert sum(old != new for old, new in zip(removed, added, strict=True)) == 2
        assert Literal("21.5", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#decimal")) in added


async def test_a_mapping_with_a_wrong_iri_is_refused_before_anything_is_sent(profile_for, broker):
    """With its path into the profile."""
    async with TopicsManager(profile_for()) as manager:
        with pytest.raises(ProfileError, match="ADD_OBSERVATION"):
            await manager.add(Mapping("a", "no iri", "unit:Percent", "monitor:Hall", "x"))
    assert await rows(broker.http, "SELECT * { ?s ?p ?o }") == []
