"""A change as bytes and back."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad
from support.deltas import EX, examples, histories, texts

from triplewire.broker.journal.record import HEADER, MAGIC, Frame, Record, decode, encode
from triplewire.broker.model import QuadDelta


def frame_of(data):
    """What a reader makes of a record's bytes."""
    magic, flags, length, check, sequence, time_ms, _ = HEADER.unpack_from(data)
    payload = data[HEADER.size :]
    assert (magic, length, check) == (MAGIC, len(payload), zlib.crc32(payload))
    return Frame(sequence, time_ms, flags, payload)


@given(histories(), texts, st.integers(1, 2**63), st.integers(0, 2**63))
@examples()
def test_changes_come_back(history, client, sequence, time_ms):
    """Quads of every kind, graphs without a quad, and who did it when."""
    for delta in history.deltas:
        record = Record.of(delta, sequence, time_ms, client)
        again = decode(frame_of(encode(record)))
        assert again == record
        assert again.delta() == delta


def test_the_graphs_of_its_quads_are_named():
    """So that a graph that was made by a quad is known when the quad is gone."""
    node = NamedNode(EX)
    delta = QuadDelta(frozenset([Quad(node, node, node, node)]), frozenset())
    assert Record.of(delta, 1, 0, "").graphs == (EX,)
    assert Record.of(delta, 1, 0, "").delta().created == frozenset()


def test_a_large_change_is_deflated():
    """Above a few KiB."""
    node = NamedNode(EX)
    small, large = (
        Record.of(
            QuadDelta(frozenset(Quad(node, node, Literal(str(n))) for n in range(count)), frozenset()),
            1,
            0,
            "",
        )
        for count in (10, 1000)
    )
    assert frame_of(encode(small)).flags == 0
    assert frame_of(encode(large)).flags == 1
    assert len(encode(large)) < len(large.inserted) / 4
    assert decode(frame_of(encode(large))) == large


@given(histories())
@examples()
def test_no_record_ends_in_a_zero(history):
    """Zeros at the end of a file were never the end of a record, deflated or not."""
    for delta in history.deltas:
        assert encode(Record.of(delta, 1, 0, "x" * 5000))[-1]


def test_a_client_s_name_may_be_any_text():
    """What UTF-8 can't carry is replaced; it is a name only."""
    record = Record.of(QuadDelta(frozenset(), frozenset()), 1, 0, "a\ud800b")
    assert decode(frame_of(encode(record))).client == "a?b"


@pytest.mark.parametrize(("flags", "payload"), [(0, b"short\n"), (1, b"not deflated, of course\n")])
def test_a_payload_that_is_none_is_refused(flags, payload):
    """Its checksum was right, so it was another program's."""
    with pytest.raises(ValueError, match=r"."):
        decode(Frame(1, 0, flags, payload))
