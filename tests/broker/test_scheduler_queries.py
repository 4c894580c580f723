"""Queries beside the updates, their bounds, and the end of it all."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections import Counter

import pytest
from support.cores import insert
from support.scheduling import MANY, Inbox, choose, turn
from support.stores import EX

from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import (
    DeadlineExceeded,
    NotAcceptable,
    RequestTooLarge,
    ShuttingDown,
    TooManyRequests,
)
from triplewire.broker.model import (
    Notification,
    Query,
    Subscribe,
    Updated,
)
from triplewire.broker.wire.media import formats_of, negotiate

# --- queries ----------------------------------------------------------------------------------------------------


async def test_queries_run_beside_updates(running):
    """They see what is written, and wait for no update."""
    one = running()
    await one.scheduler.submit(insert(1))
    one.gate.clear()
    update = one.submit(insert(2))
    await turn()
    assert len(await one.whole("SELECT ?o { ?s :p ?o }")) == 1
    assert not await one.scheduler.has_graph(f"{EX}g")
    assert not update.done()
    one.gate.set()
    await update


async def test_a_large_answer_is_taken_chunk_by_chunk(running):
    """A slow taker holds up its reader thread; another query is answered meanwhile."""
    one = running(readers=2)
    answer = await one.scheduler.query(MANY, choose)
    assert answer.whole is None
    assert one.scheduler.reading == 1
    assert await one.whole("SELECT ?o { ?s :p ?o }") == ()
    data = b"".join([chunk async for chunk in answer.chunks()])
    assert data.count(b'"a":{') == 100_000
    await turn()
    assert one.scheduler.reading == 0


async def test_waiting_queries_are_bounded(running):
    """The readers' own and reader_queue_size more; who is abandoned makes room within a second."""
    one = running(readers=1, reader_queue_size=1)
    answer = await one.scheduler.query(MANY, choose)
    second = asyncio.create_task(one.whole("ASK {}"))
    await turn()
    for refused in (one.scheduler.query(MANY, choose), one.scheduler.has_graph(f"{EX}g")):
        with pytest.raises(TooManyRequests, match=r"2 \(scheduler.reader_queue_size\)"):
            await refused
    answer.close()
    assert len(await asyncio.wait_for(second, 1)) == 1
    assert one.scheduler.statistics.refused == 2


async def test_a_query_that_runs_too_long_is_ended(running):
    """After limits.query_s, where it writes; its thread is free for the next."""
    one = running(LimitsConfig(query_s=0.2), readers=1)
    answer = await one.scheduler.query(MANY, choose)
    await asyncio.sleep(0.3)
    with pytest.raises(DeadlineExceeded, match=r"limits\.query_s"):
        async for _ in answer.chunks():
            pass
    assert len(await asyncio.wait_for(one.whole("ASK {}"), 2)) == 1


async def test_an_answer_that_no_format_suits(running, capfd):
    """Oxigraph's result dies on the reader thread; otherwise it complains on standard error."""
    one = running()
    for text in ("SELECT * { ?s ?p ?o }", "CONSTRUCT WHERE { ?s ?p ?o }", "ASK {}"):
        with pytest.raises(NotAcceptable):
            await one.scheduler.query(Query(text), lambda form: negotiate("text/html", formats_of(form)))
    gc.collect()
    assert capfd.readouterr().err == ""


async def test_an_answer_that_is_too_large_for_a_subscription(running, capfd):
    """Dies on the core's thread in the same way, though its error goes to the loop's."""
    one = running(LimitsConfig(answer_rows=10))
    subscriber = one.scheduler.join(Inbox())
    with pytest.raises(RequestTooLarge):
        await one.scheduler.submit(Subscribe(MANY, subscriber))
    gc.collect()
    assert capfd.readouterr().err == ""


# --- the end ----------------------------------------------------------------------------------------------------


async def test_closing_finishes_what_was_admitted(running):
    """And refuses what is new; inboxes are told that nothing more comes."""
    one = running()
    inbox, subscriber = await one.subscribed()
    one.gate.clear()
    waiting = [one.submit(insert(number)) for number in range(3)]
    await turn()
    closing = asyncio.create_task(one.scheduler.close(5))
    await turn()
    for refused in (
        one.scheduler.submit(insert(9)),
        one.scheduler.query(MANY, choose),
        one.scheduler.has_graph("urn:x"),
    ):
        with pytest.raises(ShuttingDown):
            await refused
    with pytest.raises(ShuttingDown):
        one.scheduler.join(Inbox())
    assert not inbox.finished
    one.gate.set()
    await closing
    assert [task.result() for task in waiting] == [Updated(notified=1)] * 3
    assert Counter(map(type, inbox.messages)) == {Notification: 4}
    assert inbox.finished
    one.scheduler.leave(subscriber)


async def test_closing_does_not_wait_for_a_stuck_reader(running, caplog):
    """Longer than it is given; who takes the answer is told that it ended."""
    one = running()
    answer = await one.scheduler.query(MANY, choose)
    started = time.monotonic()
    await one.scheduler.close(0.1)
    assert time.monotonic() - started < 2
    assert "0 requests and 1 queries were not finished" in caplog.text
    with contextlib.suppress(DeadlineExceeded):
        async for _ in answer.chunks():
            pass
    assert one.scheduler.reading == 0


async def test_closing_does_not_wait_for_a_stuck_core(running, caplog):
    """Its thread is a daemon."""
    one = running()
    one.gate.clear()
    task = one.submit(insert(1))
    await turn()
    started = time.monotonic()
    await one.scheduler.close(0.1)
    assert time.monotonic() - started < 3
    assert "1 requests" in caplog.text
    one.gate.set()
    assert await task == Updated()
