"""Tokens of an identity provider: one made of Authlib's parts, in a process of its own."""

from __future__ import annotations

import json
import logging
import time

import pytest
from jwt import PyJWK
from jwt.api_jws import PyJWS
from support.authorities import Clock, Revoked, World, by_secret
from support.identity_provider import JWKS, RunningProvider

from triplewire.broker.config import SecurityConfig
from triplewire.broker.errors import Overloaded, Unauthorized
from triplewire.broker.rights import Rights, Scope
from triplewire.broker.security.guarded import Guarded
from triplewire.broker.security.permissions import Permissions
from triplewire.broker.security.provider import Provider
from triplewire.broker.security.provider_keys import ProviderKeys
from triplewire.broker.security.signing_key import SigningKey

URL = "https://provider.example/realm"
KEY = SigningKey.make("ES256", 0)


@pytest.fixture(scope="module")
def running():
    running = RunningProvider.start()
    yield running
    running.stop()


@pytest.fixture
def provider(running):
    """The one of the module, good again afterwards."""
    yield running
    running.control(claims=None, audience=None)


class Known:
    """A provider's keys, without the provider."""

    asked = 0

    async def find(self, kid, algorithm):
        self.asked += 1
        return PyJWK(KEY.jwk()) if (kid, algorithm) == (KEY.kid, "ES256") else None


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def judge(clock):
    """Has a token with other claims, or another header, judged by the settings."""

    def judged(settings=(), header=(), **claims):
        config = SecurityConfig(provider=URL, **dict(settings))
        payload = {"iss": URL, "aud": "triplewire", "exp": clock() + 60, "sub": "user"} | claims
        payload = {name: value for name, value in payload.items() if value is not None}
        header = {"alg": "ES256", "kid": KEY.kid, "typ": "JWT"} | dict(header)
        token = PyJWS().encode(json.dumps(payload).encode(), KEY.private, headers=header)
        return Provider(config, clock, Known()).check(token)

    return judged


async def test_a_token_of_the_provider(provider):
    """By discovery, its key, and what it says."""
    claims = await Provider(SecurityConfig(provider=provider.issuer)).check(provider.token("query openid"))
    assert (claims.issuer, claims.client, claims.scopes) == (provider.issuer, "app", {Scope.QUERY})
    assert abs(claims.issued_at - time.time()) < 10
    assert claims.jti


async def test_the_whole_authority(provider, tmp_path):
    """The permissions' groups, the provider's scopes; and its own tokens beside them."""
    path = tmp_path / "permissions.toml"
    path.write_text(
        "[groups.staff]\nscopes = ['query', 'update']\nread = ['urn:g']\n[clients.app]\nprovider = true\nread = ['urn:a']\n"
    )
    provider.control(claims={"groups": ["staff", "others"]})
    world = World(tmp_path / "security")
    world.clock.now = time.time()
    ours = Permissions.read(path)
    guarded = Guarded(world.tokens, ours, world.revoked, Provider(SecurityConfig(provider=provider.issuer)))
    token = provider.token("query subscribe")
    access = await guarded.access(token)
    assert (access.client, access.scopes) == ("app", {Scope.QUERY})
    assert access.rights == Rights(frozenset({"urn:a", "urn:g"}), frozenset(), frozenset())
    assert access.issuer == provider.issuer
    assert guarded.known(token) is access
    own = await guarded.access(world.tokens.issue("app", frozenset(Scope), 60).token)
    assert (own.client, own.scopes) == ("app", frozenset())  # the name is the provider's to give
    world.revoked.tokens.add(access.jti)
    guarded.changed()
    with pytest.raises(Unauthorized, match="revoked"):
        await guarded.access(token)


async def test_a_provider_that_knows_nothing_of_our_scopes(provider):
    """The permissions decide alone."""
    token = provider.token("openid profile")
    judge = Provider(SecurityConfig(provider=provider.issuer))
    assert (await judge.check(token)).scopes is None


async def test_a_rotation_of_its_key(provider):
    """Tokens of the new key are good after a fetch, those of the old one no more."""
    keys_clock = Clock()
    config = SecurityConfig(provider=provider.issuer)
    judge = Provider(config, keys=ProviderKeys(config, keys_clock))
    old = provider.token()
    await judge.check(old)
    provider.control(rotate=True)
    new = provider.token()
    keys_clock.now += 6
    assert (await judge.check(new)).client == "app"
    with pytest.raises(Unauthorized, match="key is not one of the provider's"):
        await judge.check(old)


