"""A stream as a worker process has it: a copy of what the main process keeps, and of when batches leave.

An item comes once, when it is taken; that it leaves, with which others, is a number.  Publishing is asked of the main
process, so the order of the items is the same for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .channel import Publish, Took
from .entry import Batch
from .feed import Receipt
from .history import History
from .listeners import Listeners

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from triplewire.broker.wire.items import Item

    from .channel import Asking, Channel, Opened
    from .entry import Entry


class Copy:
    """See `Feed`."""

    def __init__(self, opened: Opened, channel: Channel, asking: Asking) -> None:
        self.name = opened.name
        self.config = opened.config
        self.source_id = opened.source_id
        self.sign_of_life_s = opened.sign_of_life_s
        self.history = History(opened.name, opened.config)
        self.history.restore(opened.entries, opened.last)
        self.sent = opened.sent
        self.absent = False
        self.closed = False
        self.followers = 0
        self._channel = channel
        self._asking = asking
        self._waiting = [entry for entry in opened.entries if entry.number > opened.sent]
        self._batch_listeners: Listeners[Batch] = Listeners()
        self._now_listeners: Listeners[Batch] = Listeners()
        self._close_listeners: Listeners[None] = Listeners()

    def listen(self, on_batch: Callable[[Batch], None]) -> Callable[[], None]:
        """See `Feed`."""
        return self._batch_listeners.add(on_batch)

    def listen_now(self, on_entries: Callable[[Batch], None]) -> Callable[[], None]:
        """See `Feed`."""
        return self._now_listeners.add(on_entries)

    def when_closed(self, on_close: Callable[[], None]) -> Callable[[], None]:
        """See `Feed`."""
        return self._close_listeners.add(lambda _: on_close())

    def followed(self, change: int) -> None:
        """Told to the main process with what else there is to tell, every second."""
        self.followers += change

    def took(self, seconds: float) -> None:
        """See `Feed`."""
        self._channel.send(Took(self.name, seconds))

    async def publish(self, items: Sequence[Item], publisher: str) -> Receipt:
        """See `Feed`."""
        receipt = await self._asking.ask(Publish(self.name, tuple(items), publisher))
        assert isinstance(receipt, Receipt)
        return receipt

    def came(self, entries: tuple[Entry, ...]) -> None:
        """These were taken."""
        fresh = tuple(entry for entry in entries if entry.number > self.history.last)
        if fresh:
            self.history.add(fresh)
            self._waiting += fresh
            self._now_listeners.tell(Batch(self.name, fresh))

    def left(self, last: int) -> None:
        """Everything up to that number leaves."""
        leaving = tuple(entry for entry in self._waiting if entry.number <= last)
        self._waiting = self._waiting[len(leaving) :]
        self.sent = max(self.sent, last)
        if leaving:
            self._batch_listeners.tell(Batch(self.name, leaving))

    def close(self) -> None:
        """It has ended."""
        if not self.closed:
            self.closed = True
            self._close_listeners.tell(None)
