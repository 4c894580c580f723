"""Items in their places, and batches that are encoded once."""

from __future__ import annotations

from support.stepped import ids, item

from triplewire.broker.wire.items import encode_item
from triplewire.gates.stream.entry import Batch, Entry


def batch_of(*numbers):
    return Batch("events", tuple(Entry(number, item(f"e{number}"), 1.0) for number in numbers))


def test_the_items_stand_back_to_back():
    """Nothing is between them: one blank line kills a client."""
    batch = batch_of(1, 2)
    assert batch.plain == encode_item(batch.entries[0].item) + encode_item(batch.entries[1].item)
    assert batch.plain.startswith(b"Event-Id: e1\r\nSource-Id: src-1\r\nSyntax: text/turtle\r\n")
    assert batch.plain.endswith(b"Body-Length: 13\r\n\r\n<a> <b> <c> .")


def test_one_object_a_line():
    """Each line ends with CRLF, the last one, too."""
    lines = batch_of(1, 2).ldjson.split(b"\r\n")
    assert len(lines) == 3
    assert lines[2] == b""
    assert b'"e2"' in lines[1]


def test_a_batch_is_encoded_once_for_all():
    """Whoever asks gets the same object."""
    batch = batch_of(1, 2)
    assert batch.plain is batch.plain
    assert batch.ldjson is batch.ldjson


def test_what_comes_after_a_number():
    """The batch itself for all who have seen nothing of it; the rest for who has seen a part."""
    batch = batch_of(4, 5, 6)
    assert batch.after(3) is batch
    assert ids(batch.after(4)) == ["e5", "e6"]
    assert len(batch.after(6)) == 0
    assert not batch.after(6).after(2)
    assert (batch.first, batch.last) == (4, 6)
