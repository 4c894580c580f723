"""`triplewire top`."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time

import httpx
import pytest
from support.cli_running import running
from support.running import RunningBroker
from support.secured import SecuredBroker

from triplewire.clients import cli


@pytest.fixture(scope="module")
def broker():
    running_broker = RunningBroker.start()
    yield running_broker
    running_broker.stop()


def test_once_for_a_script(broker):
    """What happened meanwhile, each second; then it ends."""
    script = [sys.executable, "-P", "-m", "triplewire.clients", "top", "--url", broker.http, "--once"]
    with subprocess.Popen([*script, "--interval", "1"], stdout=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < until:
            update = {"update": "INSERT DATA { <a:a> <a:b> 1 }"}
            httpx.post(f"{broker.http}/update", data=update).raise_for_status()
            time.sleep(0.05)
        said, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert f"at {broker.http}: well" in said
    found = re.search(r"^updates +([\d.]+) +\S+ (us|ms)", said, re.MULTILINE)
    assert found is not None
    assert 0.5 < float(found.group(1)) < 100
    assert "\x1b" not in said


def test_it_goes_on_until_ctrl_c(broker):
    """Into a pipe one block after the other."""
    with running("top", "--url", broker.http, "--interval", "0.2") as process:
        blocks = 0
        for line in process.stdout:
            blocks += line.startswith(b"triplewire ")
            if blocks == 3:
                break
    assert process.returncode == 130
    assert process.errors == ""


def test_a_terminal_gets_its_screen_back(broker):
    """It is drawn on one of its own, at the top, and left on Ctrl-C."""
    ours, theirs = pty.openpty()
    command = [
        sys.executable,
        "-P",
        "-m",
        "triplewire.clients",
        "top",
        "--url",
        broker.http,
        "--interval",
        "0.2",
    ]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        while said.count(b"\x1b[H") < 3:
            said += os.read(ours, 65536)
        process.send_signal(signal.SIGINT)
        try:
            while some := os.read(ours, 65536):
                said += some
        except OSError:
            pass  # how a terminal ends whose other side is closed
    os.close(ours)
    assert said.startswith(b"\x1b[?1049h")
    assert b"queue          0 of 1,000" in said
    assert said.endswith(b"\x1b[?1049l")


def test_without_a_broker(capsys, broker):
    """One line, and the exit code of what can't be reached."""
    assert cli.run(["top", "--once", "--url", "http://127.0.0.1:9"]) == 3
    assert "can't reach http://127.0.0.1:9/metrics" in capsys.readouterr().err
    assert cli.run(["top", "--once", "--url", broker.streams]) == 1
    assert capsys.readouterr().err.startswith("triplewire: ")


def test_a_broker_that_goes_and_comes_back_is_read_on():
    """What was lost is told in between."""
    broker = RunningBroker.start()
    with running("top", "--url", broker.http, "--interval", "0.2") as process:
        lines = iter(process.stdout.readline, b"")
        assert any(b"well" in line for line in lines)
        broker.stop()
        assert any(b"trying again" in line for line in lines)
        again = RunningBroker.start("--http-port", broker.http.rpartition(":")[2])
        try:
            assert any(b"well" in line for line in lines)
        finally:
            again.stop()
    assert process.errors == ""


@pytest.mark.parametrize(
    "arguments", [["--interval", "0"], ["--interval", "x"], ["--url", "localhost"], ["more"]]
)
def test_what_can_not_be(arguments):
    """Usage is told."""
    assert cli.run(["top", *arguments]) == 2


def test_where_security_is_enabled(tmp_path, capsys):
    """The figures are for administrators; others are told what is missing."""
    with SecuredBroker(tmp_path) as broker:
        ca = str(tmp_path / "ca.pem")
        arguments = ["top", "--once", "--interval", "0.1", "--url", broker.running.https, "--ca", ca]
        assert cli.run(arguments) == 1
        assert "scope admin" in capsys.readouterr().err
        assert cli.run([*arguments, "--token", broker.token("reader")]) == 1
        assert "403" in capsys.readouterr().err
        assert cli.run([*arguments, "--token", broker.token("admin")]) == 0
        assert ": well, up" in capsys.readouterr().out
