"""How much of what an Oxigraph store goes through is dead, and when it pays to build the store anew.

In memory Oxigraph never frees a quad that was deleted: it stays in the lists of its subject, predicate, object and
graph, and whoever walks a list walks over it.  On disk the same is true of RocksDB's tombstones until it compacts.
Replacing one sensor's value again and again makes every look at that sensor slower without bound.

The cost of a renewal is known, so is about what the dead have cost since the last one.  A renewal when the second
exceeds the first never costs more than twice the least possible, whatever comes (renting skis or buying them).
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from triplewire.broker.model import QuadDelta

# Measured with Oxigraph 0.5 in memory: walking over a dead quad, and dumping and loading a live one.
_WALK_S = 0.2e-6
_REBUILD_S = 3e-6
# Readers and subscriptions look at what an update changes, too.
_LOOKS = 4
# Dead quads that memory may be spent on: this many, and this part of the live ones.
_DEAD_LEAST = 20_000
_DEAD_PART = 0.5
_BUCKETS = 1 << 16


class Churn:
    """Counts dead quads by subject, a subject being one of 65,536 buckets: its memory is bounded.

    Not thread-safe: the core thread counts.
    """

    def __init__(self, live: int) -> None:
        self.live = live
        self.dead = 0
        self.extra_s = 0.0
        self._by_subject = array("I", bytes(4 * _BUCKETS))

    def count(self, delta: QuadDelta) -> None:
        """Take note of a change that was written."""
        self.live += len(delta.inserted) - len(delta.deleted)
        if not delta.deleted:
            return
        self.dead += len(delta.deleted)
        walked = 0
        by_subject = self._by_subject
        for quad in delta.deleted:
            bucket = hash(quad.subject) % _BUCKETS
            walked += by_subject[bucket]
            by_subject[bucket] += 1
        self.extra_s += walked * _WALK_S * _LOOKS

    def renewed(self, dead: int) -> None:
        """Begin anew: what was dead by then is gone.  What died meanwhile is not forgotten."""
        self.dead = max(0, self.dead - dead)
        self.extra_s = 0.0
        self._by_subject = array("I", bytes(4 * _BUCKETS))

    @property
    def rebuild_s(self) -> float:
        """About what a renewal costs, in seconds of a processor."""
        return self.live * _REBUILD_S

    @property
    def is_due(self) -> bool:
        """Whether the store should be renewed."""
        if self.dead > _DEAD_LEAST + self.live * _DEAD_PART:
            return True
        return self.dead > _LOOKS and self.extra_s > self.rebuild_s
