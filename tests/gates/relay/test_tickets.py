"""Only what a known tracker has signed for this purpose, and what has not expired, is believed."""

from __future__ import annotations

import base64
import json
import stat

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from triplewire.broker.errors import ConfigError, ProtocolError, Unauthorized
from triplewire.gates.relay.parcels import chain_name
from triplewire.gates.relay.tickets import LEEWAY_S, Forged, TrackerKey, TrackerKeys, decoded, encoded

NOW = 1_800_000_000.0
T1 = "http://one:8003"
PRIVATE = Ed25519PrivateKey.generate()
TRACKER = TrackerKey(PRIVATE, lambda: NOW)
NODE_KEY = Ed25519PrivateKey.generate().public_key()


def known(*trackers, remembered=100):
    keys = TrackerKeys(remembered)
    for number, tracker in enumerate(trackers or (TRACKER,), 1):
        keys.add(tracker.jwks(), f"http://{number}")
    return keys


def a_ticket(tracker=TRACKER, expires=NOW + 300):
    return tracker.ticket("S", "b", "a", "epoch", expires)


def a_certificate(tracker=TRACKER, expires=NOW + 300):
    return tracker.certificate(
        "S", NODE_KEY.public_bytes_raw(), "client", "node", "ws://node:8002/links", expires
    )


def test_a_ticket_is_for_two_nodes_and_a_stream():
    """Whichever of the two shows it."""
    ticket = known().ticket(a_ticket(), NOW)
    assert (ticket.stream, ticket.nodes, ticket.expires) == ("S", {"a", "b"}, NOW + 300)


def test_a_certificate_says_whose_a_chain_is():
    """And by which key its parcels are signed."""
    found = known().certificate(a_certificate(), NOW)
    chain = chain_name("S", "node", NODE_KEY.public_bytes_raw())
    assert (found.stream, found.chain, found.publisher, found.node) == ("S", chain, "client", "node")
    assert found.links_at == "ws://node:8002/links"
    assert found.key.public_bytes_raw() == NODE_KEY.public_bytes_raw()
    assert found.expires == NOW + 300


def test_neither_can_be_taken_for_the_other():
    """They differ in typ, and in aud."""
    keys = known()
    with pytest.raises(Unauthorized, match="no tw-link"):
        keys.ticket(a_certificate(), NOW)
    with pytest.raises(Unauthorized, match="no tw-chain"):
        keys.certificate(a_ticket(), NOW)


def forged(header=None, claims=None, key=PRIVATE, algorithm="EdDSA"):
    """A ticket but for something."""
    good = {
        "iss": "triplewire-tracker",
        "aud": "triplewire-links",
        "iat": NOW,
        "exp": NOW + 300,
        "stream": "S",
        "nodes": ["a", "b"],
        "epoch": "e",
    }
    good.update(claims or {})
    said = {name: value for name, value in good.items() if value is not ...}
    headers = {"kid": TRACKER.kid, "typ": "tw-link+jwt", **(header or {})}
    return jwt.encode(said, key, algorithm=algorithm, headers=headers)


@pytest.mark.parametrize(
    ("header", "claims"),
    [
        ({"typ": "JWT"}, {}),
        ({"typ": None}, {}),
        ({"kid": "another"}, {}),
        ({"crit": ["b64"]}, {}),
        ({}, {"aud": "triplewire-chains"}),
        ({}, {"aud": ["triplewire-links"]}),
        ({}, {"iss": "somebody"}),
        ({}, {"iss": ...}),
        ({}, {"exp": ...}),
        ({}, {"exp": "soon"}),
        ({}, {"exp": NOW - LEEWAY_S}),
        ({}, {"iat": NOW + LEEWAY_S + 1}),
        ({}, {"nbf": NOW + LEEWAY_S + 1}),
        ({}, {"stream": ".."}),
        ({}, {"stream": ...}),
        ({}, {"nodes": ["a"]}),
        ({}, {"nodes": ["a", "a"]}),
        ({}, {"nodes": ["a", "b", "c"]}),
        ({}, {"nodes": ["a", "b", "b"]}),
        ({}, {"nodes": ["a", "b/c"]}),
        ({}, {"nodes": "ab"}),
        ({}, {"nodes": ["a", 1]}),
    ],
)
def test_what_is_signed_and_still_no_ticket(header, claims):
    """Of another type, for others, without its time, or of no two nodes."""
    with pytest.raises(Unauthorized):
        known().ticket(forged(header, claims), NOW)


