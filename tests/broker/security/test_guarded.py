"""The authority of a closed broker: what it remembers, and when it thinks again."""

from __future__ import annotations

import dataclasses
import timeit

import pytest
from support.authorities import ISSUER, World

from triplewire.broker.errors import ConfigError, Unauthorized
from triplewire.broker.rights import ALL, OPEN, Scope
from triplewire.broker.security.guarded import Guarded
from triplewire.broker.security.permissions import Permissions

SOME = frozenset({Scope.QUERY, Scope.UPDATE})


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.fixture
def listed(tmp_path):
    """A world with a file of permissions, which `write` writes."""
    path = tmp_path / "permissions.toml"
    path.write_text("[clients.a]\nscopes = ['query', 'subscribe']\nread = ['urn:one']\n")
    world = World(tmp_path / "security")
    world.permissions = Permissions.read(path)
    world.guarded = Guarded(world.tokens, world.permissions, world.revoked, now=world.clock)
    world.write = path.write_text
    return world


def issue(world, client="a", scopes=SOME, life_s=60):
    return world.tokens.issue(client, scopes, life_s).token


async def test_what_a_token_lets_do(listed):
    """Its scopes and the permissions' together, its client's rights, its end."""
    issued = listed.tokens.issue("a", SOME, 60)
    access = await listed.guarded.access(issued.token)
    assert (access.client, access.scopes, access.rights.read) == ("a", {Scope.QUERY}, {"urn:one"})
    assert (access.expires, access.issuer, access.jti) == (issued.expires, ISSUER, issued.jti)


@pytest.mark.parametrize("token", [None, ""])
async def test_no_token(world, token):
    """RFC 6750, 3.1: no error code for whoever did not try."""
    with pytest.raises(Unauthorized, match="Authorization: Bearer") as caught:
        await world.guarded.access(token)
    assert (caught.value.code, caught.value.status) == ("invalid_request", 401)
    assert caught.value.challenge == 'Bearer realm="triplewire"'


async def test_a_token_is_verified_once(world, monkeypatch):
    """Then it is known."""
    token = issue(world)
    assert world.guarded.known(token) is None
    access = await world.guarded.access(token)
    monkeypatch.setattr(world.tokens, "judge", lambda _: pytest.fail("verified again"))
    assert world.guarded.known(token) is access
    assert await world.guarded.access(token) is access


async def test_a_token_is_known_until_it_ends(world):
    """To the moment."""
    token = issue(world, life_s=5)
    await world.guarded.access(token)
    world.clock.now += 4.999
    assert world.guarded.known(token) is not None
    world.clock.now += 0.001
    assert world.guarded.known(token) is None
    with pytest.raises(Unauthorized, match="expired"):
        await world.guarded.access(token)


async def test_only_so_many_are_remembered(world):
    """The one that was asked for longest ago goes."""
    world.guarded = Guarded(world.tokens, world.permissions, world.revoked, most=3, now=world.clock)
    tokens = [issue(world) for _ in range(4)]
    for token in tokens[:3]:
        await world.guarded.access(token)
    assert world.guarded.known(tokens[0])
    await world.guarded.access(tokens[3])
    assert [world.guarded.known(token) is not None for token in tokens] == [True, False, True, True]


async def test_none_may_be_remembered(world):
    """Each is verified each time."""
    world.guarded = Guarded(world.tokens, world.permissions, world.revoked, most=0, now=world.clock)
    token = issue(world)
    assert (await world.guarded.access(token)).client == "a"
    assert world.guarded.known(token) is None


@pytest.mark.parametrize("token", ["", "x", "\ud800", "A" * 100_000, "ä" * 50])
def test_any_text_may_be_asked_for(world, token):
    """It is not known."""
    assert world.guarded.known(token) is None


