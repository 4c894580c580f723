"""Who gets the same bytes: the ready, the slow, and those that change sides while they are written to."""

from __future__ import annotations

import os
import socket
import sys

from triplewire.gates.stream.consumers import Audience, Consumer


class Transport:
    """Takes so many bytes, and keeps the rest."""

    def __init__(self, room=10**9):
        self.room = room
        self.waiting = 0
        self.written = []
        self.protocol = None

    def get_extra_info(self, name):  # noqa: ARG002 - it has nothing
        return None

    def get_write_buffer_size(self):
        return self.waiting

    def write(self, data):
        self.written.append(data)
        over = max(0, len(data) - self.room)
        self.room -= len(data) - over
        if over and not self.waiting and self.protocol:
            self.protocol.pause_writing()
        self.waiting += over


def consumer(audience, room=10**9):
    made = Consumer(Transport(room), None, 0)
    made.transport.protocol = made
    audience.add(made)
    return made


class Plain(Transport):
    """One over a socket."""

    aborted = False

    def __init__(self, opened):
        super().__init__(0)
        self.opened = opened

    def get_extra_info(self, name):
        return self.opened if name == "socket" else None

    def abort(self):
        self.aborted = True


def test_sockets_are_written_to_past_their_transports():
    """What one does not take is its transport's, at once and in order; a broken one is cut, and harms nobody."""
    audience = Audience()
    pairs = [socket.socketpair() for _ in range(3)]
    consumers = []
    for here, _ in pairs:
        here.setblocking(False)
        consumers.append(Consumer(Plain(here), None, 0))
        consumers[-1].transport.protocol = consumers[-1]
        audience.add(consumers[-1])
    fine, narrow, broken = consumers
    pairs[2][1].close()
    data = os.urandom(1000)
    while narrow not in audience.slow:
        assert audience.write(data, 10_000) == []
        assert pairs[0][1].recv(2000) == data
    (rest,) = narrow.transport.written
    assert 0 < len(rest) <= len(data)
    assert data.endswith(rest)
    assert fine.transport.written == []
    assert broken.transport.aborted
    narrow.transport.waiting = 0
    narrow.resume_writing()
    assert list(audience.direct.values()) == [fine, broken, narrow]
    for pair in pairs:
        for opened in pair:
            opened.close()


def test_all_are_given_the_same_object():
    """No copy, no frame of one's own."""
    audience = Audience()
    some = [consumer(audience) for _ in range(3)]
    data = bytes(100)
    assert audience.write(data, 10) == []
    assert all(each.transport.written[0] is data for each in some)


def test_who_becomes_slow_is_written_to_once():
    """It changes sides while the batch is written, and takes the next ones until too much is unread."""
    audience = Audience()
    slow, other = consumer(audience, room=150), consumer(audience)
    for _ in range(3):
        assert audience.write(bytes(100), 120) == []
    assert list(audience.slow) == [slow]
    assert len(slow.transport.written) == 3
    assert audience.write(bytes(100), 120) == [slow]
    assert len(slow.transport.written) == 3
    assert len(other.transport.written) == 4


def test_who_has_read_all_is_ready_again():
    """And is not looked at before each write any more."""
    audience = Audience()
    slow = consumer(audience, room=50)
    audience.write(bytes(100), 120)
    slow.transport.waiting = 0
    slow.resume_writing()
    assert (list(audience.ready), list(audience.slow)) == ([slow], [])


def test_merging_keeps_both_sides():
    """Everyone knows where it is now, and can leave."""
    audience, others = Audience(), Audience()
    slow, ready = consumer(others, room=50), consumer(others)
    others.write(bytes(100), 120)
    audience.take(others)
    assert (len(audience), len(others)) == (2, 0)
    assert (slow in audience.slow, ready in audience.ready) == (True, True)
    for each in (slow, ready):
        each.audience.remove(each)
    assert len(audience) == 0


def test_a_consumer_is_a_few_words():
    """No dict, no list, no closure of its own (weakness 9)."""
    made = Consumer(Transport(), None, 0)
    assert not hasattr(made, "__dict__")
    assert sys.getsizeof(made) < 120
