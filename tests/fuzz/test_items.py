"""Any bytes: items, or an ItemError and nothing else, the same however they are cut, and what is read can be written and read.

TRIPLEWIRE_FUZZ_S is how long each is fuzzed.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress

import pytest
from hypothesis import strategies as st
from support.fuzzing import FUZZ_S, fuzz, in_time
from support.item_strategies import items, nearly_items, pieces

from triplewire.broker.wire.item_bodies import check_body
from triplewire.broker.wire.item_json import (
    LineReader,
    decode_json,
    encode_array,
    encode_lines,
    encode_object,
)
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import KNOWN, ItemError, ItemLimits, encode_head, encode_item

pytestmark = pytest.mark.timeout(FUZZ_S * 2 + 120)

LIMITS = ItemLimits(header_bytes=300, headers=12, body_bytes=100)
# What a reader may keep of what it was given, with room for a bytearray to grow.
KEPT = 2 * (LIMITS.header_bytes + LIMITS.body_bytes) + 100

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["a\r\nb", "\ud800", "application/json", "ztreamy-command", "Test-Connection", "a/b"]),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
)
names = st.one_of(st.sampled_from([*KNOWN, "Body", "body", "X-Foo", "X: a\r\nY"]), st.text(max_size=3))
objects = st.one_of(
    st.fixed_dictionaries(
        {"Event-Id": leaves, "Source-Id": leaves, "Syntax": leaves, "Body": values}
    ).flatmap(lambda said: st.dictionaries(names, values, max_size=3).map(lambda more: said | more)),
    items().map(encode_object).map(json.loads),
    st.dictionaries(names, values, max_size=5),
    values,
)
documents = st.one_of(objects, st.lists(objects, max_size=3)).map(json.dumps).map(str.encode)


@st.composite
def lines(draw) -> bytes:
    """Objects a line each, with a byte or some taken out or put in."""
    data = b"".join(
        json.dumps(said).encode() + draw(st.sampled_from([b"\r\n", b"\n", b"\r\n\r\n", b"", b"\r"]))
        for said in draw(st.lists(objects, max_size=3))
    )
    place = draw(st.integers(0, len(data)))
    put = draw(st.sampled_from([b"", b"\0", b"\xff", b"{", b'"', b"\n", b" " * 500, b"[" * 300]))
    return data[:place] + put + data[place + draw(st.integers(0, 3)) :]


def outcome(reader, parts):
    """The items of the pieces, and the error that there was at last; what is kept stays small."""
    found = []
    try:
        for part in parts:
            found += reader.feed(part)
            assert sys.getsizeof(reader._rest) + sys.getsizeof(getattr(reader, "_body", b"")) <= KEPT
        found += reader.finish()
    except ItemError as error:
        with pytest.raises(ItemError, match=f"^{error.where.split(',')[0]}"):
            reader.feed(b"")
        str(error).encode()  # can be sent
        return found, str(error)
    return found, None


def check_items(found):
    """What was read can be passed on in each form."""
    for item in found:
        with suppress(ItemError):
            check_body(item)
        assert len(encode_head(item)) <= LIMITS.header_bytes + 30  # the order, spaces and lengths of ours
    reader = ItemReader(ItemLimits())
    assert reader.feed(b"".join(map(encode_item, found))) == found
    assert reader.finish() == []
    again = decode_json(encode_array(found))
    assert [item.event_id for item in again] == [item.event_id for item in found]
    assert LineReader().feed(encode_lines(found)) == again


def cut(strategy):
    """Bytes, and the same in pieces."""
    return strategy.flatmap(lambda data: st.tuples(st.just(data), pieces(data)))


def byte_by_byte(data):
    """Each byte on its own."""
    return [data[place : place + 1] for place in range(len(data))]


@pytest.mark.parametrize(("reader", "strategy"), [(ItemReader, nearly_items), (LineReader, lines())])
def test_any_bytes_are_items_or_an_error(reader, strategy):
    """Whole, in pieces and byte by byte: the same."""

    @in_time
    def check(drawn) -> None:
        data, parts = drawn
        whole = outcome(reader(LIMITS), [data])
        assert outcome(reader(LIMITS), parts) == whole
        assert outcome(reader(LIMITS), byte_by_byte(data)) == whole
        check_items(whole[0])

    assert fuzz(cut(strategy), check, FUZZ_S / 2) > 0


@pytest.mark.parametrize("strategy", [documents, nearly_items], ids=["json", "anything"])
def test_any_document_is_items_or_an_error(strategy):
    """Of JSON, and of what is none."""

    @in_time
    def check(data) -> None:
        try:
            found = decode_json(data, LIMITS)
        except ItemError as error:
            str(error).encode()
            return
        check_items(found)

    assert fuzz(strategy, check, FUZZ_S / 4) > 0
