"""What was published where nobody may have heard it."""

from __future__ import annotations

import pytest
from support.chained import CHAIN, chain_of, unsigned

from triplewire.gates.relay.kept import Kept
from triplewire.gates.relay.unheard import Unheard

KEPT_S, SILENT_S = 60.0, 8.0


@pytest.fixture
def kept():
    return Kept(10_000, KEPT_S)


@pytest.fixture
def unheard(kept):
    return Unheard(kept, KEPT_S, SILENT_S)


def publish(kept, first, now):
    kept.add(parcel := unsigned(first), now, own=True)
    return parcel


def test_what_was_published_to_nobody_is_given_to_the_first_that_comes(kept, unheard):
    """All of it, once."""
    assert not unheard and unheard.give(0.0) == []
    some = [publish(kept, number, 0.0) for number in range(1, 5)]
    for parcel in some[1:]:
        unheard.published(parcel)
    assert unheard
    assert unheard.give(1.0) == some[1:]
    assert not unheard and unheard.give(1.0) == []


def test_what_is_too_old_is_given_to_nobody(kept, unheard):
    """Though the last of a chain is kept on."""
    unheard.published(publish(kept, 1, 0.0))
    unheard.published(publish(kept, 2, 50.0))
    kept.expire(70.0)
    assert unheard.give(70.0) == [unsigned(2)]
    unheard.left(CHAIN, 70.0)
    assert unheard
    kept.expire(200.0)
    assert unheard.give(200.0) == []


def test_who_left_may_have_been_dead(kept, unheard):
    """For so long; what was published before that it had."""
    some = [publish(kept, number, 10.0 * number) for number in range(1, 4)]
    unheard.left(CHAIN, 35.0)
    assert unheard.give(35.0) == some[2:]
    unheard.left(CHAIN, 36.0)
    assert unheard.give(44.0) == some[2:]
    unheard.left(CHAIN, 44.0 + SILENT_S + 1)
    assert not unheard


def test_a_chain_that_is_over_is_nobody_s_business(kept, unheard):
    """Nor is what was said of one before it, or where nothing is published."""
    unheard.left(None, 0.0)
    unheard.left(chain_of(1), 0.0)
    assert not unheard
    unheard.published(publish(kept, 1, 0.0))
    unheard.forget(chain_of(1))
    assert unheard
    unheard.forget(CHAIN)
    assert not unheard
