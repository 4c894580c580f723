"""Bytes become items in whatever pieces they come; what is tolerated and what is refused is what Ztreamy's facts say."""

from __future__ import annotations

import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.item_strategies import nearly_items, pieces, streams

from triplewire.broker.wire.item_reader import ItemReader, read_head
from triplewire.broker.wire.items import COMMANDS, KNOWN, PUBLISHED, Item, ItemError, ItemLimits, encode_item

FIRST = b"Event-Id: e1\r\nSource-Id: s\r\nSyntax: text/plain\r\nBody-Length: 1\r\n\r\na"
HEAD = "Event-Id: e\r\nSource-Id: s\r\nSyntax: text/plain\r\n"
LIMITS = ItemLimits(header_bytes=100, headers=5, body_bytes=20)


def outcome(parts, limits=PUBLISHED):
    """The items of these pieces, and the error that there was at last, if any."""
    reader, items = ItemReader(limits), []
    try:
        for part in parts:
            items += reader.feed(part)
        items += reader.finish()
    except ItemError as error:
        return items, str(error)
    return items, None


def one_by_one(data):
    """Each byte on its own."""
    return [data[place : place + 1] for place in range(len(data))]


def read(data, limits=PUBLISHED):
    """What the bytes say, whole and byte by byte, which is the same."""
    whole = outcome([data], limits)
    assert outcome(one_by_one(data), limits) == whole
    return whole


def only(data):
    """The one item that the bytes are."""
    items, error = read(data)
    assert error is None
    assert len(items) == 1
    return items[0]


def refused(data, limits=PUBLISHED):
    """Why the bytes are no items."""
    items, error = read(data, limits)
    assert error is not None
    return items, error


def test_the_example_of_the_format():
    """In the order in which it is written."""
    item = only(
        b"Event-Id: e2\r\nSource-Id: src-1\r\nSyntax: text/turtle\r\nApplication-Id: app\r\n"
        b"Aggregator-Ids: f2bf3339,next\r\nEvent-Type: T\r\nTimestamp: 2026-01-01T00:00:00.000+00:00\r\n"
        b"X-Foo: bar:baz\r\nBody-Length: 13\r\n\r\n<a> <b> <c> ."
    )
    assert item == Item(
        "e2",
        "src-1",
        "text/turtle",
        b"<a> <b> <c> .",
        application_id="app",
        aggregator_ids=("f2bf3339", "next"),
        event_type="T",
        timestamp="2026-01-01T00:00:00.000+00:00",
        headers=(("X-Foo", "bar:baz"),),
    )


def test_headers_come_in_any_order():
    """Extensions among them, the length first."""
    item = only(
        b"Body-Length: 1\r\nX: 1\r\nSyntax: a/b\r\nTimestamp: t\r\nSource-Id: s\r\nEvent-Id: e\r\n\r\nx"
    )
    assert item == Item("e", "s", "a/b", b"x", timestamp="t", headers=(("X", "1"),))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Event-Type:T", {"event_type": "T"}),
        ("Event-Type: \t T \t", {"event_type": "T"}),
        ("Event-Type:", {"event_type": ""}),
        ("Event-Type: a:b: c", {"event_type": "a:b: c"}),
        ("Event-Type: Årsta 😀", {"event_type": "Årsta 😀"}),
        ("Timestamp: yesterday", {"timestamp": "yesterday"}),
        ("Aggregator-Ids: a, b", {"aggregator_ids": ("a", " b")}),
        ("Aggregator-Ids: ", {"aggregator_ids": ()}),
        ("Aggregator-Ids: ,own", {"aggregator_ids": ("own",)}),
        ("Aggregator-Id: a", {"headers": (("Aggregator-Id", "a"),)}),
        ("X: 1\r\nY: 2\r\nX: 3", {"headers": (("X", "3"), ("Y", "2"))}),
        ("X:", {"headers": (("X", ""),)}),
        ("Body-Length: 000", {}),
    ],
)
def test_what_is_tolerated_in_a_header(line, expected):
    """Space around values, colons in them, empty ones, UTF-8; ids are split at the comma alone; the last extension counts."""
    assert only(f"{HEAD}{line}\r\n\r\n".encode()) == Item("e", "s", "text/plain", **expected)


