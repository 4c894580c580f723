"""Which points a chart shows: from DataFrames to named series of x and y, without drawing anything."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .live import Live

SERIES: Final = 50  # more than that nobody can tell apart
AT: Final = "heard at"


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its name, and as many x as y; an x is a number, a moment of UTC without its zone, or a text."""

    name: str
    x: Any
    y: np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Choice:
    """What a user wants to see: variables of the answer, without question marks.

    Without `x` the rows that came are shown, at the moment when each came.  `by` makes a series for each of its values.
    `points` is the number of points of each series, of which the last are shown.
    """

    x: str | None
    y: tuple[str, ...]
    by: str | None = None
    points: int = 5_000

    def data(self, live: Live) -> pd.DataFrame:
        """What there is to show now."""
        if self.x is not None:
            return live.frame
        came = live.changes
        came = came[came.index.get_level_values("change") == "+"]
        return came.assign(**{AT: came.index.get_level_values("at")})

    def check(self, data: pd.DataFrame) -> None:
        """Raises ValueError where a variable is not there, or y is no number."""
        wanted = [name for name in (self.x, *self.y, self.by) if name is not None]
        unknown = [name for name in wanted if name not in data.columns]
        if unknown:
            there = ", ".join(name for name in data.columns if name != AT) or "none"
            raise ValueError(f"{', '.join(unknown)}: not a variable of the query; there are {there}")
        for name in self.y:
            _numbers(name, data[name])

    def series(self, data: pd.DataFrame) -> list[Series]:
        """The points, those of each series in the order of x; points without x or y are left out.  Raises as `check`."""
        self.check(data)
        x = AT if self.x is None else self.x
        made = []
        for value, part in self._parts(data):
            for name in self.y:
                points = pd.DataFrame({"x": part[x].array, "y": _numbers(name, part[name])}).dropna()
                points = _sorted(points).tail(self.points)
                made.append(
                    Series(_name(name, value, len(self.y)), _plain(points["x"]), points["y"].to_numpy())
                )
        return made

    def _parts(self, data: pd.DataFrame) -> Iterator[tuple[Any, pd.DataFrame]]:
        if self.by is None:
            yield None, data
            return
        yield from data.groupby(self.by, sort=True, observed=True)


def _name(variable: str, value: Any, variables: int) -> str:
    if value is None:
        return variable
    return str(value) if variables == 1 else f"{value} {variable}"


def _numbers(name: str, cells: pd.Series[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Cells as doubles, which a picture is content with."""
    if not pd.api.types.is_numeric_dtype(cells.dtype):
        for cell in cells.dropna():
            if not isinstance(cell, Number):
                text = str(cell)[:60]
                raise ValueError(f"{name} is not a number everywhere: {text!r}")  # noqa: TRY004 - of its value
    return np.array(
        [np.nan if cell is pd.NA or cell is None else float(cell) for cell in cells], dtype=np.float64
    )


def _sorted(points: pd.DataFrame) -> pd.DataFrame:
    if pd.api.types.is_string_dtype(points["x"].dtype):
        return points
    return points.sort_values("x", kind="stable")


def _plain(cells: pd.Series[Any]) -> Any:
    """For matplotlib, which takes no types of pandas' own."""
    if isinstance(cells.dtype, pd.DatetimeTZDtype):
        return cells.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    if pd.api.types.is_datetime64_dtype(cells.dtype):
        return cells.to_numpy()
    if pd.api.types.is_numeric_dtype(cells.dtype):
        return cells.to_numpy(dtype=np.float64)
    texts = [str(cell) for cell in cells]
    if texts and all(isinstance(cell, Number) for cell in cells):
        return np.array([float(text) for text in texts])
    return np.array(texts, dtype=object)
