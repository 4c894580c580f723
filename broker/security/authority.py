"""Who bears a token, and what that lets them do: what the gates ask before anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from triplewire.broker.rights import OPEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.rights import Access


class Judge(Protocol):
    """Judges tokens; on the event loop only."""

    def known(self, token: str) -> Access | None:
        """What a token that was judged before is good for, if it still is; costs a look-up."""
        ...

    async def access(self, token: str | None) -> Access:
        """What a token is good for, None where there is none; where it has to be fetched, a provider's key is.

        Raises:
            Unauthorized: it is missing, wrong, expired or revoked.
            Overloaded: whoever judges can't just now.
        """
        ...

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have `changed` called when something was revoked or permissions are others; what is returned ends that."""
        ...


class Authority(Judge, Protocol):
    """A judge that can tell what became of what it said."""

    def still(self, access: Access) -> Access | None:
        """The same by what is known now: None where its token has expired or was revoked; scopes and rights may differ."""
        ...


async def access_of(judge: Judge, token: str | None) -> Access:
    """What a token is good for: by what is known, without asking anybody, where it can be.

    Raises:
        Unauthorized, Overloaded: see `Judge.access`.
    """
    known = judge.known(token) if token is not None else None
    return known if known is not None else await judge.access(token)


class Revocations(Protocol):
    """What was taken back before its time."""

    def is_revoked(self, client_id: str, jti: str, issued_at: float) -> bool:
        """Whether a token, or its client, was revoked; `issued_at` in seconds since the epoch. Costs look-ups in memory."""
        ...


class Nobody:
    """The authority of a broker where nobody has to say who they are."""

    def known(self, token: str) -> Access | None:  # noqa: ARG002 - clients may send tokens anyway
        """See `Authority`."""
        return OPEN

    async def access(self, token: str | None) -> Access:  # noqa: ARG002 - clients may send tokens anyway
        """See `Authority`."""
        return OPEN

    def still(self, access: Access) -> Access | None:
        """See `Authority`."""
        return access

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:  # noqa: ARG002 - nothing ever changes
        """See `Authority`."""
        return lambda: None
