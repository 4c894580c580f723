"""The publisher: in an open loop, by the same plan each time, and what it is not told is an error."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

from bench.fanout.items import MARK
from bench.fanout.processes import Program

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Sink:
    """Takes requests over any number of connections; answers with these bytes, or never."""

    def __init__(self, answer):
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.taken = []
        self._peers = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            self._peers.append(peer)
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer):
        with peer:
            while data := peer.recv(100_000):
                for mark in MARK.finditer(data):
                    self.taken.append((int(mark[2]), float(mark[1]), time.time()))
                if self._answer:
                    peer.sendall(self._answer)

    def close(self):
        self._listener.close()
        for peer in self._peers:
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)


def published(answer, *, rate, items):
    """What a sink got, and what the publisher said."""
    sink = Sink(answer)
    program = Program("publisher", sink="http", host="127.0.0.1", port=sink.port, path="/", rate=rate, seed=1)
    program.tell(go=items)
    sent = program.answer(20)
    said = program.answer(20) if answer else None
    time.sleep(0.3 if not answer else 0)
    sink.close()
    program.stop()
    return sorted(sink.taken), sent, said


def test_each_item_is_stamped_as_it_is_sent():
    taken, sent, said = published(ANSWER, rate=100, items=20)
    assert [number for number, _, _ in taken] == list(range(1, 21))
    assert all(0 <= came - stamped < 1 for _, stamped, came in taken)
    assert (said["answered"], said["errors"]) == (20, [])
    assert sent["sent_s"] > 0


def test_the_times_between_items_are_the_same_each_time():
    """As far as a process can be on time."""
    one, other = (published(ANSWER, rate=50, items=15)[0] for _ in range(2))
    for (_, at, _), (_, again, _) in zip(one, other, strict=True):
        assert abs((at - one[0][1]) - (again - other[0][1])) < 0.2


def test_no_item_waits_for_an_answer():
    taken, _, _ = published(b"", rate=100, items=10)
    assert [number for number, _, _ in taken] == list(range(1, 11))


def test_what_is_not_taken_is_an_error():
    _, _, said = published(
        b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", rate=100, items=3
    )
    assert said["answered"] == 0
    assert "503" in said["errors"][0]
