"""Whose chains are, in all streams of a tracker: who first had a certificate for one, until all of these have expired.

Nodes know a chain by its name alone, so nobody may have a certificate for another's, in whatever stream, and also not where
its own stream has ended meanwhile.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

_MOST: Final = 200_000  # the one that ends first gives way; who is there has its own anew with each status


class _Owner(NamedTuple):
    node: str
    key: str
    until: float


class ChainOwners:
    """By their names (hex); a moment is in seconds since the epoch, and none is more than `longest_s` ahead."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._owners: OrderedDict[str, _Owner] = OrderedDict()

    def __len__(self) -> int:
        return len(self._owners)

    def may(self, chain: str, node: str, key: str, now: float) -> bool:
        """Whether a node, by its key, may have a certificate for a chain."""
        self._expire(now)
        known = self._owners.get(chain)
        return known is None or (known.node, known.key) == (node, key)

    def own(self, chain: str, node: str, key: str, until: float) -> None:
        """It has one that is good until then."""
        self._owners[chain] = _Owner(node, key, until)
        self._owners.move_to_end(chain)
        if len(self._owners) > _MOST:
            self._owners.popitem(last=False)

    def _expire(self, now: float) -> None:
        # One that ends too late is of a clock that was ahead, and would hold up all behind it
        while self._owners and not now < next(iter(self._owners.values())).until <= now + self._longest_s:
            self._owners.popitem(last=False)
