"""Changes put together are the change from the first answer to the last."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal

from triplewire.broker.composition import Composition
from triplewire.broker.model import BindingsDelta

VARS = ("x", "y")
terms = st.none() | st.integers(0, 2).map(Literal)
bags = st.lists(st.tuples(terms, terms), max_size=6).map(Counter)


@given(st.lists(bags, min_size=1, max_size=8))
def test_a_composition_is_the_change_from_the_first_answer_to_the_last(answers):
    """As bags, with no row on both sides."""
    composition = Composition(VARS)
    now = answers[0]
    for answer in answers[1:]:
        delta = BindingsDelta.between(VARS, now, answer)
        composition.add(delta)
        now = delta.apply(now)
        assert now == answer

    composed = composition.delta()
    assert composed == BindingsDelta.between(VARS, answers[0], answers[-1])
    assert composed.apply(answers[0]) == answers[-1]
    assert len(composition) == len(composed.added) + len(composed.removed)


@given(bags, bags)
def test_there_and_back_is_nothing(before, after):
    """It holds no row then, so a value that flips for ever takes no memory."""
    composition = Composition(VARS)
    for _ in range(3):
        composition.add(BindingsDelta.between(VARS, before, after))
        composition.add(BindingsDelta.between(VARS, after, before))

    assert len(composition) == 0
    assert not composition.delta()


def test_a_composition_is_no_larger_than_the_answer():
    """A thousand new values of one reading are one row that went and one that came."""
    composition = Composition(("v",))
    for number in range(1000):
        before, after = Counter([(Literal(number),)]), Counter([(Literal(number + 1),)])
        composition.add(BindingsDelta.between(("v",), before, after))
        assert len(composition) == 2

    assert composition.delta() == BindingsDelta(("v",), Counter([(Literal(1000),)]), Counter([(Literal(0),)]))


def test_what_was_taken_in_is_left_as_it_is():
    """Deltas are shared by all who hold the query."""
    delta = BindingsDelta(("v",), Counter([(Literal(1),)]), Counter())
    composition = Composition(("v",))
    composition.add(delta)
    composition.delta().added.clear()
    composition.add(delta)

    assert delta.added == Counter([(Literal(1),)])
    assert composition.delta().added == Counter({(Literal(1),): 2})
