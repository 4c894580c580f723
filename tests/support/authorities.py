"""What judges tokens, put together for tests: a clock that stands, keys, tokens, permissions, revocations."""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jwt.api_jws import PyJWS

from triplewire.broker.config import SecurityConfig
from triplewire.broker.security.guarded import Guarded
from triplewire.broker.security.keys import Keys
from triplewire.broker.security.permissions import Permissions
from triplewire.broker.security.tokens import Tokens

if TYPE_CHECKING:
    from pathlib import Path

ISSUER, AUDIENCE = "https://broker.example:8443", "triplewire"


@dataclass
class Clock:
    """Seconds since the epoch, as the test says."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Revoked:
    """What was revoked, as `clients.db` would have it."""

    tokens: set[str] = field(default_factory=set)
    clients: dict[str, float] = field(default_factory=dict)

    def is_revoked(self, client_id: str, jti: str, issued_at: float) -> bool:
        return jti in self.tokens or issued_at <= self.clients.get(client_id, -1)


class World:
    """A broker's security without the broker."""

    def __init__(self, directory: Path, algorithm: str = "ES256", provider=None, **settings):
        self.clock = Clock()
        self.config = SecurityConfig(algorithm=algorithm, **settings)
        self.keys = Keys(directory, self.config, self.clock)
        self.tokens = Tokens(self.keys, ISSUER, AUDIENCE, self.clock)
        self.permissions = Permissions()
        self.revoked = Revoked()
        self.guarded = Guarded(self.tokens, self.permissions, self.revoked, provider, now=self.clock)

    def claims(self, **others):
        """Those of a good token; None leaves one out."""
        now = self.clock()
        claims = {
            "iss": ISSUER,
            "sub": "a-client",
            "aud": AUDIENCE,
            "client_id": "a-client",
            "iat": now,
            "nbf": now,
            "exp": now + 60,
            "jti": "a-jti",
            "scope": "query update",
        } | others
        return {name: value for name, value in claims.items() if value is not None}

    def signed(self, payload=None, key=None, **header):
        """A token by the current key's hand: `payload` bytes or claims, `header` members changed or added."""
        key = key or self.keys.current
        header = {"alg": key.algorithm, "kid": key.kid, "typ": "at+jwt"} | header
        payload = payload if isinstance(payload, bytes) else json.dumps(payload or self.claims()).encode()
        return PyJWS().encode(payload, key.private, headers=header)


def segment(content) -> str:
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def by_secret(header, claims, secret: bytes) -> str:
    """A token whose signature is an HMAC."""
    signed = f"{segment(header)}.{segment(claims)}"
    return f"{signed}.{segment(hmac.digest(secret, signed.encode(), hashlib.sha256))}"
