"""An authorization server of real parts on a FastAPI application, called without a socket."""

from __future__ import annotations

import base64
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
from fastapi import FastAPI

from triplewire.broker.config import PathsConfig, SecurityConfig
from triplewire.broker.errors import Unauthorized
from triplewire.broker.security.attempts import Attempts
from triplewire.broker.security.clients import Clients
from triplewire.broker.security.guarded import Guarded
from triplewire.broker.security.keys import Keys
from triplewire.broker.security.permissions import Permissions
from triplewire.broker.security.registration import Registration
from triplewire.broker.security.secrets import Secrets
from triplewire.broker.security.tokens import Tokens
from triplewire.gates.oauth.grants import Grants
from triplewire.gates.oauth.routes import oauth_routes
from triplewire.gates.oauth.server import AuthorizationServer, Parts

if TYPE_CHECKING:
    from pathlib import Path

ISSUER = "https://broker.example:8443"
JSON = {"Content-Type": "application/json", "Accept": "application/json"}
PERMISSIONS = """
[groups.readers]
scopes = ["query", "subscribe"]
read = "*"

[clients.sensor]
scopes = ["query", "update", "subscribe"]
read = "*"
write = "*"

[clients.reader]
groups = ["readers"]

[clients.boss]
scopes = ["admin", "query"]

[clients.idle]
scopes = []

[default]
scopes = ["query"]
"""


def basic(client_id: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()


def registration_of(identity: Any, **members: Any) -> dict[str, Any]:
    register = {"client_identity": identity, "grant_types": ["client_credentials"]} | members
    return {"register": register}


@dataclass
class Office:
    """The server, and what a test asks of it; as the router does, it says who a bearer is."""

    folder: Path
    settings: dict[str, Any] = field(default_factory=dict)
    issuer: str = ISSUER
    address: str = "192.0.2.1"

    def __post_init__(self) -> None:
        self.security = SecurityConfig(
            **{"enabled": True, "algorithm": "ES256", "secret_kib": 64, "secret_rounds": 1} | self.settings
        )
        path = self.folder / "permissions.toml"
        if not path.exists():
            path.write_text(PERMISSIONS.replace('"*"', '["*"]'))
        self.paths = PathsConfig()
        self.permissions = Permissions.read(path)
        self.keys = Keys(self.folder / "security", self.security)
        self.tokens = Tokens(self.keys, self.issuer, "triplewire")
        self.clients = Clients(
            self.folder / "security", most=self.security.clients, longest_s=self.security.token_s
        )
        self.guarded = Guarded(self.tokens, self.permissions, self.clients)
        registration = Registration(self.security, self.permissions)
        self.parts = Parts(
            clients=self.clients,
            secrets=Secrets(self.security.secret_kib, self.security.secret_rounds),
            registration=registration,
            attempts=Attempts(self.security.attempts),
            grants=Grants(self.security, registration, self.tokens, self.clients),
            tokens=self.tokens,
            keys=self.keys,
            changed=self.guarded.changed,
            issuer=self.issuer,
            longest_s=self.security.token_s,
            body_timeout_s=0.5,
        )
        self.server = AuthorizationServer(self.parts)
        self.application = FastAPI()
        self.application.include_router(oauth_routes(self.server, self.paths))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        bearer = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
        if bearer.startswith("Bearer "):
            with suppress(Unauthorized):
                scope["triplewire.access"] = await self.guarded.access(bearer.removeprefix("Bearer "))
        await self.application(scope, receive, send)

    def http(self, address: str | None = None) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self, client=(address or self.address, 4711))
        return httpx.AsyncClient(transport=transport, base_url="http://anything.example")

    async def post(self, path: str, *, address: str | None = None, **what: Any) -> httpx.Response:
        async with self.http(address) as http:
            return await http.post(path, **what)

    async def get(self, path: str, **what: Any) -> httpx.Response:
        async with self.http() as http:
            return await http.get(path, **what)

    async def delete(self, path: str, **what: Any) -> httpx.Response:
        async with self.http() as http:
            return await http.delete(path, **what)

    async def register(self, identity: str) -> str:
        """A new client's secret."""
        # From this machine, as administrators must.
        response = await self.post(
            "/oauth/register", json=registration_of(identity), headers=JSON, address="127.0.0.1"
        )
        assert response.status_code == 201, response.text
        return str(response.json()["credentials"]["client_secret"])

    async def token(self, client_id: str, secret: str, **what: Any) -> httpx.Response:
        """SEPA's way."""
        headers = JSON | {"Authorization": basic(client_id, secret)}
        return await self.post("/oauth/token", headers=headers, content='""', **what)

    async def form_token(self, name: str, secret: str, **fields: str) -> httpx.Response:
        """RFC 6749's way."""
        data = {"grant_type": "client_credentials"} | fields
        return await self.post("/oauth/token", data=data, headers={"Authorization": basic(name, secret)})

    async def bearer(self, identity: str) -> dict[str, str]:
        """The header of a new client with a token."""
        response = await self.token(identity, await self.register(identity))
        return {"Authorization": f"Bearer {response.json()['access_token']}"}

    def close(self) -> None:
        self.server.close()
        self.clients.close()


@asynccontextmanager
async def opened(folder, **settings):
    office = Office(folder, settings)
    try:
        yield office
    finally:
        office.close()


def is_error(response: httpx.Response, status: int, code: str) -> bool:
    """Whether it is SEPA's flat error object, which is one of RFC 6749 as well, and nothing caches it."""
    document = response.json()
    assert set(document) == {"error", "status_code", "error_description"}, document
    assert document["status_code"] == response.status_code
    assert response.headers["content-type"].startswith("application/json")
    assert response.headers["cache-control"] == "no-store"
    assert len(document["error_description"]) > 10
    if status == 401:
        assert response.headers["www-authenticate"]
    assert (response.status_code, document["error"]) == (status, code), document
    return True
