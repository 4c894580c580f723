"""A copy of a stream does what the stream does."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from triplewire.broker.config import StreamConfig
from triplewire.gates.stream.channel import Publish, Took
from triplewire.gates.stream.copied import Copy
from triplewire.gates.stream.feed import Receipt
from triplewire.gates.stream.stream import open_stream
from triplewire.gates.stream.workers import opened

from .serving import item


class Main:
    """The channel and the asking of a copy."""

    def __init__(self):
        self.sent = []

    def send(self, message):
        self.sent.append(message)

    async def ask(self, what):
        self.sent.append(what)
        return Receipt(1, 0, 0, 1)


def ids(batches):
    return [[entry.item.event_id for entry in batch.entries] for batch in batches]


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.sampled_from(["publish", "leave", "now", "copy"]), max_size=20),
    st.integers(0, 4),
)
def test_copies_made_at_any_time_tell_what_the_stream_tells(walk, kept):  # noqa: C901 - a walk
    """The same batches, and the same entries at once; nothing twice, whatever is under way when they begin."""

    async def run():
        loop = asyncio.get_running_loop()
        config = StreamConfig(window_s=60, window_most_s=60, history_items=kept + 3)
        stream = open_stream("events", config, loop)
        told, copies = {"batches": [], "now": []}, []
        pairs = []

        def came(batch):
            told["now"].append(batch)
            for copy in copies:
                copy.came(batch.entries)

        def left(batch):
            told["batches"].append(batch)
            for copy in copies:
                copy.left(batch.last)

        stream.listen_now(came)
        stream.listen(left)
        number = 0
        for what in walk:
            if what == "publish":
                await stream.publish([item(number), item(number + 1)], "")
                number += 2
            elif what == "now":
                stream._send_now()
            elif what == "leave":
                stream._send_now()
                stream._send()
            else:
                copy = Copy(opened("events", stream), Main(), Main())
                heard = {"batches": [], "now": []}
                copy.listen(heard["batches"].append)
                copy.listen_now(heard["now"].append)
                pairs.append((copy, heard, stream.sent, stream.history.last))
                copies.append(copy)
        stream._send_now()
        stream._send()
        for copy, heard, sent, last in pairs:
            # What was kept no more when the copy was made can't be in it
            flat = [int(each) for batch in ids(heard["batches"]) for each in batch]
            assert flat == list(range(flat[0] if flat else number, number))
            assert flat[0:1] <= [max(sent, 0) + max(0, last - sent - kept - 3)]
            at_once = [int(each) for batch in ids(heard["now"]) for each in batch]
            assert at_once == list(range(last, number))
            assert copy.sent == stream.sent
            assert list(copy.history) == list(stream.history)[-len(copy.history) or number :]
            assert copy.history.last == stream.history.last
        stream.close()

    asyncio.run(run())


async def test_what_is_published_is_asked_of_the_main_process():
    """And so is the window told of the load."""
    stream = open_stream("events", StreamConfig(), asyncio.get_running_loop())
    main = Main()
    copy = Copy(opened("events", stream), main, main)
    assert (await copy.publish([item(1)], "ann")).taken == 1
    copy.took(0.5)
    assert main.sent == [Publish("events", (item(1),), "ann"), Took("events", 0.5)]
    closed = []
    copy.when_closed(lambda: closed.append(True))
    copy.close()
    copy.close()
    assert (copy.closed, closed) == (True, [True])
    stream.close()
