"""Items a second, in one process: read from bytes, written, and said as JSON.

Prints them; asserts only that what was measured was right.
"""

from __future__ import annotations

import time

import pytest

from triplewire.broker.wire.item_json import LineReader, encode_lines
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import Item, encode_item

ITEMS = 20_000
ROUNDS = 5
PIECE = 65_536  # what a socket gives at a time
TURTLE = b"<http://example.org/o/1> <http://www.w3.org/ns/sosa/hasSimpleResult> 21.5 .\n"
SIZES = {
    "small": lambda number: Item(
        f"{number:036}", "src-1", "text/turtle", b"<a> <b> <c> .", timestamp="2026-01-01T00:00:00.000Z"
    ),
    "every header": lambda number: Item(
        f"{number:036}",
        "src-1",
        "text/turtle",
        b"<a> <b> <c> .",
        application_id="app",
        aggregator_ids=("f2bf3339-0000-0000-0000-000000000000",),
        event_type="T",
        timestamp="2026-01-01T00:00:00.000Z",
        headers=(("X-Foo", "bar:baz"),),
    ),
    "880 bytes": lambda number: Item(f"{number:036}", "src-1", "text/turtle", (TURTLE * 12)[:880]),
}


def best(work):
    """The shortest of some rounds in seconds, and what came of the last."""
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - started)
    return min(seconds), found


def read(reader, data):
    """All items of the data, in pieces."""
    found = []
    for place in range(0, len(data), PIECE):
        found += reader.feed(data[place : place + PIECE])
    return found + reader.finish()


@pytest.mark.parametrize("size", SIZES)
def test_items_a_second(size):
    """For each size of item."""
    items = [SIZES[size](number) for number in range(ITEMS)]
    making, again = best(lambda: [SIZES[size](number) for number in range(ITEMS)])
    assert again == items
    seconds = time.perf_counter()
    wire = b"".join(map(encode_item, items))
    writing = time.perf_counter() - seconds
    lines_seconds, lines = best(lambda: encode_lines(items))
    reading, found = best(lambda: read(ItemReader(), wire))
    assert found == items
    reading_lines, found = best(lambda: read(LineReader(), lines))
    assert found == items
    print(f"\n{size} ({len(wire) // ITEMS} bytes), items/s:")
    for name, took in {
        "made": making,
        "written": writing,
        "read": reading,
        "written as lines of JSON": lines_seconds,
        "read from lines of JSON": reading_lines,
    }.items():
        print(f"  {name:25} {ITEMS / took:10,.0f}")
