"""Which identities may become clients: those that are listed, of a pattern, all, or none.

A client's client_id is its identity, as SEPA has it: permissions can name a client before it is there.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from triplewire.broker.errors import ConfigError, RequestError, Unauthorized
from triplewire.broker.rights import Scope

if TYPE_CHECKING:
    from triplewire.broker.config import SecurityConfig
    from triplewire.broker.rights import Rights

# SEPA's test client: its secret is its name, and everybody knows it.
TEST_IDENTITY = "SEPATest"
_TEST_LIFE_S = 5.0
IDENTITY_CHARS = 256


class Permitted(Protocol):
    """What is permitted to clients; `triplewire.broker.security.permissions` reads it from a file."""

    def of(self, client_id: str, groups: tuple[str, ...] = ()) -> tuple[frozenset[Scope], Rights]:
        """The scopes and rights of a client."""
        ...

    def lists(self, identity: str) -> bool:
        """Whether it names the client."""
        ...


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a client logs in with (RFC 6749, 2.3.1)."""

    client_id: str
    client_secret: str = field(repr=False)


class Registration:
    """The policy; pure but for the permissions, which may be read again while it is used."""

    def __init__(self, config: SecurityConfig, permissions: Permitted) -> None:
        """Reads registration, identity_pattern, reregistration, test_identity and token_s of the settings.

        Raises:
            ConfigError: identity_pattern is not a regular expression.
        """
        self._policy = config.registration
        self._tests = config.test_identity
        self._life_s = config.token_s
        self._permissions = permissions
        self.again = config.reregistration
        try:
            self._pattern = re.compile(config.identity_pattern)
        except re.error as error:
            raise ConfigError(
                f"security.identity_pattern {config.identity_pattern!r} is not a regular expression: {error}"
            ) from error

    def admit(self, identity: str, *, local: bool) -> None:
        """Raises what the identity is told when it may not register, whether or not it has done so before.

        Whoever is first to know an identity gets it, so that of an administrator is given on this machine only: `local`.

        Raises:
            RequestError: nobody can have that name; invalid_client_metadata (RFC 7591, 3.2.2).
            Unauthorized: this one may not; not_authorized_identity.
        """
        if not identity or len(identity) > IDENTITY_CHARS or not identity.isprintable():
            raise RequestError(
                f"client_identity must be 1 to {IDENTITY_CHARS} characters that can be printed",
                code="invalid_client_metadata",
            )
        allowed = self._allows(identity) and (local or Scope.ADMIN not in self.scopes(identity))
        if not self.is_test(identity) and not allowed:
            raise Unauthorized("the identity may not register", code="not_authorized_identity")

    def _allows(self, identity: str) -> bool:
        match self._policy:
            case "open":
                return True
            case "pattern":
                return self._pattern.fullmatch(identity) is not None
            case "listed":
                return self._permissions.lists(identity)
            case _:
                return False

    def is_test(self, client_id: str) -> bool:
        """Whether it is the client that everybody may be, which there is in a test setting only."""
        return self._tests and client_id == TEST_IDENTITY

    def knows_test(self, secret: str) -> bool:
        """Whether the test client logs in with its secret."""
        return hmac.compare_digest(secret.encode("utf-8", "surrogatepass"), TEST_IDENTITY.encode())

    def life_s(self, client_id: str) -> float:
        """How long a token of the client lives, in seconds."""
        return min(_TEST_LIFE_S, self._life_s) if self.is_test(client_id) else self._life_s

    def scopes(self, client_id: str) -> frozenset[Scope]:
        """What a token of the client may be good for; the test client never rules."""
        scopes, _ = self._permissions.of(client_id)
        return scopes - {Scope.ADMIN} if self.is_test(client_id) else scopes
