"""A real MQTT broker for the tests of the monitoring, and clients that do not wait long."""

from __future__ import annotations

import os

import pytest
from support.applications import MOSQUITTO, Mosquitto, monitoring_profile
from support.monitoring import FORMATS, MAPPINGS, clean

from triplewire.clients import ClientSettings


@pytest.fixture
def mosquitto_with(tmp_path):
    """Starts an MQTT broker for one test, with lines of configuration on top of the usual ones."""
    if MOSQUITTO is None:
        if os.environ.get("CI"):
            pytest.fail("mosquitto is not installed, and in CI it has to be")
        pytest.skip("mosquitto is not installed (apt-get install mosquitto)")
    running: list[Mosquitto] = []

    def start(*settings: str) -> Mosquitto:
        running.append(Mosquitto(tmp_path, *settings))
        return running[-1]

    yield start
    for broker in running:
        broker.stop()


@pytest.fixture
def mosquitto(mosquitto_with):
    """An MQTT broker for one test."""
    return mosquitto_with()


@pytest.fixture
def quick() -> ClientSettings:
    """Settings for clients that are to try again soon."""
    return ClientSettings(backoff_first_s=0.02, backoff_longest_s=0.2)


@pytest.fixture
async def profile_for(broker, oxigraph, mosquitto):
    """Makes the monitoring's profile with the formats and mappings of the tests; all stores are empty."""
    await clean(broker.http, oxigraph.url)
    more = {"extended.formats": FORMATS, "extended.semantic-mappings": MAPPINGS}
    return lambda **members: monitoring_profile(broker, mosquitto.port, oxigraph.update, **(more | members))
