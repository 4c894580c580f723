"""When overlays are made better: links are exchanged where nothing else happens, until that is of no more use.

A turn is some tries, of which one is kept at most.  It takes the loop about 10 ms, and all turns together take a tenth of the
time at most.  That is reckoned by how much was looked at, so that the same calls make the same overlays.  A stream that was
tried in vain for long is at rest; it is looked at again when nodes have come or gone, and some minutes later in any case, as
delays change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .exchanges import JUDGES, Most

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triplewire.broker.overlay_config import TrackerConfig

    from .exchanges import Improved
    from .overlay import Overlay

_TURN_S: Final = 0.01
_NODE_S: Final = 0.8e-6  # of a look from one node at all: for each that is reached
_PROPOSED_S: Final = 80e-6  # to choose what is tried
_SHARE: Final = 10  # one part of so many of the time
_LEAST_S: Final = 0.05  # between two turns
_TRIES: Final = 64  # in one turn
_LEAST_LOOKS: Final = 2 * JUDGES  # in one turn: half of them are at a large overlay as it is
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
        """The overlay in which exchanges should be tried now."""
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

    @staticmethod
    def most(overlay: Overlay) -> Most:
        """What may be tried in one turn."""
        count = len(overlay.members)
        tries = min(_IN_VAIN * count - overlay.rest.in_vain, _TRIES)
        return Most(tries, max(_TURN_S / (_NODE_S * count), _LEAST_LOOKS))

    def tried(self, overlay: Overlay, improved: Improved, now: float) -> None:
        """What became of it."""
        count = len(overlay.members)
        spent_s = improved.looks * count * _NODE_S + improved.tries * _PROPOSED_S
        self._next = now + max(_SHARE * spent_s, _LEAST_S)
        rest = overlay.rest
        rest.in_vain = 0 if improved.changed else rest.in_vain + max(improved.tries, 1)
        if rest.in_vain >= _IN_VAIN * count:
            rest.in_vain = 0
            rest.until = now + _REST_S

    def _is_ready(self, overlay: Overlay, now: float) -> bool:
        return (
            overlay.collecting is None
            and overlay.degree + 1 < len(overlay.members) <= self._config.improve_nodes
            and now >= overlay.rest.until
            and not overlay.is_measuring(now)
            and now - overlay.disturbed >= self._config.improve_s
        )
