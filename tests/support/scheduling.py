"""A scheduler with a real core over a real store, whose updates can be held up."""

from __future__ import annotations

import asyncio
import threading

from triplewire.broker.config import LimitsConfig, SchedulerConfig
from triplewire.broker.core import Core
from triplewire.broker.model import Query, Subscribe
from triplewire.broker.scheduler import Scheduler
from triplewire.broker.subscriptions import Subscriptions
from triplewire.broker.wire.media import formats_of, negotiate
from triplewire.broker.wire.results import parse_results

from .cores import ALL
from .stores import PROLOGUE, embedded

DIGITS = "0 1 2 3 4 5 6 7 8 9"
MANY = Query(f"SELECT * {{ {' '.join(f'VALUES ?{name} {{ {DIGITS} }}' for name in 'abcde')} }}")


def choose(form):
    """The first format."""
    return negotiate(None, formats_of(form))


class Inbox:
    """A subscriber's messages."""

    def __init__(self):
        self.messages = []
        self.finished = False

    def put(self, message):
        self.messages.append(message)

    def finish(self):
        self.finished = True


class Running:
    """A scheduler over a store whose updates can be held up."""

    def __init__(self, limits=None, **config):
        limits = limits or LimitsConfig()
        self.store = embedded(limits=limits)
        self.gate = threading.Event()
        self.gate.set()
        apply = self.store.apply
        self.store.apply = lambda *arguments: (self.gate.wait(10), apply(*arguments))[1]
        self.order = []
        core = Core(self.store, Subscriptions(limits))
        handle = core.handle
        core.handle = lambda request: (self.order.append(request), handle(request))[1]
        self.scheduler = Scheduler(core, self.store, SchedulerConfig(**config), limits)

    def submit(self, request):
        """A task that waits for the reply."""
        return asyncio.create_task(self.scheduler.submit(request))

    async def subscribed(self, query=ALL):
        """An inbox with the first results in it, and its subscriber."""
        inbox = Inbox()
        subscriber = self.scheduler.join(inbox)
        await self.scheduler.submit(Subscribe(query, subscriber))
        return inbox, subscriber

    async def whole(self, text):
        """The rows of a small answer."""
        return parse_results((await self.scheduler.query(Query(PROLOGUE + text), choose)).whole).rows


async def turn():
    """Tasks that were made have begun."""
    await asyncio.sleep(0.01)
