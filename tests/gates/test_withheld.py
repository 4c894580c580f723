"""Changes put together until they may be told."""

from __future__ import annotations

from collections import Counter

from gates.test_line import delta, told

from triplewire.broker.model import BindingsDelta, Notification
from triplewire.gates.line import ROW_BYTES, Pending
from triplewire.gates.withheld import Withheld


def test_changes_become_one():
    """What came and went again takes no room."""
    withheld = Withheld(None)
    assert withheld.take(told(1)) == 2 * ROW_BYTES
    assert withheld.take(Pending(told(2, delta([2], [1])))) == 0
    assert withheld.take(told(3, delta([], [2]))) == -ROW_BYTES

    assert [change.delta() for change in withheld.changes] == [delta()]


def test_one_change_stays_the_same_object():
    """Its encoded form is still shared with all others."""
    withheld, change = Withheld(None), delta([1])
    withheld.take(told(1, change))

    assert withheld.changes[0].delta() is change


def test_changes_over_other_variables_stay_apart():
    """In their order."""
    withheld = Withheld(None)
    other = BindingsDelta(("y",), Counter([(None,)]), Counter())
    for sequence, change in enumerate((delta([1]), other, delta([2])), 1):
        withheld.take(Notification("s", "a", sequence, change))

    assert [change.delta() for change in withheld.changes] == [delta([1]), other, delta([2])]
