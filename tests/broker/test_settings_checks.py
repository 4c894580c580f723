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


TRACKED = "relay.trackers=http://127.0.0.1:8003"


@pytest.mark.parametrize(
    ("overrides", "wrong"),
    [
        (["relay.trackers=8003"], r"relay\.trackers must be http"),
        (["relay.links_at=http://x"], r"relay\.links_at must be ws"),
        (["relay.streams_at=ws://x"], r"relay\.streams_at must be http"),
        (["relay.node=a b"], r"relay\.node must be"),
        (["relay.ping_s=6"], r"relay\.ping_s must be .* less than relay\.silent_s"),
        (["relay.dial_s=0"], r"relay\.dial_s"),
        (["relay.identity=me"], r"relay\.login"),
        (["relay.chains=0"], r"relay\.chains must be at least 1"),
        (["streams.events.overlay=true"], r"streams\.events\.overlay needs .* relay\.trackers"),
        (
            [TRACKED, "streams.a.kind=join", "streams.a.of=events", "streams.a.overlay=true"],
            "means nothing to a stream of the kind join",
        ),
        ([TRACKED, "relay.host=192.0.2.1"], r"relay\.host .* nobody has to say who they are"),
        (
            [
                TRACKED,
                "relay.host=192.0.2.1",
                "security.enabled=true",
                "security.provider=https://id.example.org",
            ],
            r"relay\.host .* plain text",
        ),
        ([TRACKED, "relay.host=0.0.0.0", "security.open_to_network=true"], r"relay\.links_at must say"),
        ([TRACKED, "stream.host=0.0.0.0", "security.open_to_network=true"], r"relay\.streams_at must say"),
    ],
)
def test_a_node_of_an_overlay_that_can_t_be(overrides, wrong):
    """Where others can't reach it, or strangers could."""
    with pytest.raises(ConfigError, match=wrong):
        load(environment={}, overrides=overrides)


@pytest.mark.parametrize(
    "overrides",
    [
        ["relay.host=192.0.2.1"],  # no trackers, no port
        [TRACKED, "streams.events.overlay=true"],
        [
            TRACKED,
            "relay.host=0.0.0.0",
            "tls.host=::",
            "relay.links_at=wss://here.example:8002/links",
            "relay.streams_at=https://here.example:8444",
            "tls.certificate=c",
            "tls.key=k",
            "security.enabled=true",
            "security.provider=https://id.example.org",
        ],
    ],
)
def test_a_node_of_an_overlay_that_can(overrides):
    """On this machine, or with tokens over TLS."""
    load(environment={}, overrides=overrides)
