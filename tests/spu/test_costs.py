"""Which of two ways is thought cheaper."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.spu.costs import Costs

seconds = st.floats(1e-6, 10)


@pytest.mark.parametrize("limit", [0, 1, 64])
def test_until_both_are_measured_it_is_as_told(limit):
    """Whatever the one of them has cost."""
    new, keys, whole = Costs(limit), Costs(limit), Costs(limit)
    keys.saw_keys(5, 1000)
    whole.saw_whole(1000)
    for costs in (new, keys, whole):
        assert costs.is_worth(limit)
        assert not costs.is_worth(limit + 1)


@given(seconds, seconds, st.integers(1, 1000), st.integers(0, 100_000))
def test_measured_once_the_cheaper_is_taken(for_keys, for_whole, keys, asked):
    """By the time for one key; what costs as much is taken by keys."""
    costs = Costs(3)
    costs.saw_keys(keys, for_keys)
    costs.saw_whole(for_whole)
    assert costs.is_worth(asked) is (asked * (for_keys / keys) <= for_whole)


def test_no_keys_are_no_measurement():
    """They took some time, but of what?"""
    costs = Costs(10)
    costs.saw_keys(0, 100)
    costs.saw_whole(0.1)
    assert costs.is_worth(10)
    assert not costs.is_worth(11)


@given(st.lists(seconds, min_size=1, max_size=60), st.lists(seconds, min_size=1, max_size=60))
def test_it_stays_between_the_least_and_the_most_that_was_seen(for_keys, for_wholes):
    """However the measurements jump."""
    costs = Costs(3)
    for one in for_keys:
        costs.saw_keys(1, one)
    for one in for_wholes:
        costs.saw_whole(one)
    assert costs.is_worth(int(min(for_wholes) / max(for_keys) * 0.999))
    assert not costs.is_worth(int(max(for_wholes) / min(for_keys) * 1.001) + 1)


@pytest.mark.parametrize(("first", "later"), [(1.0, 100.0), (100.0, 1.0)])
def test_what_was_is_forgotten_in_time(first, later):
    """One measurement that is out of the way changes little, twenty of them nearly all."""
    costs = Costs(3)
    costs.saw_keys(1, 1.0)
    costs.saw_whole(first)
    costs.saw_whole(later)
    after_one = first + 0.2 * (later - first)
    assert costs.is_worth(int(after_one * 0.99))
    assert not costs.is_worth(int(after_one * 1.01) + 1)
    for _ in range(30):
        costs.saw_whole(later)
    assert costs.is_worth(int(later * 0.9))
    assert not costs.is_worth(int(later * 1.2) + 1)
