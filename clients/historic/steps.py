"""Columns made one step after the other, so that what several rules need (a subject, a number) is made once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pyspark.sql import Column, DataFrame

# Each value takes six steps: the cell, what it is, its spelling, its digits or what a clock showed, the moment of that, its text.
TEXT: Final = 5
# One that is joined takes six more behind them.
JOINED: Final = 6
ENCODED: Final = 12
TERM: Final = 13
LINES: Final = 14


class Steps:
    """Columns that are made one step after the other; each may use those of the steps before."""

    def __init__(self) -> None:
        self._steps: list[dict[Hashable, tuple[str, Column]]] = [{} for _ in range(LINES + 1)]

    def put(self, step: int, key: Hashable, column: Column) -> Column:
        """The column of that key, which is this one if there is none yet."""
        known = self._steps[step]
        if key not in known:
            known[key] = (f"_{step}_{len(known)}", column)
        return F.col(known[key][0])

    def on(self, frame: DataFrame) -> DataFrame:
        """The frame with all columns; Spark leaves out those that nothing uses."""
        for step in self._steps:
            if step:
                frame = frame.select("*", *[column.alias(name) for name, column in step.values()])
        return frame
