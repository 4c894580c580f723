"""Each name counts for one of those that hold it."""

from __future__ import annotations

from triplewire.gates.relay.holders import Holders


def counts(holders):
    return [holders.count(who) for who in "ab"]


def test_a_name_counts_for_who_held_it_first():
    """And for the next where that lets go of it; nothing is kept of what nobody holds."""
    holders = Holders()
    holders.hold("n", "a")
    holders.hold("n", "b")
    holders.hold("n", "a")
    holders.hold("m", "b")
    assert counts(holders) == [1, 1]
    holders.let_go("n", "a")
    assert counts(holders) == [1, 1]
    holders.let_go("n", "a")
    assert counts(holders) == [0, 2]
    holders.hold("n", "a")
    assert counts(holders) == [0, 2]
    holders.let_go("n", "a")
    holders.let_go("n", "b")
    holders.let_go("m", "b")
    assert counts(holders) == [0, 0]
    assert not holders._holders
    assert not holders._counts
