"""Clients' secrets: made at random, kept as salted hashes of Argon2id (RFC 9106), tried at a price.

A random secret of 256 bits needs no expensive hash; one that is chosen by somebody does, and whoever steals the file can't
tell which it is.  What a trial costs is a setting, and the same whether the client is known or not: the time of an
answer tells nobody which identities are registered.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from hashlib import sha256
from threading import Lock

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from triplewire.broker.errors import ConfigError

_SECRET_BYTES = 32
_REMEMBERED = 10_000
# RFC 9106, 3.1: of memory at least 8 KiB a lane, of rounds one.
_LEAST_KIB, _MOST_KIB = 8, 4 * 1024 * 1024
_MOST_ROUNDS = 1000


class Secrets:
    """Makes, hashes and tries secrets; any thread may, and `hash` and `matches` should not be on the event loop."""

    def __init__(self, kib: int, rounds: int, remembered: int = _REMEMBERED) -> None:
        """`kib` of memory and `rounds` over it are what one trial costs; `remembered` clients are spared it.

        Raises:
            ConfigError: Argon2 can't do with so little, or the machine with so much.
        """
        if not _LEAST_KIB <= kib <= _MOST_KIB:
            raise ConfigError(f"security.secret_kib must be {_LEAST_KIB} to {_MOST_KIB}, not {kib}")
        if not 1 <= rounds <= _MOST_ROUNDS:
            raise ConfigError(f"security.secret_rounds must be 1 to {_MOST_ROUNDS}, not {rounds}")
        self._argon2 = PasswordHasher(time_cost=rounds, memory_cost=kib, parallelism=1)
        self._nobodys = self._argon2.hash(self.new())
        self._key = secrets.token_bytes(32)
        self._remembered: OrderedDict[str, bytes] = OrderedDict()
        self._most = remembered
        self._lock = Lock()

    @staticmethod
    def new() -> str:
        """A secret of 256 random bits; without `:`, `%` and `+`, which HTTP's Basic scheme and forms could garble."""
        return secrets.token_urlsafe(_SECRET_BYTES)

    def hash(self, secret: str) -> str:
        """What is kept of a secret: Argon2's own text, with its salt and its costs."""
        return self._argon2.hash(secret)

    def matches(self, hashed: str | None, secret: str) -> bool:
        """Whether the secret is the one that was hashed; None, for a client that there is not, costs the same."""
        try:
            right = self._argon2.verify(hashed or self._nobodys, secret.encode("utf-8", "surrogatepass"))
        except (Argon2Error, InvalidHashError):
            return False
        return right and hashed is not None

    def recall(self, client_id: str, hashed: str, secret: str) -> bool:
        """Whether this secret matched this hash a while ago; costs a microsecond instead of a trial."""
        known = self._remembered.get(client_id)
        return known is not None and hmac.compare_digest(known, self._digest(hashed, secret))

    def remember(self, client_id: str, hashed: str, secret: str) -> None:
        """Note that the secret matches; the oldest note goes when there are too many."""
        with self._lock:
            self._remembered[client_id] = self._digest(hashed, secret)
            self._remembered.move_to_end(client_id)
            while len(self._remembered) > self._most:
                self._remembered.popitem(last=False)

    def forget(self, client_id: str) -> None:
        """Note nothing of a client any more."""
        with self._lock:
            self._remembered.pop(client_id, None)

    def _digest(self, hashed: str, secret: str) -> bytes:
        # With the hash in it, as a note must not outlive it: a trial may end after its client got another secret.
        return hmac.new(self._key, f"{hashed}\0{secret}".encode("utf-8", "surrogatepass"), sha256).digest()
