"""Delays: quantiles to a tenth of a millisecond, and sums over processes."""

from __future__ import annotations

import json
import random

from bench.fanout.histogram import Delays


def test_quantiles_are_those_of_the_sorted_values():
    values = [random.Random(n).expovariate(20) for n in range(1000)]
    delays = Delays()
    for value in values:
        delays.add(value)
    for share in (0.01, 0.5, 0.95, 0.99, 1.0):
        exact = sorted(values)[int(share * 1000) - 1] * 1000
        assert exact <= delays.quantile_ms(share) <= exact + 0.11


def test_nothing_has_no_quantile():
    assert Delays().quantile_ms(0.5) is None


def test_two_processes_add_up():
    one, other, both = Delays(), Delays(), Delays()
    one.add(0.001, 3)
    other.add(0.25)
    both.add(0.25)
    both.add(0.001, 3)
    one.merge(Delays.decode(json.loads(json.dumps(other.encode()))))
    assert one.counts == both.counts
    assert len(one) == 4


def test_a_clock_that_was_read_too_early_is_no_delay():
    delays = Delays()
    delays.add(-0.002)
    assert delays.quantile_ms(1.0) == 0.1
