"""An update that touches one of very many standing queries : the same with that one alone.

Prints ratios; asserts only that the right ones were told, and the right thing.  Each measurement has a process of its
own.  `naive` is the broker without its analysis: every query is evaluated again after each update, as SEPA's is.
"""

from __future__ import annotations

import gc
import os
import time
from dataclasses import dataclass

import pytest
from support.benchmarks import Table, Timed, apart, memory_core, quantile, resident_mb, subscribed

from triplewire.broker.model import Query, Update

MOST = int(os.environ.get("TRIPLEWIRE_STANDING", "1000000"))
UPDATES = 200
PREFIXES = "PREFIX s: <https://schema.org/> PREFIX : <http://example.org/> "
WARM = 20
LONGEST_S = 20.0  # of the updates of one measurement; slow ones are made less often
ROOMS, SENSORS, OBSERVATIONS = 1000, 10, 5
pytestmark = pytest.mark.timeout(3600)


class Sent:
    """The chat's SENT, each to another receiver; an update sends one message."""

    prepared = ()

    def __init__(self, count):
        self.count = count

    def query(self, number):
        return (
            f"{PREFIXES} SELECT ?message ?sender ?text ?time WHERE {{ ?message a s:Message ; s:text ?text ; "
            f"s:sender ?sender ; s:toRecipient {self.receiver(number)} ; s:dateSent ?time }}"
        )

    def receiver(self, number):
        return f"<http://example.org/r{number}>"

    def update(self, number):
        receiver = number * 7919 % self.count
        return (
            f"{PREFIXES} INSERT DATA {{ :m{number} a s:Message ; s:text 'x{number}' ; s:sender :a ; "
            f"s:toRecipient :r{receiver} ; s:dateSent {number} }}"
        )

    def check(self, number, timed, _):
        ((row, times),) = timed.delta().added.items()
        assert times == 1 and row[2].value == f"x{number}"


class Prefixed(Sent):
    """The same, as people write it."""

    def receiver(self, number):
        return f":r{number}"


class Shapes(Sent):
    """Queries with nothing in common: other predicates, and one to ten patterns."""

    def query(self, number):
        patterns = " ; ".join(f":p{number}_{place} ?v{place}" for place in range(number % 10 + 1))
        return f"{PREFIXES} SELECT * {{ ?s {patterns} }}"

    def update(self, number):
        # Of four patterns each, whatever the count.
        shape = number * 10 % self.count + 3 if self.count > 3 else 0
        patterns = " ; ".join(f":p{shape}_{place} {number}" for place in range(shape % 10 + 1))
        return f"{PREFIXES} INSERT DATA {{ :s{number} {patterns} }}"

    def check(self, number, timed, _):
        ((row, times),) = timed.delta().added.items()
        assert times == 1 and row[1].value == str(number)


class FourPatterns(Shapes):
    """One of the shapes alone."""

    def query(self, number):
        return super().query(number + 3)

    def update(self, number):
        patterns = " ; ".join(f":p3_{place} {number}" for place in range(4))
        return f"{PREFIXES} INSERT DATA {{ :s{number} {patterns} }}"


class Thresholds(Sent):
    """Alarms: each waits for a value above another number."""

    value = 0

    def query(self, number):
        return f"{PREFIXES} SELECT ?s ?v {{ ?s :value ?v FILTER(?v > {number}) }}"

    def update(self, number):
        return f"{PREFIXES} INSERT DATA {{ :s{number} :value {self.told()}.5 }}"

    def told(self):
        raise NotImplementedError

    def check(self, _, timed, __):
        assert len(timed.messages) == self.told() + 1
        assert all(told.delta.added.total() == 1 and not told.delta.removed for _, told in timed.messages)


class FewThresholds(Thresholds):
    """A value that is above ten of them."""

    def told(self):
        return min(9, self.count - 1)


class ManyThresholds(Thresholds):
    """A value that is above nine in ten."""

    def told(self):
        return self.count * 9 // 10


class NoThresholds(Thresholds):
    """A value that is above none."""

    def told(self):
        return -1

    def update(self, number):
        return f"{PREFIXES} INSERT DATA {{ :s{number} :value -{number}.5 }}"


class Optional(Sent):
    """Messages with the time they were read, if they were; updates send one, and say that it was read."""

    def query(self, number):
        return (
            f"{PREFIXES} SELECT ?message ?text ?read WHERE {{ ?message a s:Message ; s:text ?text ; "
            f"s:toRecipient {self.receiver(number)} OPTIONAL {{ ?message s:dateRead ?read }} }}"
        )

    def update(self, number):
        message = number // 2
        if number % 2:
            return f"{PREFIXES} INSERT DATA {{ :m{message} s:dateRead {number} }}"
        receiver = message * 7919 % self.count
        return (
            f"{PREFIXES} INSERT DATA {{ :m{message} a s:Message ; s:text 'x{message}' ; "
            f"s:toRecipient :r{receiver} }}"
        )

    def check(self, number, timed, _):
        delta = timed.delta()
        ((row, _),) = delta.added.items()
        assert row[1].value == f"x{number // 2}"
        assert (row[2] is None) == (number % 2 == 0) and delta.removed.total() == number % 2


