"""Secrets: random, hashed with salt at a price, remembered without being kept."""

from __future__ import annotations

import pytest

from triplewire.broker.errors import ConfigError
from triplewire.broker.security.secrets import Secrets

KIB, ROUNDS = 64, 1


@pytest.fixture
def secrets():
    return Secrets(KIB, ROUNDS)


def test_secrets_are_long_and_all_different():
    """256 bits; nothing in them that the Basic scheme or a form could garble."""
    made = {Secrets.new() for _ in range(1000)}
    assert len(made) == 1000
    assert all(len(secret) == 43 and secret.replace("-", "").replace("_", "").isalnum() for secret in made)


def test_a_hash_is_argon2id_with_the_costs_of_the_settings(secrets):
    """And salted: the same secret never has the same hash."""
    one, other = secrets.hash("a secret"), secrets.hash("a secret")
    assert one.startswith(f"$argon2id$v=19$m={KIB},t={ROUNDS},p=1$")
    assert one != other
    assert secrets.matches(one, "a secret")
    assert secrets.matches(other, "a secret")
    assert not secrets.matches(one, "a secreT")


def test_a_hash_of_other_costs_still_matches(secrets):
    """A changed setting locks nobody out."""
    assert secrets.matches(Secrets(2 * KIB, 2 * ROUNDS).hash("old"), "old")


@pytest.mark.parametrize("hashed", ["", "plain", "$argon2id$v=19$m=64,t=1,p=1$x", None])
def test_what_is_no_hash_matches_nothing(secrets, hashed):
    """Nor does a client that there is not."""
    assert not secrets.matches(hashed, "plain")
    assert not secrets.matches(hashed, "")


@pytest.mark.parametrize("secret", ["", "\0", "\ud800", "x" * 100_000, "Ω" * 1000])
def test_strange_secrets_are_wrong_ones(secrets, secret):
    """Never another error."""
    assert not secrets.matches(secrets.hash("right"), secret)
    assert not secrets.recall("client", secrets.hash("right"), secret)


def test_an_unknown_client_costs_the_same_trial(secrets, monkeypatch):
    """One run of Argon2 with the same costs, whoever asks."""
    trials = []
    argon2 = type(secrets._argon2)
    verify = argon2.verify
    monkeypatch.setattr(argon2, "verify", lambda self, *args: trials.append(args[0]) or verify(self, *args))
    known = secrets.hash("right")
    assert not secrets.matches(known, "wrong")
    assert not secrets.matches(None, "wrong")
    assert [hashed.split("$")[:4] for hashed in trials] == [known.split("$")[:4]] * 2


def test_what_was_right_is_recalled_while_its_hash_stands(secrets):
    """Neither with another hash, nor of another client, nor after it was forgotten."""
    hashed = secrets.hash("right")
    assert not secrets.recall("client", hashed, "right")
    secrets.remember("client", hashed, "right")
    assert secrets.recall("client", hashed, "right")
    assert not secrets.recall("client", hashed, "wrong")
    assert not secrets.recall("other", hashed, "right")
    assert not secrets.recall("client", secrets.hash("right"), "right")
    secrets.forget("client")
    assert not secrets.recall("client", hashed, "right")
    secrets.forget("client")


def test_no_more_is_remembered_than_may_be():
    """The oldest goes."""
    secrets = Secrets(KIB, ROUNDS, remembered=3)
    for number in range(5):
        secrets.remember(f"client {number}", "hash", "secret")
    recalled = [secrets.recall(f"client {number}", "hash", "secret") for number in range(5)]
    assert recalled == [False, False, True, True, True]


def test_what_is_remembered_has_no_secret_in_it(secrets):
    """A digest by a key of this process."""
    secrets.remember("client", "hash", "the secret itself")
    assert b"the secret itself" not in b"".join(secrets._remembered.values())
    other = Secrets(KIB, ROUNDS)
    other.remember("client", "hash", "the secret itself")
    assert other._remembered != secrets._remembered


@pytest.mark.parametrize(("kib", "rounds"), [(7, 1), (64, 0), (5 * 1024 * 1024, 1), (64, 100_000)])
def test_costs_that_argon2_has_not(kib, rounds):
    """The start stops and says which setting."""
    with pytest.raises(ConfigError, match=r"security\.secret_(kib|rounds) must be"):
        Secrets(kib, rounds)