async def test_its_death(tmp_path):
    """What is known goes on, what is new can't be judged: 503 and not 401, as the client's token may be good."""
    running = RunningProvider.start()
    keys_clock = Clock()
    config = SecurityConfig(provider=running.issuer)
    judge = Provider(config, keys=ProviderKeys(config, keys_clock))
    token, another = running.token(), running.token("query")
    await judge.check(token)
    running.stop()
    keys_clock.now += 1000
    assert (await judge.check(another)).client == "app"
    keys_clock.now += 3600
    with pytest.raises(Overloaded) as caught:
        await judge.check(token)
    assert caught.value.status == 503


async def test_its_tokens_are_known_only_as_long_as_its_keys(tmp_path, clock):
    """A key that the provider withdrew is not good for a token's whole life."""
    config = SecurityConfig(provider=URL, provider_cache_s=30.0)
    world = World(tmp_path)
    provider = Provider(config, world.clock, Known())
    guarded = Guarded(world.tokens, world.permissions, Revoked(), provider, now=world.clock)
    payload = {"iss": URL, "aud": "triplewire", "exp": world.clock() + 600, "sub": "user"}
    token = PyJWS().encode(
        json.dumps(payload).encode(), KEY.private, headers={"alg": "ES256", "kid": KEY.kid}
    )
    access = await guarded.access(token)
    world.clock.now += 29
    assert guarded.known(token) is access
    world.clock.now += 2
    assert guarded.known(token) is None
    assert guarded.still(access) == access
    assert (await guarded.access(token)).client == "user"
    assert provider._keys.asked == 2


async def test_a_stranger_s_issuer(provider, tmp_path):
    """It is judged as a token of ours, and is none; nothing is fetched for it."""
    world = World(tmp_path)
    guarded = Guarded(
        world.tokens, world.permissions, world.revoked, Provider(SecurityConfig(provider=provider.issuer))
    )
    asked = provider.asked(JWKS)
    payload = json.dumps(world.claims(iss="https://evil.example")).encode()
    token = PyJWS().encode(payload, KEY.private, headers={"alg": "ES256", "kid": KEY.kid, "typ": "at+jwt"})
    with pytest.raises(Unauthorized, match="key is not known"):
        await guarded.access(token)
    assert provider.asked(JWKS) == asked


async def test_our_claims_by_the_provider_s_key_and_the_other_way_round(tmp_path):
    """Who signs can't speak for the other."""
    world = World(tmp_path)
    provider = Provider(SecurityConfig(provider=URL), world.clock, Known())
    guarded = Guarded(world.tokens, world.permissions, world.revoked, provider, now=world.clock)
    with pytest.raises(Unauthorized, match="key is not known"):
        await guarded.access(world.signed(key=KEY))
    with pytest.raises(Unauthorized, match="key is not one of the provider's"):
        await guarded.access(world.signed(world.claims(iss=URL)))
    assert (await guarded.access(world.signed(world.claims(iss=URL), key=KEY))).issuer == URL


async def test_the_leeway(judge, clock):
    """Its clock may differ; the token ends with it, so that nothing is taken and at once dropped."""
    claims = await judge(exp=clock() - 5, nbf=clock() - 60, iat=clock() + 5)
    assert claims.expires == clock() + 5
    with pytest.raises(Unauthorized, match="expired"):
        await judge(exp=clock() - 10)
    with pytest.raises(Unauthorized, match="not yet valid"):
        await judge(nbf=clock() + 11)


@pytest.mark.parametrize("aud", ["triplewire", ["triplewire"], ["account", "triplewire"]])
async def test_audiences(judge, aud):
    """One of several, or the only one."""
    assert (await judge(aud=aud)).client == "user"


@pytest.mark.parametrize(
    "aud", [None, "", "account", ["account"], [], 5, {"triplewire": 1}, "triplewire account"]
)
async def test_wrong_audiences(judge, aud):
    """A token for something else is none for this broker."""
    with pytest.raises(Unauthorized, match="audience"):
        await judge(aud=aud)


async def test_an_audience_of_its_own(judge):
    """security.provider_audience takes the place of security.audience."""
    assert await judge({"provider_audience": "api://broker"}, aud="api://broker")
    with pytest.raises(Unauthorized, match="audience"):
        await judge({"provider_audience": "api://broker"}, aud="triplewire")


@pytest.mark.parametrize(
    ("settings", "claims", "client"),
    [
        ({}, {"client_id": "c", "azp": "z"}, "c"),
        ({}, {"azp": "z"}, "z"),
        ({}, {}, "user"),
        ({"provider_client_claim": "preferred_username"}, {"preferred_username": "p", "azp": "z"}, "p"),
        ({"provider_client_claim": "https://x.example/client"}, {"https://x.example/client": "u"}, "u"),
        ({"provider_client_claim": "a.b"}, {"a": {"b": "n"}}, "n"),
    ],
)
async def test_who_the_client_is(judge, settings, claims, client):
    """The claim of the settings, or client_id, azp, sub."""
    assert (await judge(settings, **claims)).client == client


