"""Sensors of four kinds with their formats and mappings, and the questions that tests of the monitoring ask."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from triplewire.clients import AsyncSparqlClient
from triplewire.conf.monitoring.topics_manager import TopicsManager

if TYPE_CHECKING:
    from triplewire.jsap import Profile

MONITOR = "http://example.org/monitoring#"
PREFIXES = f"""PREFIX sosa: <http://www.w3.org/ns/sosa/> PREFIX qudt: <http://qudt.org/1.1/schema/qudt#>
    PREFIX time: <http://www.w3.org/2006/time#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
    PREFIX monitor: <{MONITOR}>
    """
STORED = f"""{PREFIXES} SELECT ?observation ?value ?unit ?time {{
    ?observation a sosa:Observation ; sosa:hasResult ?q .
    ?q a qudt:QuantityValue ; qudt:numericValue ?value ; qudt:unit ?unit ; time:hasTime ?i .
    ?i a time:Instant ; time:inXSDDateTimeStamp ?time }} ORDER BY ?time"""
PRESENT = f"""{PREFIXES} SELECT ?observation ?value ?time {{
    ?observation sosa:hasResult/qudt:numericValue ?value ; sosa:resultTime ?time }}"""

NUMBER = "(?<value>[-+]?\\d+(?:\\.\\d+)?)"
FORMATS = [
    {"topic": "json/\\d", "json": {"{topic}": "reading.value"}},
    {"topic": "shared/\\d", "value": f"(?<id>\\w+):{NUMBER}", "name": "{topic}/{id}"},
    {"value": f"^{NUMBER}( °C)?$"},
]
WRITERS = {
    "plain": str,
    "unit": lambda value: f"{value} °C",
    "json": lambda value: json.dumps({"at": "now", "reading": {"value": value}}),
    "shared": lambda value: f"sensor:{value}",
}
TOPICS = [f"{kind}/{number}" for kind in WRITERS for number in range(5)]


def named(topic: str) -> str:
    """What the formats call a reading of the topic."""
    return f"{topic}/sensor" if topic.startswith("shared") else topic


def observation(topic: str) -> str:
    return MONITOR + topic.replace("/", "-")


MAPPINGS = {
    named(topic): {
        "observation": observation(topic),
        "unit": "unit:DegreeCelsius",
        "location": "monitor:Hall",
        "label": f"Sensor at {topic}",
    }
    for topic in TOPICS
}


def message(topic: str, number: int) -> tuple[str, str]:
    """The topic's message of that number; every second says the same as the one before."""
    value = round(number // 2 + TOPICS.index(topic) / 100, 2)
    return topic, WRITERS[topic.partition("/")[0]](value)


async def mapped(profile: Profile) -> None:
    """Add all mappings of the profile."""
    async with TopicsManager(profile) as manager:
        await manager.add_all()


async def rows(url: str, query: str) -> list:
    """The answer of a broker or an endpoint at a base URL."""
    async with AsyncSparqlClient(f"{url}/") as client:
        return await client.select(query)


async def clean(*urls: str) -> None:
    """Empty the stores at these base URLs."""
    for url in urls:
        async with AsyncSparqlClient(f"{url}/") as client:
            await client.update("DROP ALL")
