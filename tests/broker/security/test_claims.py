"""What tokens say, each of its type."""

from __future__ import annotations

import pytest

from triplewire.broker.errors import Unauthorized
from triplewire.broker.rights import Scope
from triplewire.broker.security.claims import check_times, moment, named_scopes, text

GOOD = {"exp": 100, "nbf": 50, "iat": 40}


@pytest.mark.parametrize("value", [None, "", 5, ["x"], {"x": 1}, True])
def test_a_text_must_be_one(value):
    """And not an empty one."""
    with pytest.raises(Unauthorized, match="claim iss"):
        text({"iss": value}, "iss")
    assert text({"iss": "x"}, "iss") == "x"


@pytest.mark.parametrize("value", [None, "100", True, [100], float("inf"), float("nan"), 10**400, -(10**400)])
def test_a_moment_must_be_a_number(value):
    """A finite one: JSON's numbers have no end."""
    with pytest.raises(Unauthorized, match="claim exp"):
        moment({"exp": value}, "exp")


def test_a_moment_may_have_parts_of_a_second():
    """RFC 7519, 2: NumericDate."""
    assert moment({"exp": 1.25}, "exp") == 1.25
    assert moment({"exp": 7}, "exp") == 7.0


def test_a_token_is_good_from_nbf_on_and_before_exp():
    """RFC 7519, 4.1.4 and 4.1.5: on exp it is not."""
    assert check_times(GOOD, 50) == 100
    assert check_times(GOOD, 99.999) == 100
    for now, told in ((100, "expired"), (1e9, "expired"), (49.999, "not yet")):
        with pytest.raises(Unauthorized, match=told):
            check_times(GOOD, now)


def test_iat_in_the_future_is_refused():
    """Its issuer's clock can't be right."""
    with pytest.raises(Unauthorized, match="future"):
        check_times({"exp": 100, "iat": 60}, 50)


def test_leeway_is_for_both_ends():
    """Of clocks that differ."""
    assert check_times(GOOD, 105, leeway=10) == 110
    assert check_times(GOOD, 41, leeway=10) == 110
    with pytest.raises(Unauthorized, match="expired"):
        check_times(GOOD, 110, leeway=10)


def test_only_exp_is_needed():
    """What a provider leaves out it has not promised."""
    assert check_times({"exp": 100}, 50) == 100
    with pytest.raises(Unauthorized, match="claim exp"):
        check_times({}, 50)


@pytest.mark.parametrize(
    ("names", "scopes"),
    [
        ("", set()),
        ("query", {Scope.QUERY}),
        ("openid query  update", {Scope.QUERY, Scope.UPDATE}),
        ("QUERY queryx", set()),
    ],
)
def test_scopes_of_ours_are_found_among_others(names, scopes):
    """RFC 6749, 3.3: separated by spaces, and capitals count."""
    assert named_scopes(names) == scopes
