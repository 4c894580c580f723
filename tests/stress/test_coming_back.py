"""A thousand clients whose connections are cut at once: in time each is told what it missed, later the answer anew."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from stress.peers import Publisher, room_for, until

from triplewire.clients.async_subscriber import AsyncSubscriber
from triplewire.clients.settings import ClientSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.running import RunningBroker

    from triplewire.broker.model import Notification
    from triplewire.clients.live_query import LiveQuery

pytestmark = [pytest.mark.xdist_group("stress-coming-back"), pytest.mark.slow]

CLIENTS = 1000
VALUES = "SELECT ?s ?v { ?s <urn:v> ?v }"


class Follower:
    """One of our own clients, and what its user was told."""

    def __init__(self, url: str, settings: ClientSettings) -> None:
        self.subscriber = AsyncSubscriber(url, settings=settings)
        self.first = 0
        self.told: list[Notification] = []
        self.live: LiveQuery

    async def follow(self) -> None:
        """Subscribe."""
        self.live = await self.subscriber.subscribe(
            VALUES, on_first_results=self._first, on_notification=self.told.append
        )

    def _first(self, _: object) -> None:
        self.first += 1

    def cut(self) -> None:
        """Cut the connection below the library: no goodbye."""
        socket = self.subscriber._socket
        assert socket is not None
        socket._connection.transport.abort()

    @property
    def answer(self) -> Counter[tuple[str, str]]:
        """What it knows now."""
        return Counter((row["s"].value, row["v"].value) for row in self.live.answer)

    @property
    def connected(self) -> bool:
        """Whether its session has a connection whose subscribe was answered."""
        return self.live.state.name == "LIVE"


async def followers(url: str, settings: ClientSettings) -> list[Follower]:
    """All of them, connected at most fifty at once."""
    made = [Follower(url, settings) for _ in range(CLIENTS)]
    gate = asyncio.Semaphore(50)

    async def one(follower: Follower) -> None:
        async with gate:
            await follower.follow()

    await asyncio.gather(*(one(follower) for follower in made))
    return made


async def cut_and_wait(
    broker: RunningBroker, url: str, settings: ClientSettings, *, resumed: bool
) -> list[Follower]:
    """Cut all, let the answer change, wait until all are back; checks what each was told."""
    async with Publisher(broker) as publisher:
        await publisher.update("INSERT DATA { <urn:kept> <urn:v> 0 . <urn:gone> <urn:v> 1 }")
        made = await followers(url, settings)
        await publisher.update("INSERT DATA { <urn:more> <urn:v> 2 }")
        await until(lambda: all(len(follower.told) == 1 for follower in made))
        spuids = [follower.live.spuid for follower in made]

        for follower in made:
            follower.cut()
        for number in range(20):
            await publisher.update(
                f"DELETE {{ <urn:new> <urn:v> ?o }} INSERT {{ <urn:new> <urn:v> {number} }} "
                "WHERE { OPTIONAL { <urn:new> <urn:v> ?o } }"
            )
        await publisher.update("DELETE DATA { <urn:gone> <urn:v> 1 }")
        began = time.monotonic()
        await until(lambda: all(len(f.told) == 2 and f.connected for f in made), 90)
        took = time.monotonic() - began

        assert [follower.live.spuid == spuid for follower, spuid in zip(made, spuids, strict=True)] == [
            resumed
        ] * CLIENTS
        assert {follower.live.sequence for follower in made} == {2 if resumed else 0}
        for follower in made:
            delta = follower.told[1].delta
            told = [
                Counter({row[0].value: times for row, times in side.items()})
                for side in (delta.added, delta.removed)
            ]
            assert told == [Counter(["urn:new"]), Counter(["urn:gone"])]
        await publisher.holds(subscriptions=CLIENTS, away=0, sockets=CLIENTS)

        await publisher.update("INSERT DATA { <urn:last> <urn:v> 3 }")
        await until(lambda: all(len(follower.told) == 3 for follower in made))
        now = {("urn:kept", "0"), ("urn:more", "2"), ("urn:new", "19"), ("urn:last", "3")}
        assert all(follower.answer == Counter(now) for follower in made)
        assert {follower.live.sequence for follower in made} == {3 if resumed else 1}
        assert {follower.first for follower in made} == {1}
        print(f"{CLIENTS} cut clients are back after {took:.1f} s, {'resumed' if resumed else 'anew'}")
        await asyncio.gather(*(follower.subscriber.close() for follower in made))
        await publisher.holds(subscriptions=0, away=0, sockets=0)
    return made


async def test_a_thousand_cut_clients_are_told_what_they_missed(start: Callable[..., RunningBroker]) -> None:
    """In time: the same spuid, the next number, one change that is the true difference."""
    room_for(3000)
    broker = start("limits.resume_s=100")  # so that a busy machine is in time, too
    settings = ClientSettings(backoff_first_s=1.0, backoff_longest_s=3.0)
    made = await cut_and_wait(broker, broker.ws, settings, resumed=True)
    assert {follower.told[1].sequence for follower in made} == {2}


async def test_a_thousand_clients_that_come_too_late_begin_anew(start: Callable[..., RunningBroker]) -> None:
    """Sequence 0 under another spuid; their users are told the true difference all the same."""
    room_for(3000)
    broker = start("limits.resume_s=0.2")
    settings = ClientSettings(backoff_first_s=2.0, backoff_longest_s=4.0)
    made = await cut_and_wait(broker, broker.ws, settings, resumed=False)
    assert {follower.told[1].sequence for follower in made} == {0}
