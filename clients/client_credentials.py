"""A client's identity as a source of tokens: registered once, logged in when needed, renewed before a token ends.

Where a token is wanted while the last is good, nothing is asked.  From nine tenths of its life on, or five seconds
before its end where that is later, a new one is fetched; where that fails, the old one serves to its end.  Who finds
that the broker does not take a token says so (`refused`), and is given another one.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from triplewire.broker.errors import BrokerRefused, ClientError, ConnectionLost

from . import oauth
from .authorization import Token
from .credentials import Credentials, CredentialsFile
from .exchange import HttpDriver
from .settings import ClientSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    import httpx

    from .flows import Flow
    from .oauth import Granted, Secret

logger = logging.getLogger("triplewire.clients")

# A server that gives tokens without a life must not be asked in a loop.
_SHORTEST_S = 1.0
_UNKNOWN = {"invalid_client", "unauthorized_client"}


class ClientCredentials:
    """Give it to a client as `authorization`; clients, threads and loops may share one.

    Without a secret the identity is registered at `register_url` (SE Protocol), and what comes of it is kept in
    `file`, by default in the user's configuration directory, with mode 600; without `remember` it is not kept.  With
    `client_id` and `client_secret` (of an identity provider) nothing is kept.  `issuer` is a provider whose token URL
    is discovered; `form` asks for tokens as RFC 6749 has it rather than in SEPA's way.
    """

    def __init__(  # noqa: PLR0913 - nearly all are keywords
        self,
        identity: str,
        register_url: str | None = None,
        token_url: str | None = None,
        *,
        issuer: str | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        form: bool = False,
        scope: str | None = None,
        file: str | PathLike[str] | None = None,
        remember: bool = True,
        settings: ClientSettings | None = None,
        transport: httpx.BaseTransport | None = None,
        now: Callable[[], float] = time.monotonic,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if token_url is None and issuer is None:
            raise ValueError("a token_url or an issuer says where tokens come from")
        self.identity = identity
        self._register_url = register_url
        self._token_url = token_url
        self._issuer = issuer
        self._form = form or issuer is not None or scope is not None
        self._scope = scope
        self._settings = settings or ClientSettings()
        self._transport = transport
        self._now, self._clock = now, clock
        self._secret: Secret | None = None
        self._file: CredentialsFile | None = CredentialsFile(file) if remember else None
        if client_secret is not None:
            self._secret = oauth.Secret(client_id or identity, client_secret)
            self._file = self._register_url = None
        self._held: Token | None = None
        self._lock = threading.Lock()
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    @property
    def at(self) -> str:
        """The URL that names the broker or provider: the key in the file of credentials."""
        return self._issuer or self._token_url or ""

    def known(self, refused: str | None = None) -> Token | None:
        """The token that is held, where it is good for a while and not the refused one; asks nobody."""
        held = self._held
        if held is None or held.text == refused or self._now() >= held.renew_at:
            return None
        return held

    def token(self, refused: str | None = None) -> Token:
        """A token; of several threads that need another one, one asks and the others wait.

        Raises:
            BrokerRefused: the identity is not authorised, or not any more.
            ConnectionLost: nobody answered, several times over.
            ClientError: the file of credentials can't be used.
        """
        with self._lock:
            known = self.known(refused)
            if known is not None:
                return known
            driver = HttpDriver(self._settings, transport=self._transport)
            try:
                return driver.run(self._renewal(refused))
            finally:
                driver.close()

    async def token_async(self, refused: str | None = None) -> Token:
        """`token` under asyncio."""
        # One thread for all tasks of a loop: the file can block, and threads may want a token at the same time.
        lock = self._by_loop.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        async with lock:
            known = self.known(refused)
            return known if known is not None else await asyncio.to_thread(self.token, refused)

    def register(self) -> str:
        """Register the identity now, and keep what comes of it; returns the client_id.  Raises as `token` does."""
        with self._lock:
            driver = HttpDriver(self._settings, transport=self._transport)
            try:
                return driver.run(self._registered()).client_id
            finally:
                driver.close()

    def revoke(self, revoke_url: str | None = None) -> bool:
        """Have the token revoked (RFC 7009) and forget it; False where there was none.  The secret is kept.

        Raises:
            BrokerRefused, ConnectionLost: the token could not be revoked; it is not forgotten then.
        """
        with self._lock:
            kept = self._known_credentials()
            token = self._held.text if self._held is not None else kept.token if kept is not None else None
            if token is None:
                return False
            driver = HttpDriver(self._settings, transport=self._transport)
            try:
                driver.run(self._revoked(token, revoke_url))
            finally:
                driver.close()
            self._held = None
            if self._file is not None and kept is not None:
                self._file.keep(self.at, replace(kept, token=None, expires_at=None))
            return True

    def forget(self) -> bool:
        """Forget all that is kept of the identity here, the secret too; False where nothing was."""
        with self._lock:
            self._held = self._secret = None
            return self._file is not None and self._file.forget(self.at, self.identity)

    def _renewal(self, refused: str | None) -> Flow[Token]:
        """The flow behind `token`: the file is read again first, since another process may have been here."""
        held = self._held
        try:
            token = yield from self._fetched(refused)
        except (BrokerRefused, ConnectionLost) as error:
            if held is None or held.text == refused or self._now() >= held.expires_at:
                raise
            logger.info("= no new token yet: %s", error)
            token = replace(held, renew_at=held.expires_at)
        self._held = token
        return token

    def __repr__(self) -> str:
        return f"<ClientCredentials {self.identity!r} of {self.at}>"

    def _fetched(self, refused: str | None) -> Flow[Token]:
        kept = self._known_credentials()
        if kept is not None and kept.token is not None and kept.token != refused:
            token = self._kept_token(kept)
            if token is not None and self._now() < token.renew_at:
                return token
        secret, new = self._secret, False
        if secret is None:
            secret, new = (yield from self._registered()), True
        began = self._now()
        try:
            granted = yield from self._granted(secret)
        except BrokerRefused as error:
            if new or self._register_url is None or error.code not in _UNKNOWN:
                raise
            # The broker has lost its memory, or forgotten us: where it lets us, we begin anew.
            secret = yield from self._registered(error)
            began = self._now()
            granted = yield from self._granted(secret)
        return self._taken(secret, granted, began)

    def _known_credentials(self) -> Credentials | None:
        kept = self._file.read(self.at, self.identity) if self._file is not None else None
        if kept is not None:
            self._secret = oauth.Secret(kept.client_id, kept.secret)
        return kept

    def _kept_token(self, kept: Credentials) -> Token | None:
        held = self._held
        if kept.token is None or (held is not None and kept.token == held.text):
            return None  # what we hold says more of its life
        if kept.expires_at is None:
            return Token(kept.token)
        return _token(kept.token, kept.expires_at - self._clock(), self._now())

    def _registered(self, because: BrokerRefused | None = None) -> Flow[Secret]:
        if self._register_url is None:
            raise ClientError(f"nothing is known of {self.identity!r} at {self.at}: register it first")
        before = self._secret
        try:
            secret = yield from oauth.register(self._register_url, self.identity, self._settings)
        except BrokerRefused as error:
            # Another process may have registered us just now.
            self._known_credentials()
            if self._secret is not None and self._secret != before:
                return self._secret
            raise (because or error) from error
        self._secret = secret
        if self._file is not None:
            self._file.keep(self.at, Credentials(self.identity, secret.client_id, secret.secret))
        return secret

    def _granted(self, secret: Secret) -> Flow[Granted]:
        if self._token_url is None:
            assert self._issuer is not None  # one of the two, says the constructor
            self._token_url = (yield from oauth.discover(self._issuer, self._settings)).token_url
        if self._form:
            return (yield from oauth.token_by_form(self._token_url, secret, self._settings, self._scope))
        return (yield from oauth.token(self._token_url, secret, self._settings))

    def _revoked(self, token: str, url: str | None) -> Flow[None]:
        if url is None and self._issuer is not None:
            url = (yield from oauth.discover(self._issuer, self._settings)).revoke_url
        if url is not None and self._secret is not None:
            yield from oauth.revoke(url, self._secret, token, self._settings)

    def _taken(self, secret: Secret, granted: Granted, began: float) -> Token:
        life_s = max(granted.expires_in_s, _SHORTEST_S)
        token = _token(granted.token, life_s, began)
        if self._held is not None and self._held.text == token.text:
            # The broker gives the same one while it is good: there is no other before its end.
            token = replace(token, renew_at=token.expires_at)
        if self._file is not None:
            expires_at = None if math.isinf(life_s) else round(self._clock() + life_s, 3)
            kept = Credentials(self.identity, secret.client_id, secret.secret, granted.token, expires_at)
            self._file.keep(self.at, kept)
        return token


def _token(text: str, life_s: float, began: float) -> Token:
    return Token(text, began + max(0.9 * life_s, life_s - 5), began + life_s)
