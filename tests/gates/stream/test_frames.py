"""Batches as WebSocket messages: few, whole items in each, and no form of our own."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.frames import Opcode
from websockets.protocol import Protocol, Side, State

from triplewire.broker.wire.item_json import LineReader
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import TEST_CONNECTION, command_item
from triplewire.gates.stream.entry import Batch, Entry
from triplewire.gates.stream.frames import BINARY, MESSAGE_BYTES, TEXT

from .serving import item


def batch_of(items):
    return Batch("events", tuple(Entry(number, each, 0.0) for number, each in enumerate(items, 1)))


def messages(data):
    """What the websockets library, as a client, reads: opcodes and payloads."""
    client = Protocol(Side.CLIENT, state=State.OPEN, max_size=None)
    client.receive_data(data)
    assert client.parser_exc is None
    return [(event.opcode, bytes(event.data)) for event in client.events_received()]


sizes = st.lists(
    st.sampled_from([0, 1, 100, 60_000, MESSAGE_BYTES, MESSAGE_BYTES + 1]), min_size=1, max_size=12
)


@settings(deadline=None, max_examples=30)
@given(sizes)
def test_all_items_are_in_as_few_messages_as_may_be(sizes):
    """In order; a message has whole items, and is too large only where one item is."""
    items = [item(f"e{number}", b"x" * size) for number, size in enumerate(sizes)]
    for form, opcode, reader in ((TEXT, Opcode.TEXT, LineReader), (BINARY, Opcode.BINARY, ItemReader)):
        found = messages(form.body(batch_of(items)))
        assert {kind for kind, _ in found} == {opcode}
        read = [reader().feed(data) for _, data in found]
        assert [each for some in read for each in some] == items
        assert all(
            len(data) <= MESSAGE_BYTES or len(some) == 1 for (_, data), some in zip(found, read, strict=True)
        )
        lengths = [len(data) for _, data in found]
        assert all(one + other > MESSAGE_BYTES for one, other in pairwise(lengths))


def test_text_is_one_object_a_line():
    """As a page reads it."""
    ((_, data),) = messages(TEXT.body(batch_of([item(1, b"one"), item(2, "zwölf".encode())])))
    found = [json.loads(line) for line in data.decode().splitlines()]
    assert [each["Event-Id"] for each in found] == ["1", "2"]


@pytest.mark.parametrize("form", [TEXT, BINARY])
def test_a_sign_of_life_is_a_pong(form):
    """Alone, or behind the items that it leaves with."""
    sign = command_item(TEST_CONNECTION, "sign")
    assert messages(form.body(batch_of([sign]))) == [(Opcode.PONG, b"")]
    kinds = [kind for kind, _ in messages(form.body(batch_of([item(1), sign])))]
    assert kinds == [Opcode.TEXT if form is TEXT else Opcode.BINARY, Opcode.PONG]
