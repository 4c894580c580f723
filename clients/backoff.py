"""How long to wait before the next attempt: longer each time, and never in step with other clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from .settings import ClientSettings


class Backoff:
    """Waits between `first` and `longest` seconds; the ceiling is multiplied at each attempt.

    A wait is drawn evenly from the shortest to the ceiling, so that the clients of a broker that comes back do not
    all knock at once.
    """

    def __init__(self, rng: Random, settings: ClientSettings) -> None:
        self._rng = rng
        self._first = settings.backoff_first_s
        self._factor = settings.backoff_factor
        self.longest_s = settings.backoff_longest_s
        self._ceiling = self._first

    def next_s(self) -> float:
        """The seconds to wait now."""
        self._ceiling = min(self._ceiling * self._factor, self.longest_s)
        return self._rng.uniform(min(self._first, self.longest_s), self._ceiling)

    def reset(self) -> None:
        """Begin with short waits again."""
        self._ceiling = self._first
