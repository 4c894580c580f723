"""What others ask for: what is kept, and certificates, as much in a second to each node as a link's queue holds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from .allowances import Allowances
from .chains import SEQUENCER_LIMITS
from .messages import Absent, Resent, encode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triplewire.broker.overlay_config import RelayConfig

    from .certified import CertifiedChain
    from .counted import Counted
    from .kept import Kept
    from .link import Link
    from .messages import Wanted

_HOLES: Final = 10  # ranges that one answer names as absent
_WANT_COST: Final = 4096  # bytes, to look for what somebody misses
_BUSY: Final = 2  # a link with more than this part of its queue in use is asked for nothing


class Answers:
    """Of one stream; what is refused is counted, and asked for again."""

    def __init__(self, kept: Kept, config: RelayConfig, counted: Counted) -> None:
        self._kept = kept
        self._most_bytes = config.link_bytes
        self._counted = counted
        self._allowances = Allowances(config.link_bytes)
        self._loop = asyncio.get_running_loop()

    def wanted(self, want: Wanted, link: Link) -> bool:
        """Give what is kept of it, then say what is not; whether there is such a thing.

        Only the first so many items are looked for, as nobody who misses more asks for more at a time.
        """
        if not self._may_have(link, _WANT_COST):
            return False
        following, end = want.first, min(want.last, want.first + SEQUENCER_LIMITS.want_items - 1)
        holes: list[tuple[int, int]] = []
        for parcel in self._kept.between(want.chain, want.first, end):
            if parcel.first > following:
                holes.append((following, parcel.first - 1))
            following = parcel.last + 1
            if not self._may_have(link, len(parcel.data)):
                return False
            self._counted.resent += 1
            link.send_parcel(encode(Resent(parcel)))
        if following <= end:
            holes.append((following, end))
        for hole in holes[:_HOLES]:
            link.send(encode(Absent(want.chain, *hole)))
        return bool(holes)

    def needed(self, chain: CertifiedChain, link: Link, heads: Iterable[bytes] = ()) -> None:
        """Give a chain's certificate, and what is to be told of it then, unless it has ended."""
        messages = [chain.message, *heads]
        if not chain.has_ended and self._may_have(link, sum(map(len, messages))):
            for message in messages:
                link.send(message)

    def is_busy(self, link: Link) -> bool:
        """Whether more waits for it than should."""
        return link.waiting_bytes > self._most_bytes // _BUSY

    def _may_have(self, link: Link, size: int) -> bool:
        """Whatever links the same node has had."""
        may = not self.is_busy(link) and self._allowances.take(link.peer, size, self._loop.time())
        self._counted.resent_refused += not may
        return may
