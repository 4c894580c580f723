"""Any ranges in any order, against a set of all numbers."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from support.chained import chain_of

from triplewire.gates.relay.duplicates import Duplicates

STEPS = st.lists(
    st.tuples(
        st.sampled_from(("new", "look", "begin")), st.integers(0, 2), st.integers(1, 40), st.integers(1, 6)
    ),
    max_size=60,
)


class Naive:
    """One chain: all numbers that count as seen below a bound that no test reaches."""

    def __init__(self):
        self.seen = None  # before the first parcel
        self.begun = None

    def begin(self, after):
        if self.seen is None:
            self.begun = after if self.begun is None else min(after, self.begun)

    def unseen(self, first, last):
        return [number for number in range(first, last + 1) if self.seen is None or number not in self.seen]

    def new(self, first, last):
        if self.seen is None:
            floor = first - 1 if self.begun is None else min(self.begun, first - 1)
            self.seen = set(range(floor + 1))
        found = self.unseen(first, last)
        self.seen.update(found)
        return found


def numbers(ranges):
    """Each of them; the ranges are in order, not empty, and none touches another."""
    assert all(first <= last for first, last in ranges)
    assert all(before[1] + 1 < after[0] for before, after in pairwise(ranges))
    return [number for first, last in ranges for number in range(first, last + 1)]


@settings(max_examples=500)
@given(STEPS)
def test_as_a_set_of_numbers(steps):
    """What is new, and what is not."""
    duplicates = Duplicates()
    naive = [Naive() for _ in range(3)]
    for time, (what, which, first, count) in enumerate(steps):
        chain, model, last = chain_of(which), naive[which], first + count - 1
        if what == "begin":
            duplicates.begin(chain, first - 1, time)
            model.begin(first - 1)
        elif what == "look":
            assert numbers(duplicates.unseen(chain, first, last)) == model.unseen(first, last)
            assert duplicates.seen(chain, first, last) == (not model.unseen(first, last))
        else:
            assert numbers(duplicates.new(chain, first, last, time)) == model.new(first, last)
        assert numbers(duplicates.unseen(chain, 1, 50)) == model.unseen(1, 50)


@settings(max_examples=500)
@given(STEPS, st.integers(1, 3), st.integers(1, 3), st.integers(1, 20))
def test_within_its_bounds_nothing_is_new_twice(steps, chains, gaps, idle_s):
    """Where bounds are small more counts as seen, but nothing less, as long as a chain's number is remembered."""
    duplicates = Duplicates(chains=chains, gaps=gaps, idle_s=idle_s)
    had = [set() for _ in range(3)]
    for time, (what, which, first, count) in enumerate(steps):
        if what == "begin":
            duplicates.begin(chain_of(which), first - 1, time)
        elif what == "new":
            found = numbers(duplicates.new(chain_of(which), first, first + count - 1, time))
            # At most `chains` are known and as many remembered: with two of three, none is forgotten.
            assert chains == 1 or not had[which].intersection(found)
            had[which].update(found)
        # Of each chain of which something came, the last of what is unseen is all that is yet to come
        unseen = [duplicates.unseen(chain_of(number), 1, 50) for number in range(3) if had[number]]
        assert sum(len(ranges) - 1 for ranges in unseen if ranges != [(1, 50)]) <= gaps
