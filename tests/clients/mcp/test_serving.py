"""The port: who may speak to it, and by which names."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import httpx
import pytest

from tests.support.agents import PROGRAM, listening
from triplewire.clients.mcp.serving import Place, is_loopback

ASK = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def url():
    # Nobody has to be there: nothing is asked of the broker.
    given = ("--url", "http://localhost:1", "--allow-host", "agents.example", "--set", "request_bytes=10000")
    with listening(*given, "--allow-origin", "https://ui.example") as place:
        yield place


def status(url, version="2026-07-28", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.post(url, json=ASK, headers=HEADERS | {"MCP-Protocol-Version": version} | named).status_code


@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25"])
def test_a_page_that_names_this_machine_otherwise_is_refused(url, version):
    """DNS rebinding: the Host is the attacker's name.  Another page's Origin is refused as well."""
    assert url.startswith("http://127.0.0.1:")
    well = status(url, version)
    assert well not in {403, 421}
    assert status(url, version, Host="attacker.example") == 421
    assert status(url, version, Origin="http://attacker.example") == 403
    assert status(url, version, Host="agents.example") == well
    assert status(url, version, Origin="https://ui.example") == well
    assert status(url, version, Origin="http://localhost:3000") == well


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_over_stdio_a_signal_ends_it_while_it_waits_for_input(number):
    """With 0, and at once."""
    command = [sys.executable, *PROGRAM, "--url", "http://localhost:1"]
    asked = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "triplewire"
        process.send_signal(number)
        assert process.wait(10) == 0


def test_a_large_request_is_refused(url):
    """Before it is read whole."""
    answer = httpx.post(url, content=b" " * 10_001, headers=HEADERS)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.1", False),
        ("localhost.example", False),
    ],
)
def test_loopback_addresses_are_known(host, expected):
    """No other name or address is one, whatever it looks like."""
    assert is_loopback(host) is expected


def test_any_address_is_answered_by_given_names_only():
    """At 0.0.0.0 no name is ours by itself."""
    security = Place("0.0.0.0", 1, ("agents.example",)).security()
    assert security.allowed_hosts == ["agents.example"]
    assert security.enable_dns_rebinding_protection
    assert "[2001:db8::1]:*" in Place("2001:db8::1", 1).security().allowed_hosts
