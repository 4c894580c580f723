"""Who follows one stream, and from where on."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st
from support.stepped import SteppedLoop, stream_of

from triplewire.broker.config import StreamConfig, StreamGateConfig
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.gates.stream.fanout import Fanout
from triplewire.gates.stream.forms import ZTREAMY
from triplewire.gates.stream.lanes import LaneKey
from triplewire.gates.stream.requests import Past
from triplewire.gates.stream.stream import open_stream

from .serving import item

BARE = LaneKey(ZTREAMY, deflate=False, framed=False)


class Transport(asyncio.Transport):
    """Keeps what it is given; a narrow one waits to be read."""

    def __init__(self, *, narrow=False):
        super().__init__()
        self.narrow = narrow
        self.data = b""
        self.unread = 0
        self.protocol = None

    def set_write_buffer_limits(self, high=None, low=None):
        assert (high, low) == (0, 0)

    def get_write_buffer_size(self):
        return self.unread

    def set_protocol(self, protocol):
        self.protocol = protocol

    def write(self, data):
        self.data += data
        if self.narrow and data:
            before, self.unread = self.unread, self.unread + len(data)
            if not before and self.protocol is not None:
                self.protocol.pause_writing()

    def read(self):
        if self.unread:
            self.unread = 0
            self.protocol.resume_writing()

    def ids(self):
        items = self.data.partition(b"\r\n\r\n")[2]
        return [each.event_id for each in ItemReader().feed(items)] if items else []


steps = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.integers(1, 3)),
        st.tuples(st.just("wait"), st.just(0)),
        st.tuples(st.just("join"), st.integers(0, 30)),
        st.tuples(st.just("narrow"), st.integers(0, 30)),
        st.tuples(st.just("read"), st.integers(0, 30)),
        st.tuples(st.just("leave"), st.integers(0, 30)),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=200)
@given(steps, st.sampled_from([0.0, 30.0]), st.booleans())
def test_each_reader_gets_each_item_once_and_in_order(walk, window_s, now):  # noqa: C901 - a walk
    """From what it has seen on: whoever joins, is slow, or leaves; by batches and at once."""

    async def run():
        loop = asyncio.get_running_loop()
        stream = open_stream("events", StreamConfig(window_s=window_s, window_most_s=window_s), loop)
        gate = StreamGateConfig(unread_bytes=400)
        left = []
        fanout = Fanout(stream, gate, lambda _, consumer: left.append(consumer), now=now)
        readers, gone, number = [], 0, 0
        for what, value in walk:
            if what == "publish":
                await stream.publish([item(number + n) for n in range(value)], "")
                number += value
            elif what == "wait":
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            elif what in {"join", "narrow"}:
                seen = value if value < number else None
                transport = Transport(narrow=what == "narrow")
                if seen is None:
                    await asyncio.sleep(0)
                since = fanout.told if seen is None else seen + 1
                fanout.follow(transport, BARE, Past(None if seen is None else str(seen), None))
                readers.append((transport, since))
            elif what == "read" and readers:
                readers[value % len(readers)][0].read()
            elif what == "leave" and readers:
                readers.pop(value % len(readers))[0].protocol.connection_lost(None)
                gone += 1
        stream._send_now()
        stream._send()
        for transport, since in readers:
            for _ in range(number + 1):
                transport.read()
            assert transport.ids() == [str(n) for n in range(since, number)]
        assert len(fanout) == len(readers)
        assert len(left) == gone
        fanout.stop()
        stream.close()

    asyncio.run(run())


async def test_a_stream_that_ends_is_left():
    """Nobody listens to it any more when everyone has gone."""
    loop = asyncio.get_running_loop()
    stream = open_stream("events", StreamConfig(), loop)
    fanout = Fanout(stream, StreamGateConfig(), lambda *_: None)
    transport = Transport()
    closed = []
    transport.close = lambda: closed.append(True)
    fanout.follow(transport, BARE, Past(None, None))
    stream.close()
    assert closed == [True]
    fanout.stop()
    assert not len(stream._batch_listeners)


def test_what_has_become_too_old_ends_the_response_of_who_has_not_read_it():
    """Also where nothing came meanwhile that would have had it let go of: nothing is skipped without a word."""
    loop = SteppedLoop()
    stream = stream_of(loop, history_s=10.0, window_s=0.0, window_most_s=0.0)
    fanout = Fanout(stream, StreamGateConfig(unread_bytes=10), lambda *_: None)
    slow, fast = Transport(narrow=True), Transport()
    closed = []
    slow.close = lambda: closed.append(True)
    for transport in (slow, fast):
        fanout.follow(transport, BARE, Past(None, None))
    slow.read()
    for number in range(3):
        stream.take([item(number)], "us")
        loop.settle()
    assert (slow.ids(), fast.ids()) == (["0"], ["0", "1", "2"])
    loop.advance(20)
    slow.read()
    assert (slow.ids(), closed) == (["0"], [True])
    stream.take([item(3)], "us")
    loop.settle()
    assert (slow.ids(), fast.ids()) == (["0"], ["0", "1", "2", "3"])
