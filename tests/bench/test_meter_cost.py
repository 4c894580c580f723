"""What the meters of /metrics cost an update: runs as they are against runs in which they do nothing.

In one process, from the scheduler's admission to its reply with a notification put in a subscriber's place, so nothing of
the network hides it.  Short runs take turns over one scheduler, and processor time is compared: what else the machine does
is in neither.  The last line compares runs that are the same, and tells what chance does.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from contextlib import contextmanager, nullcontext
from functools import partial
from types import SimpleNamespace

from support.benchmarks import Table
from support.scheduling import Inbox
from support.stores import embedded

from triplewire.broker import core, meters, scheduler
from triplewire.broker.config import LimitsConfig, SchedulerConfig
from triplewire.broker.core import Core
from triplewire.broker.counters import Counter, Histogram
from triplewire.broker.model import Query, Subscribe, Update
from triplewire.broker.scheduler import Scheduler
from triplewire.broker.subscriptions import Subscriptions
from triplewire.spu.analysis.analysis import analyse

RUNS = 800
UPDATES = 20
WARM_UP = 5
VALUES = Query("SELECT * { ?sensor <http://example.org/value> ?value }")


class Nothing:
    """A meter that does nothing."""

    def inc(self, amount=1):
        """Count nothing."""

    def observe(self, value):
        """See nothing."""


SILENT = SimpleNamespace(
    seconds=lambda *_: Nothing(),
    **{name: Nothing() for name, each in vars(meters).items() if isinstance(each, Counter | Histogram)},
)


@contextmanager
def silent(whole):
    """Within it no meter of this scheduler and its core counts.  No class is changed: Python would run it slower afterwards."""
    histograms = {name: getattr(whole, name) for name in ("waited", "worked", "answered")}
    core.meters = scheduler.meters = SILENT
    for name in histograms:
        setattr(whole, name, Nothing())
    try:
        yield
    finally:
        core.meters = scheduler.meters = meters
        for name, histogram in histograms.items():
            setattr(whole, name, histogram)


def one_value(number):
    """A new triple: the least that an update can be, and wake somebody."""
    return Update(f"INSERT DATA {{ <http://example.org/kitchen> <http://example.org/value> {number} }}")


def replaced(number):
    """A sensor's new value in the place of the one before."""
    subject = f"<http://example.org/sensor/{number % 7}> <http://example.org/value>"
    return Update(
        f"DELETE {{ {subject} ?old }} INSERT {{ {subject} {number} }} WHERE {{ OPTIONAL {{ {subject} ?old }} }}"
    )


async def made():
    """A scheduler over a core to which somebody has subscribed, and what that one hears."""
    limits = LimitsConfig()
    store = embedded(limits=limits)
    known = partial(analyse, base_iri="http://localhost/")
    whole = Scheduler(Core(store, Subscriptions(limits, analyse=known)), store, SchedulerConfig(), limits)
    inbox = Inbox()
    await whole.submit(Subscribe(VALUES, whole.join(inbox)))
    return whole, inbox


async def timed(whole, updates):
    """Nanoseconds of the processor for each of them but the first, which come after a change of the meters."""
    found = []
    for update in updates:
        began = time.process_time_ns()
        await whole.submit(update)
        found.append(time.process_time_ns() - began)
    return found[WARM_UP:]


async def measured(update, first, second):
    """The median nanoseconds of an update in runs within the one, and in runs within the other."""
    whole, inbox = await made()
    times = [], []
    gc.collect()
    gc.freeze()
    for turn in range(RUNS):
        updates = [update(turn * UPDATES + number) for number in range(UPDATES)]
        with (second if turn % 2 else first)(whole):
            times[turn % 2].extend(await timed(whole, updates))
    assert len(inbox.messages) == 1 + RUNS * UPDATES
    await whole.close()
    return [statistics.median(each) for each in times]


def test_what_counting_costs():
    """Prints how much of an update it is."""
    table = Table(
        "The cost of the meters, processor time of one update",
        "update",
        "with (us)",
        "without (us)",
        "ns",
        "ratio",
    )
    for name, update, kinds in (
        ("one value", one_value, (nullcontext, silent)),
        ("replaced", replaced, (nullcontext, silent)),
        ("one value, none with", one_value, (silent, silent)),
    ):
        having, lacking = asyncio.run(measured(update, *kinds))
        table.add(name, having / 1000, lacking / 1000, round(having - lacking), f"{having / lacking:.4f}")
    table.print()


async def test_what_is_measured_against_counts_nothing():
    """And the other counts."""
    whole, _ = await made()
    before = meters.INSERTED.value, meters.ADDED_ROWS.value
    with silent(whole):
        await whole.submit(one_value(1))
    assert (meters.INSERTED.value, meters.ADDED_ROWS.value) == before
    await whole.submit(one_value(2))
    assert (meters.INSERTED.value, meters.ADDED_ROWS.value) == (before[0] + 1, before[1] + 1)
    await whole.close()
