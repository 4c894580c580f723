"""Lost connections and clients that come back: a real core, real outboxes, no network."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from support.cores import ALL, NEVER, insert, values
from support.scheduling import turn
from support.stores import PROLOGUE

from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import RequestError, TooManyRequests
from triplewire.broker.model import Notification, Query, Resume, Subscribe, Unsubscribe, Update
from triplewire.gates.outbox import Outbox, TakenOver

LIMITS = LimitsConfig(resume_s=60)


class Client:
    """A connection that reads all at once, and what has come over it."""

    def __init__(self, one, limits=LIMITS):
        self.scheduler = one.scheduler
        self.outbox = Outbox(limits)
        self.subscriber = self.scheduler.join(self.outbox)
        self.heard = []
        self.running = asyncio.create_task(self.outbox.run(self._hear))

    def _hear(self, batch):
        self.heard.extend(message for message, _ in batch)

    async def subscribe(self, query=ALL, resume=None, *, resumable=True, alias=None):
        """The answer."""
        before = len(self.heard)
        await self.scheduler.submit(Subscribe(query, self.subscriber, alias, resumable, resume))
        await turn()
        return self.heard[before]

    async def cut(self):
        """The connection is lost."""
        self.scheduler.leave(self.subscriber, lost=True)
        self.running.cancel()
        await turn()


def delete(*numbers):
    return Update(f"{PROLOGUE} DELETE DATA {{ :s :p {', '.join(map(str, numbers))} }}")


async def test_who_comes_back_is_told_what_it_missed(running):
    """One notification with the next number and the new alias; then it goes on."""
    one = running(limits=LIMITS)
    old = Client(one)
    first = await old.subscribe(alias="old")
    await one.scheduler.submit(insert(1))
    await turn()
    await old.cut()
    assert one.scheduler.away.subscriptions == 1
    await one.scheduler.submit(insert(2, 3))
    await one.scheduler.submit(delete(1, 3))

    new = Client(one)
    missed = await new.subscribe(resume=Resume(first.spuid, 0), alias="new")
    await one.scheduler.submit(insert(4))
    await turn()
    assert (missed.spuid, missed.alias, missed.sequence) == (first.spuid, "new", 1)
    assert (values(missed.delta.added), values(missed.delta.removed)) == ([2], [])
    assert [(told.sequence, values(told.delta.added)) for told in new.heard[1:]] == [(2, [4])]
    assert (one.scheduler.away.subscriptions, len(one.scheduler.away)) == (0, 0)


async def test_who_missed_nothing_is_answered_all_the_same(running):
    """An empty change, which answers the subscribe; again and again."""
    one = running(limits=LIMITS)
    client = Client(one)
    spuid = (await client.subscribe()).spuid
    for sequence in range(5):
        await client.cut()
        client = Client(one)
        told = await client.subscribe(resume=Resume(spuid, sequence))
        assert (told.sequence, told.delta.added, told.delta.removed) == (sequence + 1, Counter(), Counter())


async def test_who_is_back_before_it_was_missed_takes_over(running):
    """The old connection is told to stop, and holds nothing any more."""
    one = running(limits=LIMITS)
    old = Client(one)
    first = await old.subscribe()
    plain = await old.subscribe(resumable=False)
    new = Client(one)
    told = await new.subscribe(resume=Resume(first.spuid, 0))

    assert (told.spuid, told.sequence) == (first.spuid, 1)
    with pytest.raises(TakenOver):
        await old.running
    old.scheduler.leave(old.subscriber, lost=True)
    await one.scheduler.submit(insert(1))
    await turn()
    assert [message.spuid for message in new.heard] == [first.spuid] * 2
    assert plain not in old.heard[2:]
    assert one.scheduler.subscribers == 1


async def test_updates_on_their_way_come_before_the_return(running):
    """Whatever waited in the FIFO first is part of what was missed."""
    one = running(limits=LIMITS)
    old = Client(one)
    first = await old.subscribe()
    one.gate.clear()
    updates = [one.submit(insert(number)) for number in range(10)]
    await turn()
    await old.cut()
    new = Client(one)
    back = asyncio.create_task(new.subscribe(resume=Resume(first.spuid, 0)))
    late = [one.submit(insert(number)) for number in range(10, 12)]
    await turn()
    one.gate.set()
    missed = await back
    await asyncio.gather(*updates, *late)
    await turn()

    assert values(missed.delta.added) == list(range(10))
    assert [(told.sequence, values(told.delta.added)) for told in new.heard[1:]] == [(2, [10]), (3, [11])]


@pytest.mark.parametrize(
    "change",
    [
        lambda resume: replace(resume, spuid="sepa://subscription/unknown"),
        lambda resume: replace(resume, sequence=7),
        lambda resume: replace(resume, sequence=-1),
    ],
)
async def test_who_can_not_be_resumed_begins_anew(running, change):
    """A new spuid, sequence 0, the whole answer; the old one, if it was meant, is gone."""
    one = running(limits=LIMITS)
    old = Client(one)
    first = await old.subscribe()
    await old.cut()
    await one.scheduler.submit(insert(1))
    new = Client(one)
    resume = change(Resume(first.spuid, 0))
    told = await new.subscribe(resume=resume)

    assert (told.sequence, values(told.delta.added)) == (0, [1])
    assert told.spuid != first.spuid
    assert one.scheduler.away.subscriptions == (resume.spuid != first.spuid)
    await one.scheduler.submit(insert(2))
    await turn()
    assert [message.sequence for message in new.heard] == [0, 1]


async def test_another_query_begins_anew(running):
    """Also with other graphs; the old subscription ends."""
    one = running(limits=LIMITS)
    client = Client(one)
    first = await client.subscribe()
    for query in (NEVER, replace(ALL, default_graphs=("http://g/1",))):
        await client.cut()
        client = Client(one)
        told = await client.subscribe(query, Resume(first.spuid, 0))
        assert (told.sequence, told.spuid == first.spuid) == (0, False)
        assert one.scheduler.away.subscriptions == 0
        first = told


async def test_a_query_that_is_refused_leaves_the_old_subscription_as_it_was(running):
    """Its client may still come back with the right one."""
    one = running(limits=LIMITS)
    old = Client(one)
    first = await old.subscribe()
    await old.cut()
    new = Client(one)
    with pytest.raises(RequestError):
        await new.subscribe(Query("SELECT nonsense"), Resume(first.spuid, 0))

    assert (await new.subscribe(resume=Resume(first.spuid, 0))).sequence == 1


async def test_who_does_not_say_that_it_can_resume_is_not_waited_for(running):
    """As SEPA's clients: gone at once."""
    one = running(limits=LIMITS)
    client = Client(one)
    first = await client.subscribe(resumable=False)
    await client.cut()
    assert one.scheduler.away.subscriptions == 0
    assert (await one.scheduler.submit(insert(1))).notified == 0
    assert (await Client(one).subscribe(resume=Resume(first.spuid, 0))).sequence == 0


