"""How many broken rows a load may have: a number of them, or a share of all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from .errors import HistoryError

_WRITTEN = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<percent>%)?")


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `count` rows, or at most a `share` (0 to 1) of all; what is None sets none."""

    count: int | None = None
    share: float | None = None

    @classmethod
    def of(cls, text: str) -> Self:
        """`100` is a number of rows, `1%` and `0.5 %` are shares.

        Raises:
            HistoryError: it is neither.
        """
        found = _WRITTEN.fullmatch(text.strip())
        if found is None or (found["percent"] is None and "." in found["number"]):
            raise HistoryError(
                f"{text!r} is no limit: it must be a number of rows, as 100, or a share, as 1%"
            )
        if found["percent"] is None:
            return cls(count=int(found["number"]))
        share = float(found["number"]) / 100
        if share > 1:
            raise HistoryError(f"{text!r} is no limit: a share is at most 100%")
        return cls(share=share)

    def allows(self, rejected: int, rows: int) -> bool:
        """Whether so many of so many rows are within it."""
        if self.count is not None and rejected > self.count:
            return False
        return self.share is None or rejected <= self.share * rows

    def __str__(self) -> str:
        if self.count is not None:
            return f"{self.count} rows"
        return f"{self.share:.6%}".rstrip("0%").rstrip(".") + "%" if self.share is not None else "no limit"
