"""The MQTT adapter: each MQTT message becomes the value of the observation that its topic is mapped to.

Messages are dealt with one after the other, so values of a topic are in order, and one is acknowledged when its updates
are made (see `mqtt_link.py`).  What no mapping or format is for, and what is no number, is counted, and told of once a
topic.  A message for a topic whose mapping comes later is not kept for it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from triplewire.broker.errors import BrokerRefused
from triplewire.clients import AsyncProducer
from triplewire.conf.persistence import persistently

from .formats import Formats
from .mappings import Topics
from .mqtt_link import MqttLink
from .mqtt_settings import MqttSettings
from .services import finished, together

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from triplewire.clients import ClientSettings
    from triplewire.jsap import Profile

    from .formats import Reading
    from .mqtt_link import MqttMessage

logger = logging.getLogger("triplewire.conf.monitoring")

_MOST_TOLD = 10_000  # topics; there may be any number of them under `#`
_GRACE_S = 5.0  # the update that is under way when we are stopped


@dataclass(slots=True)
class Counts:
    """What became of the messages; one message may have several readings."""

    messages: int = 0
    updates: int = 0
    unparsable: int = 0  # messages without a reading
    unknown: int = 0  # readings without an observation
    refused: int = 0  # updates


class MqttAdapter:
    """Subscribed to the MQTT broker on one side, and to the mappings on the other."""

    def __init__(self, profile: Profile, settings: ClientSettings | None = None) -> None:
        extended = profile.extended
        self.counts = Counts()
        self.link = MqttLink(MqttSettings.of(extended), settings)
        self._formats = Formats.of(extended)
        self._topics = Topics(profile, settings)
        self._producer = AsyncProducer(profile, "UPDATE_VALUE", settings=settings)
        self._settings = settings
        self._clock = Clock()
        self._told: set[str] = set()

    async def run(self) -> None:
        """Work until cancelled.

        Raises:
            ClientError: the broker was away at the start, or refuses the subscription.
            OSError: a file with a certificate or the password can't be read.
        """
        try:
            await self._topics.subscribe()  # before MQTT, or the first messages would be of unknown topics
            # In this order they are stopped: what was done can still be acknowledged.
            await together(self._topics.failure(), self._work(), self.link.run())
        finally:
            await self._topics.close()
            await self._producer.close()

    async def _work(self) -> None:
        while True:
            message = await self.link.inbox.get()
            # Half done it would be done again by the next run.
            await finished(self._carry_out(message), _GRACE_S)

    async def _carry_out(self, message: MqttMessage) -> None:
        self.counts.messages += 1
        readings = self._formats.readings(message.topic, message.payload)
        if not readings:
            self.counts.unparsable += 1
            self._tell(
                message.topic, "no format finds a number in %.75r of topic %s", message.payload, message.topic
            )
        for reading in readings:
            observations = self._topics.observations(reading.name)
            if not observations:
                self.counts.unknown += 1
                self._tell(
                    reading.name, "no observation is mapped to %s (topic %s)", reading.name, message.topic
                )
            for observation in observations:
                await self._update(observation, reading, message)
        self.link.done(message)

    async def _update(self, observation: NamedNode, reading: Reading, message: MqttMessage) -> None:
        values = {
            "observation": observation,
            "value": reading.value,
            "time": self._clock.stamp(message.arrived).isoformat(timespec="microseconds"),
        }
        try:
            await persistently(lambda: self._producer.update(values), self._settings)
        except BrokerRefused as error:
            self.counts.refused += 1
            self._tell(message.topic, "the broker refuses %s: %s", reading, error)
        else:
            self.counts.updates += 1

    def _tell(self, topic: str, line: str, *arguments: object) -> None:
        if topic not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(topic)
            logger.warning(f"? {line}; told once", *arguments)  # noqa: G004 - a constant around a constant


class Clock:
    """Times for readings, no two the same: what is told of twice in one microsecond is one microsecond later."""

    def __init__(self) -> None:
        self._last = datetime.min.replace(tzinfo=UTC)

    def stamp(self, arrived: datetime) -> datetime:
        """The time of a reading that arrived then."""
        self._last = max(arrived, self._last + timedelta(microseconds=1))
        return self._last
