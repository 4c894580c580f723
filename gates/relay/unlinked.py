"""Which pairs of neighbours can't have the link that they were told to have, by what both of them say.

A pair is given up when both ends lack the link: at once where one of them could not reach the other, and after a while
where it is just not there, as links break and come back.  What one end says alone is believed later, and only some times:
who could have others for neighbours by saying so could seek out a victim.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LEAST = 2  # statuses that lack a link before it is given up


class _Lack:
    """That a node has no link with one of its neighbours: since when, in how many statuses."""

    __slots__ = ("count", "since", "unreachable")

    def __init__(self, now: float) -> None:
        self.since = now
        self.count = 0
        self.unreachable = False


class Unlinked:
    """Of one stream; moments are in seconds of any clock."""

    def __init__(self, after_s: float, forgive_s: float, alone: int) -> None:
        """A link is given up `after_s`, tried again after `forgive_s`; `alone` is how often one end is believed meanwhile."""
        self._after_s = after_s
        self._forgive_s = forgive_s
        self._most_alone = alone
        self._lacks: dict[str, dict[str, _Lack]] = {}
        self._alone: dict[str, deque[float]] = {}
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
        """The node is gone."""
        self._lacks.pop(node, None)
        self._alone.pop(node, None)
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
        waited_s = now - lack.since
        if node in self._lacks.get(peer, ()):
            return lack.unreachable or waited_s >= self._after_s
        if waited_s < (self._after_s if lack.unreachable else 2 * self._after_s):
            return False
        return self._is_believed(node, now)

    def _is_believed(self, node: str, now: float) -> bool:
        """Whether it may say so alone once more."""
        times = self._alone.setdefault(node, deque())
        while times and times[0] <= now - self._forgive_s:
            times.popleft()
        if len(times) >= self._most_alone:
            return False
        times.append(now)
        return True

    def _give_up(self, node: str, peer: str, now: float) -> None:
        for here, there in ((node, peer), (peer, node)):
            lacks = self._lacks.get(here, {})
            lacks.pop(there, None)
            if not lacks:
                self._lacks.pop(here, None)
        self._given_up.append((now + self._forgive_s, node, peer))
