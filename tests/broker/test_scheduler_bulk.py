"""What is sent as bulk lets everybody else go first, and is not forgotten."""

from __future__ import annotations

import asyncio
import time

import pytest
from support.scheduling import MANY, choose, turn

from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import DeadlineExceeded, RequestTooLarge, TooManyRequests
from triplewire.broker.model import Update


def numbers(order):
    return [int(request.sparql.split()[-2]) for request in order if isinstance(request, Update)]


async def test_bulk_goes_last(running):
    """The rest keeps its order, and so does bulk."""
    one = running()
    one.gate.clear()
    first = one.submit(numbered(0))
    await turn()
    bulk = [asyncio.create_task(one.scheduler.submit(numbered(100 + i), bulk=True)) for i in range(3)]
    await turn()
    rest = [one.submit(numbered(1 + i)) for i in range(5)]
    await turn()
    one.gate.set()
    await asyncio.gather(first, *bulk, *rest)
    assert numbers(one.order) == [0, 1, 2, 3, 4, 5, 100, 101, 102]


async def test_bulk_alone_does_not_wait(running):
    """There is nobody to let go first."""
    one = running()
    began = time.monotonic()
    for number in range(20):
        await one.scheduler.submit(numbered(number), bulk=True)
    assert time.monotonic() - began < 2
    assert numbers(one.order) == list(range(20))


async def test_bulk_gets_its_turn(running):
    """However much else waits, after scheduler.bulk_wait_s."""
    one = running(bulk_wait_s=0.1)
    one.gate.clear()
    first = one.submit(numbered(0))
    await turn()
    bulk = asyncio.create_task(one.scheduler.submit(numbered(100), bulk=True))
    await turn()
    rest = [one.submit(numbered(1 + i)) for i in range(5)]
    await asyncio.sleep(0.2)
    one.gate.set()
    await asyncio.gather(first, bulk, *rest)
    assert numbers(one.order) == [0, 100, 1, 2, 3, 4, 5]
    assert one.scheduler.waiting == 0


async def test_bulk_is_bounded_as_the_rest(running):
    """By the same queue."""
    one = running(queue_size=2)
    one.gate.clear()
    tasks = [asyncio.create_task(one.scheduler.submit(numbered(i), bulk=True)) for i in range(2)]
    await turn()
    with pytest.raises(TooManyRequests):
        await one.scheduler.submit(numbered(3), bulk=True)
    one.gate.set()
    await asyncio.gather(*tasks)


async def test_a_query_waits_no_longer_than_it_may(running):
    """Its turn came too late: it is not carried out."""
    one = running(readers=1, timeout_s=0.1)
    slow = await one.scheduler.query(MANY, choose)
    late = asyncio.create_task(one.scheduler.query(MANY, choose))
    await asyncio.sleep(0.3)
    async for _ in slow.chunks():
        pass
    with pytest.raises(DeadlineExceeded, match=r"scheduler\.timeout_s"):
        await late


async def test_an_answer_has_a_size_it_may_have(running):
    """Before its first bytes are sent it is an error; later it breaks off."""
    one = running(limits=LimitsConfig(answer_bytes=1000))
    with pytest.raises(RequestTooLarge, match=r"limits\.answer_bytes"):
        await one.scheduler.query(MANY, choose)
    one = running(limits=LimitsConfig(answer_bytes=1_000_000))
    answer = await one.scheduler.query(MANY, choose)
    with pytest.raises(RequestTooLarge):
        async for _ in answer.chunks():
            pass


def numbered(number):
    """An update that can be told from others."""
    return Update(f"INSERT DATA {{ <a:a> <a:b> {number} }}")
