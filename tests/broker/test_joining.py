"""A process that joins the overlay; what it tells and how it leaves is in test_relaying.py."""

from __future__ import annotations

import pytest

from triplewire.broker.config import Config
from triplewire.broker.errors import ConfigError, ShuttingDown
from triplewire.broker.joining import Joining
from triplewire.broker.overlay_config import RelayConfig
from triplewire.broker.security.authority import Nobody


def joining(**settings):
    config = Config(relay=RelayConfig(trackers=("http://127.0.0.1:9",), port=0, **settings))
    return Joining(config, None, Nobody(), lambda: {"status": "ok"})


async def test_authorities_that_can_t_be_read():
    """Are told by the setting's name."""
    with pytest.raises(ConfigError, match=r"relay\.ca: .*nothing\.pem"):
        joining(ca="nothing.pem")


async def test_it_says_where_it_is_and_leaves():
    """What was set counts; where links come in it says itself."""
    one = joining(node="n1")
    try:
        assert await one.begin("http://127.0.0.1:8001") == f"ws://127.0.0.1:{one.node.port}/links"
        assert one.health()["node"] == "n1"
    finally:
        await one.end()
    await one.end()
    with pytest.raises(ShuttingDown):
        await one.node.ready("news")
    other = joining(links_at="wss://here.example:1/links")
    try:
        assert await other.begin("") == "wss://here.example:1/links"
    finally:
        await other.end()
