"""Thousands of consumers in one process, each of whose bytes are read, unframed, inflated and searched for items.

That must cost less than sending them does, so it is done once for all who have read the same. Where a consumer stands is a
`Place`: all the bytes that came so far, whatever pieces they came in, and what follows from them: the reader's state, the
items seen, those that came twice. To read is to go from a place to the next by a `Step`, and all but the first who take it
find it there: a comparison of bytes, no more. Two who were told different bytes stand at different places for good; so
nothing is taken for granted, and a peer that sends everybody something else is only dearer to measure.

Places that nobody stands at or will come to are forgotten from time to time.

A delay ends when the poll returns that tells of the bytes, so what this process is late by counts against the server, as a
slow reader's lateness does in life; about 5 us of a delivery are the kernel's receiving, and a half to one is ours.
"""

from __future__ import annotations

import hashlib
import os
import select
import socket
import time
from collections import Counter
from typing import TYPE_CHECKING

from .framings import Garbled
from .histogram import Delays
from .items import MARK, MARK_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from .framings import Framing
    from .handshakes import Handshake

_READ_BYTES = 16384
_ROUND = 512  # events: one round stays short, as its clock is read once
_PLACES = 500
_CONNECTING = 64  # at the same time: some peers' backlog is 128
_BEFORE = 1000  # numbers of items for warming up: below 1, above this with a minus
_BIND_ADDRESS_NO_PORT = (
    24  # linux/in.h; the port is chosen when both addresses are known, so an address has 28,000
)


class Place:
    """All that came to a consumer, and what is known from that."""

    __slots__ = ("came", "framing", "hash", "last", "likely", "reordered", "seen", "steps", "tail", "twice")

    def __init__(self, framing: Framing) -> None:
        self.framing = framing
        self.hash = hashlib.blake2b(digest_size=16)
        self.came = 0
        self.tail = b""
        self.seen = 0  # a bit for each number
        self.twice = self.reordered = 0
        self.last = -(10**9)
        self.steps: dict[bytes, Step] = {}
        self.likely = NOWHERE


class Step:
    """From one place to the next: the bytes, and the items that became whole with them, number and time of sending."""

    __slots__ = ("data", "items", "to")

    def __init__(self, data: bytes | None, to: Place | None, items: list[tuple[int, float]]) -> None:
        self.data, self.to, self.items = data, to, items


NOWHERE = Step(None, None, [])


class Places:
    """Those of one crowd, by what came."""

    def __init__(self) -> None:
        self._known: dict[bytes, Place] = {}

    def __len__(self) -> int:
        return len(self._known)

    def start(self, framing: Framing) -> Place:
        """Where all begin."""
        return self._known.setdefault(b"", Place(framing))

    def step(self, place: Place, data: bytes) -> Step:
        """To where these bytes lead from there.

        Raises:
            Garbled: nowhere: they are not of the protocol.
        """
        step = place.steps.get(data)
        if step is None:
            step = place.steps[data] = self._new(place, data)
        place.likely = step
        return step

    def _new(self, place: Place, data: bytes) -> Step:
        to = Place(place.framing.copy())
        text = place.tail + b"".join(to.framing.feed(data))
        marks = list(MARK.finditer(text))
        items = [(int(mark[2]), float(mark[1])) for mark in marks]
        to.tail = text[marks[-1].end() if marks else 0 :][-MARK_BYTES:]
        to.hash = place.hash.copy()
        to.hash.update(data)
        to.came = place.came + len(data)
        _note(place, to, [number for number, _ in items])
        return Step(data, self._known.setdefault(to.hash.digest(), to), items)

    def forget(self, used: set[Place]) -> None:
        """All that are behind those that are used."""
        least = min((place.came for place in used), default=0)
        self._known = {key: place for key, place in self._known.items() if place.came >= least or not key}
        for place in used:
            place.steps, place.likely = {}, NOWHERE


def _note(place: Place, to: Place, numbers: list[int]) -> None:
    to.seen, to.twice, to.reordered, to.last = place.seen, place.twice, place.reordered, place.last
    for number in numbers:
        if to.seen & _bits(range(number, number + 1)):
            to.twice += 1
        elif number < to.last:
            to.reordered += 1
        to.seen |= _bits(range(number, number + 1))
        to.last = max(to.last, number)


def _bits(numbers: range) -> int:
    return ((1 << len(numbers)) - 1) << (numbers.start + _BEFORE)


