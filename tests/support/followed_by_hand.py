"""A follower that a test runs by hand: its flow is told what the servers answer, its clock is turned."""

from __future__ import annotations

import random
from datetime import UTC, datetime

from triplewire.broker.wire.items import encode_item
from triplewire.clients.flows import Reply
from triplewire.clients.streams.following import Following, Told
from triplewire.clients.streams.settings import StreamSettings

URL = "http://host/events/stream"
TRACKER = "http://tracker/consume/events/compressed"
ONE, TWO = "http://one/events/compressed", "http://two/events/compressed"
OK = Reply(200)
KNOWN = Reply(200, {"triplewire-overlap": "10.000"})
AGAIN = (("last-seen", "e58"), ("overlap", "10"))  # after `followed_for(60, ...)`, at once, at the same relay
EARLIER = (*AGAIN, ("away", "2"))  # and at another


def following(told=None, settings=None, **options):
    """Of one server's."""
    return Following(
        [URL], settings or StreamSettings(), told=told or Told(), rng=random.Random(1), **options
    )


def wire(*items):
    """As they come."""
    return b"".join(map(encode_item, items))


class Clock:
    """Seconds from 1000 on."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def sent_to(url, node=""):
    """A tracker's answer."""
    return Reply(307, {"location": url, **({"triplewire-node": node} if node else {})})


def tracked(*others, told=None, settings=None, url=TRACKER, **options):
    """A follower of a tracker's, and its clock."""
    clock = options.pop("clock", None) or Clock()
    settings = settings or StreamSettings()
    made = Following(
        [url, *others],
        settings,
        told=told or Told(),
        rng=random.Random(1),
        clock=clock,
        wall_clock=lambda: clock.now + 1e9,
        **options,
    )
    return made, clock


def stamp(clock, ahead_s=0.0):
    """The Timestamp of what is published now, by a clock that is so much ahead of the wall clock of `tracked`."""
    return datetime.fromtimestamp(clock.now + 1e9 + ahead_s, UTC).isoformat(timespec="milliseconds")


def followed_for(seconds, flow, clock, item, node=""):
    """Follow at a relay, an item a second, which comes at once; the flow is at its next read then."""
    step = next(flow)
    assert step.url == TRACKER
    step = flow.send(sent_to(ONE, node))
    assert step.url == ONE
    flow.send(OK)
    for number in range(1, seconds + 1):
        clock.now += 1.0
        made = item(number, timestamp=stamp(clock))
        assert flow.send(wire(made)) == (made,)
        flow.send(None)
    return step
