"""What a language model is told."""

from __future__ import annotations

import pytest

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused, ConnectionLost, ProfileError
from triplewire.clients.mcp.errors import ToolRefused, told


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (BrokerRefused("forbidden", 403, "no write"), "Not permitted: .*no write.*403"),
        (BrokerRefused("invalid_token", 401, "expired"), "asks for a token, or .* not good: expired"),
        (BrokerRefused("parsing failed", 400, "line 1, column 2"), "refused it: line 1, column 2"),
        (BrokerRefused("overloaded", 503, "full"), "too busy; try again later: full"),
        (ConnectionLost("can't reach x"), "can't be reached: can't reach x.*may have been made"),
        (BrokerMisbehaved("bytes"), "can't be understood: bytes"),
        (ProfileError("queries.A", "missing"), "profile does not allow that: queries.A: missing"),
        (ToolRefused("limit"), "^limit$"),
        (TimeoutError(), "no answer in time.*may have been made"),
    ],
)
def test_each_error_says_what_and_what_helps(error, expected):
    """With the broker's own words."""
    import re

    assert re.search(expected, told(error))


def test_ours_are_not_told():
    """Their details are for the log."""
    assert told(KeyError("secret")) is None


def test_a_long_description_is_cut():
    """It could be a page of a proxy."""
    assert len(told(BrokerRefused("http_error", 502, "x" * 100_000))) < 3000
