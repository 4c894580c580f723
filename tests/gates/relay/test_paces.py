"""How often somebody may do something."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triplewire.gates.relay.paces import Paces


def test_so_much_at_once_and_then_a_steady_rate():
    """Each for itself."""
    paces = Paces(2.0, 3)
    assert [paces.may("a", 0.0) for _ in range(4)] == [True, True, True, False]
    assert paces.may("b", 0.0)
    assert [paces.may("a", moment) for moment in (1.9, 2.0, 2.1, 4.0)] == [False, True, False, True]


def test_what_was_spent_otherwise_counts():
    """Also where it is more than may be at once."""
    paces = Paces(1.0, 2)
    paces.spend("a", 10, 0.0)
    assert not paces.may("a", 8.9)
    assert paces.may("a", 9.0)
    paces.spend("b", 0, 0.0)
    assert len(paces) == 1


def test_without_a_step_there_is_no_limit():
    """And nothing is kept."""
    paces = Paces(0.0, 1)
    assert all(paces.may("a", 0.0) for _ in range(1000))
    assert len(paces) == 0


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 3)), max_size=200),
    st.floats(0.1, 2.0),
    st.integers(1, 5),
)
def test_nobody_does_it_more_often_than_that(asked, step_s, at_once):
    """In any time: what may be at once, and what the rate allows; and who has used up nothing is not remembered."""
    paces = Paces(step_s, at_once)
    now = 0.0
    did = {name: [] for name in "abc"}
    for name, later_s in asked:
        now += later_s
        if paces.may(name, now):
            did[name].append(now)
    for times in did.values():
        for first, since in enumerate(times):
            for last in range(first, len(times)):
                assert last - first + 1 <= at_once + (times[last] - since) / step_s + 1e-6
    paces.forget(now + at_once * step_s + 1.0)
    assert len(paces) == 0
