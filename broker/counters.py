"""Counters and histograms as Prometheus reads them, for what is counted several times with each update.

What is counted is only put down, and added up when somebody reads it or much has come together: so counting costs next to
nothing, and no thread waits for another.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections import deque
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prometheus_client.core import Metric

_T = TypeVar("_T")
_MOST = 512  # that is put down and not added up


class Counter(Collector):
    """What only grows; any thread may count."""

    def __init__(self, name: str, meaning: str) -> None:
        self._name = name
        self._meaning = meaning
        self._lock = threading.Lock()
        self._new: deque[int] = deque()
        self._sum = 0

    @property
    def value(self) -> int:
        """How much it has counted."""
        self._add_up()
        return self._sum

    def inc(self, amount: int = 1) -> None:
        """Count."""
        new = self._new
        new.append(amount)
        if len(new) > _MOST:
            self._add_up()

    def collect(self) -> list[Metric]:
        """What it has counted (the interface of a Prometheus collector)."""
        return [CounterMetricFamily(self._name.removesuffix("_total"), self._meaning, value=self.value)]

    def _add_up(self) -> None:
        with self._lock:
            self._sum += sum(_taken(self._new))


class Counters(Collector):
    """Counters of one name that differ in the values of their labels."""

    def __init__(self, name: str, meaning: str, labels: Sequence[str]) -> None:
        self._name = name
        self._meaning = meaning
        self._labels = tuple(labels)
        self._counters: dict[tuple[str, ...], Counter] = {}

    def labels(self, *values: str) -> Counter:
        """The one with these values, in the labels' order; it is shown from now on."""
        assert len(values) == len(self._labels)
        return self._counters.setdefault(values, Counter(self._name, self._meaning))

    def collect(self) -> list[Metric]:
        """What all of them have counted."""
        family = CounterMetricFamily(self._name.removesuffix("_total"), self._meaning, labels=self._labels)
        for values, counter in self._counters.items():
            family.add_metric(values, counter.value)
        return [family]


class Histogram(Collector):
    """How often which value was seen, by upper bounds; any thread may say one."""

    def __init__(self, name: str, meaning: str, bounds: Sequence[float]) -> None:
        """`bounds` rise; beyond the last one there is one more bucket."""
        self._name = name
        self._meaning = meaning
        self._bounds = tuple(bounds)
        self._lock = threading.Lock()
        self._new: deque[float] = deque()
        self._counts = [0] * (len(self._bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """It was seen."""
        new = self._new
        new.append(value)
        if len(new) > _MOST:
            self._add_up()

    @contextmanager
    def time(self) -> Iterator[None]:
        """Observe the seconds of a block, however it ends."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.observe(time.perf_counter() - began)

    def collect(self) -> list[Metric]:
        """What it has seen (the interface of a Prometheus collector)."""
        self._add_up()
        with self._lock:
            counts, total = list(accumulate(self._counts)), self._sum
        bounds = [*map(floatToGoString, self._bounds), "+Inf"]
        buckets = list(zip(bounds, counts, strict=True))
        return [HistogramMetricFamily(self._name, self._meaning, buckets=buckets, sum_value=total)]

    def _add_up(self) -> None:
        with self._lock:
            values = sorted(_taken(self._new))
            self._sum += sum(values)
            before = 0
            for at, bound in enumerate(self._bounds):
                within = bisect_right(values, bound)
                self._counts[at] += within - before
                before = within
            self._counts[-1] += len(values) - before


def _taken(new: deque[_T]) -> list[_T]:
    """What is there now, taken away; others may go on putting down meanwhile."""
    return [new.popleft() for _ in range(len(new))]
