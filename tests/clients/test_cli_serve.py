import re
import signal
import subprocess
import sys

import pytest

from triplewire.broker import app
from triplewire.clients import cli


@pytest.fixture
def ran(monkeypatch):
    """The settings that a broker would have been run with."""
    found = []
    monkeypatch.setattr(app, "run", lambda config, **_: found.append(config))
    return found


def test_the_defaults_are_the_brokers(ran):
    """Nothing is said that was not given."""
    assert cli.run(["serve"]) == 0

    (config,) = ran
    assert (config.http.port, config.websocket.port, config.store.data) == (8000, 9000, "")
    assert (config.stream.port, config.stream.workers) == (8001, 0)


def test_options_are_settings(ran, tmp_path):
    """Each of one or two."""
    ports = ["--http-port", "1", "--ws-port", "2", "--stream-port", "3", "--stream-workers", "4"]
    cli.run(["serve", "--host", "::1", *ports, "--data", str(tmp_path)])

    (config,) = ran
    assert config.http.host == config.websocket.host == config.stream.host == "::1"
    assert (config.http.port, config.websocket.port, config.stream.port) == (1, 2, 3)
    assert config.stream.workers == 4
    assert config.store.data == str(tmp_path)


def test_a_secure_broker_is_open_to_the_network_by_tls_only(ran, tmp_path):
    """Its plain ports stay on this machine."""
    certificate = ["--set", "tls.certificate=c.pem", "--set", "tls.key=k.pem"]
    ports = ["--https-port", "1", "--wss-port", "2"]
    cli.run(["serve", "--secure", "--host", "0.0.0.0", "--data", str(tmp_path), *ports, *certificate])

    (config,) = ran
    assert config.security.enabled
    assert (config.tls.host, config.http.host, config.websocket.host) == ("0.0.0.0", "127.0.0.1", "127.0.0.1")
    assert config.stream.host == "127.0.0.1"
    assert (config.tls.https_port, config.tls.wss_port) == (1, 2)


def test_any_setting_can_be_set(ran):
    """And has the last word."""
    cli.run(["serve", "--http-port", "1", "--set", "http.port=3", "--set", "limits.query_s=7"])

    (config,) = ran
    assert (config.http.port, config.limits.query_s) == (3, 7)


def test_options_are_over_the_file(ran, tmp_path):
    """Which is over the defaults."""
    file = tmp_path / "broker.toml"
    file.write_text(f'[http]\nport = 5\n[websocket]\nport = 6\n[store]\ndata = "{tmp_path}"\n')

    cli.run(["serve", "--config", str(file), "--ws-port", "7", "--memory"])

    (config,) = ran
    assert (config.http.port, config.websocket.port, config.store.data) == (5, 7, "")


def test_sepas_files_are_settings_too(ran, tmp_path):
    """Those of its engine."""
    file = tmp_path / "engine.jpar"
    file.write_text('{"gates": {"ports": {"http": 8123}}}')

    cli.run(["serve", "--engine-jpar", str(file)])

    (config,) = ran
    assert config.http.port == 8123


@pytest.mark.parametrize(
    "arguments",
    [["--memory", "--data", "x"], ["--set", "http.prot=1"], ["--set", "nonsense"], ["--config", "/nowhere"]],
)
def test_wrong_settings_end_with_2(ran, capsys, arguments):
    """Before a broker is started."""
    assert cli.run(["serve", *arguments]) == 2
    assert ran == []


def test_a_broker_serves_until_it_is_told_to_stop():
    """`ready` is its last line; SIGTERM ends it with 0."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "triplewire.clients",
        "serve",
        "--memory",
        "--http-port",
        "0",
        "--ws-port",
        "0",
        "--stream-port",
        "0",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if line == "ready\n":
                break
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)

    assert process.returncode == 0
    assert re.search(r"http://127\.0\.0\.1:\d+", "\n".join(lines))
    assert re.search(r"ws://127\.0\.0\.1:\d+", "\n".join(lines))
    assert re.search(r"streams    http://127\.0\.0\.1:\d+/   \(events\)", "\n".join(lines))
