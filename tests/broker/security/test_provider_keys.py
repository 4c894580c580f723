"""A provider's keys: where they come from, how often, and what is not taken for one."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import time
import warnings
from urllib.request import urlopen

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from support.authorities import Clock
from support.certificates import LocalAuthority
from support.identity_provider import DISCOVERY, JWKS, RunningProvider
from support.stub_endpoint import Stub

from triplewire.broker.config import SecurityConfig
from triplewire.broker.errors import ConfigError, Overloaded, Unauthorized
from triplewire.broker.security.jws import Jws
from triplewire.broker.security.provider_keys import ProviderKeys
from triplewire.broker.security.signing_key import SigningKey

EC, RSA = SigningKey.make("ES256", 0), SigningKey.make("RS256", 0)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def stub():
    """An HTTP server that says one thing at every path."""
    stub = Stub()
    yield stub
    stub.close()


@pytest.fixture(scope="module")
def running():
    running = RunningProvider.start()
    yield running
    running.stop()


@pytest.fixture
def provider(running):
    """The one of the module, good again afterwards."""
    yield running
    running.control(
        issuer=None, jwks_uri=None, padding=None, compress=None, redirect=None, delay=None, status=None
    )


def of(provider, clock, **settings):
    settings = {"provider": provider.issuer, "provider_timeout_s": 2.0} | settings
    return ProviderKeys(SecurityConfig(**settings), clock)


def says(stub, keys, clock, **settings):
    """Keys of a stub whose JWK Set is `keys`."""
    stub.answer = (200, "application/json", json.dumps({"keys": keys}))
    config = SecurityConfig(provider="https://x.example", provider_jwks=stub.url, **settings)
    return ProviderKeys(config, clock)


def kid_of(provider):
    with urlopen(f"{provider.issuer}{JWKS}") as response:
        return json.load(response)["keys"][0]["kid"]


async def settle(keys):
    """Whatever is fetched in the background has come."""
    if keys._fetching is not None:
        await keys._fetching


async def test_keys_are_found_by_discovery(provider, clock):
    """And fetched once."""
    kid, keys = kid_of(provider), of(provider, clock)
    asked = provider.asked(DISCOVERY), provider.asked(JWKS)
    found = await keys.find(kid, "RS256")
    assert found.key_id == kid
    assert (await keys.find(kid, "RS256")).key_id == kid
    assert (provider.asked(DISCOVERY), provider.asked(JWKS)) == (asked[0] + 1, asked[1] + 1)


async def test_an_address_of_keys_needs_no_discovery(provider, clock):
    """security.provider_jwks."""
    asked = provider.asked(DISCOVERY)
    keys = of(provider, clock, provider_jwks=provider.issuer + JWKS)
    assert await keys.find(kid_of(provider), "RS256")
    assert provider.asked(DISCOVERY) == asked


async def test_many_tokens_at_once_are_one_fetch(provider, clock):
    """The others wait for it."""
    kid, keys, asked = kid_of(provider), of(provider, clock), provider.asked(JWKS)
    found = await asyncio.gather(*(keys.find(kid, "RS256") for _ in range(50)))
    assert all(key.key_id == kid for key in found)
    assert provider.asked(JWKS) == asked + 1


async def test_who_gives_up_waiting_stops_nobody_else(provider, clock):
    """The fetch goes on."""
    kid, keys = kid_of(provider), of(provider, clock)
    provider.control(delay=0.2)
    one, other = (asyncio.create_task(keys.find(kid, "RS256")) for _ in range(2))
    await asyncio.sleep(0.05)
    one.cancel()
    assert (await other).key_id == kid
    assert one.cancelled() or one.cancelling()


async def test_an_unknown_kid_fetches_again_but_not_at_once(provider, clock):
    """At most once every few seconds, whoever makes names up."""
    keys = of(provider, clock)
    await keys.find(kid_of(provider), "RS256")
    asked = provider.asked(JWKS)
    assert await keys.find("made-up", "RS256") is None
    assert provider.asked(JWKS) == asked
    clock.now += 5
    for number in range(20):
        assert await keys.find(f"made-up-{number}", "RS256") is None
    assert provider.asked(JWKS) == asked + 1


async def test_rotation(provider, clock):
    """The new key is met by its name, the old one is gone with it."""
    old, keys = kid_of(provider), of(provider, clock)
    await keys.find(old, "RS256")
    provider.control(rotate=True)
    clock.now += 6
    new = kid_of(provider)
    assert (await keys.find(new, "RS256")).key_id == new
    assert await keys.find(old, "RS256") is None


async def test_old_keys_are_fetched_again_in_the_background(provider, clock):
    """Nobody waits for it."""
    kid, keys = kid_of(provider), of(provider, clock, provider_cache_s=300.0)
    await keys.find(kid, "RS256")
    asked = provider.asked(JWKS)
    clock.now += 299
    await keys.find(kid, "RS256")
    assert keys._fetching is None
    clock.now += 2
    provider.control(delay=0.2)
    began = time.monotonic()
    assert await keys.find(kid, "RS256")
    assert time.monotonic() - began < 0.15
    await settle(keys)
    assert provider.asked(JWKS) == asked + 1


async def test_a_provider_that_is_away(clock, caplog):
    """Its keys are used for an hour more; then, and for unknown ones at once, it is 503."""
    running = RunningProvider.start()
    kid, keys = kid_of(running), of(running, clock)
    await keys.find(kid, "RS256")
    running.stop()
    clock.now += 3800  # the cache's 300 s and nearly the hour
    assert (await keys.find(kid, "RS256")).key_id == kid
    await settle(keys)
    assert (await keys.find(kid, "RS256")).key_id == kid
    with pytest.raises(Overloaded, match="identity provider") as caught:
        await keys.find("another", "RS256")
    assert caught.value.status == 503
    clock.now += 200
    with pytest.raises(Overloaded):
        await keys.find(kid, "RS256")
    assert "could not be fetched" in caplog.text


async def test_a_provider_that_was_away_is_back(clock):
    """The next token that comes after the pause is judged."""
    running = RunningProvider.start()
    port = int(running.issuer.rpartition(":")[2])
    keys = of(running, clock)
    running.stop()
    with pytest.raises(Overloaded):
        await keys.find("k", "RS256")
    running = RunningProvider.start(port)
    try:
        kid = kid_of(running)
        with pytest.raises(Overloaded):
            await keys.find(kid, "RS256")  # too soon
        clock.now += 6
        assert (await keys.find(kid, "RS256")).key_id == kid
    finally:
        running.stop()


@pytest.mark.parametrize(
    ("told", "logged"),
    [
        ({"issuer": "http://127.0.0.1:1"}, "another issuer"),
        ({"jwks_uri": "http://keys.example/jwks"}, "no jwks_uri of https"),
        ({"jwks_uri": "file:///etc/passwd"}, "no jwks_uri of https"),
        ({"padding": 10_000_000}, "more than 524288 bytes"),
        ({"compress": True}, "compressed"),
        ({"redirect": "http://127.0.0.1:1/"}, "answers 302"),
        ({"status": 500}, "answers 500"),
        ({"status": 404}, "answers 404"),
    ],
    ids=["issuer", "plain", "file", "huge", "compressed", "redirect", "broken", "missing"],
)
async def test_documents_that_are_not_taken(provider, clock, told, logged, caplog):
    """The log says why, the client only that it can't be judged now."""
    provider.control(**told)
    with caplog.at_level(logging.WARNING), pytest.raises(Overloaded) as caught:
        await of(provider, clock).find("k", "RS256")
    assert logged in caplog.text
    assert provider.issuer not in str(caught.value)


