"""What was here before: per chain, in little memory, whatever strangers send."""

from __future__ import annotations

from support.chained import CHAIN, chain_of

from triplewire.gates.relay.duplicates import Duplicates


def test_what_comes_in_order_is_new_once():
    """And needs nothing but one number."""
    duplicates = Duplicates()

    assert duplicates.new(CHAIN, 1, 3, 0.0) == [(1, 3)]
    assert duplicates.new(CHAIN, 4, 4, 0.0) == [(4, 4)]
    assert duplicates.new(CHAIN, 1, 3, 0.0) == []
    assert duplicates.new(CHAIN, 4, 4, 0.0) == []
    assert duplicates.unseen(CHAIN, 1, 9) == [(5, 9)]


def test_gaps_are_filled_in_any_order():
    """From their ends, in the middle, or whole."""
    duplicates = Duplicates()
    duplicates.new(CHAIN, 1, 1, 0.0)
    duplicates.new(CHAIN, 10, 10, 0.0)

    assert duplicates.unseen(CHAIN, 1, 10) == [(2, 9)]
    assert duplicates.new(CHAIN, 5, 6, 0.0) == [(5, 6)]
    assert duplicates.unseen(CHAIN, 1, 10) == [(2, 4), (7, 9)]
    assert duplicates.new(CHAIN, 2, 2, 0.0) == [(2, 2)]
    assert duplicates.new(CHAIN, 9, 9, 0.0) == [(9, 9)]
    assert duplicates.unseen(CHAIN, 1, 10) == [(3, 4), (7, 8)]
    assert duplicates.new(CHAIN, 3, 12, 0.0) == [(3, 4), (7, 8), (11, 12)]
    assert duplicates.seen(CHAIN, 1, 12)


def test_a_look_changes_nothing():
    """As who says so may have forged it."""
    duplicates = Duplicates()

    assert not duplicates.seen(CHAIN, 5, 6)
    assert duplicates.unseen(CHAIN, 5, 6) == [(5, 6)]
    assert duplicates.new(CHAIN, 5, 6, 0.0) == [(5, 6)]
    assert duplicates.seen(CHAIN, 5, 6)
    assert not duplicates.seen(CHAIN, 6, 7)
    assert duplicates.unseen(CHAIN, 6, 9) == [(7, 9)]


def test_the_first_parcel_sets_the_floor():
    """What is older counts as seen: who comes late does not hear the past."""
    duplicates = Duplicates()
    duplicates.new(CHAIN, 100, 101, 0.0)

    assert duplicates.new(CHAIN, 98, 99, 0.0) == []


def test_unless_it_was_told_from_where():
    """Then what comes after that is new, and nothing before it."""
    duplicates = Duplicates()
    duplicates.begin(CHAIN, 90, 0.0)

    assert duplicates.new(CHAIN, 100, 100, 0.0) == [(100, 100)]
    assert duplicates.unseen(CHAIN, 1, 100) == [(91, 99)]
    assert duplicates.new(CHAIN, 89, 92, 0.0) == [(91, 92)]
    duplicates.begin(CHAIN, 0, 0.0)
    assert duplicates.new(CHAIN, 1, 1, 0.0) == []


def test_a_liar_can_not_close_a_chain():
    """A signed parcel counts, whatever somebody said of where the chain is."""
    duplicates = Duplicates()
    duplicates.begin(CHAIN, 2**62, 0.0)

    assert not duplicates.seen(CHAIN, 5, 5)
    assert duplicates.new(CHAIN, 5, 5, 0.0) == [(5, 5)]
    assert duplicates.new(CHAIN, 6, 6, 0.0) == [(6, 6)]


def test_of_two_that_say_from_where_the_lower_counts():
    """As long as nothing came."""
    duplicates = Duplicates()
    duplicates.begin(CHAIN, 50, 0.0)
    duplicates.begin(CHAIN, 20, 0.0)
    duplicates.begin(CHAIN, 70, 0.0)

    duplicates.new(CHAIN, 100, 100, 0.0)

    assert duplicates.unseen(CHAIN, 1, 100) == [(21, 99)]


def test_the_chain_that_was_idle_longest_goes():
    """Where there are too many; what stays of it is its number, so that what is sent again is not new."""
    duplicates = Duplicates(chains=2)
    for number in range(3):
        duplicates.new(chain_of(number), 1, 5, float(number))

    duplicates.new(chain_of(1), 6, 6, 3.0)
    assert duplicates.unseen(chain_of(0), 1, 9) == [(6, 9)]
    assert duplicates.new(chain_of(0), 5, 7, 4.0) == [(6, 7)]
    duplicates.begin(chain_of(2), 0, 4.0)
    assert duplicates.seen(chain_of(2), 1, 5)


def test_chains_that_are_idle_for_long_go():
    """When others come, or when it is said."""
    duplicates = Duplicates(idle_s=600.0)

    def known():
        """Of what has gone all counts as seen."""
        return [not duplicates.seen(chain_of(number), 1, 3) for number in range(3)]

    for number, now in ((0, 0.0), (1, 500.0)):
        duplicates.new(chain_of(number), 1, 1, now)
        duplicates.new(chain_of(number), 3, 3, now)
    assert known() == [True, True, True]
    for first in (1, 3):
        duplicates.new(chain_of(2), first, first, 600.0)
    assert known() == [False, True, True]

    duplicates.new(chain_of(1), 4, 4, 700.0)
    duplicates.expire(1_200.0)

    assert known() == [False, True, False]


def test_what_is_remembered_of_chains_that_went_is_bounded():
    """As many of them as may be known."""
    duplicates = Duplicates(chains=2)
    for number in range(5):
        duplicates.new(chain_of(number), 1, 5, float(number))

    assert [duplicates.seen(chain_of(number), 1, 5) for number in range(5)] == [False, True, True, True, True]


def test_the_chain_with_most_gaps_pays():
    """With its lowest ones; the others keep theirs."""
    duplicates = Duplicates(gaps=10)
    duplicates.new(chain_of(1), 1, 1, 0.0)
    duplicates.new(chain_of(1), 3, 3, 0.0)
    for number in range(1, 101, 2):
        duplicates.new(chain_of(2), number, number, 0.0)

    assert duplicates.unseen(chain_of(1), 1, 3) == [(2, 2)]
    missing = duplicates.unseen(chain_of(2), 1, 99)
    assert len(missing) <= 9
    assert missing[-1] == (98, 98)
    assert duplicates.seen(chain_of(2), 2, 2)
    assert missing == [(number, number) for number in range(missing[0][0], 99, 2)]
