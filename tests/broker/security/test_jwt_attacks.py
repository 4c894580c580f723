"""Attacks on tokens, all refused with 401 by the whole authority, and none of them ever remembered as good.

The list is RFC 8725's, and what has been found in libraries since.
"""

from __future__ import annotations

import copy
import json
import logging

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st
from jwt.api_jws import PyJWS
from support.authorities import World, by_secret, segment

from triplewire.broker.errors import Unauthorized
from triplewire.broker.rights import Scope
from triplewire.broker.security.signing_key import SigningKey

SOME = frozenset({Scope.QUERY, Scope.UPDATE})


@pytest.fixture(scope="module", params=["RS256", "ES256"])
def shared_world(request, tmp_path_factory):
    return World(tmp_path_factory.mktemp("security"), request.param)


@pytest.fixture
def world(shared_world):
    yield shared_world
    shared_world.clock.now = 1_800_000_000.0


@pytest.fixture(scope="module")
def stranger(shared_world):
    """Somebody else's key of the same kind."""
    return SigningKey.make(shared_world.config.algorithm, 0)


async def refused(world, token, told=None, code="invalid_grant"):
    """It is refused, in SEPA's code and RFC 6750's challenge, by words that have nothing of the token."""
    with pytest.raises(Unauthorized, match=told) as caught:
        await world.guarded.access(token)
    error = caught.value
    assert (error.status, error.code) == (401, code)
    assert error.challenge.startswith('Bearer error="invalid_token", error_description="')
    shown = f"{error!r} {error} {error.challenge}"
    assert all(part not in shown for part in token.split(".") if len(part) > 8)
    assert world.guarded.known(token) is None


async def test_a_good_token_is_good(world):
    """Otherwise the rest would prove nothing."""
    assert (await world.guarded.access(world.signed())).client == "a-client"


@pytest.mark.parametrize("none", ["none", "None", "NONE", "nOnE", ""])
async def test_algorithm_none(world, none):
    """With an empty signature it is no token, with any other its algorithm is not the key's."""
    header = {"alg": none, "kid": world.keys.current.kid, "typ": "at+jwt"}
    unsigned = f"{segment(header)}.{segment(world.claims())}"
    await refused(world, f"{unsigned}.", code="invalid_request")
    await refused(world, unsigned, code="invalid_request")
    await refused(world, f"{unsigned}.AAAA", "algorithm")
    real = world.signed().rpartition(".")[2]
    await refused(world, f"{unsigned}.{real}", "algorithm")


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
async def test_the_public_key_as_a_shared_secret(world, algorithm):
    """Confusion of algorithms: what anybody can know is no secret to sign with."""
    key = world.keys.current
    header = {"alg": algorithm, "kid": key.kid, "typ": "at+jwt"}
    secrets = [
        key.public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        key.public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).rstrip(),
        key.public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        json.dumps(key.jwk()).encode(),
        b"",
    ]
    for secret in secrets:
        await refused(world, by_secret(header, world.claims(), secret), "algorithm")


async def test_another_algorithm_of_the_same_family(world):
    """A key is for one algorithm (RFC 8725, 3.1)."""
    key = world.keys.current
    for algorithm in ("RS384", "PS256") if key.algorithm == "RS256" else ("ES384", "ES512"):
        header = {"alg": algorithm, "kid": key.kid, "typ": "at+jwt"}
        await refused(world, f"{segment(header)}.{segment(world.claims())}.AAAA", "algorithm")


async def test_another_key_s_kind(world, tmp_path):
    """A token signed by ES256 under the kid of an RSA key, and the other way round."""
    other = SigningKey.make("ES256" if world.config.algorithm == "RS256" else "RS256", 0)
    await refused(world, world.signed(key=other, kid=world.keys.current.kid), "algorithm")


async def test_expired(world):
    """On the second of exp it is."""
    token = world.signed()
    await world.guarded.access(token)
    world.clock.now += 60
    await refused(world, token, "expired")


@pytest.mark.parametrize("exp", [0, -1, 1, 1_799_999_999.999, 1_800_000_000])
async def test_expired_long_ago(world, exp):
    """Whatever the number."""
    await refused(world, world.signed(world.claims(exp=exp, iat=0, nbf=0)), "expired")


async def test_not_yet_valid(world):
    """And good when its time has come."""
    token = world.signed(world.claims(nbf=world.clock() + 10))
    await refused(world, token, "not yet valid")
    world.clock.now += 10
    assert await world.guarded.access(token)


async def test_issued_in_the_future(world):
    """Nobody but this broker issues its tokens."""
    now = world.clock()
    await refused(world, world.signed(world.claims(iat=now + 5, nbf=now)), "future")
    await refused(world, world.signed(world.claims(iat=now, nbf=now - 5)), "contradict")


@pytest.mark.parametrize(
    "audience",
    ["other", "", "Triplewire", "triplewire ", ["triplewire"], ["other", "triplewire"], {}, 5, None, True],
)
async def test_wrong_audience(world, audience):
    """Our own tokens have the one audience, as a text."""
    await refused(world, world.signed(world.claims(aud=audience)), "aud")


