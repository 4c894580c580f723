"""Threads with a queue that has an end."""

from __future__ import annotations

import asyncio
import gc
import threading
import time

import pytest

from triplewire.broker.errors import TooManyRequests
from triplewire.gates.oauth.workers import Workers


@pytest.fixture
def workers():
    made = Workers("test", 2, 3)
    yield made
    made.close()


@pytest.fixture
def go(workers):
    """What works wait for; set when the test ends, however it does."""
    event = threading.Event()
    yield event
    event.set()


async def test_as_many_work_at_once_as_there_are_threads(workers):
    """And all get their turn."""
    working, most, lock = 0, 0, threading.Lock()

    def work(number, *, factor):
        nonlocal working, most
        with lock:
            working += 1
            most = max(most, working)
        time.sleep(0.02)
        with lock:
            working -= 1
        return number * factor

    found = await asyncio.gather(*(workers.run(work, number, factor=2) for number in range(5)))
    assert found == [0, 2, 4, 6, 8]
    assert most == 2


async def test_no_more_wait_than_may(workers, go):
    """The others are told to come back; then there is room again."""
    begun = [asyncio.create_task(workers.run(go.wait)) for _ in range(5)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyRequests):
        await asyncio.wait_for(workers.run(int), 5)
    go.set()
    assert await asyncio.gather(*begun) == [True] * 5
    assert await workers.run(int) == 0


async def test_what_fails_gives_its_turn_back(workers):
    """The error is the work's own."""
    for _ in range(10):
        with pytest.raises(ZeroDivisionError):
            await workers.run(lambda: 1 / 0)
    assert await workers.run(int) == 0


async def test_who_is_gone_gives_its_place_back(workers, go):
    """Who waits does so at once; who works when that is done, or the threads would have a queue without an end."""
    begun = [asyncio.create_task(workers.run(go.wait)) for _ in range(5)]
    await asyncio.sleep(0.01)
    for task in begun:
        task.cancel()
    done = await asyncio.gather(*begun, return_exceptions=True)
    assert all(isinstance(error, asyncio.CancelledError) for error in done)
    later = [asyncio.create_task(workers.run(int)) for _ in range(3)]
    await asyncio.sleep(0.01)
    with pytest.raises(TooManyRequests):
        await asyncio.wait_for(workers.run(int), 5)
    go.set()
    assert await asyncio.gather(*later) == [0] * 3
    assert await asyncio.gather(*(workers.run(int) for _ in range(5))) == [0] * 5


async def test_what_fails_when_nobody_waits_is_no_news(workers, go):
    """The loop would log it as a failure that nobody has seen."""
    told = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))

    def fail():
        go.wait()
        raise ValueError

    task = asyncio.create_task(workers.run(fail))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    assert await workers.run(int) == 0
    await asyncio.sleep(0)
    gc.collect()
    assert told == []


async def test_a_turn_is_one_place_for_several_works(workers):
    """What belongs together is in order."""
    done = []
    async with workers.turn() as turn:
        await turn.run(done.append, 1)
        await turn.run(done.append, 2)
    assert done == [1, 2]