def test_an_absent_length_is_none():
    """The next item follows at once."""
    items, error = read(HEAD.encode() + b"\r\n" + FIRST)
    assert error is None
    assert [item.body for item in items] == [b"", b"a"]


def test_lf_is_tolerated():
    """And both in one item; a body keeps what it has."""
    lines = HEAD.replace("\r\n", "\n")
    assert only(f"{lines}Body-Length: 4\n\n\r\n\r\n".encode()).body == b"\r\n\r\n"
    assert only(f"{HEAD}Body-Length: 2\n\r\n\n\n".encode()).body == b"\n\n"
    assert only(f"{lines}Body-Length: 1\r\n\n\n".encode()).body == b"\n"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_commands_are_read(name):
    """Their source may be empty."""
    data = f"Event-Id: e\r\nSource-Id: \r\nSyntax: ztreamy-command\r\nBody-Length: {len(name)}\r\n\r\n{name}"
    assert only(data.encode()).command == name


def test_no_bytes_are_no_items():
    """An empty request is well-formed."""
    assert read(b"") == ([], None)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("Source-Id: s\r\nSyntax: a/b\r\n\r\n", "Event-Id: is missing"),
        ("Event-Id: e\r\nSyntax: a/b\r\n\r\n", "Source-Id: is missing"),
        ("Event-Id: e\r\nSource-Id: s\r\n\r\n", "Syntax: is missing"),
        ("event-id: e\r\nSource-Id: s\r\nSyntax: a/b\r\n\r\n", "case-sensitive, and there is 'event-id'"),
        ("Event-Id: \r\nSource-Id: s\r\nSyntax: a/b\r\n\r\n", "Event-Id: must not be empty"),
        ("Event-Id: e\r\nSource-Id: \r\nSyntax: a/b\r\n\r\n", "Source-Id: must not be empty"),
        ("Event-Id: e\r\nSource-Id: s\r\nSyntax: turtle\r\n\r\n", "Syntax: must be a media type"),
        (
            "Event-Id: e\r\nSource-Id: s\r\nSyntax: ztreamy-command\r\nBody-Length: 15\r\n\r\nSet-Compression",
            "none of the commands",
        ),
        ("Event-Id: e\r\nSource-Id: s\r\nSyntax: ztreamy-command\r\n\r\n", "none of the commands"),
        (f"{HEAD}event-type: T\r\n\r\n", "must be written Event-Type"),
        (f"{HEAD}body-length: 3\r\n\r\n", "must be written Body-Length"),
        (f"{HEAD}Body: x\r\n\r\n", "Body: can't be an extension"),
        (f"{HEAD}BODY: x\r\n\r\n", "must be written Body"),
        (f"{HEAD}Event-Id: e\r\n\r\n", "Event-Id: must be there once"),
        (f"{HEAD}Body-Length: 0\r\nBody-Length: 0\r\n\r\n", "Body-Length: must be there once"),
        (f"{HEAD}Event-Type\r\n\r\n", "Event-Type: must have a colon"),
        (f"{HEAD}X-Foo\r\n\r\n", "has no colon"),
        (f"{HEAD}: x\r\n\r\n", "'' is no name of a header"),
        (f"{HEAD}X Foo: x\r\n\r\n", "'X Foo' is no name"),
        (f"{HEAD}Event-Type : x\r\n\r\n", "'Event-Type ' is no name"),
        (f"{HEAD} folded: x\r\n\r\n", "' folded' is no name"),
        (f"{HEAD}X: a\rb\r\n\r\n", "X: must have no '\\r'"),
        (f"{HEAD}X: a\r\r\n\r\n", "X: must have no '\\r'"),
        (f"{HEAD}X: a\0b\r\n\r\n", "X: must have no '\\x00'"),
        (f"{HEAD}X: a\u2028b\r\n\r\n", "X: must have no '\\u2028'"),
        (f"{HEAD}Body-Length: \r\n\r\n", "must be a number of bytes"),
        (f"{HEAD}Body-Length: -1\r\n\r\n", "must be a number of bytes"),
        (f"{HEAD}Body-Length: +1\r\n\r\n", "must be a number of bytes"),
        (f"{HEAD}Body-Length: 1.0\r\n\r\n", "must be a number of bytes"),
        (f"{HEAD}Body-Length: 0x1\r\n\r\n", "must be a number of bytes"),
        (f"{HEAD}Body-Length: 1_0\r\n\r\n", "must be a number of bytes"),
        (f"{HEAD}Body-Length: ٣\r\n\r\n", "must be a number of bytes"),
        (f"{HEAD}Body-Length: {'9' * 19}\r\n\r\n", "must be a number of bytes"),
        (f"{HEAD}Body-Length: {'9' * 18}\r\n\r\n", "bytes; 16777216 are read"),
        (f"{HEAD}Body-Length: 3\r\n\r\nab", "1 bytes of 3 are missing"),
        (HEAD, "the empty line behind them is missing"),
        ("Event-Id", "the empty line behind them is missing"),
        ("\r\n", "an empty line"),
        ("\n", "an empty line"),
        (f"\r\n{HEAD}\r\n", "an empty line"),
    ],
)
def test_what_is_refused(data, why):
    """Alone, and behind an item, which is still read; the error says which item, and where it begins."""
    items, error = refused(data.encode())
    assert not items
    assert why in error
    assert error.startswith("item 1 at byte 0, ")
    items, behind = refused(FIRST + data.encode())
    assert [item.event_id for item in items] == ["e1"]
    assert behind == error.replace("item 1 at byte 0", f"item 2 at byte {len(FIRST)}")


