"""Carriers of items to others, in one process and without a network."""

from __future__ import annotations


class Overlay:
    """What carries between nodes in one process: what one publishes comes to the sinks of the others, in order."""

    def __init__(self):
        self.nodes = []

    def node(self):
        node = FakeCarrier(self)
        self.nodes.append(node)
        return node


class FakeCarrier:
    """One node's end of it.  `refuses` is raised by ready; `fails` by the next calls of publish, one each; `there` is told."""

    def __init__(self, overlay=None):
        self.overlay = overlay
        self.sinks = {}
        self.places = {}
        self.told = []  # how many followed
        self.carried = []
        self.dropped = []
        self.refuses = None
        self.there = True
        self.fails = []
        self.hold = None  # an event: publish returns when it is set

    def carry(self, stream, sink, places=None):
        self.sinks[stream] = sink
        self.places[stream] = places

    async def drop(self, stream):
        self.dropped.append(stream)

    def follow(self, stream, followers):
        self.told.append((stream, followers))

    async def ready(self, _):
        if self.refuses is not None:
            raise self.refuses

    def is_there(self, _):
        return self.there

    async def publish(self, stream, items):
        failure = self.fails.pop(0) if self.fails else None
        if failure is None:
            self.carried += items
        if self.hold is not None:
            await self.hold.wait()
        if failure is not None:
            raise failure
        for other in self.overlay.nodes if self.overlay else ():
            if other is not self and stream in other.sinks:
                await other.sinks[stream].take(items, "p")

    def health(self):
        return {}
