"""One key that signs."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from joserfc.jwk import JWKRegistry
from jwt.utils import base64url_decode

from triplewire.broker.security.signing_key import SigningKey, _thumbprint


def pem_of(private, encryption=None):
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption())


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_a_key_survives_its_file(algorithm):
    """What is written is read as the same key."""
    key = SigningKey.make(algorithm, 12.5)
    read = SigningKey.from_pem(key.pem(), 12.5)
    assert (read.kid, read.algorithm, read.created, read.jwk()) == (key.kid, algorithm, 12.5, key.jwk())


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_the_kid_is_the_thumbprint(algorithm):
    """Another implementation of RFC 7638 comes to the same."""
    key = SigningKey.make(algorithm, 0)
    assert JWKRegistry.import_key(key.jwk()).thumbprint() == key.kid


@pytest.mark.parametrize(
    ("algorithm", "members"),
    [("RS256", {"kty", "n", "e"}), ("ES256", {"kty", "crv", "x", "y"})],
)
def test_a_jwk_has_nothing_secret(algorithm, members):
    """Public members, and what the key is for."""
    jwk = SigningKey.make(algorithm, 0).jwk()
    assert set(jwk) == members | {"use", "alg", "kid"}
    assert (jwk["use"], jwk["alg"]) == ("sig", algorithm)


def test_the_thumbprint_of_the_rfc():
    """RFC 7638, 3.1 has a public key and its thumbprint."""
    n = (
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCi"
        "FV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb"
        "9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls"
        "1jF44-csFCur-kEgU8awapJzKnqDKgw"
    )
    public = rsa.RSAPublicNumbers(65537, int.from_bytes(base64url_decode(n))).public_key()
    assert _thumbprint(public) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


@pytest.mark.parametrize(
    ("pem", "told"),
    [
        (b"no key", "PEM"),
        (pem_of(rsa.generate_private_key(65537, 1024)), "2048"),
        (pem_of(ec.generate_private_key(ec.SECP384R1())), "P-256"),
        (pem_of(ed25519.Ed25519PrivateKey.generate()), "P-256"),
        (pem_of(ec.generate_private_key(ec.SECP256R1()), BestAvailableEncryption(b"x")), "encrypted"),
    ],
    ids=["text", "short", "curve", "kind", "encrypted"],
)
def test_what_is_no_key_for_tokens_is_refused(pem, told):
    """By a sentence that says what was expected, without the key in it."""
    with pytest.raises(ValueError, match=told) as caught:
        SigningKey.from_pem(pem, 0)
    assert pem.split(b"\n")[1 if b"\n" in pem else 0].decode() not in str(caught.value)


def test_a_key_is_never_shown():
    """Neither its repr nor what it publishes has a private number."""
    key = SigningKey.make("ES256", 0)
    secret = key.private.private_numbers().private_value
    shown = repr(key) + json.dumps(key.jwk())
    assert str(secret) not in shown
    assert f"{secret:x}" not in shown
    assert "PRIVATE" not in shown


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_openssl_reads_the_file():
    """It is an ordinary PEM file."""
    pem = SigningKey.make("RS256", 0).pem()
    done = subprocess.run(
        ["openssl", "pkey", "-noout", "-text"], input=pem, capture_output=True, check=True, timeout=30
    )
    assert b"2048 bit" in done.stdout
