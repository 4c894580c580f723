"""Streams and what serves them, put together."""

from __future__ import annotations

import httpx
import pytest
from support.scheduling import Running

from triplewire.broker.config import Config, StreamConfig, StreamGateConfig
from triplewire.broker.errors import ConfigError
from triplewire.broker.security.authority import Nobody
from triplewire.broker.streams import Streams


@pytest.fixture
async def streams_of():
    broker = Running()

    def make(host="127.0.0.1", **streams):
        config = Config(stream=StreamGateConfig(host=host, port=0), streams=streams)
        return Streams(config, broker.scheduler, broker.scheduler, Nobody())

    yield make
    await broker.scheduler.close()


async def test_they_are_there_until_the_block_ends(streams_of):
    """With their directory and their figures."""
    streams = streams_of(events=StreamConfig(title="What happens"))
    async with streams.served(None) as (place, over_tls, links), httpx.AsyncClient() as client:
        assert over_tls == links == ""
        listed = await client.get(f"http://{place}/streams")
        (only,) = listed.json()["dcat:dataset"]
        assert (only["@id"], only["dct:title"]) == (f"http://{place}/events", "What happens")
        answer = await client.post(
            f"http://{place}/events/publish",
            content=b'{"Event-Id": "e1", "Source-Id": "s", "Syntax": "text/plain", "Body": "x"}',
            headers={"Content-Type": "application/json"},
        )
        assert answer.status_code == 200
        told = streams.health()
        assert (told["count"], told["taken"], told["consumers"], told["shed"]) == (1, 1, 0, 0)
        assert told["of"]["events"]["kept"] == 1
        assert (told["workers"], told["replaced"], told["selections"]) == (0, 0, 0)
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(f"http://{place}/streams")
    assert streams.health()["count"] == 0


async def test_a_stream_that_can_t_be_made_stops_the_start(streams_of):
    """And leaves no port open."""
    streams = streams_of(a=StreamConfig(kind="relay", url="nonsense"))
    with pytest.raises(ConfigError, match=r"streams\.a\.url"):
        async with streams.served(None):
            pytest.fail("it listens")