async def test_a_slow_provider_is_not_waited_for(provider, clock, caplog):
    """Longer than the settings say."""
    provider.control(delay=3)
    began = time.monotonic()
    with pytest.raises(Overloaded):
        await of(provider, clock, provider_timeout_s=0.3).find("k", "RS256")
    assert time.monotonic() - began < 2
    assert "Timeout" in caplog.text


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "5", '{"keys": 5}', '{"keys": [5]}', "[" * 100_000, b"\xff\xfe", '{"a": 1}']
)
async def test_what_is_no_jwk_set(stub, clock, text):
    """Whatever the provider says, nothing breaks."""
    keys = says(stub, [], clock)
    stub.answer = (200, "application/json", text)
    with pytest.raises(Overloaded):
        await keys.find("k", "RS256")


async def test_a_set_of_too_many_keys(stub, clock, caplog):
    """Nobody has a hundred."""
    with pytest.raises(Overloaded):
        await says(stub, [EC.jwk()] * 101, clock).find(EC.kid, "ES256")
    assert "more than 100 keys" in caplog.text


async def test_a_key_is_for_its_own_algorithm(stub, clock):
    """Where it names one, and where its kind has several."""
    unnamed = {name: value for name, value in RSA.jwk().items() if name != "alg"} | {"kid": "unnamed"}
    keys = says(stub, [RSA.jwk(), EC.jwk(), unnamed], clock)
    assert (await keys.find(RSA.kid, "RS256")).algorithm_name == "RS256"
    assert (await keys.find(EC.kid, "ES256")).algorithm_name == "ES256"
    assert (await keys.find("unnamed", "PS256")).algorithm_name == "PS256"
    for kid, algorithm in (
        (RSA.kid, "PS256"),
        (RSA.kid, "ES256"),
        (EC.kid, "RS256"),
        (EC.kid, "ES384"),
        (RSA.kid, "HS256"),
        (RSA.kid, "none"),
    ):
        assert await keys.find(kid, algorithm) is None


