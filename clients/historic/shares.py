"""Into how many parts quads go, and where one ends and the next begins: from a sample of them, so that all are alike in size.

A boundary is a subject, so that all quads of one subject stand in one part.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

PART_BYTES: Final = 64 << 20
MOST_PARTS: Final = 4096
_MOST_SAMPLED: Final = 200_000
_ROWS_SAMPLED: Final = 20_000
_ROW_BYTES: Final = 100
# Where all fits into a moment of one core, a second part only costs.
_SMALL: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Sample:
    """Lines that stand for all; `fraction` is which part of all they are."""

    frame: DataFrame
    fraction: float


def fraction_of(size: int) -> float:
    """Which part of a source of so many bytes is enough for a sample; 0 where none is needed."""
    return 0.0 if size < _SMALL else min(1.0, _ROWS_SAMPLED * _ROW_BYTES / size)


def boundaries(sample: Sample, part_bytes: int, cores: int) -> list[str]:
    """The subjects with which all parts but the first begin, in order."""
    subject = F.substring_index("line", " ", 1)
    told = sample.frame.where(F.col("line").startswith("<"))
    rows = told.select(subject.alias("subject"), F.octet_length("line").alias("size")).limit(_MOST_SAMPLED)
    found = [(row["subject"], row["size"] + 1) for row in rows.toLocalIterator()]
    total = sum(size for _, size in found) / sample.fraction
    wanted = ceil(total / part_bytes)
    if total > _SMALL * cores:
        wanted = max(wanted, cores)
    return _quantiles(sorted(subject for subject, _ in found), min(wanted, MOST_PARTS))


def bucket(line: Column, starts: Sequence[str]) -> Column:
    """The number of the part in which a line belongs: the boundaries are looked through by halves."""
    return _between(line, starts, 0, len(starts))


def _between(line: Column, starts: Sequence[str], low: int, high: int) -> Column:
    if low == high:
        return F.lit(low)
    middle = (low + high) // 2
    below, above = _between(line, starts, low, middle), _between(line, starts, middle + 1, high)
    return F.when(line < starts[middle], below).otherwise(above)


def _quantiles(subjects: list[str], count: int) -> list[str]:
    if count < 2 or not subjects:
        return []
    step = len(subjects) / count
    chosen = sorted({subjects[int(number * step)] for number in range(1, count)})
    # The smallest subject of all would leave the first part empty.
    return list(islice((one for one in chosen if one > subjects[0]), count - 1))
