"""A broker that is closed, for tests over real sockets: TLS, an authorization server, permissions; and its clients."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

import httpx

from .certificates import LocalAuthority
from .running import RunningBroker
from .subscriber import Subscriber

if TYPE_CHECKING:
    from pathlib import Path

# What the clients of most tests may do; `nobody` may register, and that is all.
PERMISSIONS = """
[clients.all]
scopes = ["query", "update", "subscribe", "publish"]
read = ["*"]
append = ["*"]
write = ["*"]

[clients.some]
scopes = ["query", "update", "subscribe"]
read = ["http://localhost/g"]
append = ["*"]
write = ["http://localhost/g", "http://localhost/hidden"]

[clients.reader]
scopes = ["query"]
read = ["*"]

[clients.admin]
scopes = ["query", "update", "subscribe", "publish", "admin"]
read = ["*"]
append = ["*"]
write = ["*"]

[clients.nobody]
scopes = []
"""


class SecuredBroker:
    """A broker with its files in `directory`; `settings` are `section.key=value`."""

    def __init__(self, directory: Path, *settings: str, permissions: str | None = PERMISSIONS) -> None:
        self.authority = LocalAuthority(directory)
        self.permissions = directory / "permissions.toml"
        given = [
            "security.enabled=true",
            f"security.directory={directory / 'security'}",
            "security.secret_kib=1024",
            "log.level=DEBUG",
            *settings,
        ]
        if permissions is not None:
            self.permissions.write_text(permissions, encoding="utf-8")
            given.append(f"security.permissions={self.permissions}")
        arguments = (part for setting in given for part in ("--set", setting))
        self.running = RunningBroker.start(*self.authority.settings(), *arguments)
        self.tokens: list[str] = []
        self._secrets: dict[str, str] = {}
        self.http = httpx.Client(base_url=self.running.https, verify=self.authority.context(), timeout=20)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
        if self.running.alive:
            log = self.running.log
            told = {token.rpartition(".")[2] for token in self.tokens} | set(self._secrets.values())
            leaked = [secret for secret in told if secret in log]
            status = self.running.stop()
            assert not leaked, "a token or secret is in the log"
            assert status == 0

    def secret(self, identity: str) -> str:
        """What the identity logs in with; it is registered when it is asked for first."""
        if identity not in self._secrets:
            asked = {"register": {"client_identity": identity, "grant_types": ["client_credentials"]}}
            answer = self.http.post("/oauth/register", json=asked)
            assert answer.status_code == 201, answer.text
            self._secrets[identity] = answer.json()["credentials"]["client_secret"]
        return self._secrets[identity]

    def token(self, identity: str = "all") -> str:
        """A new token."""
        form = {"grant_type": "client_credentials"}
        answer = self.http.post("/oauth/token", data=form, auth=(identity, self.secret(identity)))
        assert answer.status_code == 200, answer.text
        self.tokens.append(answer.json()["access_token"])
        return self.tokens[-1]

    def headers(self, identity: str = "all") -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token(identity)}"}

    def update(self, text: str, headers: dict[str, str] | None = None, **parameters: Any) -> httpx.Response:
        given = (headers or self.headers()) | {"Content-Type": "application/sparql-update"}
        return self.http.post("/update", content=text.encode(), headers=given, params=parameters)

    def subscriber(self) -> Subscriber:
        """A connection to the WSS port."""
        return Subscriber(self.running.wss, ssl=self.authority.context())

    def wait(self, condition: Any, within_s: float = 10.0) -> None:
        deadline = time.monotonic() + within_s
        while not condition():
            assert time.monotonic() < deadline, "it did not come to that"
            time.sleep(0.02)
