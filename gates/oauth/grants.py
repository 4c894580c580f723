"""Tokens for clients that have logged in, and what happens to who asks while the last one is good."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from triplewire.broker import meters
from triplewire.broker.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.config import SecurityConfig
    from triplewire.broker.rights import Scope
    from triplewire.broker.security.authority import Revocations
    from triplewire.broker.security.registration import Registration
    from triplewire.broker.security.tokens import Issued


class Issuer(Protocol):
    """What makes tokens: `triplewire.broker.security.tokens.Tokens`."""

    def issue(self, client_id: str, scopes: frozenset[Scope], life_s: float) -> Issued:
        """A new token."""
        ...


@dataclass(frozen=True, slots=True)
class Grant:
    """A token and for how many whole seconds it is good (RFC 6749, 5.1)."""

    issued: Issued
    expires_in: int


class Grants:
    """On one thread at a time.  Which token a client has last got is not known any more after a restart."""

    def __init__(
        self,
        config: SecurityConfig,
        registration: Registration,
        tokens: Issuer,
        revocations: Revocations,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Reads token_while_valid and tokens_known of the settings; `now` gives seconds since the epoch."""
        self._while_valid = config.token_while_valid
        self._most = config.tokens_known
        self._registration = registration
        self._tokens = tokens
        self._revocations = revocations
        self._now = now
        self._last: OrderedDict[str, Issued] = OrderedDict()

    def grant(self, client_id: str, asked: frozenset[Scope] | None = None) -> Grant:
        """A token with the scopes asked for that the client may have, None: all that it may have.

        Raises:
            RequestError: there are none, invalid_scope; it has a good token already, invalid_grant.
        """
        permitted = self._registration.scopes(client_id)
        scopes = permitted if asked is None else permitted & asked
        if not scopes:
            raise RequestError("the client may have none of these scopes", code="invalid_scope")
        last = None if self._while_valid == "new" else self._valid(client_id)
        if last is not None:
            if self._while_valid == "refuse":
                raise RequestError(
                    "the client has a token that is still good (security.token_while_valid)",
                    code="invalid_grant",
                )
            if last.scopes == scopes:
                return Grant(last, int(last.expires - self._now()))
        return self._new(client_id, scopes)

    def _new(self, client_id: str, scopes: frozenset[Scope]) -> Grant:
        life_s = self._registration.life_s(client_id)
        issued = self._tokens.issue(client_id, scopes, life_s)
        meters.ISSUED.inc()
        if self._while_valid != "new":
            self._last[client_id] = issued
            self._last.move_to_end(client_id)
            while len(self._last) > self._most:
                self._last.popitem(last=False)
        return Grant(issued, int(life_s))

    def _valid(self, client_id: str) -> Issued | None:
        """The client's last token while it is good for a second at least: less is nothing to be given."""
        last = self._last.get(client_id)
        if last is None:
            return None
        issued_at = last.expires - last.life_s
        revoked = self._revocations.is_revoked(client_id, last.jti, issued_at)
        if not revoked and last.expires - self._now() >= 1:
            return last
        del self._last[client_id]
        return None
