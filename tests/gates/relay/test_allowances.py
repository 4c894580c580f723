"""How much is given again: by node, by the second, and bounded."""

from __future__ import annotations

from triplewire.gates.relay.allowances import Allowances


def test_a_second_s_worth_at_a_time():
    """What is used up comes back with time, and never more than for a second."""
    allowances = Allowances(100)
    assert [allowances.take("a", 60, 0.0) for _ in range(3)] == [True, True, False]
    assert not allowances.take("a", 60, 0.1)
    assert allowances.take("a", 60, 0.3)
    assert [allowances.take("a", 60, 99.0) for _ in range(3)] == [True, True, False]


def test_each_node_has_its_own_and_they_are_bounded():
    """Whoever has not asked for longest is forgotten where there are too many."""
    allowances = Allowances(1)
    assert all(allowances.take(f"n{number}", 1, 0.0) for number in range(1_001))
    assert not allowances.take("n1000", 1, 0.0)
    assert not allowances.take("n1", 1, 0.0)
    assert allowances.take("n0", 1, 0.0)
