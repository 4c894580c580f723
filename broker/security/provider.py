"""Tokens of an identity provider of the operator's own, by OpenID Connect; who is a client here is the provider's word."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .claims import Claims, check_times, moment, named_scopes, text
from .jws import ACCESS_TOKEN, Jws, refused
from .provider_keys import ProviderKeys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from triplewire.broker.config import SecurityConfig
    from triplewire.broker.rights import Scope

# RFC 9068, 4 wants at+jwt; most providers still write JWT, or nothing.  A logout token, say, is neither.
_TYPES = ACCESS_TOKEN | {"jwt", ""}
_CLIENT = ("client_id", "azp", "sub")  # RFC 9068, 2.2; OpenID Connect Core, 2
_SCOPE = ("scope", "scp")  # RFC 8693, 4.2; and as some providers have it


class Provider:
    """The provider at security.provider: checks its tokens, and fetches its keys for that."""

    def __init__(
        self,
        config: SecurityConfig,
        now: Callable[[], float] = time.time,
        keys: ProviderKeys | None = None,
    ) -> None:
        """Raises ConfigError where the settings can't be."""
        self.issuer = config.provider
        self.cache_s = config.provider_cache_s
        self._config = config
        self._now = now
        self._keys = keys or ProviderKeys(config)
        self._audience = config.provider_audience or config.audience

    async def check(self, token: str) -> Claims:
        """What the token says, once it is sure that the provider made it, for this broker, and that it is still good.

        Raises:
            Unauthorized: invalid_request where it is no token, invalid_grant where it is not a good one.
            Overloaded: its key is not known, and the provider is away.
        """
        return await self.judge(Jws.parse(token))

    async def judge(self, jws: Jws) -> Claims:
        """See `check`."""
        if str(jws.header.get("typ", "")).lower() not in _TYPES:
            raise refused("the token is not an access token")
        if jws.algorithm not in self._config.provider_algorithms:
            raise refused("the token is signed by an algorithm that is not taken from the provider")
        self._read(jws.claims)  # before a key is fetched for it: most that is wrong costs nobody anything
        key = await self._keys.find(jws.kid, jws.algorithm)
        if key is None:
            raise refused("the token's key is not one of the provider's")
        jws.verify(key.key, jws.algorithm)
        return self._read(jws.claims)

    def _read(self, claims: dict[str, Any]) -> Claims:
        if text(claims, "iss") != self.issuer:
            raise refused("the token is another issuer's")
        audiences = claims.get("aud")
        if audiences != self._audience and not (isinstance(audiences, list) and self._audience in audiences):
            raise refused("the token is for another audience")
        expires = check_times(claims, self._now(), self._config.provider_leeway_s)
        return Claims(
            self.issuer,
            self._client(claims),
            _scopes(claims),
            text(claims, "jti") if "jti" in claims else "",
            moment(claims, "iat") if "iat" in claims else 0.0,
            expires,
            self._groups(claims),
        )

    def _client(self, claims: Mapping[str, Any]) -> str:
        if self._config.provider_client_claim:
            name = _found(claims, self._config.provider_client_claim)
            if not isinstance(name, str) or not name:
                raise refused("the token lacks the claim that names the client")
            return name
        for claim in _CLIENT:
            if claim in claims:
                return text(claims, claim)
        raise refused("the token names no client: it has neither client_id nor azp nor sub")

    def _groups(self, claims: Mapping[str, Any]) -> tuple[str, ...]:
        groups = _found(claims, self._config.provider_groups_claim)
        return () if groups is None else _names(groups, "the claim of groups")


def _found(claims: Mapping[str, Any], name: str) -> Any:
    """A claim, or where there is none of that name, the one that it leads to: realm_access.roles."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


def _names(value: Any, what: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.split())
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise refused(f"{what} in the token is no list of texts")


def _scopes(claims: Mapping[str, Any]) -> frozenset[Scope] | None:
    """Those of ours; None where it names none: to a provider that knows nothing of them, permissions decide alone."""
    names = [
        name for claim in _SCOPE if claim in claims for name in _names(claims[claim], "the claim of scopes")
    ]
    return named_scopes(" ".join(names)) or None
