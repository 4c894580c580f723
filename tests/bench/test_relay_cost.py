"""What an item costs a node that passes it on, without sockets: by how many of them share a parcel.

A node with `LINKS` neighbours reads each parcel from all but one of them, drops what it has seen by then, and verifies, keeps,
orders, unpacks and hands on the rest.  Prints microseconds of this thread; asserts only that what was measured was right.
"""

from __future__ import annotations

import time
from random import Random

import pytest
from support.benchmarks import Table
from support.chained import CHAIN, KEY

from triplewire.broker.wire.items import Item, encode_item
from triplewire.gates.relay.chains import Sequencer
from triplewire.gates.relay.duplicates import Duplicates
from triplewire.gates.relay.kept import Kept
from triplewire.gates.relay.messages import decode, encode, frames
from triplewire.gates.relay.parcels import seal, unpack, verify

ITEMS = 4_000
ITEM_BYTES = 308  # as the public transport of Helsinki has them
LINKS = 4
PUBLIC = KEY.public_key()


def item(number):
    """One of ITEM_BYTES."""
    head = Item(f"{number:036}", "src-1", "text/turtle", b"", timestamp="2026-01-01T00:00:00.000Z")
    body = b"<a> <b> <c> .\n" * 30
    return Item(
        head.event_id,
        head.source_id,
        head.syntax,
        body[: ITEM_BYTES - len(encode_item(head)) - 2],
        timestamp=head.timestamp,
    )


class Clock:
    """Seconds of this thread, by what was done."""

    def __init__(self):
        self.spent = {}
        self._at = time.thread_time()

    def begin(self):
        self._at = time.thread_time()

    def done(self, what):
        now = time.thread_time()
        self.spent[what] = self.spent.get(what, 0.0) + now - self._at
        self._at = time.thread_time()


def relayed(parcels):
    """All of them through one node, each as often as it comes; what each step took, and the items."""
    duplicates, kept, into = Duplicates(), Kept(64 * 2**20, 60.0), Sequencer(Random(1))
    clock, items, out, now = Clock(), [], 0, 0.0
    frames_in = [bytes(memoryview(parcel.data)) for parcel in parcels]
    clock.begin()
    came = [[decode(frame)[0] for _ in range(LINKS - 1)] for frame in frames_in]
    clock.done("read")
    fresh = []
    for copies in came:
        for parcel in copies:
            if not duplicates.seen(parcel.chain, parcel.first, parcel.last):
                duplicates.new(parcel.chain, parcel.first, parcel.last, now)
                fresh.append(parcel)
    clock.done("duplicates")
    assert all(verify(parcel, PUBLIC) for parcel in fresh)
    clock.done("verify")
    for parcel in fresh:
        kept.add(parcel, now)
    clock.done("keep")
    for parcel in fresh:
        for _ in range(LINKS - 1):
            out += len(next(frames((encode(parcel),))))
    clock.done("pass on")
    pieces = [piece for parcel in fresh for piece in into.arrived(parcel, now)]
    clock.done("order")
    for piece in pieces:
        items += piece.of(unpack(piece.parcel))
    clock.done("unpack")
    return clock.spent, items, out


@pytest.mark.parametrize("together", [1, 8, 100])
def test_what_a_relayed_item_costs(together):
    """Of each step, and of all."""
    sent = [item(number) for number in range(ITEMS)]
    assert {len(encode_item(each)) for each in sent} == {ITEM_BYTES}
    began = time.thread_time()
    parcels = [
        seal(CHAIN, first + 1, sent[first : first + together], KEY) for first in range(0, ITEMS, together)
    ]
    sealing = time.thread_time() - began

    spent, items, out = min((relayed(parcels) for _ in range(3)), key=lambda found: sum(found[0].values()))

    assert items == sent
    assert out == (LINKS - 1) * sum(len(parcel.data) for parcel in parcels)
    overhead = sum(len(parcel.data) for parcel in parcels) / ITEMS - ITEM_BYTES
    table = Table(
        f"{together} items of {ITEM_BYTES} bytes a parcel, {overhead:.1f} bytes more each, {LINKS} links",
        "step",
        "us/item",
        "us/parcel",
    )
    total = sum(spent.values())
    for name, seconds in {**spent, "all of these": total, "seal (where it begins)": sealing}.items():
        table.add(name, seconds / ITEMS * 1e6, seconds / len(parcels) * 1e6)
    table.add("items a second on a core, without sockets", ITEMS / total, len(parcels) / total)
    table.print()
