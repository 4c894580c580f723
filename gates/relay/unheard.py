"""What was published here that nobody else may have, from which item of the own chain on: the next who comes is given it.

There was no neighbour; or the last ones may have been dead for as long as that takes to be noticed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .kept import Kept
    from .parcels import Parcel


class Unheard:
    """Of what is `kept`, what is not older than `kept_s`; a neighbour that is gone may have had nothing for `silent_s`.

    Times are of one clock that never goes back, in seconds.
    """

    def __init__(self, kept: Kept, kept_s: float, silent_s: float) -> None:
        self._kept = kept
        self._kept_s = kept_s
        self._silent_s = silent_s
        self._from: tuple[bytes, int] | None = None
        self._given: tuple[bytes, int] | None = None  # to somebody, at that time
        self._given_at = 0.0

    def __bool__(self) -> bool:
        """Whether there is such a thing."""
        return self._from is not None

    def published(self, parcel: Parcel) -> None:
        """This one, while nobody was there."""
        if self._from is None:
            self._from = parcel.chain, parcel.first

    def give(self, now: float) -> list[Parcel]:
        """All of it, as somebody is there."""
        if self._from is None:
            return []
        chain, first = self._given = self._from
        self._from, self._given_at = None, now
        oldest, newest = self._kept.head(chain, now - self._kept_s) or (1, 0)
        return self._kept.between(chain, max(first, oldest), newest)

    def left(self, own: bytes | None, now: float) -> None:
        """The last neighbour is gone; `own` is the chain that is published here."""
        since = now - self._silent_s
        if self._from is not None or own is None:
            return
        if self._given is not None and self._given[0] == own and self._given_at >= since:
            self._from = self._given
        elif (head := self._kept.head(own, since)) is not None:
            self._from = own, head[0]

    def forget(self, chain: bytes) -> None:
        """It is over."""
        if self._from is not None and self._from[0] == chain:
            self._from = None
