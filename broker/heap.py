"""Python's garbage collector, kept away from what stands for long: a million subscriptions take it more than a second.

Collecting looks at every object that can be in a cycle, however old.  So whenever many subscriptions have come, what
there is is collected once and then frozen, that is, left out from then on.  What is frozen is still freed when nobody
refers to it; only cycles are not, and when half of the subscriptions have gone, all is looked at again.
"""

from __future__ import annotations

import gc

# So many new subscriptions take about 15 ms to collect.
_STEP = 20_000
# Python's own are 700, 10, 10: one bulk update would be collected over and over.
_THRESHOLDS = (20_000, 20, 50)


class Heap:
    """Told of how many subscriptions there are, it freezes and thaws."""

    def __init__(self, step: int = _STEP) -> None:
        self._step = step
        self._frozen_at = 0

    def hold(self, subscriptions: int) -> None:
        """There are so many now."""
        if subscriptions >= self._frozen_at + self._step:
            gc.collect()
            gc.freeze()
            self._frozen_at = subscriptions
        elif self._frozen_at and subscriptions < self._frozen_at // 2:
            gc.unfreeze()
            self._frozen_at = 0


def settle() -> None:
    """Leave out what the start has made, and look less often: updates make and let go of many objects, in no cycle."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
