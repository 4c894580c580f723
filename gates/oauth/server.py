"""The authorization server: registers clients, knows them again, gives them tokens and takes them back."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from triplewire.broker.errors import RequestError, Unauthorized

from .workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.rights import Scope
    from triplewire.broker.security.attempts import Attempts
    from triplewire.broker.security.claims import Claims
    from triplewire.broker.security.clients import Client, Clients
    from triplewire.broker.security.keys import Keys
    from triplewire.broker.security.registration import Registration
    from triplewire.broker.security.secrets import Secrets

    from .grants import Grant, Grants

log = logging.getLogger("triplewire.gates.oauth")

# A trial takes 20 MiB and 30 ms: two at once leave the machine to others, and a hundred that wait are two seconds.
_TRIALS, _TRIALS_WAITING = 2, 100
_DESK_WAITING = 1000


class Checker(Protocol):
    """What knows this broker's own tokens: `triplewire.broker.security.tokens.Tokens`."""

    def check(self, token: str) -> Claims:
        """What it says; raises Unauthorized where it is not good."""
        ...


@dataclass(frozen=True, slots=True)
class Login:
    """A client that has shown its secret, and what its secret's hash was then."""

    client_id: str
    secret_hash: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the server works with; `issuer` is this broker's URL, of which all URLs that it tells are made.

    `changed` is called after something was revoked; `longest_s` is the longest that a token lives, `body_timeout_s`
    how long a request's body may take.
    """

    clients: Clients
    secrets: Secrets
    registration: Registration
    attempts: Attempts
    grants: Grants
    tokens: Checker
    keys: Keys
    changed: Callable[[], None]
    issuer: str
    longest_s: float = 3600.0
    body_timeout_s: float = 60.0


class AuthorizationServer:
    """On the event loop; what takes time is done on threads."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._trials = Workers("secrets", _TRIALS, _TRIALS_WAITING)
        # One thread: what it does is in order, so that no token is given to a client that was revoked before.
        self.desk = Workers("clients", 1, _DESK_WAITING)

    def close(self) -> None:
        """Let the threads end."""
        self._trials.close()
        self.desk.close()

    async def register(self, identity: str, address: str, *, local: bool = False) -> tuple[str, str]:
        """Make an identity a client: its client_id and its secret, which nobody will ever see again.

        `local`: whoever asks is on this machine.

        Raises:
            RequestError: nobody can have that name; invalid_client_metadata.
            Unauthorized: it may not, or has done so already; not_authorized_identity for both.
            Overloaded: too many fail, want to, or have done so.
            EngineError: it can't be stored.
        """
        parts, again = self.parts, self.parts.registration.again
        parts.attempts.check(address)
        try:
            parts.registration.admit(identity, local=local)
            if parts.registration.is_test(identity):
                return identity, identity
            async with self.desk.turn() as desk:
                parts.attempts.check(address)  # here, as those before it in the queue may have failed
                await desk.run(parts.clients.check, identity, again=again)
            secret = parts.secrets.new()
            hashed = await self._trials.run(parts.secrets.hash, secret)
            await self.desk.run(parts.clients.add, identity, hashed, again=again)
        except Unauthorized:
            parts.attempts.failed(address)
            raise
        log.info("= client %r is registered, from %s", identity, address)
        return identity, secret

    async def login(self, readings: list[tuple[str, str]], address: str) -> Login | None:
        """Who shows a client_id and a secret, which can be read in several ways; None where they are wrong.

        Who was right a moment ago is let in even where its address has failed too often: a stranger must not lock out
        those behind the same proxy.

        Raises:
            TooManyRequests: the address has failed too often, or too many log in at once.
        """
        parts = self.parts
        client, client_id, secret = await self._choose(readings)
        if parts.registration.is_test(client_id):
            parts.attempts.check(address)
            if parts.registration.knows_test(secret):
                return Login(client_id, "")
            self._wrong(client, address)
            return None
        if client is not None and parts.secrets.recall(client_id, client.secret_hash, secret):
            return Login(client_id, client.secret_hash)
        async with self._trials.turn() as trial:
            parts.attempts.check(address)  # here, as those before it in the queue may have failed
            hashed = None if client is None else client.secret_hash
            right = await trial.run(parts.secrets.matches, hashed, secret)
            if hashed is None or not right:
                self._wrong(client, address)
                return None
        parts.secrets.remember(client_id, hashed, secret)
        return Login(client_id, hashed)

    async def _choose(self, readings: list[tuple[str, str]]) -> tuple[Client | None, str, str]:
        """The first reading that names a client, or else the first: one trial of a secret, whoever it is."""
        for client_id, secret in readings:
            client = await self.desk.run(self.parts.clients.find, client_id)
            if client is not None or self.parts.registration.is_test(client_id):
                return client, client_id, secret
        return None, *readings[0]

    def _wrong(self, client: Client | None, address: str) -> None:
        """Count it, and say so."""
        self.parts.attempts.failed(address)
        # The name of an unknown client could be a secret at the wrong place.
        name = "an unknown client" if client is None else repr(client.client_id)
        log.info("! a wrong secret, from %s, for %s", address, name)

    async def grant(self, login: Login, asked: frozenset[Scope] | None = None) -> Grant:
        """A token.

        Raises:
            RequestError: the client may have none; invalid_scope or invalid_grant.
            Unauthorized: it was revoked, or got another secret, since it logged in; invalid_client.
        """
        return await self.desk.run(self._grant, login, asked)

    def _grant(self, login: Login, asked: frozenset[Scope] | None) -> Grant:
        if not self.parts.registration.is_test(login.client_id):
            client = self.parts.clients.find(login.client_id)
            if client is None or client.secret_hash != login.secret_hash:
                raise Unauthorized("the client or its secret is wrong", code="invalid_client")
        return self.parts.grants.grant(login.client_id, asked)

    async def revoke_token(self, login: Login, token: str) -> None:
        """One of the client's own tokens; one that is not good anyway is none of anybody's business (RFC 7009, 2.2).

        Raises:
            RequestError: it is another client's; invalid_grant.
        """
        try:
            claims = self.parts.tokens.check(token)
        except Unauthorized:
            return
        if claims.client != login.client_id:
            raise RequestError("the token is another client's", code="invalid_grant")
        await self.revoke_jti(login.client_id, claims.jti, claims.expires)

    async def revoke_jti(self, client_id: str, jti: str, expires: float) -> None:
        """A token by its identifier, which would have been good until `expires`."""
        await self.desk.run(self.parts.clients.revoke_token, client_id, jti, expires)
        log.info("= token %.100r of client %r is revoked", jti, client_id)
        self.parts.changed()

    async def revoke_client(self, client_id: str, *, readmit: bool) -> None:
        """Its secret and all of its tokens; with `readmit` the identity may register again.

        Raises:
            NotFound: there is no such client.
        """
        await self.desk.run(self.parts.clients.revoke, client_id, readmit=readmit)
        self.parts.secrets.forget(client_id)
        log.info("= client %r is revoked", client_id)
        self.parts.changed()
