"""Delays, counted in buckets of a tenth of a millisecond: exact enough, small, and those of several processes add up."""

from __future__ import annotations

from collections import Counter

BUCKET_S = 1e-4


class Delays:
    """How many deliveries took how long."""

    def __init__(self, counts: dict[int, int] | None = None) -> None:
        self.counts: Counter[int] = Counter(counts)

    def add(self, delay_s: float, count: int = 1) -> None:
        """So many took so long; less than nothing, as clocks are read in some order, is nothing."""
        self.counts[max(0, int(delay_s / BUCKET_S))] += count

    def merge(self, other: Delays) -> None:
        """What another process has counted as well."""
        self.counts.update(other.counts)

    def __len__(self) -> int:
        return self.counts.total()

    def quantile_ms(self, share: float) -> float | None:
        """The delay that `share` of the deliveries did not exceed, by the upper end of its bucket; None of nothing."""
        wanted, seen = share * len(self), 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen >= wanted:
                return round((bucket + 1) * BUCKET_S * 1000, 1)
        return None

    def encode(self) -> list[list[int]]:
        """As JSON has it."""
        return sorted([bucket, count] for bucket, count in self.counts.items())

    @classmethod
    def decode(cls, pairs: list[list[int]]) -> Delays:
        """What `encode` made."""
        return cls(dict(map(tuple, pairs)))
