"""What a node keeps for its neighbours: the newest parcels, found by their numbers."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.chained import CHAIN, chain_of, unsigned

from triplewire.gates.relay.kept import Kept


def heads(kept, since=None):
    """Of the chains of which there is something."""
    found = {chain: kept.head(chain, since) for chain in (CHAIN, *map(chain_of, range(8)))}
    return {chain: head for chain, head in found.items() if head is not None}


def test_parcels_are_found_by_their_numbers():
    """All that have one of them, in order, whichever came first."""
    kept = Kept(10_000, 60.0)
    parcels = {first: unsigned(first, 2) for first in (5, 1, 9, 3)}
    for parcel in parcels.values():
        kept.add(parcel, 0.0)

    assert kept.between(CHAIN, 4, 5) == [parcels[3], parcels[5]]
    assert kept.between(CHAIN, 7, 8) == []
    assert kept.between(CHAIN, 1, 100) == [parcels[1], parcels[3], parcels[5], parcels[9]]
    assert kept.between(chain_of(1), 1, 100) == []
    assert kept.head(CHAIN) == (1, 10)


def test_the_same_parcel_is_the_same_object():
    """Nothing is copied to be sent again."""
    kept = Kept(10_000, 60.0)
    parcel = unsigned(1)
    kept.add(parcel, 0.0)

    assert kept.between(CHAIN, 1, 1)[0] is parcel


def test_those_that_came_first_go():
    """Over all chains together, where there are too many bytes; and each at its age."""
    kept = Kept(300, 60.0)
    for number in range(4):
        kept.add(unsigned(number + 1, chain=chain_of(number % 2)), float(number))
    assert (len(kept), kept.size) == (3, 300)
    assert heads(kept) == {chain_of(0): (3, 3), chain_of(1): (2, 4)}

    kept.expire(61.5)

    assert heads(kept) == {chain_of(0): (3, 3), chain_of(1): (4, 4)}


def test_the_last_of_a_chain_stays_while_there_is_room():
    """However old it is, until the next comes; it goes first where there is none."""
    kept = Kept(300, 60.0)
    for number in range(3):
        kept.add(unsigned(number + 1, chain=chain_of(number // 2)), 0.0)
    kept.expire(1_000.0)
    assert (heads(kept), len(kept), kept.size) == ({chain_of(0): (2, 2), chain_of(1): (3, 3)}, 2, 200)
    assert kept.head(chain_of(0), since=999.0) is None

    kept.add(unsigned(5, chain=chain_of(0)), 1_000.0)
    assert (heads(kept), len(kept)) == ({chain_of(0): (5, 5), chain_of(1): (3, 3)}, 2)
    kept.add(unsigned(1, 1, chain_of(2), 200), 1_000.0)
    assert (heads(kept), len(kept)) == ({chain_of(0): (5, 5), chain_of(2): (1, 1)}, 2)


def test_the_last_of_an_own_chain_stays():
    """Whatever else there is, and however large it is itself."""
    kept = Kept(300, 60.0)
    kept.add(unsigned(1), 0.0, own=True)
    kept.add(unsigned(2, size=400), 0.0, own=True)
    assert (kept.head(CHAIN), kept.head(CHAIN, 0.0), kept.recent(CHAIN, 0.0)) == ((2, 2), (2, 2), None)
    kept.expire(100.0)
    for number in range(10):
        kept.add(unsigned(number + 1, chain=chain_of(1)), 100.0)
    assert kept.between(CHAIN, 1, 9) == [unsigned(2, size=400)]

    kept.forget(CHAIN)
    assert (len(kept), kept.size) == (0, 0)


def test_what_is_too_large_is_not_kept():
    """And pushes out nothing."""
    kept = Kept(300, 60.0)
    kept.add(unsigned(1), 0.0)
    kept.add(unsigned(2, size=301), 0.0)

    assert heads(kept) == {CHAIN: (1, 1)}


def test_what_is_kept_already_is_not_kept_twice():
    """Nor anything that overlaps with it."""
    kept = Kept(10_000, 60.0)
    kept.add(unsigned(3, 3), 0.0)
    for first, count in ((3, 3), (1, 3), (5, 2), (4, 1), (1, 10)):
        kept.add(unsigned(first, count), 0.0)

    assert len(kept) == 1
    assert heads(kept) == {CHAIN: (3, 5)}


def test_the_head_of_what_is_young():
    """For who wants only so much of the past."""
    kept = Kept(10_000, 60.0)
    for number in range(10):
        kept.add(unsigned(number + 1), float(number))
    kept.add(unsigned(1, chain=chain_of(1)), 2.0)

    assert heads(kept, since=7.0) == {CHAIN: (8, 10)}
    assert heads(kept, since=2.0) == {CHAIN: (3, 10), chain_of(1): (1, 1)}
    assert heads(kept, since=20.0) == {}
    assert [kept.recent(CHAIN, since) for since in (2.0, 7.0, 20.0)] == [3, 8, None]


def test_a_chain_can_be_forgotten():
    """With its bytes."""
    kept = Kept(10_000, 60.0)
    for number in range(6):
        kept.add(unsigned(number + 1, chain=chain_of(number % 2)), 0.0)

    kept.forget(chain_of(0))
    kept.forget(chain_of(7))

    assert (len(kept), kept.size) == (3, 300)
    assert heads(kept) == {chain_of(1): (2, 6)}


@pytest.mark.parametrize("are_old", [True, False])
def test_many_chains_can_be_forgotten_at_once(are_old):
    """Each costs what is kept of it, however much is kept of others."""
    kept = Kept(10_000_000, 60.0)
    for number in range(10_000):
        kept.add(unsigned(1, chain=chain_of(number)), 0.0)
    for number in range(30_000):
        kept.add(unsigned(number + 1), 100.0 if are_old else 0.0)

    began = time.process_time()
    for number in range(10_000):
        kept.forget(chain_of(number))

    assert time.process_time() - began < 2
    assert (len(kept), kept.size, kept.head(CHAIN)) == (30_000, 3_000_000, (1, 30_000))


class Naive:
    """A list."""

    def __init__(self, most_bytes, seconds):
        self.most_bytes, self.seconds, self.entries, self.lasts = most_bytes, seconds, [], []

    def add(self, parcel, now):
        if len(parcel.data) <= self.most_bytes and not self.between(parcel.chain, parcel.first, parcel.last):
            self.entries.append((now, parcel))
        old = [each for each in self.entries if each[0] < now - self.seconds]
        lasts = [each for each in old if each[1] == self.between(each[1].chain, 1, 100)[-1]]
        young = [each for each in self.entries if each not in old]
        self.lasts = [each for each in self.lasts if each in lasts] + [
            each for each in lasts if each not in self.lasts
        ]
        self.entries = self.lasts + young
        while sum(len(each.data) for _, each in self.entries) > self.most_bytes:
            del self.entries[0]

    def forget(self, chain):
        self.entries = [each for each in self.entries if each[1].chain != chain]

    def between(self, chain, first, last):
        found = [
            each
            for _, each in self.entries
            if each.chain == chain and each.first <= last and each.last >= first
        ]
        return sorted(found, key=lambda each: each.first)


@settings(max_examples=300)
@given(
    st.integers(100, 1_000),
    st.integers(1, 20),
    st.lists(
        st.tuples(
            st.integers(0, 1),
            st.integers(1, 30),
            st.integers(0, 4),
            st.integers(50, 200),
            st.integers(0, 3),
        ),
        max_size=60,
    ),
)
def test_as_a_list(most_bytes, seconds, parcels):
    """In whatever order they come, and however large they are; of none, the chain is forgotten."""
    kept, naive, now = Kept(most_bytes, seconds), Naive(most_bytes, seconds), 0.0
    for which, first, count, size, pause in parcels:
        now += pause
        if count:
            parcel = unsigned(first, count, chain_of(which), size)
            kept.add(parcel, now)
            naive.add(parcel, now)
        else:
            kept.forget(chain_of(which))
            naive.forget(chain_of(which))
        assert len(kept) == len(naive.entries)
        assert kept.size == sum(len(each.data) for _, each in naive.entries)
        for number in range(2):
            found = naive.between(chain_of(number), 1, 40)
            assert kept.between(chain_of(number), 1, 40) == found
            assert kept.between(chain_of(number), 10, 20) == naive.between(chain_of(number), 10, 20)
            head = (found[0].first, found[-1].last) if found else None
            assert kept.head(chain_of(number)) == head
