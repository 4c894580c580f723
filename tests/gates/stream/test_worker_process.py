"""What tells that a worker must be replaced."""

from __future__ import annotations

import asyncio

from triplewire.broker.config import LimitsConfig
from triplewire.gates.quotas import Quotas
from triplewire.gates.stream.accounts import Ledger
from triplewire.gates.stream.channel import Ready, Stats, Took
from triplewire.gates.stream.worker_process import SILENT_S, WorkerProcess


class Owner:
    """Keeps what it is told."""

    def __init__(self):
        self.told = []

    def took(self, took):
        self.told.append(took)

    def lost(self, worker):
        self.told.append(worker)


class Channel:
    """What is unread."""

    unread_since = None
    unread_bytes = 0


async def test_a_worker_that_is_well():
    """It has a while to begin, and then says something every second."""
    worker = WorkerProcess(Owner(), 0, Ledger(Quotas(LimitsConfig())))
    now = worker.began
    assert worker.trouble(now + SILENT_S + 1) is None
    assert worker.trouble(now + 60) is not None
    worker._on_message(Ready())
    worker._on_message(Stats(1, 2, 3))
    assert worker.ready.done()
    assert worker.stats == Stats(1, 2, 3)
    assert worker.trouble(now + 1) is None


async def test_one_that_is_silent_or_does_not_read():
    """Or has too much to read."""
    worker = WorkerProcess(Owner(), 0, Ledger(Quotas(LimitsConfig())))
    worker._on_message(Ready())
    now = asyncio.get_running_loop().time()
    worker.channel = Channel()
    assert worker.trouble(now + SILENT_S + 1).startswith("said nothing")
    worker.heard = now + SILENT_S
    worker.channel.unread_since = now - 1
    assert worker.trouble(now + SILENT_S).startswith("read nothing")
    worker.channel.unread_since = now + SILENT_S - 1
    assert worker.trouble(now + SILENT_S) is None
    worker.channel.unread_bytes = 1 << 30
    assert worker.trouble(now + SILENT_S) is not None


async def test_what_it_says_is_passed_on():
    """How long its writes took, and that it has gone."""
    owner = Owner()
    worker = WorkerProcess(owner, 0, Ledger(Quotas(LimitsConfig())))
    worker._on_message(Took("e", 0.1))
    worker._on_lost()
    assert owner.told == [Took("e", 0.1), worker]
    assert worker.ready.exception() is not None
