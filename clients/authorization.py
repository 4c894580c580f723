"""Where a client's bearer tokens come from: a function of the user's, or credentials that are exchanged for them.

A flow or session asks `known()`, which does no I/O; where that has no token, it yields `Authorize`, which the driver
carries out: `token()` where it may block, `token_async()` under asyncio.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Generator


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token, None for none, until when it is good and from when on another should be had.

    Both are seconds of `time.monotonic()`, as the system's clock can be set while we run.
    """

    text: str | None = field(repr=False)
    renew_at: float = math.inf
    expires_at: float = math.inf


class TokenSource(Protocol):
    """What gives tokens, and other ones for those that the broker refused."""

    def known(self, refused: str | None = None) -> Token | None:
        """A token that needs no renewal and is not the refused one; None where one must be fetched."""
        ...

    def token(self, refused: str | None = None) -> Token:
        """A token, fetched where it must be; of many threads that wait for it, one asks.

        Raises:
            BrokerRefused: we are given none.
            ConnectionLost: nobody is there to give one.
        """
        ...

    async def token_async(self, refused: str | None = None) -> Token:
        """The same under asyncio."""
        ...


Authorization: TypeAlias = Callable[[], str | None] | TokenSource


class Asked:
    """The tokens of a function, which is asked each time; it must not block."""

    def __init__(self, function: Callable[[], str | None]) -> None:
        self._function = function

    def known(self, refused: str | None = None) -> Token | None:  # noqa: ARG002 - it knows no more than it says
        """See `TokenSource`."""
        return Token(self._function())

    def token(self, refused: str | None = None) -> Token:  # noqa: ARG002
        """See `TokenSource`."""
        return Token(self._function())

    async def token_async(self, refused: str | None = None) -> Token:  # noqa: ARG002
        """See `TokenSource`."""
        return Token(self._function())


@dataclass(frozen=True, slots=True)
class Authorize:
    """A step of a flow or a connection: have a token fetched, other than the refused one."""

    source: TokenSource
    refused: str | None = field(default=None, repr=False)


def source_of(authorization: Authorization | None) -> TokenSource:
    """What a user gave as a source; None gives no tokens."""
    if authorization is None:
        return Asked(lambda: None)
    return Asked(authorization) if callable(authorization) else authorization


def token_from(source: TokenSource, refused: str | None = None) -> Generator[Authorize, Token, Token]:
    """A token for a flow, which yields only where one has to be fetched."""
    known = source.known(refused)
    return known if known is not None else (yield Authorize(source, refused))
