"""The key of a tracker, and what it signs: tickets, which let two nodes have a link for a stream, and chains' certificates.

Both are JSON Web Tokens signed by an Ed25519 key (RFC 8037), and neither can be taken for the other: they differ in `typ`
and in `aud`.

::

    ticket       {"typ":"tw-link+jwt"}   {"stream","nodes":[a,b],"epoch","iss","aud","iat","exp"}
    certificate  {"typ":"tw-chain+jwt"}  {"stream","key","publisher","node","links_at","iss","aud","iat","exp"}
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import os
import time
from typing import TYPE_CHECKING, Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from triplewire.broker.errors import ConfigError
from triplewire.clients.private_file import replace_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

log = logging.getLogger("triplewire.gates.relay")

ALGORITHM = "EdDSA"
ISSUER = "triplewire-tracker"
TICKET = ("tw-link+jwt", "triplewire-links")  # typ and aud
CERTIFICATE = ("tw-chain+jwt", "triplewire-chains")
_FILE = "tracker-key.pem"


class TrackerKey:
    """The key that a tracker signs with; `kid` is its thumbprint (RFC 7638)."""

    def __init__(self, private: Ed25519PrivateKey, now: Callable[[], float] = time.time) -> None:
        self._private = private
        self._now = now
        self._x = encoded(private.public_key().public_bytes_raw())
        self.kid = thumbprint(self._x)

    @classmethod
    def open(cls, directory: Path | None, now: Callable[[], float] = time.time) -> TrackerKey:
        """The key that is kept in a directory, made where there is none; without a directory one for this process only.

        Raises:
            ConfigError: the file is no such key, or can't be read or written.
        """
        if directory is None:
            return cls(Ed25519PrivateKey.generate(), now)
        path = directory / _FILE
        try:
            if path.exists():
                return cls(_load(path), now)
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            private = Ed25519PrivateKey.generate()
            pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            replace_file(path, pem.decode("ascii"), synced=True)
            folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise ConfigError(f"tracker.data: the key can't be kept: {error}") from error
        return cls(private, now)

    def ticket(self, stream: str, a: str, b: str, epoch: str, expires: float) -> str:
        """For a link between two nodes; `expires` in seconds since the epoch."""
        return self._signed(TICKET, expires, {"stream": stream, "nodes": sorted((a, b)), "epoch": epoch})

    def certificate(  # noqa: PLR0913, PLR0917 - what a certificate says
        self, stream: str, key: bytes, publisher: str, node: str, links_at: str, expires: float
    ) -> str:
        """Of the chain whose parcels are signed by the Ed25519 `key` (32 bytes); see `chain_name`."""
        claims = {
            "stream": stream,
            "key": encoded(key),
            "publisher": publisher,
            "node": node,
            "links_at": links_at,
        }
        return self._signed(CERTIFICATE, expires, claims)

    def jwks(self) -> dict[str, list[dict[str, str]]]:
        """The public key as a JWK Set (RFC 7517, 5; RFC 8037, 2)."""
        return {
            "keys": [
                {
                    "kty": "OKP",
                    "crv": "Ed25519",
                    "x": self._x,
                    "use": "sig",
                    "alg": ALGORITHM,
                    "kid": self.kid,
                }
            ]
        }

    def _signed(self, kind: tuple[str, str], expires: float, claims: dict[str, Any]) -> str:
        typ, audience = kind
        # With its parts of a second: which of two certificates is the newer one is told by its end
        times = {"iat": round(self._now(), 3), "exp": round(expires, 3)}
        return jwt.encode(
            {"iss": ISSUER, "aud": audience, **times, **claims},
            self._private,
            algorithm=ALGORITHM,
            headers={"kid": self.kid, "typ": typ},
        )


def encoded(data: bytes) -> str:
    """In base64url without padding (RFC 7515, 2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decoded(word: str) -> bytes:
    """From base64url without padding.  Raises ValueError."""
    return base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)


def thumbprint(x: str) -> str:
    """The kid of an Ed25519 key: `x` is its 32 bytes, base64url."""
    # RFC 7638, 3.2 with RFC 8037, 2: these members in this order
    canonical = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": x}, separators=(",", ":"))
    return encoded(hashlib.sha256(canonical.encode("ascii")).digest())


def _load(path: Path) -> Ed25519PrivateKey:
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
        log.warning("%s was open to others: now it is not", path)
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{path} is no private key in PEM form, or is encrypted") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(f"{path} is no Ed25519 key")
    return key
