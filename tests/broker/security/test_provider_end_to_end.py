"""Brokers that take the tokens of others: of another broker over TLS, and of a provider made of Authlib's parts."""

from __future__ import annotations

import socket

import httpx
import pytest
from support.certificates import LocalAuthority
from support.identity_provider import RunningProvider
from support.running import RunningBroker

ASK = {"query": "ASK {}"}


def settings(*pairs):
    return tuple(part for pair in pairs for part in ("--set", pair))


def status_of(broker, token, path="/query", **form):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.post(f"{broker.http}{path}", data=form or ASK, headers=headers).status_code


@pytest.fixture
def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_second_broker_is_a_provider(tmp_path, port):
    """Registered and logged in at one, let in by the other, which found the keys by itself; its own word counts too."""
    authority = LocalAuthority(tmp_path)
    issuer = f"https://localhost:{port}"
    one = RunningBroker.start(
        *authority.settings(),
        *settings(
            f"tls.https_port={port}",
            "security.enabled=true",
            f"security.directory={tmp_path / 'one'}",
            "security.registration=open",
        ),
    )
    other = RunningBroker.start(
        *settings(
            "security.enabled=true",
            f"security.directory={tmp_path / 'other'}",
            f"security.provider={issuer}",
            f"security.provider_ca={authority.ca}",
            "security.issuer=https://other.example",
        )
    )
    try:
        with httpx.Client(base_url=issuer, verify=authority.context()) as http:
            register = {"register": {"client_identity": "c", "grant_types": ["client_credentials"]}}
            credentials = http.post("/oauth/register", json=register).json()["credentials"]
            token = http.post(
                "/oauth/token",
                data={"grant_type": "client_credentials"},
                auth=(credentials["client_id"], credentials["client_secret"]),
            ).json()["access_token"]
        assert status_of(other, None) == 401
        assert status_of(other, token) == 200
        assert status_of(one, token) == 200
        assert status_of(other, token[:-4] + "AAAA") == 401
        assert all(part not in broker.log for broker in (one, other) for part in token.split("."))
    finally:
        one.stop()
        other.stop()


def test_a_provider_and_permissions_by_groups(tmp_path):
    """Its groups are the file's; its death leaves what is known."""
    provider = RunningProvider.start()
    permissions = tmp_path / "permissions.toml"
    permissions.write_text("[groups.readers]\nscopes = ['query']\nread = ['*']\n")
    broker = RunningBroker.start(
        *settings(
            "security.enabled=true",
            f"security.provider={provider.issuer}",
            f"security.permissions={permissions}",
        )
    )
    try:
        stranger = provider.token()
        provider.control(claims={"groups": ["readers"]})
        reader = provider.token()
        assert status_of(broker, stranger) == 403
        assert status_of(broker, reader) == 200
        assert status_of(broker, reader, "/update", update="INSERT DATA {<a:a> <a:b> 1}") == 403
        provider.stop()
        assert status_of(broker, reader) == 200
    finally:
        broker.stop()
        if provider.process.poll() is None:
            provider.stop()
