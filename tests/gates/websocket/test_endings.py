"""Unsubscribes that nobody asked for."""

from __future__ import annotations

import asyncio

import pytest

from triplewire.broker.errors import ShuttingDown, TooManyRequests, UnknownSubscription
from triplewire.broker.model import Unsubscribe
from triplewire.gates.websocket import endings
from triplewire.gates.websocket.endings import Endings


class Busy:
    """A scheduler that answers by a list."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def submit(self, request):
        await asyncio.sleep(0)
        self.asked.append(request)
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(endings, "_AGAIN_S", 0.001)


async def test_a_busy_core_is_asked_again():
    """Until it has done it; what it does not know has ended already."""
    core = Busy(TooManyRequests("full"), TooManyRequests("full"), UnknownSubscription("gone"))
    ended = Endings(core)
    ended.subscriber = 7
    ended.add(["a", "b"])
    ended.add(["c"])
    await asyncio.sleep(0.05)
    ended.add(["d"])
    await asyncio.sleep(0.05)

    assert core.asked == [Unsubscribe(spuid, 7) for spuid in "aaabcd"]


async def test_the_end_of_the_connection_or_the_broker_is_the_end():
    """All subscriptions go with it."""
    core = Busy(ShuttingDown("bye"))
    ended = Endings(core)
    ended.add(["a", "b"])
    await asyncio.sleep(0.02)
    assert len(core.asked) == 1

    core = Busy(*[TooManyRequests("full")] * 1000)
    ended = Endings(core)
    ended.add(["a"])
    await asyncio.sleep(0.02)
    ended.close()
    await asyncio.sleep(0.01)
    asked = len(core.asked)
    await asyncio.sleep(0.02)
    assert len(core.asked) == asked
