"""The forms of a batch."""

from __future__ import annotations

import json

from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import TEST_CONNECTION, command_item
from triplewire.gates.stream.entry import Batch, Entry
from triplewire.gates.stream.forms import EVENTS, LDJSON, ZTREAMY

from .serving import item

ITEMS = [item("1", b"two\r\nlines"), command_item(TEST_CONNECTION, "alive"), item("é", b"\xff")]
BATCH = Batch("events", tuple(Entry(n, each, 0.0) for n, each in enumerate(ITEMS, 1)))


def test_items_stand_back_to_back():
    """Ztreamy's own form."""
    assert ItemReader().feed(ZTREAMY.body(BATCH)) == ITEMS


def test_each_object_is_a_line():
    """Ended by CRLF, which is nowhere else."""
    *lines, rest = LDJSON.body(BATCH).split(b"\r\n")
    assert [json.loads(line)["Event-Id"] for line in lines] == ["1", "alive", "é"]
    assert rest == b""


def test_each_event_has_the_item_s_id():
    """One line of data whatever is in the body; a sign of life is a comment, which nobody is told."""
    first, alive, last, rest = EVENTS.body(BATCH).decode().split("\n\n")
    assert first.startswith("id: 1\ndata: {")
    assert json.loads(first.split("data: ")[1])["Body"] == "two\r\nlines"
    assert alive == ":"
    assert last.startswith("id: é\n")
    assert rest == ""