def private_jwk():
    return RSAAlgorithm.to_jwk(RSA.private, as_dict=True) | {"kid": "k"}


@pytest.mark.parametrize(
    "jwk",
    [
        RSA.jwk() | {"kid": "k", "use": "enc"},
        RSA.jwk() | {"kid": "k", "n": "AQAB"},
        RSA.jwk() | {"kid": "k", "n": 5},
        RSA.jwk() | {"kid": "k", "kty": "oct", "k": "c2VjcmV0"},
        {"kid": "k", "kty": "RSA"},
        {"kid": "k"},
        private_jwk(),
    ],
    ids=["encryption", "tiny", "number", "secret", "empty", "nothing", "private"],
)
async def test_what_is_no_public_key_for_signatures(stub, clock, jwk):
    """It is not found, or verifies nothing; the others of the set are."""
    keys = says(stub, [jwk, EC.jwk()], clock)
    found = await keys.find("k", "RS256")
    if found is not None:  # a key that is too short for its algorithm is refused when it is used
        assert found.key.key_size < 2048
    assert await keys.find(EC.kid, "ES256")


async def test_two_keys_of_one_name_are_none(stub, clock):
    """Which one would it be?"""
    twice = [EC.jwk(), SigningKey.make("ES256", 0).jwk() | {"kid": EC.kid}]
    assert await says(stub, twice, clock).find(EC.kid, "ES256") is None


async def test_a_token_without_kid(stub, clock):
    """RFC 7515, 4.1.4 leaves it out: the one key that there is for its algorithm."""
    keys = says(stub, [EC.jwk(), RSA.jwk()], clock)
    assert (await keys.find(None, "ES256")).key_id == EC.kid
    two = says(stub, [EC.jwk(), SigningKey.make("ES256", 0).jwk()], clock)
    assert await two.find(None, "ES256") is None


@pytest.mark.parametrize(
    "settings",
    [
        {"provider": "http://provider.example"},
        {"provider": "provider.example"},
        {"provider": "https://"},
        {"provider": "ftp://127.0.0.1"},
        {"provider": "http://127.0.0.1.example"},
        {"provider": "http://localhost@evil.example"},
        {"provider": "https://x", "provider_jwks": "http://x/jwks"},
        {"provider": "https://x", "provider_algorithms": ("RS256", "HS256")},
        {"provider": "https://x", "provider_algorithms": ("none",)},
    ],
)
def test_settings_that_nobody_should_have(settings):
    """Keys that come in plain text from elsewhere, or that are shared secrets."""
    with pytest.raises(ConfigError, match=r"security\.provider"):
        ProviderKeys(SecurityConfig(**settings))


async def test_a_short_key_verifies_nothing(stub, clock):
    """RFC 7518, 3.3."""
    short = rsa.generate_private_key(65537, 1024)
    jwk = RSAAlgorithm.to_jwk(short.public_key(), as_dict=True) | {"kid": "k"}
    found = await says(stub, [jwk], clock).find("k", "RS256")
    with warnings.catch_warnings(action="ignore"):
        token = jwt.encode({"a": 1}, short, "RS256", headers={"kid": "k"})
    with pytest.raises(Unauthorized, match="signature"):
        Jws.parse(token).verify(found.key, "RS256")


async def test_a_provider_that_drips_is_not_waited_for(clock):
    """The time-out is for all of it, not for each byte."""

    gone = asyncio.Event()

    async def drip(reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.05)
        except OSError:
            writer.close()
            gone.set()

    async with await asyncio.start_server(drip, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        keys = ProviderKeys(SecurityConfig(provider=url, provider_timeout_s=0.4), clock)
        began = time.monotonic()
        with pytest.raises(Overloaded):
            await keys.find("k", "RS256")
        assert time.monotonic() - began < 2
        await gone.wait()


async def test_a_certificate_of_an_authority_of_one_s_own(tmp_path, clock):
    """security.provider_ca has it trusted; otherwise it is a stranger."""
    authority = LocalAuthority(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(authority.certificate, authority.key)
    content = json.dumps({"keys": [EC.jwk()]}).encode()

    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(content), content)
        )
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        settings = {"provider": url, "provider_jwks": url, "provider_timeout_s": 2.0}
        trusting = ProviderKeys(SecurityConfig(provider_ca=str(authority.ca), **settings), clock)
        assert await trusting.find(EC.kid, "ES256")
        with pytest.raises(Overloaded):
            await ProviderKeys(SecurityConfig(**settings), clock).find(EC.kid, "ES256")


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_an_authority_that_can_t_be_read(tmp_path, content):
    """By the setting's name and the file's."""
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError, match=r"security\.provider_ca.*ca\.pem"):
        ProviderKeys(SecurityConfig(provider="https://x", provider_ca=str(path)))
