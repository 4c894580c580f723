"""Limits of broken rows, as people write them."""

from __future__ import annotations

import pytest

from triplewire.clients.historic.errors import HistoryError
from triplewire.clients.historic.limits import Limit


def test_a_number_is_rows_and_a_percentage_a_share():
    """Spaces do not matter."""
    assert Limit.of("100") == Limit(count=100)
    assert Limit.of("0.5 %") == Limit(share=0.005)


@pytest.mark.parametrize("text", ["", "1.5", "-1", "101%", "many"])
def test_what_is_neither_is_refused(text):
    """The sentence says what it must be."""
    with pytest.raises(HistoryError, match="is no limit"):
        Limit.of(text)


def test_a_limit_is_reached_by_what_is_over_it():
    """At the limit is within it."""
    assert Limit(share=0.01).allows(1, 100)
    assert not Limit(share=0.01).allows(2, 100)
    assert Limit(count=0).allows(0, 5)
    assert not Limit(count=0).allows(1, 5)
    assert Limit().allows(5, 5)


def test_a_limit_is_shown_as_it_is_written():
    """In the error that tells that it was reached."""
    assert str(Limit.of("1%")) == "1%"
    assert str(Limit.of("10%")) == "10%"
    assert str(Limit.of("7")) == "7 rows"
