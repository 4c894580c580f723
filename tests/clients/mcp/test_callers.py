"""Callers, what is theirs, and when it ends."""

from __future__ import annotations

import asyncio
import time

import pytest

from triplewire.broker.errors import BrokerRefused
from triplewire.broker.model import Failure, Query
from triplewire.clients.application import Addressed
from triplewire.clients.mcp.callers import Callers
from triplewire.clients.mcp.errors import ToolRefused
from triplewire.clients.mcp.limits import Limits
from triplewire.clients.settings import ClientSettings

ALL = "SELECT ?o { ?s ?p ?o }"


class Published(list):
    """What was told of, and what was told to be gone."""

    def __init__(self):
        super().__init__()
        self.gone = []

    async def __call__(self, uri, gone):
        (self.gone if gone else self).append(uri)


@pytest.fixture
def published():
    return Published()


@pytest.fixture
async def make(published):
    """Makes callers with limits; they end with the test."""
    made = []

    def callers(**limits):
        made.append(
            Callers(ClientSettings(timeout_s=5), None, Limits(**{"notify_s": 0.05, **limits}), published)
        )
        return made[-1]

    yield callers
    for each in made:
        await each.close()


def to(fake, sparql=ALL):
    return Addressed(Query(sparql), fake.ws)


async def until(condition):
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - another thread's doing
            await asyncio.sleep(0.01)


async def test_changes_are_told_of_no_faster_than_is_allowed(fake, make, published):
    """However many there are; all of them are read."""
    followed = await make(notify_s=0.3).of(None).subscribe(to(fake))
    for number in range(10):
        await asyncio.to_thread(fake.update, f"INSERT DATA {{ <x:s> <x:p> {number} }}")
    await until(lambda: published)
    await until(lambda: followed.read(0, 100)["number"] == 10)
    assert published[0] == followed.uri
    assert len(published) < 5


async def test_each_token_is_a_caller(fake, make):
    """The same token is the same one, and there is an end of them; who holds nothing gives its place."""
    callers = make(callers=2)
    first, second = callers.of("a"), callers.of("b")
    assert callers.of("a") is first
    assert first is not second
    await first.subscribe(to(fake))
    assert callers.of(None) not in {first, second}  # in the place of "b"
    callers.of(None).calls += 1
    with pytest.raises(ToolRefused, match="too many callers"):
        callers.of("b")
    assert callers.of("a") is first


async def test_a_refused_subscription_is_none(fake, make):
    """It takes no place."""
    fake.refusals.append(Failure("parsing failed", 400, "line 1"))
    caller = make(subscriptions=1).of(None)
    with pytest.raises(BrokerRefused, match="line 1"):
        await caller.subscribe(to(fake))
    assert caller.followed == ()
    await caller.subscribe(to(fake))


async def test_an_abandoned_subscription_gives_its_place(fake, make):
    """One that is read, listened to or kept does not."""
    caller = make(subscriptions=2, abandoned_s=0.2).of(None)
    listened, abandoned = await caller.subscribe(to(fake)), await caller.subscribe(to(fake))
    caller.listens(listened.name, 1)
    with pytest.raises(ToolRefused, match="there are 2 subscriptions already"):
        await caller.subscribe(to(fake))
    await asyncio.sleep(0.25)
    third = await caller.subscribe(to(fake))
    assert caller.followed == (listened, third)
    assert "needed its place" in abandoned.ended
    await until(lambda: fake.subscriptions == 2)


async def test_what_nobody_reads_ends(fake, make, published):
    """At the broker as well; what is kept or listened to stays."""
    caller = make().of(None)
    kept, listened, idle = [await caller.subscribe(to(fake)) for _ in range(3)]
    caller.keep(kept.name)
    caller.listens(listened.name, 1)
    await caller.end_idle(time.monotonic() + 1)
    assert caller.followed == (kept, listened)
    assert "nobody read it" in idle.ended
    await until(lambda: published.gone == [idle.uri])
    await until(lambda: fake.subscriptions == 2)
    caller.listens(listened.name, -1)
    await caller.end_idle(time.monotonic() + 1)
    assert caller.followed == (kept,)


async def test_callers_without_subscriptions_are_let_go(fake, make):
    """So that another token finds a place; whoever has one stays."""
    callers = make(callers=2, idle_s=0.1)
    busy = callers.of("busy")
    followed = await busy.subscribe(to(fake))
    busy.listens(followed.name, 1)
    callers.of("gone")
    tidying = asyncio.create_task(callers.tidy())
    await asyncio.sleep(0.4)
    tidying.cancel()
    assert callers.of("new") is not busy
    assert callers.of("busy") is busy


async def test_hanging_up_leaves_no_half_subscription(fake, make):
    """What the broker makes of it all the same is there, and can be ended."""
    caller = make().of(None)
    subscribing = asyncio.create_task(caller.subscribe(to(fake)))
    await asyncio.sleep(0)
    subscribing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await subscribing
    await until(lambda: fake.subscriptions == 1 and caller.followed[0].live is not None)
    await caller.unsubscribe(caller.followed[0].uri)
    await until(lambda: fake.subscriptions == 0)