@pytest.mark.parametrize(
    "issuer",
    ["https://broker.example", "https://broker.example:8443/", "", 5, None, ["https://broker.example:8443"]],
)
async def test_wrong_issuer(world, issuer):
    """Signed by our key or not."""
    await refused(world, world.signed(world.claims(iss=issuer)), "iss")


async def test_unknown_kid(world, stranger):
    """Somebody else's key by its own name."""
    await refused(world, world.signed(key=stranger), "key is not known")


async def test_a_stranger_s_signature_under_our_kid(world, stranger):
    """The name is ours, the signature is not."""
    await refused(world, world.signed(key=stranger, kid=world.keys.current.kid), "signature")


@pytest.mark.parametrize(
    "kid",
    [
        "../../../../dev/null",
        "/dev/null",
        "keys/../keys",
        "..%2f..%2fetc%2fpasswd",
        "x' UNION SELECT 'secret' --",
        "$(id)",
        "|id",
        "http://127.0.0.1/key",
        "",
        "\0",
        "k" * 3000,
    ],
)
async def test_a_kid_that_is_a_path_or_worse(world, kid):
    """It is a name among known names; the empty content of /dev/null signs nothing."""
    header = {"alg": "HS256", "kid": kid, "typ": "at+jwt"}
    await refused(world, by_secret(header, world.claims(), b""), "key is not known")
    await refused(world, world.signed(kid=kid), "key is not known")


async def test_no_kid(world):
    """Each of ours has one."""
    header = {"alg": world.config.algorithm, "typ": "at+jwt"}
    token = PyJWS().encode(json.dumps(world.claims()).encode(), world.keys.current.private, headers=header)
    assert "kid" not in jwt.get_unverified_header(token)
    await refused(world, token, "key is not known")


@pytest.mark.parametrize("member", ["jwk", "jku", "x5u", "x5c"])
@pytest.mark.parametrize("named", [True, False])
async def test_a_key_that_the_token_brings_along(world, stranger, member, named, monkeypatch):
    """It is not looked at, and nothing is fetched."""
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("something was fetched"))
    values = {
        "jwk": stranger.jwk(),
        "jku": "http://127.0.0.1:9/jwks",
        "x5u": "http://127.0.0.1:9/cert",
        "x5c": ["MIIB"],
    }
    kid = world.keys.current.kid if named else stranger.kid
    token = world.signed(key=stranger, kid=kid, **{member: values[member]})
    await refused(world, token, "signature" if named else "key is not known")


async def test_a_token_of_another_kind(world):
    """RFC 9068, 4: an identity token, say, that was signed by the same key."""
    for typ in ("JWT", "id+jwt", "logout+jwt", 5):
        await refused(world, world.signed(typ=typ), "access token")


async def test_critical_extensions(world):
    """What is critical and not understood is refused, also where the library understands it."""
    await refused(world, world.signed(crit=["exp"]), "critical")
    await refused(world, world.signed(crit=["b64"], b64=True), "critical")


async def test_oversize(world):
    """A token of more than 8 KiB is not even decoded."""
    await refused(world, world.signed(world.claims(extra="x" * 8192)), "8192", code="invalid_request")
    await refused(world, "A" * 1_000_000, "8192", code="invalid_request")


@pytest.mark.parametrize("change", [{"scope": "admin"}, {"sub": "b", "client_id": "b"}, {"exp": 9e9}])
async def test_a_tampered_payload(world, change):
    """Whatever is claimed instead."""
    header, _, signature = world.signed().split(".")
    await refused(world, f"{header}.{segment(world.claims(**change))}.{signature}", "signature")


async def test_a_truncated_token(world):
    """At any place."""
    token = world.signed()
    for end in range(0, len(token), 7):
        with pytest.raises(Unauthorized):
            await world.guarded.access(token[:end])


async def test_parts_of_two_tokens(world):
    """A signature is for one header and one payload."""
    one, other = world.signed().split("."), world.signed(world.claims(jti="other")).split(".")
    for mixed in ((one[0], one[1], other[2]), (one[0], other[1], one[2])):
        await refused(world, ".".join(mixed), "signature")


async def test_an_empty_or_zero_signature(world):
    """The zeros that once passed for a signature on an elliptic curve."""
    header, payload, _ = world.signed().split(".")
    for zeros in (1, 32, 64, 256):
        await refused(world, f"{header}.{payload}.{segment(bytes(zeros))}", "signature")


async def test_duplicated_claims(world):
    """Even signed by us: who verifies and who looks could each see another."""
    text = json.dumps(world.claims())
    await refused(
        world, world.signed(text[:-1].encode() + b', "client_id": "admin"}'), "twice", code="invalid_request"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("exp", "1800000060"),
        ("exp", None),
        ("exp", True),
        ("exp", [1_800_000_060]),
        ("exp", {"$gt": 0}),
        pytest.param("exp", 10**400, id="exp-huge"),
        ("nbf", "0"),
        ("nbf", None),
        ("iat", "0"),
        ("iat", None),
        ("iat", 1_800_000_060_000),
        ("sub", 5),
        ("sub", None),
        ("sub", "somebody-else"),
        ("client_id", ["a-client"]),
        ("client_id", None),
        ("client_id", ""),
        ("jti", 5),
        ("jti", None),
        ("jti", ""),
        ("scope", ["query"]),
        ("scope", None),
        ("scope", {"query": True}),
    ],
)
async def test_claims_of_wrong_types(world, name, value):
    """Each claim is there and of its type, whoever signed it."""
    await refused(world, world.signed(world.claims(**{name: value})))


