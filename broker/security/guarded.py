"""The authority of a broker that is closed: who bears a token, by its own tokens and those of a provider.

A token is verified once.  What it says is kept, and what it lets its bearer do is worked out of that, the permissions
and the revocations; again whenever one of these has changed, which a generation's number tells.  So `known`, which is
asked at every request, is a hash, a look-up and two comparisons.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triplewire.broker.errors import ConfigError, Unauthorized
from triplewire.broker.rights import Access

from .audience import Audience
from .jws import MOST_CHARS, Jws, refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from .authority import Revocations
    from .claims import Claims
    from .permissions import Permissions
    from .provider import Provider
    from .tokens import Tokens

_REALM = 'Bearer realm="triplewire"'


@dataclass(frozen=True, slots=True)
class Borne(Access):
    """Access with what it was worked out of, so that it can be worked out again; made here only."""

    claims: Claims | None = None


@dataclass(slots=True)
class _Known:
    access: Access
    claims: Claims
    ends: float  # when it has to be verified again, seconds since the epoch
    generation: int


class Guarded:
    """See `Authority`; `most` tokens are remembered, those of a provider for as long as its keys are.

    Without `tokens` of its own, only the provider's are good.
    """

    def __init__(  # noqa: PLR0913 - what it joins
        self,
        tokens: Tokens | None,
        permissions: Permissions,
        revocations: Revocations,
        provider: Provider | None = None,
        *,
        most: int = 10_000,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Raises ConfigError where the provider has the name of this broker, or nobody's tokens would be good."""
        if provider is None and tokens is None:
            raise ConfigError("security.provider: nobody makes tokens that are good here")
        if provider is not None and tokens is not None and provider.issuer == tokens.issuer:
            raise ConfigError("security.issuer and security.provider must differ: whose token would it be?")
        self._tokens = tokens
        self._permissions = permissions
        self._revocations = revocations
        self._provider = provider
        self._most = most
        self._now = now
        self._generation = 0
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._audience = Audience("permissions and revocations")

    def known(self, token: str) -> Access | None:
        """See `Authority`."""
        if len(token) > MOST_CHARS:
            return None
        key = _key(token)
        known = self._known.get(key)
        if known is None:
            return None
        if known.ends <= self._now():
            del self._known[key]
            return None
        if known.generation != self._generation and not self._renew(key, known):
            return None
        self._known.move_to_end(key)
        return known.access

    async def access(self, token: str | None) -> Access:
        """See `Authority`.

        Raises:
            Unauthorized: the token is missing, wrong, expired or revoked.
            Overloaded: its provider's keys are not known, and it is away.
        """
        if not token:
            text = "no token: send Authorization: Bearer"
            raise Unauthorized(text, code="invalid_request", challenge=_REALM)
        if (known := self.known(token)) is not None:
            return known
        jws = Jws.parse(token)
        # The claim is not verified: it only chooses who verifies, and each insists on its own name.
        if self._provider is not None and jws.claims.get("iss") == self._provider.issuer:
            claims = await self._provider.judge(jws)
            ends = min(claims.expires, self._now() + self._provider.cache_s)
        elif self._tokens is not None:
            claims = self._tokens.judge(jws)
            ends = claims.expires
        else:
            raise refused("the token is another issuer's")
        return self._remember(token, claims, ends)

    def still(self, access: Access) -> Access | None:
        """See `Authority`; of access that was not made here, None."""
        if not isinstance(access, Borne) or access.claims is None:
            return None
        if access.expires <= self._now() or self._is_revoked(access.claims):
            return None
        return self._borne(access.claims)

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """See `Authority`."""
        return self._audience.listen(changed)

    def changed(self) -> None:
        """Something was revoked, or permissions are others: nobody goes by what was worked out before, all are told."""
        self._generation += 1
        self._audience.tell()

    def reread(self) -> bool:
        """Read the permissions again; whether they are now the file's.  See `Permissions.reread`."""
        if not self._permissions.reread():
            return False
        self.changed()
        return True

    def _renew(self, key: bytes, known: _Known) -> bool:
        if self._is_revoked(known.claims):
            del self._known[key]
            return False
        known.access, known.generation = self._borne(known.claims), self._generation
        return True

    def _remember(self, token: str, claims: Claims, ends: float) -> Access:
        if self._is_revoked(claims):
            raise refused("the token was revoked")
        access = self._borne(claims)
        if self._most:
            self._known[_key(token)] = _Known(access, claims, ends, self._generation)
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return access

    def _is_revoked(self, claims: Claims) -> bool:
        return self._revocations.is_revoked(claims.client, claims.jti, claims.issued_at)

    def _borne(self, claims: Claims) -> Borne:
        provider = self._tokens is None or claims.issuer != self._tokens.issuer
        allowed, rights = self._permissions.of(claims.client, claims.groups, provider=provider)
        scopes = allowed if claims.scopes is None else allowed & claims.scopes
        return Borne(claims.client, scopes, rights, claims.expires, claims.issuer, claims.jti, claims)


def _key(token: str) -> bytes:
    # A lone surrogate, which JSON lets through, is no token, and no reason to fail.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