def test_a_header_is_utf_8():
    """Bytes that are not are refused; a body may be anything."""
    assert "byte 50 is not UTF-8" in refused(HEAD.encode() + b"X: \xff\r\n\r\n")[1]
    assert "is not UTF-8" in refused(HEAD.encode() + b"X: \xed\xa0\x80\r\n\r\n")[1]  # a surrogate
    assert only(HEAD.encode() + b"Body-Length: 3\r\n\r\n\xed\xa0\x80").body == b"\xed\xa0\x80"


@pytest.mark.parametrize("between", [b"\r\n", b"\n", b"\r\n\r\n"])
def test_nothing_stands_between_items_nor_behind_the_last(between):
    """An empty line there ends Ztreamy's clients."""
    items, error = refused(FIRST + between + FIRST)
    assert len(items) == 1
    assert "an empty line, or bytes behind the last item" in error
    assert len(refused(FIRST + between)[0]) == 1


def test_bytes_behind_the_last_item_are_refused_at_the_end():
    """They could be the next one's, till then."""
    for rest in (b" ", b"\r", b"E", b"\0"):
        reader = ItemReader()
        assert len(reader.feed(FIRST + rest)) == 1
        with pytest.raises(ItemError, match="the empty line behind them is missing"):
            reader.finish()


def test_a_reader_that_refused_stays_refused():
    """Whatever comes then; and it keeps nothing."""
    reader = ItemReader()
    with pytest.raises(ItemError) as first:
        reader.feed(b"\r\n")
    for again in (lambda: reader.feed(FIRST), lambda: reader.feed(b""), reader.finish, reader.finish):
        with pytest.raises(ItemError) as caught:
            again()
        assert str(caught.value) == str(first.value) == str(reader.error)


def test_items_before_a_mistake_are_given_and_the_error_is_told():
    """The same piece of bytes has both: the next call raises, and `error` says it at once."""
    reader = ItemReader()
    assert reader.error is None
    assert len(reader.feed(FIRST + FIRST + b"\r\n")) == 2
    assert "item 3" in str(reader.error)
    with pytest.raises(ItemError, match="item 3"):
        reader.finish()


def test_the_headers_are_bounded():
    """In bytes with the empty line, and in number; an end that does not come is not waited for."""
    fits = HEAD + "X: " + "x" * (LIMITS.header_bytes - len(HEAD) - 7) + "\r\n\r\n"
    assert len(fits) == LIMITS.header_bytes
    assert read(fits.encode(), LIMITS)[1] is None
    assert "longer than 100 bytes" in refused(fits.replace("X: ", "X: x").encode(), LIMITS)[1]
    with pytest.raises(ItemError, match="longer than 100 bytes"):
        ItemReader(LIMITS).feed(b"x" * 100)
    many = "A: 1\r\nB: 2\r\n"
    assert read(f"{HEAD}{many}\r\n".encode(), LIMITS)[1] is None
    assert "more than 5" in refused(f"{HEAD}{many}C: 3\r\n\r\n".encode(), LIMITS)[1]


