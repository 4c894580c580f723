"""What nodes say to each other: round trips, and an error for whatever is none."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.chained import CHAIN, chain_of, sealed, unsigned

from triplewire.broker.errors import ProtocolError
from triplewire.gates.relay.messages import (
    LINK_LIMITS,
    MOST_NEEDED,
    Absent,
    Certified,
    Heads,
    Join,
    Leave,
    LinkLimits,
    Need,
    Resent,
    Wanted,
    decode,
    encode,
    frames,
    heads_of,
)
from triplewire.gates.relay.parcels import ParcelLimits
from triplewire.gates.relay.varints import MOST, varint

WORDS = st.text("abcXYZ019_-", min_size=1, max_size=40)
CHAINS = st.binary(min_size=8, max_size=8)
NUMBERS = st.one_of(st.integers(1, 300), st.integers(1, MOST - 1))
RANGES = st.tuples(NUMBERS, NUMBERS).map(sorted)
TOKENS = st.tuples(WORDS, WORDS, WORDS).map(".".join)
NAMES = st.text("abcXYZ019_-.", min_size=1, max_size=40).filter(
    lambda name: name not in {".", "..", "streams", "secure"}
)
PARCELS = st.builds(sealed, st.integers(1, 1_000), st.integers(1, 3), CHAINS)
MESSAGES = st.one_of(
    PARCELS,
    st.builds(Resent, PARCELS),
    st.builds(Certified, TOKENS, st.booleans()),
    st.builds(Need, st.lists(CHAINS, min_size=1, max_size=5).map(tuple)),
    st.builds(Join, NAMES, TOKENS),
    st.builds(Leave, NAMES),
    st.builds(Heads, st.dictionaries(CHAINS, RANGES.map(tuple), max_size=5)),
    st.tuples(CHAINS, st.lists(NUMBERS, min_size=3, max_size=3, unique=True).map(sorted)).map(
        lambda parts: Heads({parts[0]: (parts[1][0], parts[1][2])}, {parts[0]: parts[1][1]})
    ),
    st.tuples(CHAINS, RANGES).map(lambda parts: Wanted(parts[0], *parts[1])),
    st.tuples(CHAINS, RANGES).map(lambda parts: Absent(parts[0], *parts[1])),
)
TOKEN = "aa.bb.cc"


@settings(max_examples=300)
@given(st.lists(MESSAGES, min_size=1, max_size=6))
def test_what_is_said_is_heard(messages):
    """Each alone, and all back to back, in order."""
    encoded = [encode(message) for message in messages]

    assert [found for data in encoded for found in decode(data)] == messages
    assert decode(b"".join(encoded)) == messages


def test_a_parcel_is_passed_on_as_it_came():
    """Without a copy in, or out."""
    frame = sealed().data

    (parcel,) = decode(frame)

    assert encode(parcel) is frame
    assert next(frames([frame])) is frame


def test_where_nothing_is_kept():
    """A chain's head says which number comes next; it may be that all is too old for a newcomer."""
    message = Heads({CHAIN: (8, 7), chain_of(1): (1, 0), chain_of(2): (3, 7)}, {chain_of(2): 8})

    assert decode(encode(message)) == [message]


@given(st.lists(st.binary(min_size=1, max_size=60), max_size=30), st.integers(1, 100), st.integers(1, 8))
def test_messages_are_put_together(encoded, joined, most):
    """In their order, as few frames as the limits let; nothing is put to what is larger alone."""
    found = list(frames(encoded, LinkLimits(joined_bytes=joined, messages=most)))

    assert b"".join(found) == b"".join(encoded)
    rest = list(encoded)
    for frame in found:
        size = count = 0
        while size < len(frame):
            size += len(rest.pop(0))
            count += 1
        assert size == len(frame)
        assert count == 1 or (size <= joined and count <= most)
        if rest:
            assert size + len(rest[0]) > joined or count == most


def test_many_heads_are_several_messages():
    """Each within what is read."""
    heads = {chain_of(number): (2**60, MOST - 1) for number in range(4_500)}
    recent = {chain_of(number): 2**62 for number in range(0, 4_500, 2)}

    messages = list(heads_of(Heads(heads, recent)))

    assert len(messages) == 3
    assert all(decode(encode(message)) == [message] for message in messages)
    assert {chain: head for message in messages for chain, head in message.heads.items()} == heads
    assert {chain: number for message in messages for chain, number in message.recent.items()} == recent
    assert list(heads_of(Heads({}))) == []


@settings(max_examples=500)
@given(st.binary(max_size=80))
def test_any_bytes(data):
    """Are messages that say the same again, or a ProtocolError."""
    with suppress(ProtocolError):
        assert decode(b"".join(map(encode, decode(data)))) == decode(data)


@settings(max_examples=500)
@given(st.lists(MESSAGES, min_size=1, max_size=3), st.data())
def test_messages_that_were_damaged(messages, data):
    """A byte changed, or the end lost: another message, or a ProtocolError."""
    frame = bytearray(b"".join(map(encode, messages)))
    frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    del frame[data.draw(st.integers(1, len(frame))) :]
    with suppress(ProtocolError):
        decode(bytes(frame))


def _said(kind, data):
    return bytes((kind,)) + varint(len(data)) + data


