"""Reading a stream from within, with what it keeps as the queue."""

from __future__ import annotations

import asyncio

from support.stepped import SteppedLoop, ids, item, stream_of
from support.streams import opened

from triplewire.gates.stream.following import Following


async def collected(following, got, most=100):
    async for entries in following.batches(most):
        got.append(ids(entries))
        await asyncio.sleep(0)


async def test_all_is_read_in_order_until_the_end():
    """What was there behind the position, what comes, and what comes last."""
    stream = opened()
    stream.take([item("e1"), item("e2")], "us")
    following, got = Following(stream, 1), []
    task = asyncio.create_task(collected(following, got))
    await asyncio.sleep(0.01)
    stream.take([item("e3")], "us")
    stream.take([item("e4")], "us")
    await asyncio.sleep(0.01)
    assert following.behind == 0
    stream.take([item("e5")], "us")
    stream.close()
    await asyncio.wait_for(task, 5)
    assert [event_id for batch in got for event_id in batch] == ["e2", "e3", "e4", "e5"]
    assert following.missed == 0


async def test_so_many_at_once():
    """In pieces, where it is behind; what was handed out is behind until the next are asked for."""
    stream = opened()
    stream.take([item(f"e{number}") for number in range(5)], "us")
    following = Following(stream, 0)
    batches = following.batches(2)
    assert ids(await anext(batches)) == ["e0", "e1"]
    assert following.behind == 5
    assert ids(await anext(batches)) == ["e2", "e3"]
    assert following.behind == 3
    await batches.aclose()


async def test_what_is_let_go_of_is_counted():
    """A reader that is slow holds up nobody."""
    stream = opened(history_items=10)
    following = Following(stream, 0)
    batches = following.batches(100)
    stream.take([item(f"e{number}") for number in range(25)], "us")
    assert ids(await anext(batches)) == [f"e{number}" for number in range(15, 25)]
    assert following.missed == 15
    await batches.aclose()


async def test_a_sign_of_life_is_no_gap():
    """It has a number, and is not kept."""
    stream = opened(silence_s=0.02)
    following, got = Following(stream, 0), []
    task = asyncio.create_task(collected(following, got))
    await asyncio.sleep(0.1)
    stream.take([item("e1")], "us")
    stream.close()
    await asyncio.wait_for(task, 5)
    assert got == [["e1"]]
    assert stream.history.last > 1
    assert following.behind == 0


async def test_what_has_no_entry_is_not_missed():
    """Signs of life have numbers, too, whether this reader saw them or not."""
    stream = opened()
    following = Following(stream, 0)
    for name in ("e1", "e2"):
        stream._send_sign_of_life()
        stream.take([item(name)], "us")
    batches = following.batches(100)
    assert ids(await anext(batches)) == ["e1", "e2"]
    assert (following.missed, stream.history.first) == (0, 2)
    await batches.aclose()


def test_what_has_become_too_old_is_counted():
    """Also where nothing came meanwhile that would have had it let go of."""
    loop = SteppedLoop()
    stream = stream_of(loop, history_s=10.0)
    stream.take([item("e1"), item("e2")], "us")
    following = Following(stream, 0)
    loop.advance(20)
    assert following._next(10) == ()
    assert (following.missed, following.position) == (2, 2)
