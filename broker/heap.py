"""Python's garbage collector, kept away from what stands for long: a million subscriptions take it more than a second.

Collecting looks at every object that can be in a cycle, however old.  So whenever many subscriptions have come, what
there is is collected once and then frozen, that is, left out from then on.  What is frozen is still freed when nobody
refers to it; only cycles are not, and when half of the subscriptions have gone, all is looked at again.

And the C library's memory, of which glibc keeps what is free again, unless it is told not to.
"""

from __future__ import annotations

import ctypes
import gc

# So many new subscriptions take about 15 ms to collect.
_STEP = 20_000
# Python's own are 700, 10, 10: one bulk update would be collected over and over.
_THRESHOLDS = (20_000, 20, 50)
# mallopt(3): glibc's numbers for its parameters, and its own sizes, which it else raises with each large block that is freed.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGE_BYTES = 128 * 1024


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


def give_back() -> None:
    """Have large blocks go back to the system when they are freed; where there is no glibc, nothing is done.

    Answers, histories on their way to a worker, and what a slow client has not read are such blocks.  Between small ones
    that live longer they would leave holes, and the process stay as large as in its busiest minute.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _LARGE_BYTES)
