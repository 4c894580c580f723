"""`triplewire relay --tracker URL --stream S`: what was said becomes settings."""

from __future__ import annotations

import pytest

from triplewire.broker import relaying
from triplewire.clients import cli

TRACKER = "http://127.0.0.1:8003"


@pytest.fixture
def started(monkeypatch):
    """The settings that relays were started with."""
    for name in ("TRIPLEWIRE_IDENTITY", "TRIPLEWIRE_TOKEN", "TRIPLEWIRE_URL", "TRIPLEWIRE_CA"):
        monkeypatch.delenv(name, raising=False)
    found = []
    monkeypatch.setattr(relaying, "run", found.append)
    return found


def test_every_option_is_a_setting(started, tmp_path):
    """Over those of a file, and under those of --set."""
    file = tmp_path / "relay.toml"
    file.write_text('[relay]\nregion = "Rome"\nlinger_s = 3\n[streams."a.b"]\noverlay = true\n')
    ca = tmp_path / "ca.pem"
    ca.touch()
    line = (
        f"relay --config {file} --tracker {TRACKER} --tracker http://127.0.0.1:9 --stream news --stream c.d --node r1"
        " --region Oslo --stream-port 0 --link-port 7 --streams-at https://here:1 --links-at wss://here:2/links"
        f" --identity relay-1 --url http://broker:8000 --ca {ca} --set relay.linger_s=4"
    )
    assert cli.run(line.split()) == 0
    (config,) = started
    relay = config.relay
    assert relay.trackers == (TRACKER, "http://127.0.0.1:9")
    assert {name for name, stream in config.streams.items() if stream.overlay} == {"news", "c.d", "a.b"}
    assert (relay.node, relay.region, relay.port, relay.linger_s) == ("r1", "Oslo", 7, 4)
    assert (relay.streams_at, relay.links_at) == ("https://here:1", "wss://here:2/links")
    assert (relay.identity, relay.login, relay.ca) == ("relay-1", "http://broker:8000", str(ca))
    assert (config.stream.host, config.stream.port) == ("127.0.0.1", 0)
    assert not config.security.enabled


def test_without_an_identity_nobody_is_asked_for_tokens(started):
    """The trackers are open."""
    assert cli.run(["relay", "--tracker", TRACKER, "--stream", "news"]) == 0
    assert (started[0].relay.identity, started[0].relay.login) == ("", "")


def test_beyond_this_machine_only_where_somebody_says_who_may(started, capsys):
    """As a broker."""
    arguments = ["relay", "--tracker", TRACKER, "--stream", "news", "--host", "192.0.2.1"]
    assert cli.run(arguments) == cli.USAGE
    assert "nobody has to say who they are" in capsys.readouterr().err
    arguments += ["--secure", "--set", "security.provider=https://broker:8443"]
    assert cli.run(arguments) == cli.USAGE
    assert "tls.host" in capsys.readouterr().err
    assert cli.run([*arguments, "--set", "tls.certificate=c.pem", "--set", "tls.key=k.pem"]) == 0
    (config,) = started
    assert (config.relay.host, config.tls.host, config.stream.host) == ("192.0.2.1", "192.0.2.1", "127.0.0.1")
    assert config.security.enabled


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "give FROM_URL and TO_URL, or --tracker and --stream"),
        (["http://127.0.0.1:9/a"], "give FROM_URL and TO_URL"),
        (["--state", "s", "--tracker", TRACKER, "--stream", "news"], "give FROM_URL and TO_URL"),
        (["http://127.0.0.1:9/a", "http://127.0.0.1:9/b", "--tracker", TRACKER], "exclude"),
        (["--tracker", TRACKER, "--stream", "news", "--token", "t"], "trackers know an --identity"),
        (["--tracker", TRACKER, "--stream", "news", "--insecure"], "trackers know an --identity"),
        (["--stream", "news"], "relay.trackers"),
        (["--tracker", "ftp://x", "--stream", "news"], "relay.trackers must be http"),
        (["--tracker", TRACKER, "--stream", "a/b"], "part of URLs"),
    ],
)
def test_what_can_t_be(started, capsys, arguments, why):
    """Says why."""
    assert cli.run(["relay", *arguments]) == cli.USAGE
    assert why in capsys.readouterr().err
    assert not started
