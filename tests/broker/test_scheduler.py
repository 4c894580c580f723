"""The one way in, with a real core over a real store: order, bounds, deadlines and delivery."""

from __future__ import annotations

import asyncio

import pytest
from support.cores import insert, values
from support.scheduling import Inbox, turn
from support.stores import EX

from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import (
    DeadlineExceeded,
    EngineError,
    RequestError,
    TooManyRequests,
    UnknownSubscription,
)
from triplewire.broker.model import (
    GraphEdit,
    GraphWrite,
    Unsubscribe,
    Update,
    Updated,
)


async def test_requests_are_carried_out_in_the_order_they_came(running):
    """And answered and told in that order."""
    one = running()
    inbox, _ = await one.subscribed()
    requests = [insert(number) for number in range(200)]
    assert await asyncio.gather(*map(one.scheduler.submit, requests)) == [Updated(notified=1)] * 200
    assert one.order[1:] == requests
    assert [message.sequence for message in inbox.messages] == list(range(201))
    assert [values(message.delta.added) for message in inbox.messages[1:]] == [
        [number] for number in range(200)
    ]
    assert one.scheduler.statistics.updates == 200
    assert one.scheduler.statistics.notifications == 201


async def test_messages_come_before_the_reply(running):
    """Who knows that the update is done knows that all were told."""
    one = running()
    inbox, _ = await one.subscribed()
    assert await one.scheduler.submit(insert(1)) == Updated(notified=1)
    assert len(inbox.messages) == 2


async def test_the_queue_is_bounded(running):
    """What is one too many is refused at once; those before it are carried out."""
    one = running(queue_size=3)
    one.gate.clear()
    waiting = [one.submit(insert(number)) for number in range(3)]
    await turn()
    assert one.scheduler.waiting == 3
    assert one.scheduler.busy_s() > 0
    with pytest.raises(TooManyRequests, match=r"3 \(scheduler.queue_size\)"):
        await one.scheduler.submit(insert(9))
    one.gate.set()
    await asyncio.gather(*waiting)
    await one.scheduler.submit(insert(4))
    assert len(await one.whole("SELECT ?o { ?s :p ?o }")) == 4
    assert (one.scheduler.waiting, one.scheduler.busy_s(), one.scheduler.statistics.refused) == (0, 0.0, 1)


async def test_what_waits_too_long_is_not_carried_out(running):
    """Its sender is told; what is carried out already goes on."""
    one = running(timeout_s=0.1)
    one.gate.clear()
    first, second = one.submit(insert(1)), one.submit(insert(2))
    await asyncio.sleep(0.15)
    one.gate.set()
    assert await first == Updated()
    with pytest.raises(DeadlineExceeded, match=r"0.1 s \(scheduler.timeout_s\)"):
        await second
    assert len(await one.whole("SELECT ?o { ?s :p ?o }")) == 1
    assert one.scheduler.statistics.failed == 1


async def test_leaving_knows_no_deadline(running):
    """And no bound of the queue: a subscription must not outlive its connection."""
    one = running(timeout_s=0.1, queue_size=1)
    inbox, subscriber = await one.subscribed()
    one.gate.clear()
    first = one.submit(insert(1))
    await turn()
    one.scheduler.leave(subscriber)
    one.scheduler.leave(subscriber)
    await asyncio.sleep(0.15)
    one.gate.set()
    await first
    while one.scheduler.waiting:
        await turn()
    assert await one.scheduler.submit(insert(2)) == Updated(notified=0)
    assert len(inbox.messages) == 1, "nothing is sent to who has left"
    assert one.scheduler.subscribers == 0


async def test_a_sender_that_goes_away_does_not_stop_its_update(running):
    """Subscribers are told all the same."""
    one = running()
    inbox, _ = await one.subscribed()
    one.gate.clear()
    tasks = [one.submit(insert(number)) for number in range(3)]
    await turn()
    for task in tasks[:2]:
        task.cancel()
    one.gate.set()
    assert await tasks[2] == Updated(notified=1)
    assert [values(message.delta.added) for message in inbox.messages[1:]] == [[0], [1], [2]]
    for task in tasks[:2]:
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (Update("nonsense"), RequestError),
        (Unsubscribe("x", 1), UnknownSubscription),
        (GraphWrite(GraphEdit.DROP, f"{EX}x"), RequestError),
    ],
)
async def test_what_the_core_refuses_is_raised(running, request_, error):
    """Without the frames of the core's thread; the next request is none the worse."""
    one = running()
    with pytest.raises(error):
        await one.scheduler.submit(request_)
    assert await one.scheduler.submit(insert(1)) == Updated()


async def test_an_error_of_ours_gives_nothing_away(running, caplog):
    """It is logged with its traceback, and the lane goes on."""
    one = running()
    apply = one.store.apply
    one.store.apply = lambda *_: 1 / 0
    with pytest.raises(EngineError, match="internal error: the request was not carried out"):
        await one.scheduler.submit(insert(1))
    assert "ZeroDivisionError" in caplog.text
    one.store.apply = apply
    assert await one.scheduler.submit(insert(1)) == Updated()


async def test_an_inbox_that_fails_harms_nobody_else(running, caplog):
    """The other subscribers are told, and the sender gets its reply."""
    one = running()
    (broken, _), (inbox, _) = await one.subscribed(), await one.subscribed()
    broken.put = lambda _: 1 / 0
    assert await one.scheduler.submit(insert(1)) == Updated(notified=2)
    assert len(inbox.messages) == 2
    assert "ZeroDivisionError" in caplog.text


class Panic(BaseException):
    """What pyo3 raises for a panic is no Exception."""


async def test_a_panic_does_not_stop_the_lane(running, caplog):
    """The sender is told, and the next request is carried out."""
    one = running()
    apply = one.store.apply

    def panic(*_):
        raise Panic

    one.store.apply = panic
    with pytest.raises(EngineError):
        await one.scheduler.submit(insert(1))
    assert "Panic" in caplog.text
    one.store.apply = apply
    assert await one.scheduler.submit(insert(1)) == Updated()


async def test_who_leaves_after_the_end_is_not_waited_for(running):
    """Connections end after the lane has: they take no place in its queue."""
    one = running()
    subscriber = one.scheduler.join(Inbox())
    await one.scheduler.close()
    one.scheduler.leave(subscriber)
    assert one.scheduler.waiting == 0
    assert one.scheduler.subscribers == 0


async def test_subscribers_have_numbers_of_their_own(running):
    """As many as limits.sockets allows; who leaves makes room."""
    one = running(LimitsConfig(sockets=2))
    first, second = (one.scheduler.join(Inbox()) for _ in range(2))
    with pytest.raises(TooManyRequests, match=r"limits\.sockets"):
        one.scheduler.join(Inbox())
    one.scheduler.leave(first)
    assert one.scheduler.join(Inbox()) not in {first, second}
