"""Frames over a socket."""

from __future__ import annotations

import socket
import threading

import pytest
from support.readers import deadline

from triplewire.broker.errors import DeadlineExceeded
from triplewire.broker.readers.wire import DATA, END, Channel, ChannelClosed


@pytest.fixture
def pair():
    """Two ends."""
    one, other = socket.socketpair()
    one.settimeout(0.01)
    channels = Channel(one), Channel(other)
    yield (*channels, one, other)
    for channel in channels:
        channel.close()


def test_frames_come_as_they_were_sent(pair):
    """Empty and large ones, several in one go."""
    here, there, *_ = pair
    frames = [(DATA, b"x" * 1_000_000), (DATA, b""), (END, b"y")]
    sender = threading.Thread(target=there.send, args=frames)
    sender.start()
    assert [here.receive() for _ in frames] == frames
    sender.join()


def test_bytes_one_by_one(pair):
    """However they come."""
    here, there, _, raw = pair
    frames = [(DATA, b"abc"), (END, b"")]
    for byte in b"\x0c\x03\x00\x00\x00abc":
        raw.send(bytes([byte + (DATA - 12) if byte == 12 else byte]))
    there.send((END, b""))
    assert [here.receive() for _ in frames] == frames


def test_the_other_end_is_gone(pair):
    """Told to whoever sends or receives, in the middle of a frame too."""
    here, _, _, raw = pair
    raw.send(b"\x0d\x03\x00\x00")
    raw.close()
    with pytest.raises(ChannelClosed):
        here.receive()
    with pytest.raises(ChannelClosed):
        here.send((END, b""))


def test_waiting_is_checked(pair):
    """For bytes, and for room."""
    here, *_ = pair
    with pytest.raises(DeadlineExceeded):
        here.receive(deadline(0.03))
    with pytest.raises(DeadlineExceeded):
        here.send((DATA, b"x" * 10_000_000), check=deadline(0.03))
