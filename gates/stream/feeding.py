"""From a stream into the store: what RDF items say becomes part of a graph, by updates like anybody else's.

A publisher is answered when its items are in the stream.  They are stored after that, in their order, many in one
update, and the stream holds them until then, over its bounds if need be.  A publisher that is faster than the store is
refused with 503 once MOST_BEHIND items wait, or the stream is over its bounds; so it holds one body more at most.  Bodies
that are not well-formed are counted, and are in the stream all the same.

**When the process dies**, what waits is in the stream and not yet in the store.  A stream that is kept marks how far the
store has answered (`stored_mark.py`), and goes on from there at the next start.  A death between the store's writing and
the mark lets a batch be stored twice, which changes nothing: its triples are there already, as blank nodes of kept streams
get IRIs (`skolem.py`).  Only what somebody else took away in between would come back.  A stream that is not kept loses
what waits, with all that it had.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from triplewire.broker.errors import BrokerError, Overloaded
from triplewire.broker.model import GraphEdit, GraphWrite
from triplewire.broker.wire.documents import Document, to_ntriples

from .feed_of import FeedOf
from .following import Following
from .looked import rdf_format
from .skolem import skolemized

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyoxigraph import RdfFormat

    from triplewire.broker.model import Updated
    from triplewire.broker.wire.items import Item

    from .entry import Entry
    from .feed import Feed, Receipt
    from .stored_mark import StoredMark

log = logging.getLogger("triplewire.gates.stream")

MOST_BEHIND = 1000
_AT_ONCE = 100
_AGAIN_S = 0.1
_INLINE_BYTES = 16 * 1024


class Writes(Protocol):
    """Takes updates: the scheduler, or who forwards them."""

    async def submit(self, request: GraphWrite, *, bulk: bool = False) -> Updated | None:
        """See `Scheduler`."""


class StoredFeed(FeedOf):
    """A stream whose RDF items are added to the graph `graph` as well; from `mark` on, where the stream is kept."""

    def __init__(
        self, feed: Feed, graph: str, writes: Writes, nesting: int, mark: StoredMark | None = None
    ) -> None:
        super().__init__(feed)
        self.stored = 0  # items
        self.failed = 0  # items whose body could not be read, or which the store refused
        self._graph = graph
        self._writes = writes
        self._nesting = nesting
        self._mark = mark
        begin = feed.history.last if mark is None else max(mark.number, feed.history.first - 1)
        self._following = Following(feed, begin)
        self._most_behind = min(MOST_BEHIND, max(1, feed.config.kept_items // 2))
        feed.history.free_upto = lambda: self._following.position

    @property
    def behind(self) -> int:
        """How many items are in the stream and not yet looked at for the store."""
        return self._following.behind

    @property
    def missed(self) -> int:
        """How many items the stream has let go of all the same, before they were looked at."""
        return self._following.missed

    async def publish(self, items: Sequence[Item], publisher: str) -> Receipt:
        """See `Feed`; Overloaded where the store is behind."""
        if self.behind >= self._most_behind or (self.behind and self.history.is_over):
            raise Overloaded(f"{self.behind} items of {self.name} wait to be stored")
        return await self._feed.publish(items, publisher)

    async def run(self) -> None:
        """Store until the stream ends."""
        try:
            async for entries in self._following.batches(_AT_ONCE):
                if not await self._deal_with(entries):
                    return
                if self._mark is not None:
                    self._mark.put(entries[-1].number)
        finally:
            if self._mark is not None and self.closed:
                self._mark.close()

    async def _deal_with(self, entries: Sequence[Entry]) -> bool:
        """Whether that could be done before the stream ended."""
        texts = [text for entry in entries if (text := await self._text(entry))]
        try:
            if texts and not await self._store(texts):
                for text in texts:  # one of them is what the store does not take
                    await self._store([text], last=True)
        except Overloaded:
            return False
        return True

    async def _text(self, entry: Entry) -> str:
        """Its triples as N-Triples; none where it is not RDF."""
        format_ = rdf_format(entry.item.syntax)
        if format_ is None:
            return ""
        try:
            if len(entry.item.body) > _INLINE_BYTES:
                return await asyncio.to_thread(self._read, entry, format_)
            return self._read(entry, format_)
        except BrokerError as error:
            self._fail(entry.item.event_id, error)
            return ""

    def _read(self, entry: Entry, format_: RdfFormat) -> str:
        text = to_ntriples([Document(entry.item.body, format_)], self._graph, self._nesting)
        if self._mark is None:
            return text
        # Ids may come again once they are no longer kept, and numbers where a history was lost.
        which = f"{entry.number} {entry.taken_at!r} {entry.item.event_id} {self.name} {self.source_id}"
        return skolemized(text, which)

    async def _store(self, texts: list[str], *, last: bool = False) -> bool:
        """Whether the store took them.

        Raises:
            Overloaded: it has no time, and the stream has ended.
        """
        write = GraphWrite(GraphEdit.MERGE, self._graph, "".join(texts))
        while True:
            try:
                await self._writes.submit(write)
            except Overloaded:
                if self.closed:
                    raise
                await asyncio.sleep(_AGAIN_S)
            except BrokerError as error:
                if last:
                    self._fail("", error)
                return False
            else:
                self.stored += len(texts)
                return True

    def _fail(self, event_id: str, error: BrokerError) -> None:
        self.failed += 1
        log.warning("! %s: an item was not stored: %.40s %.200s", self.name, event_id, error.description)
