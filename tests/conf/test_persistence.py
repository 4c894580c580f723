"""Updates that are made in the end."""

from __future__ import annotations

import asyncio

import pytest

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused, ConnectionLost
from triplewire.conf.persistence import persistently


class Updates:
    """Fails in turn with these, and then does well."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.made = 0

    async def __call__(self) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.made += 1


@pytest.mark.parametrize(
    "error",
    [
        ConnectionLost("away"),
        BrokerRefused("busy", 429, ""),
        BrokerRefused("x", 500, ""),
        BrokerRefused("x", 503, ""),
    ],
    ids=str,
)
async def test_what_passes_is_waited_for(quick, error):
    """Again and again, until it is made once."""
    updates = Updates(error, error, error)
    await persistently(updates, quick)
    assert updates.made == 1


@pytest.mark.parametrize("error", [BrokerRefused("syntax", 400, ""), BrokerMisbehaved("what?")], ids=str)
async def test_what_does_not_pass_is_raised(quick, error):
    """The same update would never be taken."""
    updates = Updates(error)
    with pytest.raises(type(error)):
        await persistently(updates, quick)
    assert updates.made == 0


async def test_who_is_stopping_does_not_wait(quick):
    """The update is tried, and given up."""
    stopping = asyncio.Event()
    task = asyncio.create_task(persistently(Updates(*[ConnectionLost("away")] * 1000), quick, stopping))
    await asyncio.sleep(0.1)
    assert not task.done()
    stopping.set()
    await asyncio.wait_for(task, 1)
