"""Rows that make no quads: where each stood, why, and its text.

They come out of the mapping as JSON objects beside the quads (`execution.py`), and are kept as such, in order: `file`, `line`,
`source`, `reasons`, `raw`.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .lines import numbered
from .reasons import Reason
from .subjects import REJECTED
from .table import BLOCK, FILE, HEADER, PLACE, RAW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from .parts import Written
    from .table import Table

_SCHEMA: Final = (
    f"source string, {FILE} string, {BLOCK} bigint, {PLACE} bigint, reasons array<string>, {RAW} string"
)
# A row's text is for people to look at; what is longer is cut there.
LONGEST_RAW: Final = 10_000


class Quarantine:
    """The rejected rows of one run."""

    def __init__(self, spark: SparkSession, written: Written, tables: Sequence[Table]) -> None:
        self._tables = tables
        self._rows: DataFrame | None = None
        self._counts: dict[str | None, int] = {}
        if written.has(REJECTED):
            lines = spark.read.text(written.of(REJECTED))
            rows = lines.select(F.from_json("value", _SCHEMA).alias("r")).select("r.*")
            self._rows = self._without_headers(rows)

    def counts(self) -> tuple[int, dict[str, int]]:
        """How many rows there are, and how many have each reason."""
        reasons = {reason: count for reason, count in self._counts.items() if reason is not None}
        return self._counts.get(None, 0), dict(sorted(reasons.items()))

    def frame(self) -> DataFrame | None:
        """The rows with their lines; None where there are none."""
        if self._rows is None:
            return None
        found = [
            numbered(self._rows.where(F.col("source") == table.source.name), table) for table in self._tables
        ]
        rows = reduce(lambda one, other: one.unionByName(other), found)
        return rows.select(FILE, "line", "source", "reasons", F.substring(RAW, 1, LONGEST_RAW).alias(RAW))

    def write(self, path: str) -> None:
        """As lines of JSON, sorted by file and line; whatever was there is replaced."""
        rows = self.frame()
        if rows is not None:
            rows.coalesce(1).sortWithinPartitions(FILE, "line").write.mode("overwrite").json(path)

    def _without_headers(self, rows: DataFrame) -> DataFrame | None:
        """Each file's header is its first line; where there are more of its kind, those are rows that are none."""
        self._counts = _counted(rows)
        expected = sum(table.headers for table in self._tables)
        there = self._counts.pop(HEADER, 0)
        is_header = F.col("reasons") == F.array(F.lit(HEADER))
        others = rows.where(~is_header)
        if there > expected:
            repeated = [
                numbered(rows.where(is_header & (F.col("source") == table.source.name)), table)
                for table in self._tables
            ]
            again = reduce(lambda one, other: one.unionByName(other), repeated).where("line > 1")
            bad = F.array(F.lit(Reason.BAD_LINE.value))
            others = others.unionByName(again.withColumn("reasons", bad).drop("line"))
            self._counts = _counted(others)
        else:
            self._counts[None] -= there
        return others if self._counts.get(None) else None


def _counted(rows: DataFrame) -> dict[str | None, int]:
    """How many rows have each reason; None is for all rows."""
    reasons = F.array_append(F.col("reasons"), F.lit(None).cast("string"))
    counted = rows.select(F.explode(reasons).alias("reason")).groupBy("reason").count().toLocalIterator()
    return {row["reason"]: row["count"] for row in counted}
