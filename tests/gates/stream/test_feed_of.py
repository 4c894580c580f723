"""Feeds that are others."""

from __future__ import annotations

import asyncio

import pytest
from support.stepped import Reader, SteppedLoop, item, stream_of

from triplewire.broker.errors import Forbidden
from triplewire.gates.stream.feed_of import DerivedFeed, FeedOf


def test_all_is_what_the_other_says():
    """Names, settings, what is kept, what is heard and when it ends."""
    loop = SteppedLoop()
    stream = stream_of(loop)
    feed = FeedOf(stream)
    reader = Reader(feed, loop)
    assert (feed.name, feed.config, feed.source_id) == (stream.name, stream.config, stream.source_id)
    assert feed.history is stream.history
    receipt = asyncio.run(feed.publish([item("e1")], "us"))
    loop.settle()
    assert (receipt.taken, feed.sent) == (1, 1)
    assert reader.heard == reader.heard_now == ["e1"]
    feed.took(1.0)
    assert stream.window.period_s > 0
    stream.close()
    assert (feed.closed, reader.closed) == (True, 1)


def test_nobody_publishes_into_a_derived_one():
    """It says of which kind it is."""
    stream = stream_of(SteppedLoop(), kind="join", of=("a",))
    with pytest.raises(Forbidden, match="events: it is a join"):
        asyncio.run(DerivedFeed(stream).publish([item("e1")], "us"))
    assert stream.counts.taken == 0
