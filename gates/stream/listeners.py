"""Those that are called when something happens, in the order in which they came; one that fails harms no other."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger("triplewire.gates.stream")
T = TypeVar("T")


class Listeners(Generic[T]):
    """They may come and go at any time, while they are being told, too: who has gone is not told any more."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[T], None]] = {}

    def __len__(self) -> int:
        return len(self._listeners)

    def add(self, listener: Callable[[T], None]) -> Callable[[], None]:
        """Call `listener` from now on; returns what ends that, which may be called again."""
        key = object()
        self._listeners[key] = listener

        def end() -> None:
            self._listeners.pop(key, None)

        return end

    def tell(self, what: T) -> None:
        """Call each; an error is logged."""
        for key, listener in tuple(self._listeners.items()):
            if key in self._listeners:
                try:
                    listener(what)
                except Exception:  # noqa: BLE001 - whatever it is, the others must hear of it all the same
                    _log.exception("a listener of a stream has failed")
