"""The public keys of an identity provider: OpenID Connect Discovery 1.0, and the JWK Set that it leads to.

Fetched when the first token comes, and again when they are older than security.provider_cache_s, without anybody
waiting for it; and while a token waits, when it names a key that is not among them, which is how a provider's new key
is met.  Between two fetches are at least some seconds, whatever tokens name.  While the provider is away its keys are
used for an hour more.

What is fetched is bounded in size and time, comes by HTTPS (or from this machine), and no redirect is followed: keys
are worth as much as the place that they come from.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import ssl
import time
from typing import TYPE_CHECKING, Any

import httpx
from jwt import PyJWK, PyJWTError

from triplewire.broker.errors import ConfigError, Overloaded

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.config import SecurityConfig

_log = logging.getLogger("triplewire.broker.security")

_DOCUMENT_BYTES = 512 * 1024  # the largest known JWK Sets, with certificates, have a tenth of it
_MOST_KEYS = 100
_PAUSE_S = 5.0  # between two fetches
_AWAY_S = 3600.0  # for so long the keys of a provider that is away are used
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# OpenID Connect Discovery 1.0, 4; RFC 8414, 3 for providers that speak OAuth only.
_WELL_KNOWN = ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server")
_KINDS = {
    "RS256": "RSA",
    "RS384": "RSA",
    "RS512": "RSA",
    "PS256": "RSA",
    "PS384": "RSA",
    "PS512": "RSA",
    "ES256": "EC",
    "ES384": "EC",
    "ES512": "EC",
    "EdDSA": "OKP",
}
_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "EdDSA": "Ed25519"}


class _Unusable(Exception):
    """What the provider answered can't be used; says why."""


class ProviderKeys:
    """The keys of the provider at security.provider; on the event loop only, `now` in seconds by any clock."""

    def __init__(self, config: SecurityConfig, now: Callable[[], float] = time.monotonic) -> None:
        """Raises ConfigError where an address is none to trust, or an algorithm has no public keys, or provider_ca none."""
        for setting in ("provider", "provider_jwks"):
            if (url := getattr(config, setting)) and not _is_trusted(url):
                raise ConfigError(f"security.{setting} must be an https: URL, not {url!r}")
        for algorithm in config.provider_algorithms:
            if algorithm not in _KINDS:
                raise ConfigError(
                    f"security.provider_algorithms: {algorithm!r} is not among {', '.join(_KINDS)}"
                )
        self._config = config
        self._now = now
        self._tls = _trust(config.provider_ca)  # once: that takes longer than a fetch
        self._keys: list[dict[str, Any]] = []
        self._fetched = self._tried = -math.inf
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, kid: str | None, algorithm: str) -> PyJWK | None:
        """The key of that name for that algorithm, or where a token names none, the one there is for it.

        Raises:
            Overloaded: it is not known, and the provider is away.
        """
        found = self._among(kid, algorithm)
        age = self._now() - self._fetched
        if found is not None and age <= self._config.provider_cache_s + _AWAY_S:
            if age > self._config.provider_cache_s:
                self._fetch()
            return found
        if (fetching := self._fetch()) is not None:
            await asyncio.shield(fetching)  # others wait for it, too
        if self._fetched < self._tried:
            raise Overloaded("the identity provider that judges this token can't be reached")
        return self._among(kid, algorithm)

    def _among(self, kid: str | None, algorithm: str) -> PyJWK | None:
        found = [jwk for jwk in self._keys if kid in {None, jwk.get("kid")} and _is_for(jwk, algorithm)]
        if len(found) != 1:  # of two with one name, neither
            return None
        try:
            return PyJWK(found[0], algorithm)
        except (PyJWTError, ValueError):
            _log.warning("a key of the identity provider is not what it says it is")
            return None

    def _fetch(self) -> asyncio.Task[None] | None:
        """The fetch that is under way, or a new one; none where the last was a moment ago."""
        if self._fetching is not None:
            return self._fetching
        if self._now() - self._tried < _PAUSE_S:
            return None
        self._fetching = asyncio.get_running_loop().create_task(self._refresh())
        return self._fetching

    async def _refresh(self) -> None:
        """Never raises: what went wrong is logged, and the keys are as old as they were."""
        tried = self._now()
        try:
            async with asyncio.timeout(self._config.provider_timeout_s):
                keys = await self._ask()
        except (httpx.HTTPError, httpx.InvalidURL, OSError, _Unusable) as error:
            _log.warning(
                "the identity provider's keys could not be fetched: %s", str(error) or type(error).__name__
            )
            self._tried = self._now()
        else:
            self._keys = keys
            self._fetched = self._tried = tried
        finally:
            self._fetching = None

    async def _ask(self) -> list[dict[str, Any]]:
        # A client for each fetch: one every five minutes would find its connection closed.
        async with httpx.AsyncClient(verify=self._tls, timeout=self._config.provider_timeout_s) as http:
            url = self._config.provider_jwks or await self._discover(http)
            keys = (await _document(http, url)).get("keys")
        if not isinstance(keys, list) or not all(isinstance(key, dict) for key in keys):
            raise _Unusable(f"{url} is no JWK Set")
        if len(keys) > _MOST_KEYS:
            raise _Unusable(f"{url} has more than {_MOST_KEYS} keys")
        return keys

    async def _discover(self, http: httpx.AsyncClient) -> str:
        issuer = self._config.provider
        for path in _WELL_KNOWN:
            document = await _document(http, issuer.rstrip("/") + path, optional=path != _WELL_KNOWN[-1])
            if document:
                break
        if document.get("issuer") != issuer:  # OpenID Connect Discovery 1.0, 4.3: the very same
            raise _Unusable(f"what is at {issuer} says that it is another issuer")
        url = document.get("jwks_uri")
        if not isinstance(url, str) or not _is_trusted(url):
            raise _Unusable(f"{issuer} has no jwks_uri of https:")
        return url


async def _document(http: httpx.AsyncClient, url: str, *, optional: bool = False) -> dict[str, Any]:
    """A JSON object; an empty one for a 404 where it is `optional`.  Raises _Unusable, or what httpx raises."""
    # Not compressed: what is inflated could be a thousand times what was counted.
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    async with http.stream("GET", url, headers=headers, follow_redirects=False) as response:
        if optional and response.status_code == 404:
            return {}
        if response.status_code != 200:
            raise _Unusable(f"{url} answers {response.status_code}")
        if response.headers.get("content-encoding", "identity") != "identity":
            raise _Unusable(f"{url} is compressed")
        content = bytearray()
        async for chunk in response.aiter_raw():
            content += chunk
            if len(content) > _DOCUMENT_BYTES:
                raise _Unusable(f"{url} has more than {_DOCUMENT_BYTES} bytes")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise _Unusable(f"{url} is no JSON object")
    return document


def _trust(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file) if ca_file else httpx.create_ssl_context()
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"security.provider_ca: {ca_file}: {error}") from error


def _is_trusted(text: str) -> bool:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        return False
    return (url.scheme == "https" and bool(url.host)) or (url.scheme == "http" and url.host in _LOOPBACK)


def _is_for(jwk: dict[str, Any], algorithm: str) -> bool:
    """Whether a key may verify what is signed by the algorithm; no secret ever may (RFC 8725, 3.1)."""
    return (
        jwk.get("kty") == _KINDS.get(algorithm)
        and jwk.get("use", "sig") == "sig"
        and jwk.get("alg", algorithm) == algorithm
        and jwk.get("crv") == _CURVES.get(algorithm)
        and "d" not in jwk  # a private key that was published has no secret left
    )
