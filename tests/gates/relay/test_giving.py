"""What goes to a sink: one thing at a time, in order, and nothing else waits for it."""

from __future__ import annotations

import asyncio

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.overlay import Recorder, items, until

from triplewire.broker.errors import Overloaded
from triplewire.gates.relay import giving
from triplewire.gates.relay.counted import Counted
from triplewire.gates.relay.giving import Giving
from triplewire.gates.relay.ordered import GapMarker, Piece
from triplewire.gates.relay.parcels import seal

KEY = Ed25519PrivateKey.generate()
CHAIN = b"12345678"


def piece(some, first=1, *, since=None):
    return Piece(seal(CHAIN, first, some, KEY), since or first)


def given_to(sink, most=10, room=lambda: None):
    counted = Counted()
    return Giving(sink, most, lambda chain: f"of {chain.decode()}", room, counted), counted


async def test_pieces_and_markers_keep_their_order():
    """A piece is its parcel from an item on; a marker is told with its chain in hex."""
    sink = Recorder()
    some = items(5)
    gives, counted = given_to(sink)
    gives.put([piece(some[:3], since=2), GapMarker(CHAIN, 4, 8), piece(some[3:], 9)])
    await until(lambda: len(sink.ids) == 4)
    assert sink.ids == [item.event_id for item in some[1:]]
    assert sink.gaps == [(CHAIN.hex(), 4, 8)]
    assert sink.publishers == {"of 12345678"}
    assert counted.gaps == 1
    await gives.close()


async def test_a_sink_that_is_overloaded_is_given_the_same_again(monkeypatch):
    """Nothing is left out; where it fails for another reason it is not asked twice, and a marker says so."""
    monkeypatch.setattr(giving, "_AGAIN_S", 0.01)

    class Moody(Recorder):
        tries = 0

        async def take(self, some, publisher):
            self.tries += 1
            if self.tries in {1, 2}:
                raise Overloaded("not now")
            if self.tries == 4:
                raise ValueError("a bug")
            await super().take(some, publisher)

    sink = Moody()
    some = items(3)
    gives, _ = given_to(sink)
    gives.put([piece(some[:1]), piece(some[1:2], 2), piece(some[2:], 3)])
    await until(lambda: len(sink.ids) == 2)
    assert sink.ids == [some[0].event_id, some[2].event_id]
    assert sink.gaps == [(CHAIN.hex(), 2, 2)]
    await gives.close()


async def test_whatever_happens_as_there_is_room_what_waits_is_given(caplog):
    """A failure there is logged, and ends nothing."""

    def room():
        raise ValueError("a bug")

    sink = Recorder()
    gives, _ = given_to(sink, room=room)
    for number in range(1, 4):
        gives.put([piece(items(1), number)])
        await until(lambda number=number: len(sink.ids) == number)
    assert "a bug" in caplog.text
    await gives.close()


async def test_what_is_no_items_is_a_gap():
    """A publisher may sign anything: nobody dies of it."""
    sink = Recorder()
    gives, counted = given_to(sink)
    good = seal(CHAIN, 1, items(2), KEY)
    content = good.data[: good.start] + b"x" * (len(good.data) - good.start - 64)
    bad = type(good)(CHAIN, 1, 2, content + KEY.sign(content), good.start)
    gives.put([Piece(bad, 1), piece(items(1), 3)])
    await until(lambda: len(sink.ids) == 1)
    assert sink.gaps == [(CHAIN.hex(), 1, 2)]
    assert counted.gaps == 1
    await gives.close()


async def test_room_is_told_when_half_of_the_queue_is_free():
    """And not before; the queue is full from its bound on."""
    sink = Recorder(may_take=asyncio.Event())
    told = []
    gives, _ = given_to(sink, 4, lambda: told.append(len(gives)))
    for number in range(1, 5):
        assert not gives.full
        gives.put([piece(items(1), number)])
    assert gives.full
    await asyncio.sleep(0.02)
    assert not told
    sink.may_take.set()
    await until(lambda: len(sink.ids) == 4)
    assert max(told) == 2
    await gives.close()


async def test_at_the_end_what_waits_is_given_within_bounds(monkeypatch):
    """A sink that takes gets all; one that does not is left."""
    sink = Recorder()
    gives, _ = given_to(sink)
    gives.put([piece(items(1), number) for number in range(1, 50)])
    await gives.close()
    assert len(sink.ids) == 49
    monkeypatch.setattr(giving, "_LAST_S", 0.05)
    stuck = Recorder(may_take=asyncio.Event())
    gives, _ = given_to(stuck)
    gives.put([piece(items(1))])
    await gives.close()
    assert stuck.ids == []
