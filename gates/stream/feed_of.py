"""A Feed that is another one, but for what its classes change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triplewire.broker.errors import Forbidden

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from triplewire.broker.config import StreamConfig
    from triplewire.broker.wire.items import Item

    from .entry import Batch
    from .feed import Feed, Receipt
    from .history import History


class FeedOf:
    """See `Feed`; all is what `feed` says."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    @property
    def name(self) -> str:
        """See `Feed`."""
        return self._feed.name

    @property
    def config(self) -> StreamConfig:
        """See `Feed`."""
        return self._feed.config

    @property
    def source_id(self) -> str:
        """See `Feed`."""
        return self._feed.source_id

    @property
    def history(self) -> History:
        """See `Feed`."""
        return self._feed.history

    @property
    def sent(self) -> int:
        """See `Feed`."""
        return self._feed.sent

    @property
    def sign_of_life_s(self) -> float:
        """See `Feed`."""
        return self._feed.sign_of_life_s

    @property
    def absent(self) -> bool:
        """See `Feed`."""
        return self._feed.absent

    @property
    def closed(self) -> bool:
        """See `Feed`."""
        return self._feed.closed

    def listen(self, on_batch: Callable[[Batch], None]) -> Callable[[], None]:
        """See `Feed`."""
        return self._feed.listen(on_batch)

    def listen_now(self, on_entries: Callable[[Batch], None]) -> Callable[[], None]:
        """See `Feed`."""
        return self._feed.listen_now(on_entries)

    def when_closed(self, on_close: Callable[[], None]) -> Callable[[], None]:
        """See `Feed`."""
        return self._feed.when_closed(on_close)

    def followed(self, change: int) -> None:
        """See `Feed`."""
        self._feed.followed(change)

    def took(self, seconds: float) -> None:
        """See `Feed`."""
        self._feed.took(seconds)

    async def publish(self, items: Sequence[Item], publisher: str) -> Receipt:
        """See `Feed`."""
        return await self._feed.publish(items, publisher)


class DerivedFeed(FeedOf):
    """A stream that has its items from elsewhere: nobody may publish into it."""

    async def publish(self, items: Sequence[Item], publisher: str) -> Receipt:  # noqa: ARG002
        """Refuse.

        Raises:
            Forbidden: always.
        """
        raise Forbidden(f"nobody publishes into {self.name}: it is a {self.config.kind}")
