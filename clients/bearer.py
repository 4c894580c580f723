"""The tokens of one session: which one the broker was told, whether another is wanted, and what came of renewing it.

No I/O and no clock: where a token must be fetched, `wanted` says so, and the driver brings it.  `Renewed` answers a
renew of ours; a broker that does not know it is asked anew for everything instead (`understood`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triplewire.broker.wire.subscribe import RenewMessage, encode_client

if TYPE_CHECKING:
    from .authorization import Token, TokenSource

# The alias of our renews; no live query has it as its label.
RENEW = "renew#"
_REFUSALS = 3


class Bearer:
    """What is known of tokens; of the connection that is open now, where it is about what the broker was told."""

    def __init__(self, source: TokenSource) -> None:
        self.source = source
        self.wanted = (
            False  # something is to be said, or the last token ends, and another one must be fetched
        )
        self.refused: str | None = None  # the token that the broker did not take
        self.pending = False  # a renew is on its way
        self.owed = False  # its answer may still come, even where we no longer wait for it
        self.understood = True  # whether the broker knows what renewing is
        self._told: Token | None = None
        self._brought: Token | None = None
        self._refusals = 0

    @property
    def renew_at(self) -> float | None:
        """When the token that the broker was told should be followed by another; None where there is none."""
        return self._told.renew_at if self._told is not None and not self.wanted else None

    @property
    def told_text(self) -> str | None:
        """The token that the broker was told last on this connection."""
        return self._told.text if self._told is not None else None

    @property
    def speaks_by_name(self) -> bool:
        """Whether the broker was told a token at all."""
        return self.told_text is not None

    def denied(self) -> None:
        """There is no token; what waited for one waits no more."""
        self.wanted = False
        self.refused = self._brought = None

    def lost(self) -> None:
        """The connection is gone, and all that was said on it."""
        self.wanted = self.pending = self.owed = False
        self.understood = True
        self.refused = self._told = self._brought = None
        self._refusals = 0

    def speaks(self) -> Token | None:
        """The token for a message; None where the message must wait for `brings`."""
        token = self._brought
        if token is None and self.refused is None:
            token = self.source.known()
        if token is None:
            self.wanted = True
        else:
            self._told = token
        return token

    def brings(self, token: Token | None) -> bool:
        """A token was fetched, and is used until None is brought; False where it is the one that was refused."""
        self._brought = token
        if token is None:
            return True
        same = self.refused is not None and token.text == self.refused
        self.wanted, self.refused = False, None
        return not same

    def refuse(self, text: str | None) -> bool:
        """The broker did not take a token; False where there is none that could be better."""
        if text is None:
            return False
        if self._told is None or self._told.text == text:
            self.refused, self.wanted = text, True
        return True

    def renew(self, *, muted: bool) -> str | None:
        """The message that tells the broker the token that was brought, where it does not know it or does not speak."""
        token, told = self._brought, self._told
        if token is None or token.text is None:
            return None
        self._told = token
        if self.pending or (not muted and told is not None and told.text == token.text):
            return None
        self.pending = self.owed = True
        return encode_client(RenewMessage(token.text, RENEW))

    def renewed(self) -> None:
        """The broker has taken it."""
        self.pending = self.owed = False
        self._refusals = 0

    def renewal_refused(self) -> bool:
        """The broker has not taken it; False where that was once too often."""
        self.pending = self.owed = False
        self._refusals += 1
        return self._refusals < _REFUSALS and self.refuse(self.told_text)