class Averages(Sent):
    """The mean of each sensor in a room; an update is an observation of one sensor."""

    @property
    def prepared(self):
        for room in range(self.count):
            made = []
            for sensor in range(SENSORS):
                name = f":s{room}_{sensor}"
                made.append(f"{name} :isHostedBy :room{room} .")
                made += [
                    f"{name}_o{place} :madeBySensor {name} ; :hasSimpleResult {place} ."
                    for place in range(OBSERVATIONS)
                ]
            yield f"{PREFIXES} INSERT DATA {{ {' '.join(made)} }}"

    def query(self, number):
        return (
            f"{PREFIXES} SELECT ?sensor (AVG(?v) AS ?mean) {{ ?sensor :isHostedBy <http://example.org/room{number}> . "
            "?o :madeBySensor ?sensor ; :hasSimpleResult ?v } GROUP BY ?sensor"
        )

    def update(self, number):
        sensor = f":s{number * 7919 % self.count}_{number % SENSORS}"
        return (
            f"{PREFIXES} INSERT DATA {{ :n{number} :madeBySensor {sensor} ; :hasSimpleResult {number + 7} }}"
        )

    def check(self, number, timed, core):
        delta = timed.delta()
        assert delta.added.total() == delta.removed.total() == 1
        ((row, _),) = delta.added.items()
        fresh = core._store.evaluate(Query(self.query(number * 7919 % self.count))).rows
        assert row in fresh


@dataclass
class Measured:
    """Seconds, megabytes, kilobytes."""

    core: list
    told: list
    cpu: list
    made_s: float
    kb: float
    collection_s: float


def measure(scenario, naive):
    """Hold the scenario's queries, make its updates."""
    core = memory_core(naive=naive)
    for text in scenario.prepared:
        core.handle(Update(text))
    gc.collect()
    before, began = resident_mb(), time.perf_counter()
    for number in range(scenario.count):
        subscribed(core, scenario.query(number))
    made_s = (time.perf_counter() - began) / scenario.count
    kb = (resident_mb() - before) * 1024 / scenario.count
    began = time.perf_counter()
    gc.collect()
    collection_s = time.perf_counter() - began
    took = []
    ends = time.perf_counter() + LONGEST_S
    for number in range(UPDATES + WARM):
        timed = Timed(core, scenario.update(number))
        scenario.check(number, timed, core)
        took.append((timed.core_s, timed.told_s, timed.cpu_s))
        if time.perf_counter() > ends:
            break
    warm = WARM if len(took) > 2 * WARM else 1
    core_s, told_s, cpu_s = map(list, zip(*took[warm:], strict=True))
    return Measured(core_s, told_s, cpu_s, made_s, kb, collection_s)


@pytest.fixture(scope="module")
def table():
    found = Table(
        "one update among standing queries; us, but where said",
        *("queries", "standing", "unit", "updates", "core p50", "p99", "as texts p50", "p99"),
        *("CPU p99", ": alone", "to hold one", "KB each", "full gc ms"),
    )
    yield found
    found.print()


CASES = {
    "SENT": (Sent, Sent, [1, 1000, 100_000, 1_000_000], 1000),
    "SENT, by prefixed names": (Prefixed, Prefixed, [1000], 0),
    "other shapes": (Shapes, FourPatterns, [1000], 1000),
    "FILTER(?v > c), few": (FewThresholds, FewThresholds, [10_000], 10_000),
    "FILTER(?v > c), many": (ManyThresholds, ManyThresholds, [10_000], 0),
    "FILTER(?v > c), none": (NoThresholds, NoThresholds, [10_000], 0),
    "OPTIONAL": (Optional, Optional, [1000, 100_000], 1000),
    "AVG by sensor in a room": (Averages, Averages, [ROOMS], ROOMS),
}


@pytest.mark.parametrize("name", CASES)
def test_standing_queries(name, table):
    """Medians and p99 of 200 updates, each of which is told to the right ones."""
    scenario, single, counts, naive_most = CASES[name]
    counts = [count for count in counts if count <= MOST]
    beside = [count for count in counts if 1 < count <= naive_most]
    runs = [*((count, False) for count in counts), *((count, True) for count in beside)]
    alone = quantile(apart(measure, single(1), False).core, 0.5)
    for count, naive in runs:
        found = apart(measure, scenario(count), naive)
        core, told = (
            [quantile(times, share) * 1e6 for share in (0.5, 0.99)] for times in (found.core, found.told)
        )
        table.add(
            *(name, count, "naive" if naive else "ours", len(found.core), *core, *told),
            quantile(found.cpu, 0.99) * 1e6,
            f"{core[0] / alone / 1e6:.2f}",
            *(found.made_s * 1e6, f"{found.kb:.1f}" if count > 1 else None, found.collection_s * 1e3),
        )
