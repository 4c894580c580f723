"""Coroutines for blocking code."""

from __future__ import annotations

import asyncio
import threading

import pytest

from triplewire.clients.loop_thread import LoopThread


def test_results_and_errors_come_back():
    """To whoever waits, on one thread for all."""
    loop = LoopThread()
    seen = set()

    async def work(fails):
        seen.add(threading.current_thread())
        await asyncio.sleep(0)
        if fails:
            raise ValueError("so")
        return 7

    assert loop.run(work(fails=False)) == 7
    with pytest.raises(ValueError, match="so"):
        loop.run(work(fails=True))
    assert len(seen) == 1
    assert threading.current_thread() not in seen


def test_many_threads_share_it():
    """Nobody waits for another's work."""
    loop, gate, found = LoopThread(), threading.Event(), []

    async def first():
        await asyncio.to_thread(gate.wait, 5)
        return "first"

    async def second():
        return "second"

    waiting = threading.Thread(target=lambda: found.append(loop.run(first())))
    waiting.start()
    found.append(loop.run(second()))
    gate.set()
    waiting.join(5)
    assert found == ["second", "first"]