async def test_claims_that_are_no_numbers(world):
    """NaN is smaller and larger than nothing: no JSON."""
    text = json.dumps(world.claims(exp=float("nan")))
    await refused(world, world.signed(text.encode()), code="invalid_request")
    text = json.dumps(world.claims()).replace("1800000060.0", "1e999")
    assert "1e999" in text
    await refused(world, world.signed(text.encode()), "exp")


async def test_replay_after_revocation_of_the_token(world):
    """By its jti, also where it was known to be good."""
    issued = world.tokens.issue("a-client", SOME, 60)
    other = world.tokens.issue("a-client", SOME, 60)
    assert await world.guarded.access(issued.token)
    assert await world.guarded.access(other.token)
    world.revoked.tokens.add(issued.jti)
    world.guarded.changed()
    await refused(world, issued.token, "revoked")
    assert await world.guarded.access(other.token)
    world.revoked.tokens.clear()


async def test_replay_after_revocation_of_the_client(world):
    """All that it had; what it gets later, after it has registered again, is good."""
    before = world.tokens.issue("a-client", SOME, 60)
    assert await world.guarded.access(before.token)
    world.revoked.clients["a-client"] = world.clock()
    world.guarded.changed()
    await refused(world, before.token, "revoked")
    assert await world.guarded.access(world.tokens.issue("another", SOME, 60).token)
    world.clock.now += 0.01
    assert await world.guarded.access(world.tokens.issue("a-client", SOME, 60).token)
    world.revoked.clients.clear()


async def test_rotation_with_overlap(tmp_path):
    """Tokens of the old key are good to their end; then the key is gone, whatever it signs."""
    world = World(tmp_path, token_s=60.0)
    old = copy.copy(world.keys.current)
    issued = world.tokens.issue("a-client", SOME, 60)
    world.keys.rotate()
    assert await world.guarded.access(issued.token)
    world.clock.now += 59
    assert world.tokens.check(issued.token)
    world.clock.now += 2
    await refused(world, issued.token, "key is not known")
    await refused(world, world.signed(key=old), "key is not known")


async def test_scopes_never_grow(world):
    """A token claims what its client may not: the permissions decide."""
    access = await world.guarded.access(world.signed(world.claims(scope="query admin root *")))
    assert access.scopes == {Scope.QUERY}


async def test_nothing_of_a_token_is_logged(world, caplog):
    """Not at any level, of a good one or a bad one."""
    good, bad = world.signed(), world.signed(world.claims(aud="other"))
    with caplog.at_level(logging.DEBUG):
        await world.guarded.access(good)
        await refused(world, bad)
    assert all(part not in caplog.text for token in (good, bad) for part in token.split("."))


@st.composite
def mutations(draw):
    """What to do to a token, as functions of its characters."""
    kind = draw(st.sampled_from(["replace", "insert", "delete", "swap", "flip"]))
    place = draw(st.floats(0, 1, exclude_max=True))
    character = draw(
        st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=.+/ \n")
        | st.characters()
    )
    return kind, place, character


def mutated(token, mutation):
    kind, place, character = mutation
    at = int(place * len(token))
    match kind:
        case "replace":
            return token[:at] + character + token[at + 1 :]
        case "insert":
            return token[:at] + character + token[at:]
        case "delete":
            return token[:at] + token[at + 1 :]
        case "swap":
            return token[:at] + token[at : at + 2][::-1] + token[at + 2 :]
        case _:
            return token[:at] + token[at].swapcase() + token[at + 1 :]


@settings(max_examples=500, deadline=None)
@given(st.lists(mutations(), min_size=1, max_size=3))
def test_a_mutated_token_is_never_good(shared_world, changes):
    """Whatever is done to its bytes: Unauthorized, and no other exception."""
    token = good = shared_world.signed()
    for change in changes:
        token = mutated(token, change)
    if token == good:
        assert shared_world.tokens.check(token)
        return
    with pytest.raises(Unauthorized):
        shared_world.tokens.check(token)


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["iss", "sub", "aud", "client_id", "iat", "nbf", "exp", "jti", "scope"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=10)
        | st.lists(st.text(max_size=3)),
        min_size=1,
    )
)
def test_any_claims_are_read_or_unauthorized(shared_world, changes):
    """Signed by us or not: no claim of any type makes another exception."""
    token = shared_world.signed(json.dumps(shared_world.claims() | changes).encode())
    try:
        claims = shared_world.tokens.check(token)
    except Unauthorized:
        return
    assert isinstance(claims.client, str)
    assert claims.expires > shared_world.clock()
