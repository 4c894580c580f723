"""Tokens by policy, with a clock of the test."""

from __future__ import annotations

import pytest
from support.counting import counting

from triplewire.broker import meters
from triplewire.broker.config import SecurityConfig
from triplewire.broker.errors import RequestError
from triplewire.broker.rights import ALL, Scope
from triplewire.broker.security.registration import Registration
from triplewire.broker.security.tokens import Issued
from triplewire.gates.oauth.grants import Grants

NOW = 1_800_000_000.0


class Desk:
    """Permissions, an issuer and revocations of which the test decides; `now` is its clock."""

    def __init__(self):
        self.now = NOW
        self.scopes = frozenset({Scope.QUERY, Scope.UPDATE})
        self.revoked = set()
        self.issued = 0

    def of(self, *_):
        return self.scopes, ALL

    def lists(self, _):
        return True

    def issue(self, _, scopes, life_s):
        self.issued += 1
        return Issued(f"token {self.issued}", f"jti {self.issued}", self.now + life_s, life_s, scopes)

    def is_revoked(self, client_id, jti, issued_at):
        return jti in self.revoked or (client_id, issued_at) in self.revoked

    def clock(self):
        return self.now


@pytest.fixture
def desk():
    return Desk()


def grants(desk, **settings):
    security = SecurityConfig(**{"token_s": 100.0} | settings)
    return Grants(security, Registration(security, desk), desk, desk, desk.clock)


def test_what_is_asked_and_permitted(desk):
    """Never more than either."""
    made = grants(desk)
    assert made.grant("a").issued.scopes == {Scope.QUERY, Scope.UPDATE}
    assert made.grant("a", frozenset({Scope.QUERY, Scope.ADMIN})).issued.scopes == {Scope.QUERY}
    for asked in (frozenset({Scope.ADMIN}), frozenset()):
        with pytest.raises(RequestError, match="none of these scopes") as refused:
            made.grant("a", asked)
        assert refused.value.code == "invalid_scope"
    assert desk.issued == 2


def test_lives_are_told_in_whole_seconds(desk):
    """Rather too short than too long."""
    assert grants(desk, token_s=7.9).grant("a").expires_in == 7
    assert grants(desk, test_identity=True).grant("SEPATest").expires_in == 5


def test_the_same_is_another_when_it_ends(desk):
    """A second before its end it is not given any more."""
    made = grants(desk, token_while_valid="same")
    assert made.grant("a").issued.token == "token 1"
    desk.now += 98.5
    found = made.grant("a")
    assert (found.issued.token, found.expires_in) == ("token 1", 1)
    desk.now += 0.6
    assert made.grant("a").issued.token == "token 2"
    assert made.grant("b").issued.token == "token 3"


@pytest.mark.parametrize("revoked", ["jti 1", ("a", NOW)])
@pytest.mark.parametrize("policy", ["same", "refuse"])
def test_a_revoked_token_is_not_good(desk, policy, revoked):
    """By its identifier, or with all of its client."""
    made = grants(desk, token_while_valid=policy)
    made.grant("a")
    desk.revoked.add(revoked)
    assert made.grant("a").issued.token == "token 2"


def test_the_same_is_another_when_permissions_are_others(desk):
    """What it says would not be true."""
    made = grants(desk, token_while_valid="same")
    made.grant("a")
    desk.scopes = frozenset({Scope.QUERY})
    assert made.grant("a").issued.scopes == {Scope.QUERY}


def test_refused_while_the_last_is_good(desk):
    """And given again at its end."""
    made = grants(desk, token_while_valid="refuse")
    made.grant("a")
    desk.now += 98
    with pytest.raises(RequestError, match="still good") as refused:
        made.grant("a")
    assert refused.value.code == "invalid_grant"
    desk.now += 1.5
    assert made.grant("a").issued.token == "token 2"


@pytest.mark.parametrize(("policy", "kept"), [("new", 0), ("same", 3), ("refuse", 3)])
def test_no_more_tokens_are_remembered_than_may_be(desk, policy, kept):
    """And none where none has to be."""
    made = grants(desk, token_while_valid=policy, tokens_known=3)
    for number in range(10):
        made.grant(f"client {number}")
    assert len(made._last) == kept
    assert "token 1" not in repr(made.grant("another"))


def test_tokens_that_are_made_are_counted(desk):
    """The same one, told again, is not another."""
    made = grants(desk, token_while_valid="same")
    with counting(issued=meters.ISSUED) as counted:
        for client in ("a", "a", "b"):
            made.grant(client)
    assert counted == {"issued": 2}
