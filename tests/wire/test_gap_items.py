"""The marker of a gap, written and read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.broker.wire.gap_items import GAP, Missing, gap_item, missing_of
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import Item, encode_item

MISSING = Missing("0011223344556677", "client-1", 7, 9)


def test_a_marker_on_the_wire():
    """It is an item like others; its id is the same wherever it is made."""
    wire = encode_item(gap_item(MISSING, "stream-1"))
    head, _, body = wire.partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[:-1] == [
        b"Event-Id: gap-0011223344556677-7-9",
        b"Source-Id: stream-1",
        b"Syntax: application/json",
        b"Event-Type: Triplewire-Gap",
    ]
    assert json.loads(body) == {
        "gap": {"chain": "0011223344556677", "publisher": "client-1", "first": 7, "last": 9}
    }


@given(st.text("0123456789abcdef", min_size=1), st.text(), st.integers(1), st.integers(0))
def test_what_is_written_is_read(chain, publisher, first, more):
    """Whatever it says."""
    missing = Missing(chain, publisher, first, first + more)
    assert missing_of(gap_item(missing, "s")) == missing
    assert missing_of(ItemReader().feed(encode_item(gap_item(missing, "s")))[0]) == missing


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"gap": 1}',
        b'{"gap": {}}',
        b'{"gap": {"chain": "", "publisher": "", "first": 1, "last": 1}}',
        b'{"gap": {"chain": 1, "publisher": "", "first": 1, "last": 1}}',
        b'{"gap": {"chain": "a", "publisher": null, "first": 1, "last": 1}}',
        b'{"gap": {"chain": "a", "publisher": "", "first": true, "last": 1}}',
        b'{"gap": {"chain": "a", "publisher": "", "first": 0, "last": 1}}',
        b'{"gap": {"chain": "a", "publisher": "", "first": 2, "last": 1}}',
        b'{"gap": {"chain": "a", "publisher": "", "first": 1, "last": 1.0}}',
        b'{"gap": {"chain": "a", "publisher": "", "first": 1, "last": 1}, "x": "' + b"y" * 4096 + b'"}',
        b"\xff",
        b"[" * 4000,
    ],
)
def test_what_is_no_marker_is_an_item(body):
    """Anybody can publish an item of that type."""
    assert missing_of(Item("e", "s", "application/json", body, event_type=GAP)) is None


def test_another_type_or_syntax_is_none():
    """Both belong to it."""
    body = gap_item(MISSING, "s").body
    assert missing_of(Item("e", "s", "application/json", body)) is None
    assert missing_of(Item("e", "s", "text/plain", body, event_type=GAP)) is None
