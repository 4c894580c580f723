"""Which segments may go."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triplewire.broker.config import JournalConfig


class StoredSegment(NamedTuple):
    """A segment on disk: its first record, that one's time, and its size."""

    first: int
    time_ms: int
    size: int

    def grown(self, size: int) -> StoredSegment:
        """The same with more in it."""
        return self._replace(size=size)


def dispensable(segments: Sequence[StoredSegment], covered: int, config: JournalConfig, now_ms: int) -> int:
    """How many of the oldest segments may go; the newest never may.

    One may where every snapshot holds all its records (`covered` is the oldest snapshot's number), so that the
    dataset can be made again even if only that snapshot is whole; and where it is too old, or all are too large.
    """
    size = sum(segment.size for segment in segments)
    oldest_ms = now_ms - config.keep_s * 1000
    count = 0
    for segment, following in pairwise(segments):
        if following.first - 1 > covered or not (size > config.keep_bytes or following.time_ms < oldest_ms):
            break
        size -= segment.size
        count += 1
    return count
