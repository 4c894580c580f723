"""Who may do what at a tracker: tokens, permissions and the registry together."""

from __future__ import annotations

import pytest
from support.authorities import World

from triplewire.broker.config import SecurityConfig
from triplewire.broker.errors import ConfigError, Forbidden, Unauthorized
from triplewire.broker.rights import OPEN, Access, Rights, Scope
from triplewire.broker.security.authority import Nobody
from triplewire.broker.security.permissions import Permissions
from triplewire.gates.relay.tracker_access import TrackerAccess, judging

PERMISSIONS = """
[clients.relay]
scopes = ["subscribe", "publish"]
follow = ["news", "traffic"]
publish = ["news"]

[clients.other-relay]
scopes = ["subscribe"]

[clients.sensor]
scopes = ["publish"]

[clients.admin]
scopes = ["admin"]
"""
EVERYTHING = frozenset(Scope)


class Registry:
    """One that says what the test has it say."""

    def __init__(self):
        self.streams = None  # all
        self.publishers = {}

    def takes(self, stream):
        return self.streams is None or stream in self.streams

    def may_publish(self, stream, client):
        return client in self.publishers.get(stream, {client})


@pytest.fixture
def registry():
    return Registry()


@pytest.fixture
def world(tmp_path):
    """A world with permissions of some clients."""
    path = tmp_path / "permissions.toml"
    path.write_text(PERMISSIONS)
    made = World(tmp_path / "security")
    made.permissions = Permissions.read(path)
    made.guarded._permissions = made.permissions
    made.write = path.write_text
    return made


@pytest.fixture
def access(world, registry):
    return TrackerAccess(world.guarded, registry)


async def who(world, access, client, life_s=60):
    token = world.tokens.issue(client, EVERYTHING, life_s).token
    return await access.of(f"Bearer {token}")


async def test_without_security_everybody_may_everything(registry):
    """And nobody has a name."""
    access = TrackerAccess(Nobody(), registry)
    asks = await access.of(None)

    assert asks is OPEN
    access.node("n", asks, asks)
    assert access.refusal("news", asks) == ""
    assert access.publisher("news", asks) == ""
    access.read("news", asks)
    assert access.visible(["a", "b"], asks) == ["a", "b"]
    access.administer(asks)
    assert access.is_admin(asks)


@pytest.mark.parametrize("header", [None, "Basic YTpi", "Bearer", "Bearer x.y.z"])
async def test_a_stranger_is_refused(access, header):
    """By 401 and a challenge."""
    with pytest.raises(Unauthorized) as caught:
        await access.of(header)
    assert caught.value.challenge.startswith("Bearer")


async def test_a_node_of_a_client(world, access):
    """It may be where its client may follow, and publishes where that may publish."""
    relay = await who(world, access, "relay")

    access.node("eu-1", relay, None)
    assert (access.refusal("news", relay), access.publisher("news", relay)) == ("", "relay")
    assert (access.refusal("traffic", relay), access.publisher("traffic", relay)) == ("", None)
    assert "may not follow" in access.refusal("secrets", relay)


async def test_who_may_only_publish_is_no_node(world, access):
    """A node forwards, and so sees, everything of a stream."""
    sensor = await who(world, access, "sensor")

    with pytest.raises(Forbidden, match="subscribe"):
        access.node("s", sensor, None)
    assert access.refusal("news", sensor)


async def test_a_node_is_its_clients_while_it_is_alive(world, access):
    """Another client can't speak for it; its own can, with a new token, too."""
    relay, again = [await who(world, access, "relay") for _ in "12"]
    other = await who(world, access, "other-relay")

    access.node("n", again, relay)
    with pytest.raises(Forbidden, match="another client's"):
        access.node("n", other, relay)
    access.node("n", other, None)


def test_two_issuers_clients_of_one_name_are_two():
    """Whose name it is belongs to the name."""
    one, two = (Access("relay", EVERYTHING, issuer=issuer) for issuer in ("https://a", "https://b"))
    with pytest.raises(Forbidden):
        TrackerAccess.node("n", one, two)


async def test_the_registry_says_who_publishes(world, access, registry):
    """Of those whom the permissions let."""
    relay = await who(world, access, "relay")
    registry.publishers = {"news": {"sensor"}, "traffic": {"relay"}}

    assert access.publisher("news", relay) is None
    assert access.publisher("traffic", relay) is None
    registry.publishers = {"news": {"relay"}}
    assert access.publisher("news", relay) == "relay"


async def test_a_stream_that_the_registry_refuses(world, access, registry):
    """Nobody is a node of it."""
    relay = await who(world, access, "relay")
    registry.streams = {"traffic"}

    assert "registry" in access.refusal("news", relay)
    assert access.refusal("traffic", relay) == ""


async def test_a_token_that_has_run_out(world, access):
    """What was said by it does not hold any more."""
    relay = await who(world, access, "relay", life_s=5)
    assert access.refusal("news", relay) == ""
    world.clock.now += 5

    assert "expired" in access.refusal("news", relay)
    assert access.publisher("news", relay) is None
    with pytest.raises(Unauthorized, match="expired"):
        await who(world, access, "relay", life_s=-1)


async def test_permissions_that_change(world, access):
    """Hold at once, for what was said before as well; whoever listens is told."""
    relay = await who(world, access, "relay")
    told = []
    end = access.listen(lambda: told.append(access.publisher("news", relay)))
    world.write(PERMISSIONS.replace('publish = ["news"]', "publish = []"))
    assert world.guarded.reread()

    assert told == [None]
    end()


async def test_who_sees_which_overlay(world, access):
    """Those that one may follow; administrators see all, and the figures."""
    relay, sensor, admin = [await who(world, access, client) for client in ("relay", "sensor", "admin")]
    streams = ["news", "secrets", "traffic"]

    assert access.visible(streams, relay) == ["news", "traffic"]
    assert access.visible(streams, admin) == streams
    access.read("secrets", admin)
    access.read("news", relay)
    with pytest.raises(Forbidden, match="secrets"):
        access.read("secrets", relay)
    with pytest.raises(Forbidden):
        access.visible(streams, sensor)
    access.administer(admin)
    with pytest.raises(Forbidden):
        access.administer(relay)


def test_the_settings_of_an_open_tracker():
    """Nobody is asked."""
    judged = judging(SecurityConfig())
    assert isinstance(judged.authority, Nobody)
    assert judged.reread()


def test_a_closed_tracker_needs_an_issuer():
    """And one that can be trusted."""
    with pytest.raises(ConfigError, match=r"security\.provider at a tracker"):
        judging(SecurityConfig(enabled=True))
    with pytest.raises(ConfigError, match=r"security\.provider must be an https: URL"):
        judging(SecurityConfig(enabled=True, issuer="http://broker.example"))


async def test_no_token_but_the_issuers_is_good(world, tmp_path):
    """Not one that says it is of another, nor one of the issuer's name without its keys."""
    settings = SecurityConfig(enabled=True, issuer="https://127.0.0.1:1", provider_timeout_s=1)
    authority = judging(settings).authority
    token = world.tokens.issue("relay", EVERYTHING, 60).token
    with pytest.raises(Unauthorized, match="another issuer's"):
        await authority.access(token)


def test_rights_hold_without_a_file():
    """Without permissions everybody whom the issuer knows may do all but administer."""
    judged = judging(SecurityConfig(enabled=True, provider="https://provider.example"))
    granted = judged.authority._permissions.of("anybody", provider=True)
    assert granted == (EVERYTHING - {Scope.ADMIN}, Rights())
