"""How often somebody may do something, for each by its name: a steady rate, and so much at once.

One moment is kept of each, the one until which what it may do is used up (the generic cell rate algorithm, ITU-T I.371,
A.1).  Of who has used up nothing nothing is kept.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable


class Paces:
    """Each may once in `step_s`, and `at_once` where it has not for long; 0 is no limit.

    Moments are in seconds of one clock that never goes back.
    """

    def __init__(self, step_s: float, at_once: float) -> None:
        self._step_s = step_s
        self._ahead_s = max(at_once - 1, 0.0) * step_s + 1e-9  # of a clock's rounding
        self._until: OrderedDict[Hashable, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._until)

    def may(self, who: Hashable, now: float) -> bool:
        """Whether it may once more now; then that is counted."""
        if self.has_spent(who, now):
            return False
        self.spend(who, 1.0, now)
        return True

    def has_spent(self, who: Hashable, now: float) -> bool:
        """Whether it may not once more now."""
        return self._until.get(who, now) - now > self._ahead_s

    def spend(self, who: Hashable, times: float, now: float) -> None:
        """It has done it so many times, whether it might or not."""
        self.forget(now)
        if self._step_s and times:
            self._until[who] = max(self._until.get(who, now), now) + times * self._step_s
            self._until.move_to_end(who)

    def forget(self, now: float) -> None:
        """Those who have used up nothing."""
        while self._until and next(iter(self._until.values())) <= now:
            self._until.popitem(last=False)
