"""A link of a node's, whose other end is the test."""

from __future__ import annotations

from triplewire.gates.relay.messages import decode


class FakeLink:
    """Remembers what it was given, parcels and all else in one list."""

    waiting_bytes = 0
    rtt_ms = 7.0

    def __init__(self, peer):
        self.peer = peer
        self.said = []
        self.bytes = 0

    def send(self, message):
        """What a node says over it."""
        self.said += decode(message)
        self.bytes += len(message)

    send_parcel = send

    def of(self, kind):
        """Those of its messages that are of a class."""
        return [each for each in self.said if isinstance(each, kind)]