class Crowd:
    """Consumers of one stream, all over the same handshake, from one source address.

    `items` counts deliveries of all items, those for warming up too, and `bytes` all that came once they had joined;
    `delays` has those of items from 1 on.
    """

    def __init__(self, address: tuple[str, int], handshake: Callable[[], Handshake], source: str) -> None:
        self._address, self._handshake, self._source = address, handshake, source
        self._poll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        self._joining: dict[int, Handshake] = {}
        self._connecting: set[int] = set()
        self._at: dict[int, Place] = {}
        self._ended: list[Place] = []
        self._places = Places()
        self._watched = -1
        self.refused: list[str] = []
        self.items = self.bytes = 0
        self.delays = Delays()

    def __len__(self) -> int:
        """Those that have joined and are still there."""
        return len(self._at)

    def join(self, count: int, rate: float, until: float) -> None:
        """Let so many join, at most so many a second; those that have not by `until` (monotonic) are not counted on."""
        begun, made = time.monotonic(), 0
        while (made < count or self._joining) and (now := time.monotonic()) < until:
            while made < count and len(self._joining) < _CONNECTING and made < (now - begun) * rate + 1:
                self._connect()
                made += 1
            self.round(0.01)

    def round(self, timeout_s: float) -> bool:
        """Read what has come, of some; waits so long at most where nothing has.

        True where that which is watched has something.
        """
        ready = self._poll.poll(timeout_s, _ROUND)
        now = time.time()
        at, read, passed, told = self._at, os.read, [], False
        for fd, _ in ready:
            place = at.get(fd)
            if place is None:
                told |= fd == self._watched
                self._advance(fd)
                continue
            try:
                data = read(fd, _READ_BYTES)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            step = place.likely
            if step.data != data:
                if not data:
                    self._lose(fd)
                    continue
                step = self._places.step(place, data)
            at[fd] = step.to
            passed.append(step)
        self._count(passed, now)
        return told

    def watch(self, fd: int) -> None:
        """Let `round` tell when this has something; it is not read."""
        self._poll.register(fd, select.EPOLLIN)
        self._watched = fd

    def forget(self) -> None:
        """Free what is known of times past, where it is much."""
        if len(self._places) > _PLACES:
            self._places.forget(set(self._at.values()))

    def missing(self, wanted: range) -> dict[str, int]:
        """What the consumers, those that were cut too, have not seen of the wanted items, have seen twice, or late."""
        numbers, found = _bits(wanted), Counter(lost=0, twice=0, reordered=0)
        for place, count in Counter([*self._at.values(), *self._ended]).items():
            found["lost"] += count * (numbers & ~place.seen).bit_count()
            found["twice"] += count * place.twice
            found["reordered"] += count * place.reordered
        return {**found, "cut": len(self._ended)}

    def close(self) -> None:
        """Leave."""
        for each in self._sockets.values():
            each.close()
        self._poll.close()

    def _count(self, passed: list[Step], now: float) -> None:
        for step, count in Counter(passed).items():
            self.bytes += count * len(step.data or b"")
            self.items += count * len(step.items)
            for number, sent in step.items:
                if number > 0:  # one that was sent during the round is no later than now
                    self.delays.add((now if now > sent else time.time()) - sent, count)

    def _connect(self) -> None:
        opened = socket.socket()
        opened.setblocking(False)
        opened.setsockopt(socket.IPPROTO_IP, _BIND_ADDRESS_NO_PORT, 1)
        opened.bind((self._source, 0))
        opened.connect_ex(self._address)
        fd = opened.fileno()
        self._sockets[fd] = opened
        self._joining[fd] = self._handshake()
        self._connecting.add(fd)
        self._poll.register(fd, select.EPOLLOUT)

    def _advance(self, fd: int) -> None:
        """One step of a handshake."""
        if (handshake := self._joining.get(fd)) is None:
            return
        opened = self._sockets[fd]
        try:
            if fd in self._connecting:
                self._connecting.discard(fd)
                self._poll.modify(fd, select.EPOLLIN)
                asked = next(handshake)
            else:
                data = opened.recv(_READ_BYTES)  # raises the error of a connect that failed, too
                asked = handshake.send(data) if data else handshake.throw(Garbled("closed while joining"))
            if asked:
                opened.send(asked)
        except StopIteration as joined:
            self._joined(fd, *joined.value)
        except (OSError, Garbled) as error:
            self.refused.append(str(error))
            del self._joining[fd]
            self._poll.unregister(fd)
            self._sockets.pop(fd).close()

    def _joined(self, fd: int, framing: Framing, rest: bytes, last: bytes) -> None:
        del self._joining[fd]
        if last:
            self._sockets[fd].send(last)
        place = self._places.start(framing)
        if rest:
            step = self._places.step(place, rest)
            place = step.to
            self._count([step], time.time())
        self._at[fd] = place

    def _lose(self, fd: int) -> None:
        self._ended.append(self._at.pop(fd))
        self._poll.unregister(fd)
        self._sockets.pop(fd).close()
