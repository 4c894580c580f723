"""One stream as those see it who serve its consumers, wherever it is: in this process, in another, or a part of one.

**A reader joins without a gap or a duplicate** in one step of the event loop: it takes `join(feed, last_seen, limit)`,
sends the batch, and from then on sends of each batch that it hears of `batch.after(position)`.  A reader that joins
with neither a last-seen id nor a limit gets whole batches from the first on; only one that has seen an item that still
waits in the window (as it came from /priority) gets a part of one, once.  `join_now` is the same for /priority.

Whoever implements a Feed adds an entry to its `history` when it is taken, not when it leaves in a batch, and leaves
`sent` where the last batch ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from triplewire.broker.config import StreamConfig
    from triplewire.broker.wire.items import Item

    from .entry import Batch
    from .history import History


class Receipt(NamedTuple):
    """What became of what was published: how many items each, and the number of the last that was taken or 0."""

    taken: int
    duplicates: int
    loops: int
    last: int


class Feed(Protocol):
    """One stream.  All calls, and all that it calls, are on the event loop."""

    @property
    def name(self) -> str:
        """The stream's, as in URLs."""

    @property
    def config(self) -> StreamConfig:
        """Its settings."""

    @property
    def source_id(self) -> str:
        """Its own Source-Id, which its items bear as the last of their Aggregator-Ids."""

    @property
    def history(self) -> History:
        """What it keeps; with what waits in the window."""

    @property
    def sent(self) -> int:
        """The number of the last item that has left in a batch; 0 before the first."""

    @property
    def sign_of_life_s(self) -> float:
        """Who follows is sent something at least this often, a sign of life where there is nothing else; 0: no promise."""

    @property
    def absent(self) -> bool:
        """Whether it has been out of reach of the others that have it for so long that nobody should follow it here."""

    @property
    def closed(self) -> bool:
        """Whether it has ended: nothing comes any more, and nothing is taken."""

    def listen(self, on_batch: Callable[[Batch], None]) -> Callable[[], None]:
        """Call `on_batch` once a window, in order, with all that came; returns what ends that."""

    def listen_now(self, on_entries: Callable[[Batch], None]) -> Callable[[], None]:
        """Call `on_entries` without a window, as soon as those that publish have been answered."""

    def when_closed(self, on_close: Callable[[], None]) -> Callable[[], None]:
        """Call `on_close` once, after the last batch, when the stream ends; returns what takes that back."""

    def followed(self, change: int) -> None:
        """So many more follow it, or fewer: consumers, long polls, and what in this process is fed by it."""

    def took(self, seconds: float) -> None:
        """Writing a batch to consumers took so long, in another process, say: the window adapts to the slowest."""

    async def publish(self, items: Sequence[Item], publisher: str) -> Receipt:
        """Take all of these or none; returns when they are taken, before anybody is sent them.

        Raises:
            BrokerError: `publisher` may not publish one of them, they can't be kept, or the stream is closed.
        """


def join(feed: Feed, last_seen: str | None, limit: int | None) -> tuple[Batch, int]:
    """What a new reader of batches is sent first, and the number after which it continues."""
    position = max(feed.sent, (last_seen is not None and feed.history.place(last_seen)) or 0)
    return feed.history.replay(last_seen, limit, upto=feed.sent), position


def join_now(feed: Feed, last_seen: str | None, limit: int | None) -> tuple[Batch, int]:
    """The same for a reader that `listen_now` serves: what waits in the window is part of what it is sent first."""
    return feed.history.replay(last_seen, limit), feed.history.last