async def test_nobody_takes_over_what_can_not_be_resumed(running):
    """To know a spuid is only enough where its client agreed to that."""
    one = running(limits=LIMITS)
    client, thief = Client(one), Client(one)
    first = await client.subscribe(resumable=False)
    assert (await thief.subscribe(resume=Resume(first.spuid, 0))).spuid != first.spuid
    await one.scheduler.submit(insert(1))
    await turn()
    assert [message.sequence for message in client.heard] == [0, 1]


async def test_a_goodbye_ends_everything_at_once(running):
    """Resumable or not."""
    one = running(limits=LIMITS)
    client = Client(one)
    first = await client.subscribe()
    client.scheduler.leave(client.subscriber)
    await turn()
    assert (await one.scheduler.submit(insert(1))).notified == 0
    assert one.scheduler.away.owner(first.spuid) is None


async def test_after_a_while_nothing_is_kept(running):
    """limits.resume_s; no thread waits for it."""
    limits = LimitsConfig(resume_s=0.1)
    one = running(limits=limits)
    client = Client(one, limits)
    first = await client.subscribe()
    await client.cut()
    assert (await one.scheduler.submit(insert(1))).notified == 1
    await asyncio.sleep(0.15)
    assert (await one.scheduler.submit(insert(2))).notified == 0
    assert (await Client(one).subscribe(resume=Resume(first.spuid, 0))).sequence == 0


async def test_whoever_waits_for_its_turn_is_not_too_late(running):
    """The time counts until it came back, not until the core has time for it."""
    limits = LimitsConfig(resume_s=0.1)
    one = running(limits=limits)
    old = Client(one, limits)
    first = await old.subscribe()
    await old.cut()
    one.gate.clear()
    held = one.submit(insert(1))
    new = Client(one, limits)
    back = asyncio.create_task(new.subscribe(resume=Resume(first.spuid, 0)))
    await asyncio.sleep(0.35)
    one.gate.set()
    await held

    assert (await back).sequence == 1
    assert len(one.scheduler.away) == 0


