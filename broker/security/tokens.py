"""This broker's own tokens: JSON Web Tokens for OAuth 2.0 (RFC 9068), signed by its keys."""

from __future__ import annotations

import math
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jwt

from .claims import Claims, check_times, moment, named_scopes, text
from .jws import ACCESS_TOKEN, Jws, refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.rights import Scope

    from .keys import Keys


@dataclass(frozen=True, slots=True)
class Issued:
    """A token that was just made; `expires` in seconds since the epoch, `life_s` from now to then."""

    token: str = field(repr=False)
    jti: str
    expires: float
    life_s: float
    scopes: frozenset[Scope]


class Tokens:
    """Makes tokens and checks them; `issuer` is this broker's URL, `audience` what its tokens are for."""

    def __init__(self, keys: Keys, issuer: str, audience: str, now: Callable[[], float] = time.time) -> None:
        self.issuer = issuer
        self._keys = keys
        self._audience = audience
        self._now = now

    def issue(self, client_id: str, scopes: frozenset[Scope], life_s: float) -> Issued:
        """A token for a client; of one that is to live longer than security.token_s the key may go before it."""
        # Parts of a second count (RFC 7519, 2 has them): whole ones would cut a token of 5 s by a fifth, and would
        # leave open whether a token of the second of a revocation was issued before it.
        now = math.floor(self._now() * 1000) / 1000
        expires = round(now + life_s, 3)
        jti = secrets.token_urlsafe(16)
        claims = {
            "iss": self.issuer,
            "sub": client_id,
            "aud": self._audience,
            "client_id": client_id,
            "iat": now,
            "nbf": now,
            "exp": expires,
            "jti": jti,
            "scope": " ".join(sorted(scope.value for scope in scopes)),
        }
        key = self._keys.current
        token = jwt.encode(
            claims, key.private, algorithm=key.algorithm, headers={"kid": key.kid, "typ": "at+jwt"}
        )
        return Issued(token, jti, expires, life_s, scopes)

    def check(self, token: str) -> Claims:
        """What the token says, once it is sure that this broker made it, for itself, and that it is still good.

        Raises:
            Unauthorized: invalid_request where it is no token, invalid_grant where it is not a good one.
        """
        return self.judge(Jws.parse(token))

    def judge(self, jws: Jws) -> Claims:
        """See `check`."""
        if jws.header.get("typ") not in ACCESS_TOKEN:  # RFC 9068, 4
            raise refused("the token is not an access token")
        key = self._keys.find(jws.kid or "")
        if key is None:
            raise refused("the token's key is not known, or not any more")
        jws.verify(key.public, key.algorithm)
        return self._read(jws.claims)

    def _read(self, claims: dict[str, Any]) -> Claims:
        if text(claims, "iss") != self.issuer:
            raise refused("the token is another issuer's")
        if text(claims, "aud") != self._audience:
            raise refused("the token is for another audience")
        expires = check_times(claims, self._now())
        client = text(claims, "client_id")
        if text(claims, "sub") != client:  # RFC 9068, 2.2: the same where no user is involved
            raise refused("the token's claims sub and client_id differ")
        if moment(claims, "nbf") < moment(claims, "iat") or moment(claims, "iat") > expires:
            raise refused("the token's times contradict each other")
        scope = claims.get("scope")
        if not isinstance(scope, str):
            raise refused("the token's claim scope must be a text")
        return Claims(
            self.issuer, client, named_scopes(scope), text(claims, "jti"), moment(claims, "iat"), expires
        )
