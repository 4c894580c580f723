"""The token in an Authorization header."""

from __future__ import annotations

import pytest

from triplewire.broker.errors import Unauthorized
from triplewire.gates.bearer import bearer_of


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (None, None),
        ("", None),
        ("Basic YTpi", None),
        ("Bearer a.b-c_d~+/==", "a.b-c_d~+/=="),
        ("  bEARER   t  ", "t"),
    ],
)
def test_a_token_or_none(header, token):
    """The scheme is of any case (RFC 9110, 11.1); others are none of ours."""
    assert bearer_of(header) == token


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer ", "Bearer a b", "Bearer a, Bearer b", "Bearer =", "Bearer ä"]
)
def test_what_is_no_token_is_refused(header):
    """Nothing of it is told again."""
    with pytest.raises(Unauthorized) as refused:
        bearer_of(header)
    assert (refused.value.code, refused.value.status) == ("invalid_request", 401)
