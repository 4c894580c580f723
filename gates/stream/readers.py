"""Who reads which feed, and how: in batches, item by item (for /priority), by long polls."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from triplewire.broker.errors import Overloaded

from .fanout import Fanout
from .polls import Poll, Polls

if TYPE_CHECKING:
    from collections.abc import ValuesView

    from triplewire.broker.config import StreamGateConfig

    from .accounts import Hold
    from .consumers import Consumer
    from .feed import Feed
    from .lapses import Lapses
    from .protocol import Connection
    from .requests import Past
    from .ways import Way

    Reader: TypeAlias = Fanout | Polls


class Readers:
    """There is one of each kind for each feed that somebody reads so, until the last has gone."""

    def __init__(self, config: StreamGateConfig, lapses: Lapses) -> None:
        """`lapses` forget those who have gone."""
        self.consumers = 0  # who follow
        self.shed = 0  # how often there were too many
        self.skipped = 0  # how often one had too much unread, in fan-outs that are gone
        self._config = config
        self._lapses = lapses
        self._readers: dict[tuple[Feed, str], Reader] = {}
        self._places: dict[Consumer, tuple[Hold, ...]] = {}  # of those who are on somebody's account

    def __len__(self) -> int:
        return len(self._readers)

    def values(self) -> ValuesView[Reader]:
        """All of them."""
        return self._readers.values()

    @property
    def lanes(self) -> int:
        """How many there are, of all fan-outs."""
        return sum(reader.lanes for reader in self._readers.values() if isinstance(reader, Fanout))

    @property
    def skipped_in_all(self) -> int:
        """How often one had too much unread, in all fan-outs."""
        live = sum(reader.skipped for reader in self._readers.values() if isinstance(reader, Fanout))
        return self.skipped + live

    def check(self) -> None:
        """Raises Overloaded where as many follow as may."""
        if self.consumers >= self._config.consumers:
            self.shed += 1
            raise Overloaded("as many follow as may (stream.consumers)")

    def follow(  # noqa: PLR0913 - all that it is about
        self,
        connection: Connection,
        feed: Feed,
        way: Way,
        past: Past,
        *,
        now: bool,
        places: tuple[Hold, ...] = (),
    ) -> Consumer:
        """One more, who has these `places` on accounts until it goes; the connection's is one of them."""
        kind = "priority" if now else "stream"
        fanout = self._readers.get((feed, kind))
        if not isinstance(fanout, Fanout):
            fanout = self._readers[feed, kind] = Fanout(feed, self._config, self._left, now=now)
        self.consumers += 1
        feed.followed(1)
        if connection.place is not None:
            places = (*places, connection.place)
            connection.place = None
        consumer = fanout.follow(connection.leave(), way.key, past, way.head)
        if places:
            self._places[consumer] = places
        return consumer

    def wait(self, connection: Connection, feed: Feed, since: float, *, json: bool, gzip: bool) -> None:
        """A long poll waits for the next batch."""
        polls = self._readers.get((feed, "long-polling"))
        if not isinstance(polls, Polls):
            polls = self._readers[feed, "long-polling"] = Polls(feed, self._drop)
        polls.wait(Poll(polls, connection, json, gzip, since))

    def expire(self, before: float) -> None:
        """Answer those who have polled since then."""
        for reader in tuple(self._readers.values()):
            if isinstance(reader, Polls):
                reader.expire(before)

    def end_absent(self) -> None:
        """End the responses of those who had better go to another that has the stream."""
        for reader in tuple(self._readers.values()):
            if reader.feed.absent:
                reader.end()

    def end(self) -> None:
        """End all responses."""
        for reader in tuple(self._readers.values()):
            reader.end()

    def cut(self) -> None:
        """Hang up on whoever has not read the end."""
        for reader in tuple(self._readers.values()):
            reader.cut()

    def _left(self, fanout: Fanout, consumer: Consumer) -> None:
        self.consumers -= 1
        fanout.feed.followed(-1)
        for place in self._places.pop(consumer, ()):
            place.give()
        self._lapses.drop(consumer)
        self._drop(fanout)

    def _drop(self, reader: Reader) -> None:
        """Nobody reads it any more: let go of it, so that a selection, or a closed stream, can be, too."""
        if len(reader):
            return
        reader.stop()
        kind = "long-polling" if isinstance(reader, Polls) else "priority" if reader.now else "stream"
        if self._readers.get((reader.feed, kind)) is reader:
            del self._readers[reader.feed, kind]
        if isinstance(reader, Fanout):
            self.skipped += reader.skipped
