"""Parcels: sealed once, read without a look at the items, and the same bytes all the way."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from support.chained import CHAIN, KEY, items, sealed

from triplewire.broker.errors import ProtocolError
from triplewire.broker.wire.items import Item, encode_item
from triplewire.gates.relay.parcels import MARK, Parcel, ParcelLimits, read, read_at, seal, unpack, verify
from triplewire.gates.relay.varints import MOST, varint

PUBLIC = KEY.public_key()


@given(first=st.integers(1, MOST - 60), count=st.integers(1, 50), chain=st.binary(min_size=8, max_size=8))
def test_what_was_sealed_comes_back(first, count, chain):
    """With its numbers, its items and its signature."""
    sent = items(first, count)

    parcel = read(seal(chain, first, sent, KEY).data)

    assert (parcel.chain, parcel.first, parcel.count, parcel.last) == (chain, first, count, first + count - 1)
    assert verify(parcel, PUBLIC)
    assert unpack(parcel) == sent
    assert parcel.items == b"".join(map(encode_item, sent))


def test_one_item_costs_80_bytes():
    """Up to the number 2^28 - 1, at the size of an item of the public transport of Helsinki."""
    sent = Item("e" * 36, "src", "text/turtle", b"x" * 200)

    parcel = seal(CHAIN, 2**28 - 1, [sent], KEY)

    assert len(parcel.data) - len(encode_item(sent)) == 80


def test_nothing_is_copied_on_the_way():
    """What is passed on is the very object that came."""
    data = sealed(7, 3).data

    assert read(data).data is data


def test_parcels_that_stand_back_to_back():
    """Each says where it ends."""
    first, second = sealed(1, 2), sealed(3, 1)
    data = first.data + second.data

    found, at = read_at(data, 0)
    again, end = read_at(data, at)

    assert (found, again, end) == (first, second, len(data))


def test_another_key_is_seen():
    """A parcel is its chain's, or nobody's."""
    assert not verify(sealed(), Ed25519PrivateKey.generate().public_key())


@given(st.data())
def test_no_bit_can_be_changed(data):
    """It is no parcel then, or its signature is not good."""
    sent = bytearray(sealed(300, 2).data)
    at = data.draw(st.integers(0, 8 * len(sent) - 1))
    sent[at // 8] ^= 1 << at % 8

    try:
        found = read(bytes(sent))
    except ProtocolError:
        return

    assert not verify(found, PUBLIC)


def test_a_signature_for_something_else_is_none():
    """What is signed has the purpose in front."""
    parcel = sealed()
    content = parcel.data[:-64]

    forged = read(content + KEY.sign(content))

    assert not verify(forged, PUBLIC)


def _raw(first=1, count=1, length=0, rest=bytes(64)):
    return MARK + CHAIN + varint(first) + varint(count) + varint(length) + rest


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "begins with the byte 1"),
        (b"\x02" + bytes(100), "begins with the byte 1"),
        (MARK + CHAIN[:5], "first at byte 9: the bytes end"),
        (_raw(first=0), "first: .* from 1 on"),
        (_raw(count=0), "count: a parcel has 1 to 10 items, not 0"),
        (_raw(count=11), "count: a parcel has 1 to 10 items, not 11"),
        (_raw(first=MOST), "count: .*must be less than"),
        (_raw(first=MOST - 3, count=4), "count: .*must be less than"),
        (_raw(length=1001), "length: the items have 1001 bytes; 1000 are read"),
        (_raw(rest=bytes(63)), "1 bytes of its items and signature are missing"),
        (_raw(length=5), "5 bytes of its items and signature are missing"),
        (_raw(rest=bytes(65)), "1 bytes behind its signature"),
    ],
)
def test_what_is_no_parcel(data, why):
    """The error says what is wrong, and where."""
    with pytest.raises(ProtocolError, match=why):
        read(data, ParcelLimits(items=10, items_bytes=1_000))


@given(st.binary(max_size=200))
def test_any_bytes(data):
    """Are a parcel, or a ProtocolError."""
    for some in (data, MARK + CHAIN + data):
        with suppress(ProtocolError):
            assert read(some).data == some


@pytest.mark.parametrize("count", [1, 3])
def test_items_that_are_not_as_many_as_it_says(count):
    """Its publisher's fault, as it is signed."""
    parcel = replace(sealed(1, 2), count=count)

    with pytest.raises(ProtocolError, match=f"a parcel of {count} items has 2"):
        unpack(parcel)


@pytest.mark.parametrize(
    ("wire", "why"),
    [
        (b"rubbish\r\n\r\n", "item 1 at byte 0, headers: .* no colon"),
        (encode_item(items(1, 1)[0]) + b"rubbish\r\n\r\n", "item 2 at byte 85, headers"),
        (encode_item(items(1, 1)[0])[:-1], "body: 1 bytes of 13 are missing"),
        (encode_item(items(1, 1)[0]) + b"Event", "the empty line behind them is missing"),
    ],
)
def test_what_has_no_items(wire, why):
    """Whatever stands before the mistake."""
    parcel = read(_raw(count=2, length=len(wire), rest=wire + bytes(64)))

    with pytest.raises(ProtocolError, match=why):
        unpack(parcel)


@pytest.mark.parametrize(
    ("chain", "first", "count"),
    [(CHAIN[:7], 1, 1), (CHAIN, 0, 1), (CHAIN, 1, 0), (CHAIN, MOST, 1), (CHAIN, 1, 11)],
)
def test_what_can_not_be_sealed(chain, first, count):
    """Nobody would read it."""
    with pytest.raises(ValueError, match=r"chain|first|count"):
        seal(chain, first, items(1, count), KEY, ParcelLimits(items=10))


def test_the_largest_parcel_is_within_its_limit():
    """The bytes of a whole one."""
    limits = ParcelLimits(items=10, items_bytes=85)

    parcel = seal(CHAIN, MOST - 1, items(1, 1), KEY, limits)

    assert len(parcel.items) == 85
    assert len(parcel.data) <= limits.bytes


def test_a_parcel_is_a_noun():
    """Equal where its bytes are, and short in a log."""
    assert sealed() == read(sealed().data)
    assert isinstance(sealed(), Parcel)
    assert len(repr(sealed(1, 50))) < 200
