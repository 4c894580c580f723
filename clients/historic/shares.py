"""Into how many parts quads go, and where one ends and the next begins: from a sample of them, so that all are alike in size.

A boundary is a subject, so that all quads of one subject stand in one part.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .records import QUADS, SUBJECT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

PART_BYTES: Final = 64 << 20
MOST_PARTS: Final = 4096
_MOST_SAMPLED: Final = 200_000
# Which part of a source is looked at, and how many bytes at least and at most.
_SAMPLED: Final = 1e-3
_LEAST: Final = 256 << 10
_MOST: Final = 4 << 20
# Where all fits into a moment of one core, a second part only costs.
_SMALL: Final = 4 << 20
# Of a subject with so many different records in a sample, there may be too many to be put together in memory.
_LARGE: Final = 30


@dataclass(frozen=True, slots=True)
class Sample:
    """Records that stand for all; `fraction` is which part of all they are."""

    frame: DataFrame
    fraction: float


@dataclass(frozen=True, slots=True)
class Shares:
    """The subjects with which all parts but the first begin, in order; and those of which there is very much."""

    starts: Sequence[str] = ()
    large: Sequence[str] = ()


def fraction_of(size: int) -> float:
    """Which part of a source of so many bytes is enough for a sample; 0 where none is needed."""
    return 0.0 if size < _SMALL else min(max(_LEAST, size * _SAMPLED), _MOST) / size


def shares_of(sample: Sample | None, part_bytes: int, cores: int) -> Shares:
    """By a sample; without one, all is one part."""
    if sample is None:
        return Shares()
    size = F.octet_length(QUADS) + 1
    told = sample.frame.select(SUBJECT, size.alias("size"), F.xxhash64(QUADS).alias("hash"))
    subjects, total = [], 0
    records: defaultdict[str, set[int]] = defaultdict(set)
    for row in told.limit(_MOST_SAMPLED).collect():
        if row["size"] is None or row[SUBJECT] is None:
            continue
        subjects.append(row[SUBJECT])
        total += row["size"]
        records[row[SUBJECT]].add(row["hash"])
    wanted = ceil(total / sample.fraction / part_bytes)
    if total / sample.fraction > _SMALL * cores:
        wanted = max(wanted, cores)
    large = sorted(subject for subject, found in records.items() if len(found) >= _LARGE)
    return Shares(_quantiles(sorted(subjects), min(wanted, MOST_PARTS)), large)


def bucket(subject: Column, starts: Sequence[str]) -> Column:
    """The number of the part in which a subject belongs: the boundaries are looked through by halves."""
    return _between(subject, starts, 0, len(starts))


def _between(subject: Column, starts: Sequence[str], low: int, high: int) -> Column:
    if low == high:
        return F.lit(low)
    middle = (low + high) // 2
    below, above = _between(subject, starts, low, middle), _between(subject, starts, middle + 1, high)
    return F.when(subject < starts[middle], below).otherwise(above)


def _quantiles(subjects: list[str], count: int) -> list[str]:
    if count < 2 or not subjects:
        return []
    step = len(subjects) / count
    chosen = sorted({subjects[int(number * step)] for number in range(1, count)})
    # The smallest subject of all would leave the first part empty.
    return list(islice((one for one in chosen if one > subjects[0]), count - 1))
