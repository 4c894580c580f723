"""A crowd: what is lost, comes twice or late is counted to each consumer, whatever pieces the bytes come in."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from bench.fanout.crowd import Crowd, Places
from bench.fanout.framings import Chunks, Garbled
from bench.fanout.handshakes import http
from bench.fanout.items import item

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(number, sent=None):
    made = item(number, "abcdef01", b"body", sent)
    return b"%x\r\n%s\r\n" % (len(made), made)


@pytest.mark.parametrize("step", [1, 5, 100, 1000])
def test_a_place_is_all_that_came_however_it_came(step):
    """Those who read in other pieces come to the same place, and each item is told once."""
    places = Places()
    wire = b"".join(chunk(number, 1.5) for number in (1, 2, 3))
    whole = places.step(places.start(Chunks()), wire)
    place, told = places.start(Chunks()), []
    for at in range(0, len(wire), step):
        taken = places.step(place, wire[at : at + step])
        place, told = taken.to, told + taken.items
    assert place is whole.to
    assert told == whole.items == [(1, 1.5), (2, 1.5), (3, 1.5)]


def test_places_that_nobody_will_come_to_are_forgotten():
    places = Places()
    start = place = places.start(Chunks())
    for number in range(1, 50):
        place = places.step(place, chunk(number)).to
    places.forget({place})
    assert len(places) == 2
    assert places.start(Chunks()) is start
    assert places.step(place, chunk(50)).to.seen.bit_count() == 50


class Server:
    """Accepts so many, and tells each what it is given for it; closes those it is given None for."""

    def __init__(self, count):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = self._listener.getsockname()
        self.peers = []
        self._thread = threading.Thread(target=self._accept, args=(count,))
        self._thread.start()

    def _accept(self, count):
        for _ in range(count):
            peer, _ = self._listener.accept()
            peer.recv(1000)
            peer.sendall(HEAD)
            self.peers.append(peer)

    def tell(self, place, *numbers):
        self.peers[place].sendall(b"".join(chunk(number, time.time()) for number in numbers))

    def close(self):
        self._thread.join(5)
        for peer in self.peers:
            peer.close()
        self._listener.close()


@pytest.fixture
def served():
    """A server and its crowd of five."""
    server = Server(5)
    crowd = Crowd(server.address, lambda: http("/"), "127.0.0.2")
    crowd.join(5, 1000, time.monotonic() + 5)
    assert len(crowd) == 5, crowd.refused
    yield server, crowd
    crowd.close()
    server.close()


def read(crowd, items):
    until = time.monotonic() + 5
    while crowd.items < items and time.monotonic() < until:
        crowd.round(0.05)
    assert crowd.items == items


def test_what_each_missed_is_counted(served):
    server, crowd = served
    for place in range(5):
        server.tell(place, -5, 1)
    read(crowd, 10)
    server.tell(0, 2, 3)
    server.tell(1, 3)  # 2 is lost
    server.tell(2, 3, 2)  # 2 is late
    server.tell(3, 2, 2, 3)  # 2 comes twice
    read(crowd, 18)
    server.peers[4].close()  # 2 and 3 are lost
    while len(crowd) == 5:
        crowd.round(0.05)
    assert crowd.missing(range(1, 4)) == {"lost": 3, "twice": 1, "reordered": 1, "cut": 1}
    assert len(crowd.delays) == 13
    assert crowd.delays.quantile_ms(1.0) < 5000


def test_who_is_refused_does_not_join():
    """And the reason is kept."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            peer, _ = listener.accept()
            peer.recv(1000)
            peer.sendall(b"HTTP/1.1 503 Service Unavailable\r\n\r\n")
            peer.close()

        thread = threading.Thread(target=answer)
        thread.start()
        crowd = Crowd(listener.getsockname(), lambda: http("/"), "127.0.0.2")
        crowd.join(1, 1000, time.monotonic() + 5)
        thread.join(5)
    assert len(crowd) == 0
    assert "503" in crowd.refused[0]
    crowd.close()


def test_garbled_bytes_end_it():
    places = Places()
    with pytest.raises(Garbled):
        places.step(places.start(Chunks()), b"no chunk at all, but some text")
