"""A subscription as a resource: the present answer, and what has changed in it since it was read."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from triplewire.clients.callbacks import Callbacks

from .errors import ToolRefused, told
from .history import Change, History
from .rows import fitting, size
from .terms import shown_row

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable

    from triplewire.broker.model import Notification, Row
    from triplewire.clients.live_query import LiveQuery

    from .limits import Limits

SCHEME = "triplewire://subscriptions/"


class Followed(Callbacks):
    """What is kept of one subscription; `changed` is called when there is something new to read."""

    def __init__(self, name: str, sparql: str, url: str, limits: Limits, changed: Callable[[], None]) -> None:
        super().__init__()
        self.name = name
        self.sparql = sparql
        self.url = url
        self.live: LiveQuery | None = None
        self.ended: str | None = None  # why, once it has
        self._limits = limits
        self._changed = changed
        self._history = History(limits.history_changes, limits.history_rows)
        self._read_to = 0
        self._lost_at: str | None = None
        self._was_lost = False
        self._news = asyncio.Event()

    @property
    def uri(self) -> str:
        """The resource."""
        return f"{SCHEME}{self.name}"

    @property
    def over(self) -> bool:
        """Whether the answer is too large to be kept."""
        return self._count() > self._limits.subscription_rows

    def on_notification(self, notification: Notification) -> None:
        """See `Callbacks`."""
        delta = notification.delta
        number = self._history.number + 1
        if delta.added.total() + delta.removed.total() > self._limits.history_rows:
            self._history.lost()
        else:
            added, removed = _rows(delta.added), _rows(delta.removed)
            self._history.add(Change(number, _now(), added, removed, after_loss=self._was_lost))
        self._was_lost = False
        self._tell()

    def on_error(self, error: Exception) -> None:
        """See `Callbacks`."""
        self.end(told(error) or "the subscription has failed")

    def lost(self) -> None:
        """The connection is lost; it is opened again, and what is missed is told as one change."""
        if self.ended is None:
            self._lost_at = _now()
            self._tell()

    def back(self) -> None:
        """The connection is there again."""
        if self._lost_at is not None:
            self._lost_at, self._was_lost = None, True
            self._tell()

    def end(self, why: str) -> None:
        """Nothing more comes."""
        if self.ended is None:
            self.ended = why
            self._tell()

    async def wait(self, since: int | None, seconds: float) -> None:
        """Return when there is something behind `since`, or it has ended, or the time is up."""
        begin = self._read_to if since is None else since
        try:
            async with asyncio.timeout(seconds):
                while self._history.number <= begin and self.ended is None:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            return

    def first(self, rows: int) -> dict[str, Any]:
        """The answer to the one who subscribes, who has read it by that."""
        self._read_to = self._history.number
        return {
            "subscription": self.name,
            "resource": self.uri,
            "vars": list(self._vars()),
            "number": self._history.number,
            **self._answer(rows, self._limits.answer_bytes),
        }

    def read(self, since: int | None, rows: int) -> dict[str, Any]:
        """What is behind change `since`, or behind what was read last, and the present answer.

        Raises:
            ToolRefused: there is no change of that number yet.
        """
        begin = self._read_to if since is None else since
        if not 0 <= begin <= self._history.number:
            raise ToolRefused(f"since: expected a number from 0 to {self._history.number}, not {begin}")
        changes, gap = self._changes(begin, rows)
        reached = changes[-1]["number"] if changes else self._history.number
        if since is None:
            self._read_to = reached
        document: dict[str, Any] = {
            "subscription": self.name,
            "state": self._state(),
            "since": begin,
            "number": reached,
            "vars": list(self._vars()),
            "changes": changes,
        }
        if gap is not None:
            document["gap"] = gap
        if reached < self._history.number:
            document["more"] = f"Changes up to {self._history.number} are waiting: read again."
        if self.ended is not None:
            document["ended"] = self.ended
        return {**document, "answer": self._answer(rows, self._limits.answer_bytes // 2)}

    def _changes(self, begin: int, rows: int) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        gap = self._history.gap(begin)
        left_bytes, left_rows = self._limits.answer_bytes // 2, min(rows, self._limits.rows)
        shown: list[dict[str, Any]] = []
        for change in self._history.since(begin):
            document, used = _shown(change, left_rows, left_bytes)
            whole = len(document["added"]) + len(document["removed"]) == change.rows
            if shown and not whole:
                break  # the next reading begins with it
            shown.append(document)
            left_bytes -= used
            left_rows -= change.rows
        return shown, gap

    def _answer(self, rows: int, most_bytes: int) -> dict[str, Any]:
        count = self._count()
        most = min(rows, self._limits.rows)
        given, _ = fitting(_rows(self._bag(), most), most, most_bytes)
        answer: dict[str, Any] = {"rows": given, "count": count}
        if len(given) < count:
            answer["note"] = f"Cut: {len(given)} of the {count} rows of the present answer are given."
        return answer

    def _state(self) -> str:
        if self.ended is not None:
            return "ended"
        return "live" if self._lost_at is None else f"connection lost at {self._lost_at}, being opened again"

    def _vars(self) -> tuple[str, ...]:
        return () if self.live is None else self.live.kept.vars

    def _bag(self) -> Iterable[tuple[Row, int]]:
        return () if self.live is None else self.live.kept.rows.items()

    def _count(self) -> int:
        return 0 if self.live is None else self.live.kept.rows.total()

    def _tell(self) -> None:
        self._news.set()
        self._changed()


def _rows(bag: Counter[Row] | Iterable[tuple[Row, int]], most: int | None = None) -> list[list[str | None]]:
    pairs = bag.items() if hasattr(bag, "items") else bag
    each = (row for row, times in pairs for _ in range(times))
    return [shown_row(row) for row in islice(each, most)]


def _shown(change: Change, most_rows: int, most_bytes: int) -> tuple[dict[str, Any], int]:
    """A change as it is told, its rows cut to what is allowed, and the bytes of it all."""
    document: dict[str, Any] = {"number": change.number, "at": change.at, "added": [], "removed": []}
    if change.after_loss:
        document["after_loss"] = "All that changed while the connection was lost, as one change."
    most_bytes -= size(document)
    document["added"], used = fitting(change.added, most_rows, most_bytes)
    document["removed"], _ = fitting(change.removed, most_rows - len(document["added"]), most_bytes - used)
    if len(document["added"]) + len(document["removed"]) < change.rows:
        document["note"] = f"Cut: {len(change.added)} rows were added and {len(change.removed)} removed."
    return document, size(document) + 1


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