def test_a_body_is_bounded_before_it_comes():
    """By its announced length."""
    items, error = read(f"{HEAD}Body-Length: 20\r\n\r\n{'x' * 20}".encode(), LIMITS)
    assert [item.body for item in items] == [b"x" * 20]
    assert error is None
    with pytest.raises(ItemError, match="Body-Length: 21 bytes; 20 are read"):
        ItemReader(LIMITS).feed(f"{HEAD}Body-Length: 21\r\n\r\n".encode())


def test_a_body_in_many_pieces_is_kept_once():
    """A megabyte in pieces of a byte or some: what is kept is not much more than what came."""
    reader = ItemReader()
    body = bytes(range(256)) * 4096
    reader.feed(f"{HEAD}Body-Length: {len(body)}\r\n\r\n".encode())
    items = []
    for place in range(0, len(body), 64):
        items += reader.feed(body[place : place + 64])
        assert sys.getsizeof(reader._body) <= 2 * len(body)
    assert [item.body for item in items] == [body]
    assert reader.finish() == []


def test_a_head_in_tiny_pieces_is_linear_work():
    """What has been searched for an end is not searched again: 64 KB of short lines, a byte at a time, were 15 s."""
    limits = ItemLimits(header_bytes=65_536)
    reader = ItemReader(limits)
    started = time.process_time()
    for place in range(limits.header_bytes - 1):
        reader.feed(b"a\n"[place % 2 :][:1])
    with pytest.raises(ItemError, match="longer than 65536 bytes"):
        reader.feed(b"a")
    assert time.process_time() - started < 3


def test_a_head_is_read_on_its_own():
    """What the constructor needs, and the lengths."""
    head = read_head(f"{HEAD}Body-Length: 7\r\n\r\n".encode(), PUBLISHED)
    assert head.fields == {"event_id": "e", "source_id": "s", "syntax": "text/plain"}
    assert (head.length, head.body_length) == (len(HEAD) + 18, 7)
    assert set(KNOWN.values()) > set(head.fields)


def test_whoever_follows_can_leave_out_what_is_unfit():
    """What has its length is told with its place, and the next item is read; what has none stops the reader."""
    unfit = [
        b"Event-Id: x\r\nSource-Id: s\r\nSyntax: turtle\r\nBody-Length: 2\r\n\r\n\r\n",
        b"event-id: x\r\nSource-Id: s\r\nSyntax: a/b\r\nBody-Length: 2\r\n\r\nab",
        b"Event-Id: x\r\nSource-Id: s\r\nSyntax: ztreamy-command\r\nBody-Length: 15\r\n\r\nSet-Compression",
    ]
    data = FIRST + b"".join(each + FIRST for each in unfit)
    for parts in ([data], one_by_one(data)):
        told = []
        reader = ItemReader(on_unfit=told.append)
        assert [item.event_id for part in parts for item in reader.feed(part)] == ["e1"] * 4
        assert reader.finish() == []
        assert [error.where for error in told] == [
            f"item 2 at byte {len(FIRST)}, Syntax",
            f"item 4 at byte {2 * len(FIRST) + len(unfit[0])}, Event-Id",
            f"item 6 at byte {3 * len(FIRST) + len(unfit[0] + unfit[1])}, body",
        ]
    reader = ItemReader(on_unfit=told.append)
    with pytest.raises(ItemError, match="must be there once"):
        reader.feed(b"Syntax: a/b\r\n" + FIRST)
    assert len(told) == 3


@given(streams)
def test_what_is_written_is_read(items):
    """The same items, whole and byte by byte."""
    assert read(b"".join(map(encode_item, items))) == (items, None)


@given(st.data(), streams)
def test_any_cut_gives_the_same_items(data, items):
    """Of items."""
    wire = b"".join(map(encode_item, items))
    assert outcome(data.draw(pieces(wire))) == (items, None)


@given(st.data(), nearly_items)
def test_any_cut_gives_the_same_error(data, wire):
    """Of what is nearly an item: the same items before it, and the same sentence."""
    assert outcome(data.draw(pieces(wire)), LIMITS) == read(wire, LIMITS)
