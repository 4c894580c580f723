"""An event loop whose clock is turned by hand, and what a stream needs around it: no test of a window has to sleep."""

from __future__ import annotations

import heapq
from itertools import count

from triplewire.broker.config import StreamConfig
from triplewire.broker.wire.items import Item
from triplewire.gates.stream.history import History
from triplewire.gates.stream.stream import Stream

SINCE_1970 = 1_767_225_600.0  # 2026-01-01T00:00:00Z


class Handle:
    """What is to be called; as asyncio's."""

    def __init__(self, callback, args):
        self.callback, self.args = callback, args
        self.cancelled = False

    def cancel(self):
        self.cancelled = True


class SteppedLoop:
    """The part of an event loop that streams use.  `step` calls what is ready, `advance` lets time pass."""

    def __init__(self):
        self.now = 100.0
        self._order = count()
        self._ready = []
        self._timers = []

    def time(self):
        return self.now

    def wall(self):
        """Seconds since 1970."""
        return SINCE_1970 + self.now - 100.0

    def call_soon(self, callback, *args):
        self._ready.append(Handle(callback, args))
        return self._ready[-1]

    def call_later(self, delay, callback, *args):
        assert delay >= 0
        handle = Handle(callback, args)
        heapq.heappush(self._timers, (self.now + delay, next(self._order), handle))
        return handle

    def step(self):
        """One step: what was ready when it began."""
        ready, self._ready = self._ready, []
        while self._timers and self._timers[0][0] <= self.now:
            ready.append(heapq.heappop(self._timers)[2])
        for handle in ready:
            if not handle.cancelled:
                handle.callback(*handle.args)

    def settle(self):
        """Steps until nothing is ready at this moment."""
        while self._ready or (self._timers and self._timers[0][0] <= self.now):
            self.step()

    def advance(self, seconds):
        """Let so much time pass, calling what is due in between at its moment."""
        end = self.now + seconds
        self.settle()
        while self._timers and self._timers[0][0] <= end:
            self.now = self._timers[0][0]
            self.settle()
        self.now = end
        self.settle()


def item(event_id, body=b"<a> <b> <c> .", **fields):
    """An item of an ordinary source."""
    return Item(event_id=event_id, **{"source_id": "src-1", "syntax": "text/turtle", "body": body, **fields})


def ids(batch):
    """The events' ids of a batch, or of entries."""
    return [entry.item.event_id for entry in getattr(batch, "entries", batch)]


class Reader:
    """Hears every batch of a stream and when it came."""

    def __init__(self, stream, loop):
        self.batches, self.now, self.times = [], [], {}
        self.closed = 0
        self._loop = loop
        self.ends = [
            stream.listen(self._hear),
            stream.listen_now(self.now.append),
            stream.when_closed(self._close),
        ]

    def _hear(self, batch):
        self.batches.append(batch)
        for entry in batch.entries:
            self.times[entry.number] = self._loop.time()

    def _close(self):
        self.closed += 1

    @property
    def heard(self):
        return [event_id for batch in self.batches for event_id in ids(batch)]

    @property
    def heard_now(self):
        return [event_id for batch in self.now for event_id in ids(batch)]


def stream_of(loop, *, history=None, source_id="stream-1", silence_s=0.0, **settings):
    """A stream on this loop; without signs of life where not told otherwise."""
    config = StreamConfig(**settings)
    if history is None:
        history = History("events", config, loop.wall)
    stream = Stream(config, history, loop, source_id=source_id, silence_s=silence_s)
    stream.timer = loop.time
    return stream
