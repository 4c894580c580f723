"""Settings that exclude each other, and those that would let strangers in."""

from __future__ import annotations

import pytest

from triplewire.broker.config import load
from triplewire.broker.errors import ConfigError


@pytest.mark.parametrize(
    ("overrides", "wrong"),
    [
        (["http.host=0.0.0.0"], "http.host"),
        (["websocket.host=192.0.2.1"], "websocket.host"),
        (["tls.certificate=c.pem"], "tls.key"),
        (["tls.certificate=c.pem", "tls.key=k.pem", "tls.host=0.0.0.0"], "security.enabled"),
        (["security.enabled=true"], "security.directory"),
        (["security.enabled=true", "security.directory=d", "http.host=0.0.0.0"], "security.plain"),
        (
            ["security.enabled=true", "security.directory=d", "security.registration=pattern"],
            "identity_pattern",
        ),
        (["security.registration=anybody"], "listed, pattern, open, closed"),
        (
            [
                "security.enabled=true",
                "security.directory=d",
                "security.permissions=p.toml",
                "store.query_endpoint=http://localhost/q",
                "store.update_endpoint=http://localhost/u",
            ],
            "embedded",
        ),
    ],
)
def test_strangers_get_in_only_where_a_setting_says_so(overrides, wrong):
    """Other hosts than this one need security, or a word that something else sees to it."""
    with pytest.raises(ConfigError, match=wrong):
        load(environment={}, overrides=overrides)


@pytest.mark.parametrize(
    "overrides",
    [
        ["http.host=0.0.0.0", "security.open_to_network=true"],
        ["http.host=::1", "websocket.host=localhost"],
        [
            "security.enabled=true",
            "security.directory=d",
            "tls.certificate=c",
            "tls.key=k",
            "tls.host=0.0.0.0",
        ],
        ["security.enabled=true", "security.directory=d", "http.host=0.0.0.0", "security.plain=true"],
        ["security.enabled=true", "security.provider=https://id.example.org"],
    ],
)
def test_what_may_listen_to_the_network(overrides):
    """With tokens over TLS, behind a proxy, or on this machine alone."""
    assert load(environment={}, overrides=overrides)
