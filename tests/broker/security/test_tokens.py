"""The broker's own tokens."""

from __future__ import annotations

import time

import jwt
import pytest
from joserfc import jwt as other
from joserfc.jwk import KeySet
from jwt import PyJWK
from support.authorities import AUDIENCE, ISSUER, World

from triplewire.broker.errors import Unauthorized
from triplewire.broker.rights import Scope

SOME = frozenset({Scope.QUERY, Scope.UPDATE})


@pytest.fixture(params=["ES256", "RS256"])
def world(tmp_path, request):
    return World(tmp_path, request.param)


def test_what_is_issued_is_good(world):
    """And says what it was issued for."""
    issued = world.tokens.issue("a-client", SOME, 5)
    claims = world.tokens.check(issued.token)
    assert (claims.issuer, claims.client, claims.scopes) == (ISSUER, "a-client", SOME)
    assert (claims.jti, claims.expires) == (issued.jti, issued.expires)
    assert claims.issued_at == world.clock()
    assert issued.expires == world.clock() + 5


def test_a_token_has_the_claims_of_the_rfc(world):
    """RFC 9068, 2.1 and 2.2."""
    token = world.tokens.issue("a-client", SOME, 5).token
    header = jwt.get_unverified_header(token)
    assert header == {
        "alg": world.config.algorithm,
        "kid": world.keys.current.kid,
        "typ": "at+jwt",
    }
    claims = jwt.decode(token, options={"verify_signature": False})
    assert set(claims) == {"iss", "sub", "aud", "client_id", "iat", "nbf", "exp", "jti", "scope"}
    assert (claims["sub"], claims["aud"], claims["scope"]) == ("a-client", AUDIENCE, "query update")


def test_others_verify_it_with_the_published_key(world):
    """PyJWT, with nothing but the JWK Set."""
    world.clock.now = time.time()
    token = world.tokens.issue("a-client", SOME, 60).token
    (jwk,) = world.keys.jwks()["keys"]
    claims = jwt.decode(
        token,
        PyJWK(jwk),
        algorithms=[jwk["alg"]],
        audience=AUDIENCE,
        issuer=ISSUER,
        options={"require": ["jti"]},
    )
    assert claims["client_id"] == "a-client"


def test_another_implementation_verifies_it(world):
    """joserfc, likewise."""
    token = world.tokens.issue("a-client", SOME, 60).token
    decoded = other.decode(token, KeySet.import_key_set(world.keys.jwks()))
    other.JWTClaimsRegistry(
        now=lambda: int(world.clock()),
        iss={"essential": True, "value": ISSUER},
        aud={"essential": True, "value": AUDIENCE},
        exp={"essential": True},
    ).validate(decoded.claims)
    assert decoded.header["typ"] == "at+jwt"


def test_a_token_lives_to_the_millisecond(world):
    """Five seconds are five seconds, whenever in a second they begin."""
    world.clock.now += 0.9876
    issued = world.tokens.issue("a-client", SOME, 5)
    assert world.clock() + 4.999 < issued.expires <= world.clock() + 5
    assert world.tokens.check(issued.token)
    world.clock.now += 4.99
    assert world.tokens.check(issued.token)
    world.clock.now += 0.01
    with pytest.raises(Unauthorized, match="expired"):
        world.tokens.check(issued.token)


def test_each_token_has_its_own_jti(world):
    """Of 128 random bits."""
    jtis = {world.tokens.issue("a-client", SOME, 5).jti for _ in range(50)}
    assert len(jtis) == 50
    assert all(len(jti) == 22 for jti in jtis)


def test_a_token_without_scopes_is_one(world):
    """It is good for nothing, and that is what it says."""
    assert world.tokens.check(world.tokens.issue("a-client", frozenset(), 5).token).scopes == frozenset()


@pytest.mark.parametrize("client", ["SEPATest", "ünïcode 🦉", 'with "quotes" and \\', "x" * 256, "a\nb"])
def test_any_client_id_comes_back(world, client):
    """As it was."""
    assert world.tokens.check(world.tokens.issue(client, SOME, 5).token).client == client


def test_the_token_is_not_shown(world):
    """Nor any part of it, by repr."""
    issued = world.tokens.issue("a-client", SOME, 5)
    assert all(part not in repr(issued) for part in issued.token.split("."))


def test_rotation_between_issue_and_check(world):
    """A token outlives the day that its key signs."""
    issued = world.tokens.issue("a-client", SOME, 5)
    world.keys.rotate()
    assert world.tokens.check(issued.token).jti == issued.jti
    later = world.tokens.issue("a-client", SOME, 5)
    assert jwt.get_unverified_header(later.token)["kid"] == world.keys.current.kid