async def test_a_revoked_token_is_forgotten(world):
    """When the authority is told."""
    issued = world.tokens.issue("a", SOME, 60)
    access = await world.guarded.access(issued.token)
    world.revoked.tokens.add(issued.jti)
    world.guarded.changed()
    assert world.guarded.known(issued.token) is None
    assert world.guarded.still(access) is None
    with pytest.raises(Unauthorized, match="revoked"):
        await world.guarded.access(issued.token)


async def test_permissions_of_now(listed):
    """A token that is known has other scopes and rights from the rereading on, also more."""
    token = issue(listed)
    before = await listed.guarded.access(token)
    listed.write("[clients.a]\nscopes = ['update', 'query']\nwrite = ['*']\n")
    assert listed.guarded.known(token) is before
    assert listed.guarded.reread()
    after = listed.guarded.known(token)
    assert (after.scopes, after.rights.read, after.rights.write) == (SOME, set(), None)
    assert listed.guarded.still(before) == after


async def test_a_rereading_that_fails_tells_nobody(listed):
    """Nothing has changed."""
    heard = []
    listed.guarded.listen(lambda: heard.append(1))
    listed.write("[")
    assert not listed.guarded.reread()
    assert heard == []


async def test_still(world):
    """The same access while nothing has changed; none from its end on."""
    access = await world.guarded.access(issue(world, life_s=5))
    assert world.guarded.still(access) == access
    world.clock.now += 5
    assert world.guarded.still(access) is None


async def test_still_of_a_token_that_was_forgotten(world):
    """What it says is in the access itself: no table decides how long a subscription lives."""
    world.guarded = Guarded(world.tokens, world.permissions, world.revoked, most=1, now=world.clock)
    access = await world.guarded.access(issue(world))
    await world.guarded.access(issue(world, "b"))
    assert world.guarded.still(access) == access


def test_still_of_what_was_made_elsewhere(world):
    """Nobody vouches for it."""
    assert world.guarded.still(OPEN) is None


async def test_listeners(world):
    """Each is told until it ends it, and one that fails is no reason not to tell the others."""
    heard = []

    def fails():
        heard.append("fails")
        raise RuntimeError("oh")

    end_one = world.guarded.listen(lambda: heard.append("one"))
    end_fails = world.guarded.listen(fails)
    end_two = world.guarded.listen(lambda: heard.append("two"))
    world.guarded.changed()
    assert heard == ["one", "fails", "two"]
    end_one()
    end_one()
    end_fails()
    world.guarded.changed()
    assert heard[3:] == ["two"]
    end_two()


async def test_a_listener_may_end_itself(world):
    """While it is told."""
    heard = []
    ends = []
    ends.append(world.guarded.listen(lambda: (heard.append(1), ends[0]())))
    world.guarded.changed()
    world.guarded.changed()
    assert heard == [1]


def test_a_provider_must_have_another_name(world):
    """Else nobody could tell whose token it is."""
    provider = dataclasses.make_dataclass("P", ["issuer"])(ISSUER)
    with pytest.raises(ConfigError, match=r"security\.provider"):
        Guarded(world.tokens, world.permissions, world.revoked, provider)


async def test_no_token_is_kept(world):
    """The table has hashes, and its repr and that of what it gives show none."""
    token = issue(world)
    access = await world.guarded.access(token)
    shown = repr(world.guarded._known) + repr(access)
    assert all(part not in shown for part in token.split("."))
    assert access.rights == ALL


async def test_a_look_up_costs_little(world):
    """It is made at every request: 1.2 us where this was written; ten times that is a mistake."""
    token = issue(world)
    await world.guarded.access(token)
    raw = token.encode()
    best = min(timeit.repeat(lambda: world.guarded.known(raw.decode()), number=2000, repeat=5)) / 2000
    assert best < 12e-6


def test_somebodys_tokens_must_be_good(world):
    """A judge that believes nobody is a mistake of the settings."""
    with pytest.raises(ConfigError, match=r"security\.provider"):
        Guarded(None, world.permissions, world.revoked)
