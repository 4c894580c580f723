"""The stream port, and where it is."""

from __future__ import annotations

import socket

import pytest

from triplewire.broker.config import Config
from triplewire.broker.security.authority import Nobody
from triplewire.broker.stream_port import StreamPort
from triplewire.gates.quotas import Quotas


@pytest.fixture
async def port():
    config = Config()
    return StreamPort(config, {}, Nobody(), Quotas(config.limits))


async def test_where_all_addresses_are_listened_at_the_caller_s_name_is_told(port):
    """0.0.0.0 is no place to go to."""
    for at, hostname, place in (
        ("0.0.0.0:7", "sensors.example", "http://sensors.example:7"),
        ("[::]:7", "::1", "http://[::1]:7"),
        ("0.0.0.0:7", None, "http://0.0.0.0:7"),
        ("127.0.0.1:7", "sensors.example", "http://127.0.0.1:7"),
    ):
        port._at = at
        assert port.origin(hostname, "http") == port.origin(hostname, "https") == place


async def test_who_comes_over_tls_is_told_the_port_over_tls(port):
    """Where there is one; who does not come so is not sent there, as it may not trust the certificate."""
    port._at, port._at_tls = "127.0.0.1:7", "0.0.0.0:8"
    assert port.origin("sensors.example", "https") == "https://sensors.example:8"
    assert port.origin("sensors.example", "http") == "http://127.0.0.1:7"


async def test_other_machines_are_told_this_one_s_name(port, monkeypatch):
    """Where all addresses are listened at; over TLS where that is, and as it is set otherwise."""
    monkeypatch.setattr(socket, "gethostname", lambda: "relay7")
    for at, at_tls, place in (
        ("0.0.0.0:7", "", "http://relay7:7"),
        ("[::]:7", "[::]:8", "https://relay7:8"),
        ("10.0.0.5:7", "", "http://10.0.0.5:7"),
    ):
        port._at, port._at_tls = at, at_tls
        assert port.reached == place
