"""What the subscriber's thread tells and the user's threads read: the one place between them, behind one lock."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from triplewire.broker.errors import ClientError
from triplewire.clients.solutions import solutions

from .change_log import Change, ChangeLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.model import Notification
    from triplewire.clients.callbacks import CallbackOptions
    from triplewire.clients.solutions import Solution


class Feed:
    """Counts changes, keeps the last of them, and lets threads wait.

    `version` is another one whenever there is something new to see: a change, or the state of the connection.
    """

    def __init__(self, rows_limit: int, history: int) -> None:
        self._news = threading.Condition()
        self._log = ChangeLog(history)
        self._rows_limit = rows_limit
        self._rows = 0
        self._heard = 0
        self._waited = 0  # changes that a `wait` has counted
        self.version = 0
        self.connected = True
        self.closed = False
        self.error: Exception | None = None
        self.hang_up: Callable[[], object] = lambda: None

    def callbacks(self) -> CallbackOptions:
        """Ours, for a subscription."""
        return {
            "on_first_results": self._first,
            "on_notification": self._changed,
            "on_error": self._failed,
            "on_unsubscribe": self._ended,
        }

    def lost(self, _: object) -> None:
        """The connection broke, and is being made again."""
        self._connection(False)

    def back(self, _: object) -> None:
        """It is there again."""
        self._connection(True)

    def close(self) -> None:
        """Nothing more comes."""
        with self._news:
            self.closed = True
            self._tell()

    def log(self) -> tuple[tuple[Change, ...], int]:
        """The changes that are held, and how many are not any more."""
        with self._news:
            return self._log.held(), self._log.dropped

    def wait(self, changes: int, timeout_s: float | None) -> None:
        """Wait until so many changes came that no `wait` has counted yet.

        Raises:
            TimeoutError: they did not come in time; those that came are left for the next.
            ClientError: they will not come: the subscription has ended.
        """
        with self._news:
            wanted = self._waited + changes
            self._news.wait_for(lambda: self._heard >= wanted or self.closed, timeout_s)
            if self._heard >= wanted:
                self._waited = wanted
                return
            came = self._heard - self._waited
            if self.error is not None:
                raise ClientError(f"the live query has ended: {self.error}") from self.error
            if self.closed:
                raise ClientError(f"the live query is closed, and {came} of {changes} changes came before")
            raise TimeoutError(f"{came} of {changes} changes came within {timeout_s:g} s")

    def changed(self, since: int, timeout_s: float) -> int:
        """The version, as soon as it is another one, or there will be no other, or the time is over."""
        with self._news:
            self._news.wait_for(lambda: self.version != since or self.closed, timeout_s)
            return self.version

    def _first(self, rows: list[Solution]) -> None:
        self._take(0, rows, [])

    def _changed(self, notification: Notification) -> None:
        delta = notification.delta
        added, removed = (solutions(delta.vars, bag.elements()) for bag in (delta.added, delta.removed))
        self._take(1, added, removed)

    def _take(self, changes: int, added: list[Solution], removed: list[Solution]) -> None:
        with self._news:
            self._heard += changes
            self._rows += len(added) - len(removed)
            self._log.add(Change(self._heard, datetime.now(UTC), added, removed))
            too_many = self._rows > self._rows_limit
            if too_many:
                self._fail(ClientError(f"the answer has more than {self._rows_limit} rows (`rows_limit`)"))
            self._tell()
        if too_many:
            self.hang_up()

    def _failed(self, error: Exception) -> None:
        with self._news:
            self._fail(error)
            self._tell()

    def _fail(self, error: Exception) -> None:
        self.error = self.error or error
        self.closed = True

    def _ended(self, _: Any) -> None:
        self.close()

    def _connection(self, connected: bool) -> None:
        with self._news:
            self.connected = connected
            self._tell()

    def _tell(self) -> None:
        self.version += 1
        self._news.notify_all()
