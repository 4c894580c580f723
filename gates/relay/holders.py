"""Whose the names in a table are: each counts for one of those that hold it, and of these for the one that came first.

So what somebody has made up counts for it, whoever else comes to hold it, and nobody is charged with what others hold alone.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable


class Holders:
    """Each may hold a name several times, and lets go of it as often."""

    def __init__(self) -> None:
        self._holders: dict[str, dict[Hashable, int]] = {}
        self._counts: Counter[Hashable] = Counter()

    def count(self, who: Hashable) -> int:
        """How many names count for it."""
        return self._counts[who]

    def hold(self, name: str, who: Hashable) -> None:
        """Once more."""
        holders = self._holders.setdefault(name, {})
        if not holders:
            self._counts[who] += 1
        holders[who] = holders.get(who, 0) + 1

    def let_go(self, name: str, who: Hashable) -> None:
        """Once less."""
        holders = self._holders[name]
        holders[who] -= 1
        if holders[who]:
            return
        first = next(iter(holders))
        del holders[who]
        if first == who:
            self._counts[who] -= 1
            if not self._counts[who]:
                del self._counts[who]
            if holders:
                self._counts[next(iter(holders))] += 1
            else:
                del self._holders[name]
