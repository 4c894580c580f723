"""What evaluations have cost, so that the cheaper way is taken: one for each of many keys, or one for everything."""

from __future__ import annotations

WHOLE_IN_KEYS = 1000
_WEIGHT = 0.2  # of the last measurement


class Costs:
    """Moving averages of both."""

    def __init__(self, whole_in_keys: int = WHOLE_IN_KEYS) -> None:
        """Until it is measured, the whole is thought to cost as much as so many keys."""
        self._whole_in_keys = whole_in_keys
        self._key_s: float | None = None
        self._whole_s: float | None = None

    def is_worth(self, keys: int) -> bool:
        """Whether so many keys cost less than the whole."""
        if self._whole_s is None or self._key_s is None:
            return keys <= self._whole_in_keys
        return keys * self._key_s <= self._whole_s

    def saw_keys(self, keys: int, seconds: float) -> None:
        """So many took so long."""
        if keys:
            self._key_s = _average(self._key_s, seconds / keys)

    def saw_whole(self, seconds: float) -> None:
        """The whole took so long."""
        self._whole_s = _average(self._whole_s, seconds)


def _average(known: float | None, measured: float) -> float:
    return measured if known is None else known + _WEIGHT * (measured - known)