@pytest.mark.parametrize(
    ("settings", "claims"),
    [
        ({}, {"sub": None}),
        ({}, {"client_id": ""}),
        ({}, {"azp": 5}),
        ({"provider_client_claim": "preferred_username"}, {"azp": "z"}),
        ({"provider_client_claim": "preferred_username"}, {"preferred_username": ["p"]}),
        ({"provider_client_claim": "a.b"}, {"a": "b"}),
    ],
)
async def test_who_it_is_not(judge, settings, claims):
    """No guess is made where the claim is missing or something else."""
    with pytest.raises(Unauthorized, match=r"client|claim"):
        await judge(settings, **claims)


@pytest.mark.parametrize(
    ("settings", "claims", "groups"),
    [
        ({}, {}, ()),
        ({}, {"groups": ["a", "b c"]}, ("a", "b c")),
        ({}, {"groups": "a b"}, ("a", "b")),
        ({"provider_groups_claim": "roles"}, {"groups": ["a"], "roles": ["r"]}, ("r",)),
        ({"provider_groups_claim": "realm_access.roles"}, {"realm_access": {"roles": ["r"]}}, ("r",)),
        ({"provider_groups_claim": ""}, {"groups": ["a"]}, ()),
    ],
)
async def test_groups(judge, settings, claims, groups):
    """A list, or a text with spaces."""
    assert (await judge(settings, **claims)).groups == groups


@pytest.mark.parametrize(
    ("claims", "scopes"),
    [
        ({"scope": "openid query"}, {Scope.QUERY}),
        ({"scope": ["query", "update"]}, {Scope.QUERY, Scope.UPDATE}),
        ({"scp": ["subscribe"]}, {Scope.SUBSCRIBE}),
        ({"scp": "publish"}, {Scope.PUBLISH}),
        ({"scope": "openid"}, None),
        ({"scope": ""}, None),
        ({}, None),
    ],
)
async def test_scopes(judge, claims, scopes):
    """As providers write them."""
    assert (await judge(**claims)).scopes == scopes


@pytest.mark.parametrize(
    "claims",
    [
        {"groups": 5},
        {"groups": [5]},
        {"groups": {"a": 1}},
        {"scope": 5},
        {"scp": [None]},
        {"jti": 5},
        {"iat": "0"},
        {"nbf": "0"},
        {"exp": "9"},
        {"exp": None},
        {"iss": "https://provider.example/realm/"},
        {"iss": "https://provider.example"},
    ],
)
async def test_claims_of_wrong_types_or_values(judge, claims):
    """Refused, whoever signed it."""
    with pytest.raises(Unauthorized):
        await judge(**claims)


@pytest.mark.parametrize("typ", ["JWT", "jwt", "at+jwt", "application/at+jwt", ""])
async def test_types(judge, typ):
    """Most providers write JWT, or nothing."""
    assert await judge(header={"typ": typ})


@pytest.mark.parametrize("typ", ["logout+jwt", "id_token", "dpop+jwt", 5])
async def test_other_types(judge, typ):
    """They are not for access."""
    with pytest.raises(Unauthorized, match="access token"):
        await judge(header={"typ": typ})


async def test_algorithms(clock):
    """Only those of the settings, none of them by a shared secret."""
    keys = Known()
    judge = Provider(SecurityConfig(provider=URL, provider_algorithms=("RS256",)), clock, keys)
    payload = {"iss": URL, "aud": "triplewire", "exp": clock() + 60, "sub": "user"}
    signed = PyJWS().encode(
        json.dumps(payload).encode(), KEY.private, headers={"alg": "ES256", "kid": KEY.kid}
    )
    for token in (signed, by_secret({"alg": "HS256", "kid": KEY.kid}, payload, KEY.pem())):
        with pytest.raises(Unauthorized, match="algorithm"):
            await judge.check(token)
    assert keys.asked == 0


async def test_nothing_is_fetched_for_what_is_wrong_anyway(clock):
    """An expired token is no reason to ask the provider."""
    keys = Known()
    judge = Provider(SecurityConfig(provider=URL), clock, keys)
    payload = {"iss": URL, "aud": "triplewire", "exp": clock() - 60, "sub": "user"}
    token = PyJWS().encode(json.dumps(payload).encode(), KEY.private, headers={"alg": "ES256", "kid": "new"})
    with pytest.raises(Unauthorized, match="expired"):
        await judge.check(token)
    assert keys.asked == 0


async def test_nothing_of_a_token_is_logged(provider, caplog):
    """Not even while its key is fetched."""
    token = provider.token()
    with caplog.at_level(logging.DEBUG):
        await Provider(SecurityConfig(provider=provider.issuer)).check(token)
    assert caplog.text
    assert all(part not in caplog.text for part in token.split("."))
