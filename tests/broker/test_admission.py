"""The parts of security, put together."""

from __future__ import annotations

import pytest

from triplewire.broker.admission import admission
from triplewire.broker.config import Config, SecurityConfig, StoreConfig
from triplewire.broker.errors import ConfigError, Unauthorized
from triplewire.broker.rights import OPEN
from triplewire.broker.security.authority import Nobody
from triplewire.broker.security.guarded import Guarded

CHEAP = {"enabled": True, "secret_kib": 1024}


async def test_without_security_nobody_is_asked():
    """And there is nothing to register at."""
    with admission(Config()) as found:
        assert isinstance(found.authority, Nobody)
        assert await found.authority.access(None) is OPEN
        assert (found.routes, found.open_paths, found.reread()) == ((), frozenset(), True)


async def test_with_it_a_token_is_asked_for(tmp_path):
    """What it takes to get one is open, and nothing else."""
    with admission(Config(security=SecurityConfig(**CHEAP, directory=str(tmp_path)))) as found:
        assert isinstance(found.authority, Guarded)
        with pytest.raises(Unauthorized):
            await found.authority.access(None)
        assert found.open_paths == {
            "/oauth/register",
            "/oauth/token",
            "/oauth/revoke",
            "/oauth/jwks",
            "/.well-known/oauth-authorization-server",
            "/.well-known/openid-configuration",
        }
    assert {path.name for path in tmp_path.iterdir()} >= {"clients.db", "keys"}


async def test_its_files_are_beside_the_data(tmp_path):
    """Where no directory is given."""
    config = Config(security=SecurityConfig(**CHEAP), store=StoreConfig(data=str(tmp_path)))
    with admission(config):
        assert (tmp_path / "clients.db").exists()


async def test_with_a_provider_alone_nobody_registers_here():
    """Nothing is kept."""
    config = Config(security=SecurityConfig(**CHEAP, provider="https://provider.example"))
    with admission(config) as found:
        assert isinstance(found.authority, Guarded)
        assert (found.routes, found.open_paths) == ((), frozenset())


async def test_wrong_permissions_are_told(tmp_path):
    """And nothing stays open of what was begun."""
    (tmp_path / "permissions.toml").write_text("[nonsense]\n")
    settings = SecurityConfig(
        **CHEAP, directory=str(tmp_path), permissions=str(tmp_path / "permissions.toml")
    )
    with pytest.raises(ConfigError, match="nonsense"), admission(Config(security=settings)):
        pytest.fail("it starts")
