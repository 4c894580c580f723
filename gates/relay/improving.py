"""When overlays are made better: links are exchanged where nothing else happens, until that is of no more use.

One try takes the loop some ms, by the square of the nodes, so the tries of all streams together take a tenth of the time at
most.  A stream that was tried in vain for long is at rest; it is looked at again when nodes have come or gone, and some
minutes later in any case, as delays change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triplewire.broker.overlay_config import TrackerConfig

    from .overlay import Overlay

_TRY_S: Final = 0.01  # with 64 nodes; fewer are judged from all of them, more from some
_SHARE: Final = 10  # one part of so many of the time
_LEAST_S: Final = 0.05  # between two tries
_MEASURED_S: Final = 0.5  # after an exchange its links have to be there, and measured, before the next
_LOOK_S: Final = 0.25  # how often it is looked whether there is something to do
_IN_VAIN: Final = 4  # tries for each node that changed nothing: then there is hardly a better exchange
_REST_S: Final = 300.0


class Improving:
    """Whose turn it is; moments are those of the tracker's clock."""

    def __init__(self, config: TrackerConfig) -> None:
        self._config = config
        self._next = 0.0
        self._turns: list[str] = []
        self._busy = False

    @property
    def is_busy(self) -> bool:
        """Whether a try comes soon."""
        return self._busy

    def turn(self, overlays: Mapping[str, Overlay], now: float) -> Overlay | None:
        """The overlay in which an exchange should be tried now."""
        if not self._config.improve_s or now < self._next:
            return None
        if not self._turns:
            self._turns = [stream for stream, overlay in overlays.items() if self._is_ready(overlay, now)]
            self._busy = bool(self._turns)
            if not self._turns:
                self._next = now + _LOOK_S
        while self._turns:
            overlay = overlays.get(self._turns.pop())
            if overlay is not None and self._is_ready(overlay, now):
                return overlay
        return None

    def tried(self, overlay: Overlay, now: float, *, changed: bool) -> None:
        """What became of it."""
        count = len(overlay.members)
        self._next = now + max(_SHARE * _TRY_S * (count / 64) * min(count / 32, 1.0), _LEAST_S)
        rest = overlay.rest
        rest.in_vain = 0 if changed else rest.in_vain + 1
        rest.until = now + _MEASURED_S if changed else 0.0
        if rest.in_vain >= _IN_VAIN * count:
            rest.in_vain = 0
            rest.until = now + _REST_S

    def _is_ready(self, overlay: Overlay, now: float) -> bool:
        return (
            overlay.collecting is None
            and overlay.degree + 1 < len(overlay.members) <= self._config.improve_nodes
            and now >= overlay.rest.until
            and now - overlay.disturbed >= self._config.improve_s
        )