def _head(*numbers):
    return CHAIN + b"".join(map(varint, numbers))


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (b"", "without a message"),
        (b"\x00", "message 1 at byte 0: 0 is no type"),
        (b"\x0b\x00", "11 is no type"),
        (encode(Leave("s")) + b"\xff", "message 2 at byte 3: 255 is no type"),
        (b"\x04", "length at byte 1: the bytes end"),
        (b"\x04\x05abcd", "length: 1 bytes of 5 are missing"),
        (_said(4, b"x" * 201), "length: 201 bytes; 200 are read"),
        (_said(4, b""), "stream: '' is no name"),
        (_said(4, b"a/b"), "stream: 'a/b' is no name"),
        (_said(4, b"\xff"), "byte 0 is not UTF-8"),
        (_said(2, b"a.b"), "token: 'a.b' is no JWT"),
        (_said(2, b"a.b.c.d"), "is no JWT"),
        (_said(3, b"{"), "not JSON"),
        (_said(3, b"[" * 150), "nested too deeply|not JSON"),
        (_said(3, b"[]"), "expected a JSON object"),
        (_said(3, b'{"ticket":"a.b.c"}'), "stream: expected a text"),
        (_said(3, b'{"stream":5,"ticket":"a.b.c"}'), "stream: expected a text"),
        (_said(3, b'{"stream":"\\ud800","ticket":"a.b.c"}'), "is no name of a stream"),
        (_said(3, b'{"stream":"s","ticket":"\\ud800"}'), "is no JWT"),
        (_said(3, b'{"stream":"s","ticket":null}'), "ticket: expected a text"),
        (_said(5, CHAIN[:3]), "chain: 5 bytes of 8 are missing"),
        (_said(5, _head(1, 1)), "recent at byte 10: the bytes end"),
        (_said(5, _head(0, 0, 1)), "from 0 up to the one before 1"),
        (_said(5, _head(MOST, 1, 1)), f"from {MOST} up to the one before {MOST + 2}"),
        (_said(5, _head(1, 0, 2) * 2), "is there twice"),
        (_said(9, b""), "0 chains; 1 to 200 are read"),
        (_said(9, CHAIN + b"x"), "chain: 7 bytes of 8 are missing"),
        (_said(10, b"a.b"), "token: 'a.b' is no JWT"),
        (_said(6, _head(0, 1)), "0 to 1 is no range"),
        (_said(6, _head(2, 1)), "2 to 1 is no range"),
        (_said(7, _head(1, 2, 3)), "last: 1 bytes behind it"),
        (_said(7, b""), "chain: 8 bytes"),
        (b"\x08", "a parcel begins with"),
        (b"\x08" + sealed(1, 2).data, "1 to 1 items, not 2"),
        (sealed(1, 2).data, "1 to 1 items, not 2"),
        (encode(Leave("s")) * 6, "byte 15: more than 5 messages"),
        (bytes(1_100), "a frame of 1100 bytes; 1099 are read"),
    ],
)
def test_what_is_no_message(frame, why):
    """The error says what is wrong, and where."""
    limits = LinkLimits(
        ParcelLimits(items=1, items_bytes=998), control_bytes=200, messages=5, joined_bytes=300
    )

    with pytest.raises(ProtocolError, match=why):
        decode(frame, limits)


def test_too_many_heads():
    """Short as they are."""
    heads = b"".join(chain_of(number) + b"\x01\x00\x01" for number in range(1_501))

    with pytest.raises(ProtocolError, match="more than 1500"):
        decode(_said(5, heads))
    with pytest.raises(ProtocolError, match="201 chains; 1 to 200"):
        decode(_said(9, b"".join(map(chain_of, range(MOST_NEEDED + 1)))))


@pytest.mark.parametrize(
    "message",
    [
        Leave("a b"),
        Leave("x" * 256),
        Join("s", "no token"),
        Join("streams", TOKEN),
        Certified("a" * 8_190 + ".b.c"),
        Certified("a.b.c\n"),
        Heads({CHAIN: (0, 1)}),
        Heads({CHAIN: (5, 3)}),
        Heads({b"short": (1, 1)}),
        Heads({CHAIN: (3, 5)}, {CHAIN: 2}),
        Heads({CHAIN: (3, 5)}, {CHAIN: 7}),
        Heads({chain_of(number): (1, 1) for number in range(1_501)}),
        Need(()),
        Need((b"short",)),
        Need(tuple(map(chain_of, range(MOST_NEEDED + 1)))),
        Wanted(CHAIN, 2, 1),
        Wanted(CHAIN, 0, 1),
        Absent(b"", 1, 1),
        Absent(CHAIN, 1, MOST + 1),
    ],
    ids=repr,
)
def test_what_would_not_be_understood_is_not_said(message):
    """Whoever made it hears of it."""
    with pytest.raises(ValueError, match=r".{10}"):
        encode(message)


def test_the_largest_parcel_can_be_sent_again():
    """In a frame that is read."""
    limits = LinkLimits(ParcelLimits(items=1, items_bytes=400), control_bytes=10, joined_bytes=10)
    parcel = sealed(2**40, 1, body=b"x" * 300)

    assert decode(encode(Resent(parcel)), limits) == [Resent(parcel)]
    assert LINK_LIMITS.frame_bytes > 16 * 1024 * 1024


def test_secrets_are_not_shown():
    """Tokens and tickets are not for logs."""
    assert TOKEN not in repr([Certified(TOKEN), Join("s", TOKEN)])
    assert len(repr(Resent(unsigned(1, size=10_000)))) < 200
