"""Who may do what at a tracker: by the tokens of a broker or an identity provider, its permissions, and the registry.

| who                                          | may                                                              |
|----------------------------------------------|------------------------------------------------------------------|
| scope subscribe, and may follow S            | be a node of S, be sent to one, see S's overlay                  |
| the same, scope publish, may publish into S, |                                                                  |
| and the registry has the client              | be given a certificate for what it publishes into S              |
| scope admin                                  | see every overlay, the figures and the state                     |
| anybody                                      | the page, the public keys, whether the tracker is well           |

A tracker makes no tokens.  Whose they are it learns as a broker with `security.provider` does: the issuer's keys, the
audience, the times.  A token is not asked about at its issuer, so one that was revoked is good here until it ends; what
permissions and registry say holds at once.  A node's id is its client's while the node is alive.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from triplewire.broker.errors import ConfigError, Forbidden
from triplewire.broker.rights import Access, Scope
from triplewire.broker.security.authority import Nobody, access_of
from triplewire.broker.security.guarded import Guarded
from triplewire.broker.security.permissions import Permissions
from triplewire.broker.security.provider import Provider
from triplewire.gates.bearer import bearer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from triplewire.broker.config import SecurityConfig
    from triplewire.broker.security.authority import Authority

    from .registry import Registry


class TrackerAccess:
    """Asks the `authority` who bears a token, and says what that lets them do; on the event loop only."""

    def __init__(self, authority: Authority, registry: Registry) -> None:
        self._authority = authority
        self._registry = registry

    async def of(self, header: str | None) -> Access:
        """What the bearer of an Authorization header's token may do.

        Raises:
            Unauthorized: there is none where one is needed, or it is wrong or has expired.
            Overloaded: its issuer's keys are not known, and it is away.
        """
        return await access_of(self._authority, bearer_of(header))

    def still(self, who: Access) -> Access | None:
        """The same by what is known now; None where the token has expired."""
        return self._authority.still(who)

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have `changed` called when permissions are others; what is returned ends that."""
        return self._authority.listen(changed)

    @property
    def known(self) -> bool:
        """Whether the registry has been read, or there is none: see `Judge`."""
        return self._registry.known

    def registered(self, stream: str) -> bool:
        """Whether the registry has the stream."""
        return self._registry.of(stream) is not None

    @staticmethod
    def node(node: str, who: Access, holder: Access | None) -> None:
        """Whether a client may speak for a node, which `holder` has while it is alive.

        Raises:
            Forbidden: its token is not for the overlay, or the node is another client's.
        """
        who.need(Scope.SUBSCRIBE)
        if holder is not None and _name(holder) != _name(who):
            raise Forbidden(f"the node {node!r:.200} is another client's while it is alive")

    def refusal(self, stream: str, who: Access) -> str:
        """Why a client's node may not be in a stream; "" where it may."""
        if (now := self.still(who)) is None:
            return "its token has expired"
        if Scope.SUBSCRIBE not in now.scopes or not now.rights.may_follow(stream):
            return f"its client may not follow the stream {stream!r:.200}"
        if not self._registry.takes(stream):
            return f"the stream {stream!r:.200} is not in the registry"
        return ""

    def publisher(self, stream: str, who: Access) -> str | None:
        """The name under which a client's node publishes into a stream, "" where nobody has one; None where it may not."""
        now = self.still(who)
        if now is None or Scope.PUBLISH not in now.scopes or not now.rights.may_publish(stream):
            return None
        return now.client if self._registry.may_publish(stream, now.client) else None

    @staticmethod
    def read(stream: str, who: Access) -> None:
        """Whether a client may see a stream's overlay, and be sent to one of its nodes.

        Raises:
            Forbidden: it may not follow the stream, and is no administrator.
        """
        if _is_admin(who):
            return
        who.need(Scope.SUBSCRIBE)
        if not who.rights.may_follow(stream):
            raise Forbidden(f"the token's client may not follow the stream {stream!r:.200}")

    @staticmethod
    def visible(streams: Iterable[str], who: Access) -> list[str]:
        """Those of the streams that a client may see; raises Forbidden where it may see none at all."""
        if _is_admin(who):
            return [*streams]
        who.need(Scope.SUBSCRIBE)
        return [stream for stream in streams if who.rights.may_follow(stream)]

    @staticmethod
    def administer(who: Access) -> None:
        """Raises Forbidden where a client may not see the figures and the state."""
        who.need(Scope.ADMIN)

    @staticmethod
    def is_admin(who: Access) -> bool:
        """Whether a client is told all of the state."""
        return _is_admin(who)


def _is_admin(who: Access) -> bool:
    return Scope.ADMIN in who.scopes


def _name(who: Access) -> tuple[str, str]:
    # Two issuers may have a client of the same name.
    return who.issuer, who.client


@dataclass(frozen=True, slots=True)
class Judging:
    """The authority of a tracker; `reread` reads the permissions again, and says whether they are now the file's."""

    authority: Authority = field(default_factory=Nobody)
    reread: Callable[[], bool] = lambda: True


class _Never:
    """Revocations of one who hears of none."""

    def is_revoked(self, client_id: str, jti: str, issued_at: float) -> bool:  # noqa: ARG002
        """See `Revocations`."""
        return False


def judging(security: SecurityConfig) -> Judging:
    """What the settings under [security] come to at a tracker.

    They may be the broker's own: then its `security.issuer` names whose tokens are good here, where no provider is set.

    Raises:
        ConfigError: they can't be followed.
    """
    if not security.enabled:
        return Judging()
    issuer = security.provider or security.issuer
    if not issuer:
        raise ConfigError(
            "security.enabled needs security.provider at a tracker, or security.issuer: the URL of the broker, or of the"
            " identity provider, whose tokens are good here"
        )
    guarded = Guarded(
        None,
        Permissions(Path(security.permissions) if security.permissions else None),
        _Never(),
        Provider(replace(security, provider=issuer)),
        most=security.tokens_known,
    )
    return Judging(guarded, guarded.reread)
