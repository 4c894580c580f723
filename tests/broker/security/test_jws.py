"""The outer form of tokens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.authorities import segment

from triplewire.broker.errors import Unauthorized
from triplewire.broker.security.jws import MOST_CHARS, Jws, refused
from triplewire.broker.security.signing_key import SigningKey

HEADER = {"alg": "ES256", "kid": "k"}


def compact(header, payload, signature="AAAA"):
    return f"{segment(header)}.{segment(payload)}.{signature}"


def test_header_and_claims_are_read():
    """As they stand, without belief."""
    jws = Jws.parse(compact(HEADER, {"iss": "x"}))
    assert (jws.algorithm, jws.kid, jws.claims) == ("ES256", "k", {"iss": "x"})


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        "a.b",
        "a.b.c.d",
        "..",
        compact(HEADER, {}, ""),
        " " + compact(HEADER, {}),
        compact(HEADER, {}) + "\n",
        compact(HEADER, {}, "AAAA="),
        compact(HEADER, {}, "AA+/"),
        compact(HEADER, {}, "AAAÄ"),
        compact(HEADER, {}, "A\ud800AA"),
        compact([], {}),
        compact(HEADER, "text"),
        compact({}, {}),
        compact({"alg": 5}, {}),
        compact({"alg": "ES256", "kid": 5}, {}),
        compact({"alg": "ES256", "kid": ["k"]}, {}),
        compact(b"{", {}),
        compact(HEADER, b"[" * 5000),
        compact(HEADER, b'{"exp":' + b"9" * 5000 + b"}"),
        compact(HEADER, b'{"exp": NaN}'),
        compact(HEADER, b'{"exp": -Infinity}'),
        compact(HEADER, b"\xff\xfe{\x00}\x00"),
        compact(HEADER, b'{"a": "\xff"}'),
        compact(b'{"alg": "none", "alg": "ES256"}', {}),
        compact(HEADER, b'{"aud": "x", "aud": "triplewire"}'),
        compact(HEADER, b'{"a": {"b": 1, "b": 2}}'),
        compact(HEADER, {"a": "x" * MOST_CHARS}),
    ],
    ids=range(29),
)
def test_what_is_no_token_is_unreadable(token):
    """SEPA's code for that is invalid_request."""
    with pytest.raises(Unauthorized) as caught:
        Jws.parse(token)
    assert caught.value.code == "invalid_request"
    assert caught.value.status == 401
    assert caught.value.challenge == f'Bearer error="invalid_token", error_description="{caught.value}"'


def test_critical_extensions_are_refused():
    """Nothing is understood, so nothing critical is."""
    header = HEADER | {"crit": ["b64"], "b64": True}
    with pytest.raises(Unauthorized, match="critical") as caught:
        Jws.parse(compact(header, {}))
    assert caught.value.code == "invalid_grant"


def test_the_largest_token_is_read_and_one_more_is_not():
    """The bound is exact, and what is over it is not looked at."""
    beginning = compact(HEADER, {}, "")
    token = beginning + "A" * (MOST_CHARS - len(beginning))
    assert Jws.parse(token).kid == "k"
    with pytest.raises(Unauthorized, match=str(MOST_CHARS)):
        Jws.parse(token + "A")


def test_the_header_does_not_choose_the_algorithm():
    """Who verifies says it."""
    key = SigningKey.make("ES256", 0)
    jws = Jws.parse(compact({"alg": "ES384"}, {}))
    with pytest.raises(Unauthorized, match="algorithm"):
        jws.verify(key.public, "ES256")


def test_nothing_of_a_token_is_shown():
    """Neither by its repr nor by an error's text or causes."""
    token = compact(HEADER, {"sub": "somebody"})
    assert repr(Jws.parse(token)) == "Jws()"
    with pytest.raises(Unauthorized) as caught:
        Jws.parse(compact(HEADER, b'{"secret": '))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_challenge_is_one_header():
    """RFC 6750, 3: no quote, backslash or line break gets into it."""
    challenge = refused("the token has expired").challenge
    assert challenge == 'Bearer error="invalid_token", error_description="the token has expired"'


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200) | st.binary(max_size=60).map(lambda b: compact(b, b, segment(b))))
def test_any_text_is_a_token_or_unauthorized(text):
    """And nothing else is raised."""
    try:
        jws = Jws.parse(text)
    except Unauthorized:
        return
    assert isinstance(jws.header, dict)
    assert isinstance(jws.claims, dict)
