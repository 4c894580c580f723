"""How many lines one request of a load has: as many as the broker answers in a time that others can wait.

Whoever updates the broker beside a load waits for at most one chunk of it, as the broker lets all others go first.  So
the size follows the answers' times, and not the other way round: a slow machine, long lines or many subscriptions make
chunks small, and an idle fast one makes them large.
"""

from __future__ import annotations

from dataclasses import dataclass

# One answer says little: a snapshot or a renewal may have been under way.
_WEIGHT = 0.25
_GROWTH, _SHRINKAGE = 1.5, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSettings:
    """Seconds, lines and bytes as the names say."""

    # What one chunk may take the broker.  Others wait no longer, but where it takes longer than ever before: Oxigraph in memory
    # moves its tables each time that they have doubled, and the fewer a chunk fills the fewer it moves at once.
    target_s: float = 0.007
    least_lines: int = 50
    most_lines: int = 10_000
    most_bytes: int = 1_000_000  # a broker's default bound for one SPARQL text is above it
    first_lines: int = 200


class ChunkSize:
    """The size of the next chunk; `overhead_s` is what a request costs that does nothing, as the way to a far broker."""

    def __init__(self, settings: ChunkSettings, overhead_s: float = 0.0) -> None:
        self._settings = settings
        self._overhead_s = overhead_s
        self._line_s: float | None = None
        self._most = settings.most_lines
        self.lines = self._bounded(settings.first_lines)

    def took(self, lines: int, seconds: float) -> None:
        """A chunk of so many lines was answered after so many seconds."""
        line_s = max(seconds - self._overhead_s, 1e-6) / max(lines, 1)
        known = self._line_s
        self._line_s = line_s if known is None else known + _WEIGHT * (line_s - known)
        wanted = self._settings.target_s / self._line_s
        self.lines = self._bounded(min(max(wanted, self.lines * _SHRINKAGE), self.lines * _GROWTH))

    def too_large(self, lines: int) -> None:
        """A chunk of so many lines was refused for its size: none is so large again."""
        self._most = max(lines // 2, 1)
        self.lines = self._bounded(self._most)

    def _bounded(self, lines: float) -> int:
        return max(1, min(max(int(lines), self._settings.least_lines), self._most))
