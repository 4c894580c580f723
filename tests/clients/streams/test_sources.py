import pytest

from triplewire.broker.wire.items import PUBLISHED, ItemError, encode_item
from triplewire.clients.streams.sources import Lines, Whole, WireItems


def bodies(source, *pieces):
    items = [item for piece in pieces for item in source.feed(piece)]
    return [item.body for item in [*items, *source.finish()]]


def test_items_are_read_as_they_are_on_the_wire(item):
    """Byte by byte, too."""
    wire = encode_item(item(1)) + encode_item(item(2))
    source = WireItems()

    assert [each for byte in wire for each in source.feed(bytes([byte]))] == [item(1), item(2)]
    assert source.finish() == []


def test_an_item_that_is_cut_off_is_an_error(item):
    """At the end only."""
    source = WireItems()
    assert source.feed(encode_item(item(1))[:-1]) == []
    with pytest.raises(ItemError, match="missing"):
        source.finish()


def test_all_can_be_one_body():
    """Whose items have the headers that were given."""
    source = Whole("s", "text/turtle", event_type="T", application_id="a")
    assert source.feed(b"<a> ") == []
    source.feed(b"<b> <c> .\n")
    (made,) = source.finish()

    assert made.body == b"<a> <b> <c> .\n"
    assert (made.source_id, made.syntax, made.event_type, made.application_id) == (
        "s",
        "text/turtle",
        "T",
        "a",
    )


@pytest.mark.parametrize(
    "pieces",
    [(b"one\ntwo\r\n\nthree",), (b"o", b"ne\nt", b"wo\r", b"\n\n", b"thr", b"ee"), (b"one\ntwo\nthree\n",)],
)
def test_each_line_can_be_a_body(pieces):
    """Whatever pieces they come in; empty ones are none."""
    assert bodies(Lines("s", "text/plain"), *pieces) == [b"one", b"two", b"three"]


def test_a_line_is_given_when_it_ends():
    """Not when the next one does."""
    assert [item.body for item in Lines("s", "text/plain").feed(b"one\ntw")] == [b"one"]


@pytest.mark.parametrize("kind", [Lines, Whole])
def test_a_body_is_not_gathered_for_ever(kind):
    """It could not be published."""
    source = kind("s", "text/plain")
    for _ in range(PUBLISHED.body_bytes // 1_000_000):
        source.feed(bytes(1_000_000))
    with pytest.raises(ItemError, match="longer than"):
        source.feed(bytes(1_000_000))


@pytest.mark.parametrize("kind", [Lines, Whole])
def test_headers_that_no_item_can_have_are_refused_at_once(kind):
    """Before anything is read."""
    with pytest.raises(ItemError, match="Syntax"):
        kind("s", "turtle")
