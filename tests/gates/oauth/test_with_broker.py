"""The authorization server of a real broker over TLS, used by a client library that knows only the standards."""

from __future__ import annotations

import json
import ssl
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from support.running import RunningBroker

from triplewire.clients import cli

from .office import JSON, basic, is_error, registration_of

with warnings.catch_warnings(record=True):  # that it will want another httpx
    from authlib.integrations.httpx_client import OAuth2Client

PERMISSIONS = """
[clients.sensor]
scopes = ["query", "update"]
read = ["*"]
write = ["*"]

[clients.boss]
scopes = ["admin", "query", "update"]
read = ["*"]
write = ["*"]
"""


class Closed:
    """A broker that needs tokens, its directories, and what a client knows of it; it can be started again."""

    def __init__(self, folder):
        self.folder = folder
        assert cli.run(["keys", "init", str(folder / "tls")]) == 0
        (folder / "permissions.toml").write_text(PERMISSIONS)
        self.trust = ssl.create_default_context(cafile=folder / "tls" / "ca.pem")
        self.logs = ""
        self.start()

    def start(self):
        settings = {
            "security.enabled": "true",
            "security.directory": self.folder / "security",
            "security.permissions": self.folder / "permissions.toml",
            "security.issuer": "https://localhost:8443",
            "security.attempts": 20,
            "tls.certificate": self.folder / "tls" / "server.pem",
            "tls.key": self.folder / "tls" / "server.key",
            "tls.https_port": 0,
            "tls.wss_port": 0,
            "log.level": "DEBUG",
        }
        arguments = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        self.broker = RunningBroker.start(*arguments)
        self.base = self.broker.https.replace("127.0.0.1", "localhost")

    def restart(self):
        self.logs += self.broker.log
        self.broker.kill()
        self.start()

    def http(self, **what):
        return httpx.Client(verify=self.trust, base_url=self.base, **what)

    def register(self, identity):
        with self.http() as http:
            response = http.post("/oauth/register", json=registration_of(identity), headers=JSON)
        assert response.status_code == 201, response.text
        return response.json()["credentials"]["client_secret"]

    def session(self, identity, secret, method="client_secret_basic"):
        return OAuth2Client(
            identity,
            secret,
            token_endpoint_auth_method=method,
            token_endpoint=f"{self.base}/oauth/token",
            revocation_endpoint_auth_method=method,
            grant_type="client_credentials",
            verify=self.trust,
            base_url=self.base,
        )


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    made = Closed(tmp_path_factory.mktemp("closed"))
    yield made
    assert made.broker.stop() == 0


@pytest.fixture(scope="module")
def secrets(closed):
    return {identity: closed.register(identity) for identity in ("sensor", "boss")}


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_client_of_the_standards(closed, secrets, method):
    """Discovery, a token, its use, its revocation, by Authlib."""
    with closed.session("sensor", secrets["sensor"], method) as session:
        found = httpx.get(f"{closed.base}/.well-known/oauth-authorization-server", verify=closed.trust).json()
        assert method in found["token_endpoint_auth_methods_supported"]
        token = session.fetch_token(f"{closed.base}/oauth/token", scope="query")
        assert (token["token_type"], token["scope"], token["expires_in"]) == ("bearer", "query", 3600)
        answer = session.get("/query", params={"query": "ASK {}"})
        assert (answer.status_code, answer.json()["boolean"]) == (200, True)
        refused = session.post("/update", data={"update": "INSERT DATA { <a:a> <a:a> 1 }"})
        assert refused.status_code == 403
        response = session.revoke_token(f"{closed.base}/oauth/revoke", token["access_token"])
        assert response.status_code == 200
        assert session.get("/query", params={"query": "ASK {}"}).status_code == 401


def test_one_who_guesses_is_stopped_and_others_are_served(closed, secrets):
    """Two hundred wrong secrets at once: few are tried, the rest are told to wait; queries go on meanwhile."""
    stranger = httpx.HTTPTransport(verify=closed.trust, local_address="127.0.0.2")
    with (
        closed.http(transport=stranger, timeout=30) as http,
        closed.session("sensor", secrets["sensor"]) as session,
    ):
        session.fetch_token(f"{closed.base}/oauth/token")

        def guess(number):
            headers = JSON | {"Authorization": basic("sensor", f"guess {number}")}
            return http.post("/oauth/token", headers=headers)

        with ThreadPoolExecutor(20) as pool:
            guesses = pool.map(guess, range(200))
            slowest = 0.0
            for _ in range(20):
                began = time.monotonic()
                assert session.get("/query", params={"query": "ASK {}"}).status_code == 200
                slowest = max(slowest, time.monotonic() - began)
            found = list(guesses)
        assert {response.status_code for response in found} == {400, 429}
        assert sum(response.status_code == 400 for response in found) <= 22
        assert all("retry-after" in response.headers for response in found if response.status_code == 429)
        assert slowest < 5
        assert session.fetch_token(f"{closed.base}/oauth/token")["expires_in"] == 3600


def test_the_description_tells_of_it(closed, secrets):
    """For whoever has a token: the OpenAPI document has its paths."""
    with closed.session("boss", secrets["boss"]) as session:
        session.fetch_token(f"{closed.base}/oauth/token")
        response = session.get("/openapi.json")
    assert response.status_code == 200
    assert {"/oauth/token", "/oauth/register", "/oauth/revoke"} <= json.loads(response.content)[
        "paths"
    ].keys()


def test_what_was_revoked_stays_so(closed, secrets):
    """Also where the broker is killed right after it has answered; what is good stays good."""
    boss, sensor = secrets["boss"], secrets["sensor"]
    headers = {}
    with closed.http() as http:
        for name, secret in (("boss", boss), ("sensor", sensor)):
            response = http.post("/oauth/token", headers=JSON | {"Authorization": basic(name, secret)})
            headers[name] = {"Authorization": f"Bearer {response.json()['token']['access_token']}"}
        assert http.get("/query", params={"query": "ASK {}"}, headers=headers["sensor"]).status_code == 200
        assert http.delete("/oauth/clients/sensor", headers=headers["boss"]).status_code == 204
        assert http.get("/query", params={"query": "ASK {}"}, headers=headers["sensor"]).status_code == 401
    closed.restart()
    with closed.http() as http:
        assert http.get("/query", params={"query": "ASK {}"}, headers=headers["sensor"]).status_code == 401
        response = http.post("/oauth/token", headers=JSON | {"Authorization": basic("sensor", sensor)})
        assert is_error(response, 400, "unauthorized_client")
        response = http.get("/oauth/clients", headers=headers["boss"])
        assert response.status_code == 200
        assert [client["client_id"] for client in response.json()["clients"]] == ["boss", "sensor"]
        assert http.get("/oauth/clients").status_code == 401
        response = http.post("/oauth/token", headers=JSON | {"Authorization": basic("boss", boss)})
        assert response.status_code == 201
    assert_hidden(closed, boss, sensor, *(header["Authorization"][7:] for header in headers.values()))


def assert_hidden(closed, *secrets):
    """No log of a broker at DEBUG has them, nor the file of clients."""
    log = closed.logs + closed.broker.log
    assert "client 'sensor' is registered" in log
    kept = b"".join(path.read_bytes() for path in (closed.folder / "security").glob("clients.db*"))
    assert b"$argon2id$v=19$m=19456,t=2,p=1$" in kept
    for secret in secrets:
        assert secret not in log
        assert secret.rpartition(".")[2] not in log
        assert secret.encode() not in kept
