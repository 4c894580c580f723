"""When the dead cost more than a renewal."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from triplewire.broker.dataset.churn import Churn
from triplewire.broker.model import QuadDelta


def replaced(sensor, number):
    def quad(value):
        return Quad(NamedNode(f"urn:s{sensor}"), NamedNode("urn:p"), Literal(str(value)))

    return QuadDelta(frozenset({quad(number)}), frozenset({quad(number - 1)}))


def until_due(live, sensors, most=10_000_000):
    churn = Churn(live)
    for number in range(1, most):
        churn.count(replaced(number % sensors, number))
        if churn.is_due:
            return number, churn
    raise AssertionError("never due")


def test_it_counts_what_lives_and_what_is_dead():
    """Exactly."""
    churn = Churn(10)
    churn.count(QuadDelta(replaced(1, 1).inserted, frozenset()))
    churn.count(replaced(1, 2))
    churn.count(QuadDelta(frozenset(), replaced(1, 2).inserted))
    assert (churn.live, churn.dead) == (10, 2)


def test_insertions_alone_are_never_a_reason():
    """There is nothing dead."""
    churn = Churn(0)
    for number in range(50_000):
        churn.count(QuadDelta(replaced(1, number).inserted, frozenset()))
    assert not churn.is_due


def test_a_hot_subject_is_a_reason_sooner_than_many_cool_ones():
    """Its list is walked with each look at it."""
    hot, _ = until_due(100_000, 1)
    cool, _ = until_due(100_000, 1000)
    assert hot < cool / 10


def test_more_that_lives_makes_a_renewal_dearer():
    """By the square root, where one subject is hot."""
    small, _ = until_due(10_000, 1)
    large, _ = until_due(1_000_000, 1)
    assert 7 < large / small < 13


@pytest.mark.parametrize("live", [0, 10_000, 100_000])
def test_memory_is_bounded_even_where_nothing_is_hot(live):
    """Each subject dies once: no list grows."""
    number, churn = until_due(live, 10_000_000)
    assert churn.dead <= 20_001 + live / 2
    assert number == churn.dead


def test_after_a_renewal_it_begins_anew():
    """But for what died meanwhile."""
    _, churn = until_due(10_000, 1)
    dead = churn.dead
    churn.count(replaced(2, 1))
    churn.renewed(dead)
    assert churn.dead == 1
    assert churn.extra_s == 0
    assert not churn.is_due
