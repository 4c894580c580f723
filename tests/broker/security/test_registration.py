"""Which identities may register, by each policy."""

from __future__ import annotations

import pytest

from triplewire.broker.config import SecurityConfig
from triplewire.broker.errors import ConfigError, RequestError, Unauthorized
from triplewire.broker.rights import ALL, Scope
from triplewire.broker.security.registration import IDENTITY_CHARS, Registration

STRANGE = ["", "a\0b", "a\nb", "\ud800", "x" * (IDENTITY_CHARS + 1), "a\u202eb", "\x1b[2J", "\u200b"]
NAMES = [
    "sensor-1",
    "http://example.org/sensor#1",
    "'; DROP TABLE clients; --",
    "Größe 100 % + 1",
    "αισθητήρας",
    "x" * IDENTITY_CHARS,
    "../../etc/passwd",
    "a:b:c",
]


class Listed:
    """Permissions that name one client."""

    def of(self, *_):
        return frozenset(Scope), ALL

    def lists(self, identity):
        return identity == "listed"


def registration(**settings):
    return Registration(SecurityConfig(**settings), Listed())


def admitted(policy, identity):
    try:
        policy.admit(identity, local=True)
    except Unauthorized as error:
        refused = (error.code, error.status)
    else:
        return True
    assert refused == ("not_authorized_identity", 401)
    return False


def test_listed_is_who_the_permissions_name():
    """The default."""
    assert admitted(registration(), "listed")
    assert not admitted(registration(), "Listed")
    assert not admitted(registration(), "SEPATest")


def test_closed_is_nobody():
    """Not even who is listed."""
    assert not admitted(registration(registration="closed"), "listed")


@pytest.mark.parametrize("identity", NAMES)
def test_open_is_whoever_has_a_name(identity):
    """Any that can be printed."""
    assert admitted(registration(registration="open"), identity)


@pytest.mark.parametrize("identity", STRANGE)
@pytest.mark.parametrize("policy", ["open", "listed", "closed"])
def test_names_that_nobody_can_have(identity, policy):
    """Refused before the policy is asked: they would be in logs, in the file and in headers."""
    with pytest.raises(RequestError, match="client_identity") as refused:
        registration(registration=policy).admit(identity, local=True)
    assert (refused.value.code, refused.value.status) == ("invalid_client_metadata", 400)


def test_a_pattern_is_of_the_whole_identity():
    """Not of a part of it."""
    policy = registration(registration="pattern", identity_pattern="sensor-[0-9]+")
    assert admitted(policy, "sensor-17")
    assert not admitted(policy, "sensor-17x")
    assert not admitted(policy, "my sensor-17")
    assert not admitted(policy, "listed")


def test_an_alternative_does_not_open_the_pattern():
    """`a|b` is as safe as `(a|b)`."""
    policy = registration(registration="pattern", identity_pattern="a|b")
    assert admitted(policy, "b")
    assert not admitted(policy, "ax")
    assert not admitted(policy, "xb")


@pytest.mark.parametrize("policy", ["listed", "open", "pattern"])
def test_administrators_register_on_this_machine_only(policy):
    """Whoever is first to know the name gets it."""
    policy = registration(registration=policy, identity_pattern=".*")
    policy.admit("listed", local=True)
    with pytest.raises(Unauthorized) as refused:
        policy.admit("listed", local=False)
    assert refused.value.code == "not_authorized_identity"


def test_a_pattern_that_is_none():
    """The start stops."""
    with pytest.raises(ConfigError, match=r"security\.identity_pattern '\[' is not a regular expression"):
        registration(identity_pattern="[")


@pytest.mark.parametrize("policy", ["open", "listed", "closed"])
def test_the_test_client_is_there_in_a_test_setting_only(policy):
    """Then it always may, its tokens live 5 s, and it is no administrator."""
    tests = registration(registration=policy, test_identity=True)
    assert admitted(tests, "SEPATest")
    assert tests.is_test("SEPATest") and not tests.is_test("sepatest")
    assert tests.knows_test("SEPATest")
    assert not tests.knows_test("SEPATest ") and not tests.knows_test("") and not tests.knows_test("\ud800")
    assert (tests.life_s("SEPATest"), tests.life_s("listed")) == (5, 3600)
    assert tests.scopes("SEPATest") == frozenset(Scope) - {Scope.ADMIN}
    assert tests.scopes("listed") == frozenset(Scope)
    others = registration(registration=policy)
    assert not others.is_test("SEPATest")
    assert others.life_s("SEPATest") == 3600
    assert admitted(others, "SEPATest") == (policy == "open")


def test_no_token_of_the_test_client_outlives_the_setting():
    """Where all tokens are shorter, its are, too."""
    assert registration(test_identity=True, token_s=2.0).life_s("SEPATest") == 2
