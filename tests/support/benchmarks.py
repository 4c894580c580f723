"""What benchmarks have in common: a core to ask, quantiles, memory, a process of one's own, and tables."""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import time
import traceback
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplewire.broker.config import LimitsConfig, SparqlConfig
from triplewire.broker.core import Core
from triplewire.broker.model import Query, Subscribe, Update
from triplewire.broker.subscriptions import Subscriptions
from triplewire.broker.wire.subscribe import encode_broker
from triplewire.spu.analysis.analysis import analyse

from .stores import embedded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PAGE_MB = resource.getpagesize() / 2**20


def memory_core(*, naive=False):
    """A core over an empty store in memory; a `naive` one evaluates each query again after each update."""
    sparql = SparqlConfig()
    known = None if naive else partial(analyse, base_iri=sparql.base_iri, prefixes=sparql.prefixes)
    limits = LimitsConfig(subscriptions_per_socket=10**7)
    return Core(embedded(limits=limits), Subscriptions(limits, analyse=known))


def subscribed(core, text, subscriber=1):
    """Hold a query; its first notification."""
    ((_, told),) = core.handle(Subscribe(Query(text), subscriber)).messages
    return told


class Timed:
    """One update through a core: seconds until the core is done, and until all notifications are texts.

    `cpu_s` are seconds of this thread, up to the texts: on a busy machine others' slices are not among them.
    """

    def __init__(self, core, text):
        began, busy = time.perf_counter(), time.thread_time()
        self.messages = core.handle(Update(text)).messages
        self.core_s = time.perf_counter() - began
        self.texts = [encode_broker(message) for _, message in self.messages]
        self.told_s = time.perf_counter() - began
        self.cpu_s = time.thread_time() - busy

    def delta(self):
        """The change in the one notification that there must be."""
        ((_, told),) = self.messages
        return told.delta


def quantile(values, share):
    """The value that `share` of the values are below."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def resident_mb():
    """What this process has in memory now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE_MB


def peak_mb():
    """The most that this process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function returns in a process of its own, so that what one measurement leaves behind is not in the next.

    Raises:
        AssertionError: with its traceback, where it raises.
    """
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()

    def work() -> None:
        gc.freeze()  # what pytest holds is no part of what is measured
        try:
            there.send((True, function(*arguments)))
        except BaseException:  # noqa: BLE001 - it is told to the test
            there.send((False, traceback.format_exc()))

    process = context.Process(target=work)
    process.start()
    there.close()
    try:
        fine, result = here.recv()
    except EOFError:
        fine, result = False, "the process ended without an answer"
    process.join()
    here.close()
    assert fine, result
    return result


class Table:
    """Rows under headings; printed with columns as wide as they must be."""

    def __init__(self, title: str, *headings: str) -> None:
        self.title = title
        self._rows: list[Sequence[str]] = [headings]

    def add(self, *cells: object) -> None:
        """A row; floats are shown with three digits that count."""
        row = [_shown(cell) for cell in cells]
        self._rows.append(row)
        print(f"\n   {' | '.join(row)}", end="", flush=True)

    def print(self) -> None:
        """All of it."""
        widths = [max(map(len, column)) for column in zip(*self._rows, strict=True)]
        load = os.getloadavg()[0]
        print(f"\n\n{self.title} (load average in the end {load:.1f} on {os.cpu_count()} processors)")
        for row in self._rows:
            first, *rest = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            print("  ".join([first.strip().ljust(widths[0]), *rest]))


def _shown(cell: object) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
