"""One chain: what is held back, what is missing, and that each number is one of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.chained import CHAIN, unsigned

from triplewire.gates.relay.gaps import Gap
from triplewire.gates.relay.ordered import Chain, GapMarker, Piece


def chain(*gaps, newest=100):
    """One that has delivered all before 1, with these gaps."""
    made = Chain(CHAIN, 0.0)
    made.go_on(1)
    made.newest = newest
    made.gaps = [Gap(made, first, last, 1.0, proven=True) for first, last in gaps]
    return made


def ranges(of):
    """Those of the gaps."""
    return [(gap.first, gap.last) for gap in of.gaps]


def test_a_gap_is_filled_from_either_end_in_the_middle_or_whole():
    """What is behind the middle is another gap."""
    made = chain((1, 9), (20, 29))

    assert made.fill(1, 2) == (True, None)
    assert made.fill(8, 19) == (True, None)
    fresh, rest = made.fill(24, 25)
    assert fresh
    assert (rest.first, rest.last) == (26, 29)
    assert ranges(made) == [(3, 7), (20, 23), (26, 29)]
    assert made.fill(8, 19) == (False, None)
    assert made.fill(1, 24) == (True, None)
    assert ranges(made) == [(26, 29)]
    assert made.gaps == [rest]


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 10)), max_size=20))
def test_as_a_set_of_missing_numbers(parts):
    """Whatever comes in whatever order."""
    made, missing = chain((1, 50)), set(range(1, 51))
    for first, count in parts:
        numbers = set(range(first, first + count))
        fresh, _ = made.fill(first, first + count - 1)
        assert fresh == bool(numbers & missing)
        missing -= numbers
        assert [number for begin, end in ranges(made) for number in range(begin, end + 1)] == sorted(missing)


def test_a_gap_is_cut_in_two():
    """Where it has the number and the one before it."""
    made = chain((3, 9))

    assert made.cut(3) is None
    assert made.cut(10) is None
    assert made.cut(9).first == 9
    assert made.cut(5).first == 5
    assert ranges(made) == [(3, 4), (5, 8), (9, 9)]


def test_what_is_given_up_leaves_in_its_turn():
    """And no sooner, as what is before it may still come."""
    made = chain((1, 2), (4, 4))
    for first in (5, 3):
        made.hold(unsigned(first))
    made.gaps[1].lost = True
    assert made.release() == []

    made.fill(1, 2)
    made.next = 3

    assert made.release() == [Piece(unsigned(3), 3), GapMarker(CHAIN, 4, 4), Piece(unsigned(5), 5)]
    assert (made.next, made.held_bytes, made.held, made.gaps) == (6, 0, [], [])


def test_who_has_some_of_it():
    """One that has nothing is not among them."""
    made = chain()
    made.claims = {"a": (1, 10), "b": (8, 20), "none": (9, 8)}

    assert made.holders(5, 7) == {"a"}
    assert made.holders(8, 9) == {"a", "b"}
    assert made.holders(21, 30) == frozenset()


def test_what_somebody_has_not_after_all():
    """Nothing from there on is believed, or nothing up to there where that is where it began."""
    made = chain(newest=0)
    made.claims = {"a": (1, 10)}

    assert not made.disclaim("b", 1, 10)
    assert not made.disclaim("a", 11, 20)
    assert made.disclaim("a", 1, 4)
    assert made.claims == {"a": (5, 10)}
    assert made.disclaim("a", 8, 8)
    assert made.claims == {"a": (5, 7)}
    assert made.disclaim("a", 2, 7)
    assert made.claims == {}


def test_what_others_have_beyond_all_that_came():
    """From the oldest of it to the newest."""
    made = chain(newest=10)
    assert made.beyond() is None

    made.claims = {"a": (1, 10), "none": (21, 20)}
    assert made.beyond() is None
    made.claims |= {"b": (5, 15), "c": (18, 30)}
    assert made.beyond() == (11, 30)
    made.claims.pop("b")
    assert made.beyond() == (18, 30)
