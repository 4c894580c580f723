"""A source as Spark has it: rows, where each stands, and how its references are found in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it
from pyspark.sql import types as T  # noqa: N812 - likewise

from .errors import SourceError
from .json_values import json_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame

    from .plan import Reference, Source

ROW: Final = "row"
FILE: Final = "file"
BLOCK: Final = "block"
PLACE: Final = "place"
RAW: Final = "raw"
FAULT: Final = "fault"
HEIGHT: Final = "height"
HEADER: Final = "header"
"""What `fault` says of a line that is its file's header, word for word."""

_MOST_NAMES: Final = 30


@dataclass(frozen=True, slots=True)
class Table:
    """Rows, and where they stand: `frame` has the columns below.

    - `row`: a struct, or a JSON value (variant);
    - `file`: the path as a URI; `block`: the byte at which Spark's split of the file begins; `place`: a number that grows by
      one from row to row of a split (`lines.py` makes line numbers of the three, of the few rows for which one is asked);
    - `raw`: the row's text; `fault`: a reason why there is no row in it, else null.

    `lines` has file, block and place of all that counts: for texts each line, also those that are no rows, with how many
    lines it takes as `height` where that is not one.  `skipped` is how many lines of a file come before them, and
    `headers` how many lines have the `fault` HEADER by right: one a file.  `bytes` is about the size of all, uncompressed.
    """

    source: Source
    frame: DataFrame
    lines: DataFrame
    skipped: int = 0
    headers: int = 0
    bytes: int = 0
    some: Callable[[float], DataFrame | None] | None = None

    def sampled(self, fraction: float) -> Table:
        """About so many of its rows; they are chosen before anything of them is read, by `some` if that can."""
        frame = self.some(fraction) if self.some is not None else None
        return replace(self, frame=self.frame.sample(fraction=fraction, seed=7) if frame is None else frame)

    def cell(self, reference: Reference) -> tuple[Column, T.DataType]:
        """What a reference names, up to its first `[*]`: a column and its type.

        Raises:
            SourceError: there is no such column.
        """
        row = self.frame.schema[ROW].dataType
        if isinstance(row, T.VariantType):
            return json_at(F.col(ROW), before_all(reference.path or (reference.name,)), "variant"), row
        return self._in_struct(row, reference)

    def _in_struct(self, row: T.DataType, reference: Reference) -> tuple[Column, T.DataType]:
        column, type_ = F.col(ROW), row
        for step in before_all(reference.path) or (reference.name,):
            if isinstance(type_, T.StructType) and step in type_.names:
                column, type_ = column.getField(str(step)), type_[str(step)].dataType
            elif isinstance(type_, T.ArrayType) and isinstance(step, int):
                column, type_ = F.get(column, F.lit(step)), type_.elementType
            elif isinstance(type_, T.VariantType):
                column = json_at(column, (step,), "variant")
            else:
                raise self._missing(reference, row)
        if isinstance(type_, T.StringType) and type_ == T.StringType() and self.source.nulls:
            return F.when(~column.isin(list(self.source.nulls)), column), type_
        return column, type_

    def _missing(self, reference: Reference, row: T.DataType) -> SourceError:
        names = row.names if isinstance(row, T.StructType) else []
        there = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
        return SourceError(f"{self.source.name}: there is no column {reference.name!r}; there are {there}")


def before_all(path: tuple[str | int | None, ...]) -> tuple[str | int, ...]:
    """The steps of a path up to the first `[*]`."""
    found: list[str | int] = []
    for step in path:
        if step is None:
            break
        found.append(step)
    return tuple(found)