def test_a_signed_ticket_is_taken():
    """What the others are like but for one thing."""
    assert known().ticket(forged(), NOW).nodes == {"a", "b"}


def test_algorithms_that_are_not_the_keys():
    """None at all, a secret that everybody knows, other kinds of keys under the tracker's name."""
    unsigned = forged(key=None, algorithm="none")
    secret = forged(key=PRIVATE.public_key().public_bytes_raw().hex(), algorithm="HS256")
    elliptic = forged(key=ec.generate_private_key(ec.SECP256R1()), algorithm="ES256")
    large = forged(key=rsa.generate_private_key(public_exponent=65537, key_size=2048), algorithm="RS256")
    for token in (unsigned, secret, elliptic, large, forged(key=Ed25519PrivateKey.generate())):
        with pytest.raises(Unauthorized):
            known().ticket(token, NOW)


@given(st.integers(0, 2**32), st.integers(1, 255))
def test_one_byte_that_is_another(at, change):
    """Wherever it is: a token is whole or nothing."""
    token = a_ticket()
    raw = bytearray(token.encode())
    raw[at % len(raw)] ^= change
    other = raw.decode("latin-1")
    keys = known()
    if _same_bytes(token, other):
        return  # the last character of a part in base64 has bits that say nothing
    with pytest.raises(Unauthorized):
        keys.ticket(other, NOW)


def _same_bytes(token, other):
    parts = other.split(".")
    try:
        return [base64.urlsafe_b64decode(part + "==") for part in parts] == [
            base64.urlsafe_b64decode(part + "==") for part in token.split(".")
        ]
    except ValueError:
        return False


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "a." * 5000, "\ud800", "é.é.é"])
def test_what_is_no_token(token):
    """An error, as for any other."""
    with pytest.raises(Unauthorized):
        known().ticket(token, NOW)


def test_a_remembered_token_expires_too():
    """By the clock of whoever reads it, which may be a little late."""
    keys = known()
    token = a_ticket()
    assert keys.ticket(token, NOW) is keys.ticket(token, NOW + 300 + LEEWAY_S - 1)
    with pytest.raises(Unauthorized, match="expired"):
        keys.ticket(token, NOW + 300 + LEEWAY_S)


def test_so_many_are_remembered_and_no_more(monkeypatch):
    """Those that were asked for last, and whose key was looked at once."""
    keys = known(remembered=2)
    first, second, third = (a_ticket(expires=NOW + life) for life in (10, 20, 30))
    said = keys.ticket(first, NOW)
    keys.ticket(second, NOW)
    assert keys.ticket(first, NOW) is said
    keys.ticket(third, NOW)  # the second is let go of
    assert keys.ticket(first, NOW) is said
    found = keys.ticket(second, NOW)
    assert keys.ticket(second, NOW) is found


def test_a_wrong_signature_is_told_from_all_else_that_is_wrong():
    """By a known key it is forged; what has expired, is by an unknown key or of another kind may come from anybody."""
    keys = known()
    stranger = Ed25519PrivateKey.generate()
    secret = forged(key=PRIVATE.public_key().public_bytes_raw().hex(), algorithm="HS256")
    for token in (forged(key=stranger), secret):
        with pytest.raises(Forged):
            keys.ticket(token, NOW)
    for token in (
        forged({"kid": "another"}, key=stranger),
        forged(claims={"exp": NOW - LEEWAY_S}, key=stranger),  # nobody's time is spent on its signature
        forged(claims={"exp": NOW - LEEWAY_S}),
        forged(claims={"stream": ".."}),
        a_certificate(),
        "a.b.c",
    ):
        with pytest.raises(Unauthorized) as refused:
            keys.ticket(token, NOW)
        assert not isinstance(refused.value, Forged)


def test_a_trackers_new_key_and_the_one_before():
    """What the old one has signed is about until it expires; the one before that is let go of."""
    first, second, third = (TrackerKey.open(None, lambda: NOW) for _ in range(3))
    keys = TrackerKeys()
    keys.add(first.jwks(), T1)
    keys.add(second.jwks(), T1)
    keys.add(second.jwks(), T1)  # asked for again
    assert keys.ticket(a_ticket(first), NOW)
    assert keys.ticket(a_ticket(second), NOW)
    keys.add(third.jwks(), T1)
    assert not keys.knows(a_ticket(first))
    assert keys.knows(a_ticket(second))
    assert keys.knows(a_ticket(third))


