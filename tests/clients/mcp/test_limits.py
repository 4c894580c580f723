"""Limits and what is said of wrong ones."""

from __future__ import annotations

import pytest

from triplewire.broker.errors import ConfigError
from triplewire.clients.mcp.limits import Limits


def test_each_limit_can_be_set():
    """By its name; the others keep their defaults."""
    limits = Limits.of(["rows=7", "wait_s=0.5"])
    assert (limits.rows, limits.wait_s, limits.items) == (7, 0.5, Limits().items)


@pytest.mark.parametrize(
    "given", ["rows=0", "rows=-1", "rows=1.5", "rows", "wait_s=nan", "wait_s=inf", "time_s=x"]
)
def test_only_positive_numbers_of_its_kind_are_limits(given):
    """Anything else is named."""
    with pytest.raises(ConfigError, match=f"^{given.partition('=')[0]}: expected"):
        Limits.of([given])


def test_an_unknown_limit_is_named():
    """With those that there are."""
    with pytest.raises(ConfigError, match="row is not a limit; there are rows, "):
        Limits.of(["row=1"])
