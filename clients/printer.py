"""Prints a live query as it changes, a line at a time and each flushed: for people, for pipes, or as JSON."""

from __future__ import annotations

import asyncio
from typing import IO, TYPE_CHECKING

from triplewire.broker.wire.subscribe import encode_broker

from .callbacks import Callbacks, Changed, Ended, Failed, FirstResults

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from triplewire.broker.model import Notification, Row

    from .callbacks import Event, Told
    from .prefixes import Prefixes

_GREEN, _RED, _PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[0m"


class Printer(Callbacks):
    """The callbacks of `triplewire subscribe`; with prefixes it prints in color and shortens IRIs.

    `stopped` is set when there is no more to print, and `error` is why, if it is not that `count` was reached.
    """

    def __init__(
        self,
        out: IO[str],
        prefixes: Prefixes | None = None,
        *,
        as_json: bool = False,
        count: int | None = None,
    ) -> None:
        super().__init__()
        self._out = out
        self._prefixes = prefixes
        self._as_json = as_json
        self._left = count
        self._vars: tuple[str, ...] | None = None
        self.stopped = asyncio.Event()
        self.error: Exception | None = None

    def told(self, event: Event) -> Iterator[Told]:
        """One call for each event, whatever it is."""
        yield self._tell, event

    def _tell(self, event: Event) -> None:
        if self.stopped.is_set():
            return
        try:
            self._print(event)
        except OSError as error:  # nobody reads any more
            self._stop(error)

    def _print(self, event: Event) -> None:
        match event:
            case FirstResults(_, notification):
                self._notification(notification)
            case Changed(_, notification):
                self._notification(notification)
                if self._left is not None:
                    self._left -= 1
            case Failed(_, error):
                self._stop(error)
            case Ended():
                return
        if self._left == 0:
            self.stopped.set()

    def _stop(self, error: Exception) -> None:
        self.error = error
        self.stopped.set()

    def _notification(self, notification: Notification) -> None:
        if self._as_json:
            self._lines([encode_broker(notification)])
            return
        delta = notification.delta
        if delta.vars != self._vars:
            self._vars = delta.vars
            self._lines(["\t".join(["#", *(f"?{name}" for name in delta.vars)])])
        # What leaves comes first: a changed value reads as old, then new.
        self._lines(self._rows("-", _RED, delta.removed))
        self._lines(self._rows("+", _GREEN, delta.added))

    def _rows(self, sign: str, color: str, rows: Counter[Row]) -> Iterator[str]:
        for row in rows.elements():
            if self._prefixes is None:
                yield "\t".join([sign, *("" if term is None else str(term) for term in row)])
            else:
                cells = ("" if term is None else self._prefixes.short(term) for term in row)
                yield color + "\t".join([sign, *cells]) + _PLAIN

    def _lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._out.write(line + "\n")
        self._out.flush()
