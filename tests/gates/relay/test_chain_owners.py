"""Whose chains are."""

from __future__ import annotations

from triplewire.gates.relay import chain_owners
from triplewire.gates.relay.chain_owners import ChainOwners


def test_a_chain_is_who_had_it_first():
    """Until its last certificate has ended; a node with another key is another one."""
    owners = ChainOwners(10.0)
    assert owners.may("c", "a", "k", 0.0)
    owners.own("c", "a", "k", 5.0)
    owners.own("c", "a", "k", 8.0)
    assert owners.may("c", "a", "k", 1.0)
    assert not owners.may("c", "b", "k", 7.9)
    assert not owners.may("c", "a", "other", 7.9)
    assert owners.may("c", "b", "k", 8.0)
    assert len(owners) == 0


def test_a_clock_that_was_ahead_holds_up_nobody():
    """What ends later than it can is let go of."""
    owners = ChainOwners(10.0)
    owners.own("old", "a", "k", 1e9)
    owners.own("c", "a", "k", 5.0)
    assert owners.may("old", "b", "k", 0.0)
    assert not owners.may("c", "b", "k", 0.0)
    assert owners.may("c", "b", "k", 5.0)


def test_so_many_and_no_more(monkeypatch):
    """The one that ends first gives way."""
    monkeypatch.setattr(chain_owners, "_MOST", 3)
    owners = ChainOwners(10.0)
    for number in range(10):
        owners.own(f"c{number}", "a", "k", 1.0 + number / 100)
    assert len(owners) == 3
    assert not owners.may("c9", "b", "k", 0.0)
