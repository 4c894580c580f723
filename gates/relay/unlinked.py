"""Which pairs of neighbours can't have the link that they were told to have, by what both of them say.

A pair is given up when both ends lack the link: at once where one of them could not reach the other, and after a while
where it is just not there, as links break and come back.  What one end says alone is believed later.

Each node may have so many pairs given up, and then one in a while: who could have others for neighbours by taking no links
could seek out a victim, and one that nobody reaches would have the links of all others made anew.  Where both ends lack the
link it counts for both, as neither is known to be at fault, and beyond that the pair stays.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from .paces import Paces

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LEAST = 2  # statuses that lack a link before it is given up
_RENEWED_S = 30.0  # a node may have one pair more given up


class _Lack:
    """That a node has no link with one of its neighbours: since when, in how many statuses."""

    __slots__ = ("count", "since", "unreachable")

    def __init__(self, now: float) -> None:
        self.since = now
        self.count = 0
        self.unreachable = False


class Unlinked:
    """Of one stream; moments are in seconds of any clock."""

    def __init__(self, after_s: float, forgive_s: float, most: int) -> None:
        """A link is given up `after_s`, tried again after `forgive_s`; `most` of one node may be given up at once."""
        self._after_s = after_s
        self._forgive_s = forgive_s
        self._may = Paces(_RENEWED_S, most)
        self._lacks: dict[str, dict[str, _Lack]] = {}
        self._given_up: deque[tuple[float, str, str]] = deque()

    def heard(
        self, node: str, neighbours: Iterable[str], said: Mapping[str, float | None], now: float
    ) -> list[str]:
        """What a node says of its neighbours by its newest instructions; those that it shall not have any more."""
        before = self._lacks.get(node, {})
        lacks: dict[str, _Lack] = {}
        for peer in neighbours:
            if said.get(peer) is None:
                lack = lacks[peer] = before.get(peer) or _Lack(now)
                lack.count += 1
                lack.unreachable = peer in said
        if lacks:
            self._lacks[node] = lacks
        else:
            self._lacks.pop(node, None)
        given_up = [peer for peer, lack in lacks.items() if self._is_over(node, peer, lack, now)]
        for peer in given_up:
            self._give_up(node, peer, now)
        return given_up

    def forget(self, node: str) -> None:
        """The node is gone.  How many pairs it had given up is remembered: it could come back for others."""
        self._lacks.pop(node, None)
        for lacks in self._lacks.values():
            lacks.pop(node, None)

    def forgiven(self, now: float) -> list[tuple[str, str]]:
        """Pairs that may be neighbours again from now on, each once."""
        found: list[tuple[str, str]] = []
        while self._given_up and self._given_up[0][0] <= now:
            _, node, peer = self._given_up.popleft()
            found.append((node, peer))
        return found

    def _is_over(self, node: str, peer: str, lack: _Lack, now: float) -> bool:
        if lack.count < _LEAST:
            return False
        is_agreed = node in self._lacks.get(peer, ())
        if is_agreed:
            wait_s = 0.0 if lack.unreachable else self._after_s
        else:
            wait_s = self._after_s if lack.unreachable else 2 * self._after_s
        who = (node, peer) if is_agreed else (node,)
        if now - lack.since < wait_s or any(self._may.has_spent(one, now) for one in who):
            return False
        for one in who:
            self._may.spend(one, 1.0, now)
        return True

    def _give_up(self, node: str, peer: str, now: float) -> None:
        for here, there in ((node, peer), (peer, node)):
            lacks = self._lacks.get(here, {})
            lacks.pop(there, None)
            if not lacks:
                self._lacks.pop(here, None)
        self._given_up.append((now + self._forgive_s, node, peer))
