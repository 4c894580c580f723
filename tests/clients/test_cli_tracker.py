"""`triplewire tracker`: its options are settings, and what can't be is one line and the exit code 2."""

from __future__ import annotations

import pytest

from triplewire.broker import tracker
from triplewire.clients import cli


@pytest.fixture
def run(monkeypatch):
    """Runs the command; what it would have been started with, and the exit code."""
    started = []
    monkeypatch.setattr(tracker, "run", started.append)

    def call(*arguments):
        code = cli.run(["tracker", *arguments])
        return started[-1] if started else None, code

    return call


def test_its_options_are_settings(run, tmp_path):
    """Over those of a file."""
    file = tmp_path / "conf.toml"
    file.write_text("[tracker]\nport = 1\ndegree = 6\n[log]\nlevel = 'DEBUG'\n")
    config, code = run(
        "--config", str(file), "--host", "::1", "--port", "0", "--data", "here", "--set", "tracker.nodes=7"
    )  # fmt: skip
    assert code == 0
    settings = config.tracker
    assert (settings.host, settings.port, settings.data, settings.degree, settings.nodes) == (
        "::1",
        0,
        "here",
        6,
        7,
    )
    assert config.log.level == "DEBUG"
    assert not config.security.enabled


def test_without_options_it_listens_to_this_machine(run):
    """As the broker does."""
    config, code = run()
    assert (code, config.tracker.host, config.tracker.port, config.tracker.data) == (0, "127.0.0.1", 8003, "")


def test_secure(run):
    """The same setting as the broker's."""
    config, code = run("--secure", "--set", "security.provider=http://broker:8000")
    assert code == 0
    assert config.security.enabled


def test_beyond_this_machine(run):
    """Where somebody keeps strangers out, or where the port speaks TLS and everybody has to say who they are."""
    assert run("--host", "0.0.0.0", "--set", "security.open_to_network=true")[1] == 0
    secured = [
        "--secure",
        "--set",
        "security.provider=http://p",
        "--set",
        "tls.certificate=c",
        "--set",
        "tls.key=k",
    ]
    assert run("--host", "0.0.0.0", *secured)[1] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "tracker.host = '0.0.0.0' opens the broker to the network"),
        (["--host", "0.0.0.0", "--secure", "--set", "security.provider=http://p"], "in plain text"),
        (["--secure"], "security.enabled needs"),
        (["--set", "tracker.degree=1"], "tracker.degree must be 2 to 32, not 1"),
        (["--set", "tracker.choice=best"], "tracker.choice must be one of detour, uniform"),
        (["--set", "tracker.heartbeat_s=9"], "tracker.heartbeat_s must be more than 0, and less than tracker.silent_s"),
        (["--set", "tracker.collect_s=1"], "tracker.collect_s must be at least tracker.heartbeat_s, or 0"),
        (["--set", "tracker.debounce_s=2"], "tracker.debounce_s must not be more"),
        (["--set", "tracker.ticket_s=10"], "tracker.ticket_s must be at least four times"),
        (["--set", "tracker.same_region_ms=0"], "tracker.same_region_ms must be more than 0"),
        (["--set", "tracker.identity=me"], "tracker.identity needs tracker.registry"),
        (["--set", "tracker.nodes=0"], "tracker.nodes must be at least 1"),
        (["--set", "tracker.nothing=1"], "tracker.nothing is not a setting"),
        (["--set", "tracker.port=many"], "tracker.port"),
    ],
)  # fmt: skip
def test_what_it_does_not_start_with(run, capsys, arguments, said):
    """Names the setting."""
    config, code = run(*arguments)
    assert (config, code) == (None, 2)
    told = capsys.readouterr().err
    assert said in told
    assert len(told.splitlines()) == 1
