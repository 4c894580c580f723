"""Those who have to hear of a change at once, until they say that they need not any more."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger("triplewire.broker.security")


class Audience:
    """Of one thing that changes, which `name` says for the log; on the event loop only."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._listeners: dict[int, Callable[[], None]] = {}
        self._listened = 0

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have `changed` called at each change; what is returned ends that."""
        self._listened += 1
        number = self._listened
        self._listeners[number] = changed

        def end() -> None:
            self._listeners.pop(number, None)

        return end

    def tell(self) -> None:
        """Something is another: all hear of it, whatever becomes of one of them."""
        for listener in tuple(self._listeners.values()):
            try:
                listener()
            except Exception:  # noqa: BLE001 - the next one has to act by it, too
                _log.exception("who listens to %s failed", self._name)
