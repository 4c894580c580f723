"""How much is given again to each node that says it misses something: nobody can make another send without end."""

from __future__ import annotations

from typing import Final

_NODES: Final = 1_000  # of which it is known how much they were given


class Allowances:
    """`rate` bytes in a second for each node, whatever links it has had; of a quiet one, a second's worth is kept.

    Times are of one clock that never goes back, in seconds.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._left: dict[str, tuple[float, float]] = {}  # bytes, and when

    def take(self, node: str, size: int, now: float) -> bool:
        """Whether there is something left, of which `size` bytes are used up then; the last ones may be more than that."""
        left, at = self._left.pop(node, (self._rate, now))
        left = min(self._rate, left + (now - at) * self._rate)
        if len(self._left) >= _NODES:
            del self._left[next(iter(self._left))]
        self._left[node] = (left - size if left > 0 else left, now)
        return left > 0