def test_a_tracker_of_several_urls():
    """It has the same key under each, as long as it has it under one; others do not get its kid for theirs."""
    keys, other = TrackerKeys(), TrackerKey.open(None)
    keys.add(TRACKER.jwks(), T1)
    keys.add(TRACKER.jwks(), "http://two")
    keys.add(other.jwks(), "http://three")
    assert (keys.same(T1), keys.same("http://two")) == (["http://two"], [T1])
    assert keys.same("http://three") == keys.same("http://unknown") == []
    for _ in range(2):
        keys.add(TrackerKey.open(None).jwks(), T1)
    assert keys.knows(a_ticket())
    assert keys.same("http://two") == []
    for _ in range(2):
        keys.add(TrackerKey.open(None).jwks(), "http://two")
    assert not keys.knows(a_ticket())
    mine = TrackerKey.open(None).jwks()
    mine["keys"][0]["kid"] = TRACKER.kid
    with pytest.raises(ProtocolError, match="thumbprint"):
        keys.add(mine, "http://two")


@pytest.mark.parametrize(
    "jwks",
    [
        b"",
        b"[]",
        {},
        {"keys": []},
        {"keys": [1]},
        {"keys": [{"kty": "RSA", "n": "x", "e": "AQAB"}]},
        {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AA", "kid": "k"}]},
        {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "!!", "kid": "k"}]},
        {"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k"}]},
        {"keys": [TRACKER.jwks()["keys"][0]] * 17},
    ],
)
def test_what_is_no_set_of_keys(jwks):
    """Or has none of ours."""
    with pytest.raises(ProtocolError):
        TrackerKeys().add(jwks, T1)


def test_a_public_key_as_everybody_reads_it():
    """RFC 8037: PyJWT's own reader verifies by it; keys of other kinds beside it are passed over."""
    jwks = json.loads(json.dumps(TRACKER.jwks()))
    claims = jwt.decode(
        a_ticket(),
        jwt.PyJWK(jwks["keys"][0]).key,
        algorithms=["EdDSA"],
        audience="triplewire-links",
        options={"verify_exp": False, "verify_iat": False},
    )
    assert claims["nodes"] == ["a", "b"]
    assert set(jwks["keys"][0]) == {"kty", "crv", "x", "use", "alg", "kid"}
    keys = TrackerKeys()
    keys.add(json.dumps({"keys": [{"kty": "EC", "crv": "P-256"}, *jwks["keys"]]}), T1)
    assert keys.knows(a_ticket())


def test_a_key_outlives_the_process(tmp_path):
    """In a file that nobody else can read."""
    directory = tmp_path / "made" / "here"
    first = TrackerKey.open(directory)
    file = directory / "tracker-key.pem"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert TrackerKey.open(directory).kid == first.kid
    file.chmod(0o644)
    TrackerKey.open(directory)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert TrackerKey.open(None).kid != first.kid


@pytest.mark.parametrize(
    "content", [b"", b"no key", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_a_file_that_is_no_key(tmp_path, content):
    """Stops the start, and is left as it is."""
    file = tmp_path / "tracker-key.pem"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match="no private key"):
        TrackerKey.open(tmp_path)
    assert file.read_bytes() == content


def test_a_key_of_another_kind(tmp_path):
    """Is not the tracker's."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    other = ec.generate_private_key(ec.SECP256R1())
    pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "tracker-key.pem").write_bytes(pem)
    with pytest.raises(ConfigError, match="no Ed25519 key"):
        TrackerKey.open(tmp_path)


def test_a_place_where_no_key_can_be_kept(tmp_path):
    """Is said with the setting's name."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"^tracker\.data: "):
        TrackerKey.open(tmp_path / "file")


@given(st.binary(max_size=40))
def test_base64url_without_padding(data):
    """There and back."""
    assert decoded(encoded(data)) == data
    assert "=" not in encoded(data)


@given(st.text(max_size=40))
def test_any_text_is_base64url_or_refused(word):
    """By ValueError alone."""
    try:
        decoded(word)
    except ValueError:
        return