async def test_the_oldest_go_first(running):
    """limits.resumable, over all lost connections."""
    limits = LimitsConfig(resumable=3)
    one = running(limits=limits)
    spuids = []
    for _ in range(5):
        client = Client(one, limits)
        spuids.append((await client.subscribe()).spuid)
        await client.cut()

    assert one.scheduler.away.subscriptions == 3
    assert [one.scheduler.away.owner(spuid) is None for spuid in spuids] == [True, True, False, False, False]
    assert (await one.scheduler.submit(insert(1))).notified == 3


async def test_a_connection_lost_again_before_its_answer_begins_anew(running):
    """The subscription went to it and ends with it."""
    one = running(limits=LIMITS)
    old = Client(one)
    first = await old.subscribe()
    await old.cut()
    new = Client(one)
    one.gate.clear()
    held = one.submit(insert(1))
    back = one.submit(Subscribe(ALL, new.subscriber, None, resumable=True, resume=Resume(first.spuid, 0)))
    await turn()
    await new.cut()
    one.gate.set()
    await asyncio.gather(held, back)
    await turn()

    assert one.scheduler.away.subscriptions == 0
    assert (await one.scheduler.submit(insert(2))).notified == 0
    told = await Client(one).subscribe(resume=Resume(first.spuid, 0))
    assert (told.sequence, values(told.delta.added)) == (0, [1, 2])


async def test_what_grows_too_large_while_it_waits_begins_anew(running):
    """Found out only after the core has moved it: the client hears first results all the same."""
    limits = LimitsConfig(outbox_composed_bytes=1000)
    one = running(limits=limits)
    old = Client(one, limits)
    first = await old.subscribe()
    await old.cut()
    one.gate.clear()
    held = one.submit(insert(*range(50)))
    await turn()
    new = Client(one, LIMITS)
    back = asyncio.create_task(new.subscribe(resume=Resume(first.spuid, 0)))
    await turn()
    one.gate.set()
    await held
    told = await back

    assert (told.sequence, values(told.delta.added)) == (0, list(range(50)))
    assert told.spuid != first.spuid
    assert (await one.scheduler.submit(insert(99))).notified == 1


async def test_unsubscribing_is_the_end_of_it(running):
    """Nothing is kept of it, and nothing can be resumed."""
    one = running(limits=LIMITS)
    client = Client(one)
    first = await client.subscribe()
    await one.scheduler.submit(Unsubscribe(first.spuid, client.subscriber))
    assert one.scheduler.away.owner(first.spuid) is None
    await client.cut()
    assert one.scheduler.away.subscriptions == 0


async def test_coming_back_on_the_same_connection_begins_anew(running):
    """It was not lost; the old subscription ends."""
    one = running(limits=LIMITS)
    client = Client(one)
    first = await client.subscribe()
    told = await client.subscribe(resume=Resume(first.spuid, 0))
    assert (told.sequence, told.spuid == first.spuid) == (0, False)
    assert (await one.scheduler.submit(insert(1))).notified == 1


async def test_a_return_needs_no_room_of_its_own(running):
    """limits.subscriptions counts it once; limits.subscriptions_per_socket holds on the new connection."""
    limits = LimitsConfig(subscriptions=2, subscriptions_per_socket=1)
    one = running(limits=limits)
    clients = [Client(one, limits) for _ in range(2)]
    spuids = [(await client.subscribe()).spuid for client in clients]
    for client in clients:
        await client.cut()
    new = Client(one, limits)
    assert (await new.subscribe(resume=Resume(spuids[0], 0))).sequence == 1
    with pytest.raises(TooManyRequests):
        await new.subscribe(resume=Resume(spuids[1], 0))
    assert (await Client(one, limits).subscribe(resume=Resume(spuids[1], 0))).sequence == 1


async def test_a_lost_subscription_that_fails_is_forgotten(running):
    """Its client begins anew, and hears then what is wrong."""
    one = running(limits=LIMITS)
    client = Client(one)
    first = await client.subscribe()
    await client.cut()
    held = one.scheduler._core._subscriptions._by_id[first.spuid][0]
    held.unit.before = lambda *_: 1 / 0
    await one.scheduler.submit(insert(1))

    assert one.scheduler.away.owner(first.spuid) is None
    assert len(one.scheduler.away) == 0
    told = await Client(one).subscribe(resume=Resume(first.spuid, 0))
    assert isinstance(told, Notification)
    assert told.sequence == 0
