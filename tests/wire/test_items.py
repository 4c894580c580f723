"""Items: their bytes as Ztreamy's clients read them, and what can't become one."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from support.item_strategies import items

from triplewire.broker.errors import ProtocolError
from triplewire.broker.wire.items import (
    COMMAND,
    COMMANDS,
    KNOWN,
    TEST,
    TEST_CONNECTION,
    Item,
    ItemError,
    command_item,
    encode_head,
    encode_item,
)

FULL = Item(
    "e2",
    "src-1",
    "text/turtle",
    b"<a> <b> <c> .",
    application_id="app",
    aggregator_ids=("f2bf3339", "next"),
    event_type="T",
    timestamp="2026-01-01T00:00:00.000+00:00",
    headers=(("X-Foo", "bar:baz"), ("X-Bar", "")),
)
FULL_WIRE = (
    b"Event-Id: e2\r\n"
    b"Source-Id: src-1\r\n"
    b"Syntax: text/turtle\r\n"
    b"Application-Id: app\r\n"
    b"Aggregator-Ids: f2bf3339,next\r\n"
    b"Event-Type: T\r\n"
    b"Timestamp: 2026-01-01T00:00:00.000+00:00\r\n"
    b"X-Foo: bar:baz\r\n"
    b"X-Bar: \r\n"
    b"Body-Length: 13\r\n"
    b"\r\n"
    b"<a> <b> <c> ."
)
# What would be a header of its own, end the item, or cut a line in some reader; and what has no UTF-8.
UNFIT = [
    "\r",
    "\n",
    "\r\n",
    "\0",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1e",
    "\x7f",
    "\x85",
    "\u2028",
    "\u2029",
    "\ud800",
    "\udfff",
]
FIELDS = ["event_id", "source_id", "syntax", "application_id", "event_type", "timestamp"]


def item(**fields):
    """A small item."""
    return Item(**({"event_id": "e", "source_id": "s", "syntax": "text/plain"} | fields))


def test_an_item_is_written_in_the_order_of_the_format():
    """Every header, then the length in bytes, then the body and nothing."""
    assert encode_item(FULL) == FULL_WIRE
    assert encode_head(FULL) == FULL_WIRE[:-13]


def test_what_is_absent_is_not_written():
    """Three headers are mandatory; the length is always said."""
    assert (
        encode_item(item()) == b"Event-Id: e\r\nSource-Id: s\r\nSyntax: text/plain\r\nBody-Length: 0\r\n\r\n"
    )


def test_the_keep_alive_is_what_ztreamy_sends():
    """Its Source-Id is empty, and behind the colon there is a space."""
    keep_alive = command_item(TEST_CONNECTION, "id", timestamp="now")
    assert encode_item(keep_alive) == (
        b"Event-Id: id\r\nSource-Id: \r\nSyntax: ztreamy-command\r\nTimestamp: now\r\nBody-Length: 15\r\n\r\n"
        b"Test-Connection"
    )
    assert keep_alive.command == TEST_CONNECTION


def test_a_body_is_measured_in_bytes_and_never_touched():
    """UTF-8 in values and in bodies; bytes that are no text."""
    text = "<a> <b> 'é😀\r\n\r\n' .".encode()
    wire = encode_item(item(body=text, event_type="Årsta"))
    assert f"Body-Length: {len(text)}\r\n\r\n".encode() + text in wire
    assert "Event-Type: Årsta\r\n".encode() in wire
    assert encode_item(item(body=b"\xff\0")).endswith(b"Body-Length: 2\r\n\r\n\xff\0")


def test_an_item_is_encoded_once():
    """The same bytes object for whoever asks, and another for an item made of it."""
    one = item(body=b"x" * 100)
    assert encode_item(one) is encode_item(one)
    relayed = replace(one, aggregator_ids=("here",))
    assert b"Aggregator-Ids: here\r\n" in encode_item(relayed)
    assert b"Aggregator-Ids" not in encode_item(one)


def test_items_are_values():
    """Equal where they say the same, whether encoded or not, and not to be changed."""
    one, other = item(), item()
    encode_item(one)
    assert one == other
    assert hash(one) == hash(other)
    with pytest.raises(FrozenInstanceError):
        one.event_id = "x"
    assert "secret" not in repr(item(body=b"secret"))


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_four_commands_are_commands(name):
    """Others are no items, and an item is no command."""
    assert command_item(name, "id", "src").command == name
    assert FULL.command is None
    assert item(syntax=TEST, body=name.encode()).command is None


@pytest.mark.parametrize(
    "name", ["Set-Compression", "test-connection", "Test-Connection\r\n", "Test-Connection ", ""]
)
def test_no_other_command_can_be_made(name):
    """It would end every client."""
    with pytest.raises(ItemError, match="none of the commands"):
        command_item(name, "id")


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("unfit", UNFIT, ids=ascii)
def test_no_value_can_be_a_header_of_its_own(field, unfit):
    """At its start, within, and at its end."""
    for value in (f"{unfit}X-Evil: 1", f"a{unfit}X-Evil: 1", f"a{unfit}"):
        with pytest.raises(ItemError):
            item(**{field: value})


@pytest.mark.parametrize("unfit", [*UNFIT, " ", ":", "\t"], ids=ascii)
def test_no_extension_can_be_another_header(unfit):
    """Neither by its name nor by its value."""
    with pytest.raises(ItemError, match="no name of a header"):
        item(headers=((f"X{unfit}Y", "a"),))
    if unfit in UNFIT:
        with pytest.raises(ItemError, match="X-Y: must have no"):
            item(headers=(("X-Y", f"a{unfit}b"),))
        with pytest.raises(ItemError, match="Aggregator-Ids: must have no"):
            item(aggregator_ids=("a", f"b{unfit}"))


@pytest.mark.parametrize(
    "value",
    [
        "a\tb",
        "a  b",
        "x | y",
        "| a |",
        "|",
        "a\xa0b",
        "é",
        "\ue000",
        "\u0378",
        "😀",
        ":",
        ",",
        "%0D%0A",
        "\\r\\n",
    ],
)
def test_what_is_unusual_but_harmless_passes(value):
    """Tabs within, spaces beside bars, what Python calls not printable, and escapes that nobody reads."""
    said = item(event_id=value, event_type=value, headers=(("X", value),))
    assert f"Event-Type: {value}\r\n".encode() in encode_item(said)


@pytest.mark.parametrize("value", [" a", "a ", "\ta", "a\t", " ", "a |  "])
def test_space_around_a_value_is_refused(value):
    """Readers strip it, and then it would not be the same item."""
    with pytest.raises(ItemError, match="no space around it"):
        item(event_type=value)
    with pytest.raises(ItemError, match="no space around it"):
        item(headers=(("X", value),))
    with pytest.raises(ItemError, match="no space around it"):
        item(aggregator_ids=(value,))


@pytest.mark.parametrize("name", [*KNOWN, "Body"])
def test_known_names_are_no_extensions_in_any_case(name):
    """Other cases end Ztreamy's clients, so the sentence says how it is written."""
    with pytest.raises(ItemError, match="can't be an extension"):
        item(headers=((name, "a"),))
    for variant in (name.lower(), name.upper(), name.swapcase()):
        with pytest.raises(ItemError, match=f"must be written {name}$"):
            item(headers=((variant, "a"),))


def test_an_extension_is_there_once():
    """Names that differ in case are two: there is no other rule for them."""
    with pytest.raises(ItemError, match="X-A: must be there once"):
        item(headers=(("X-A", "1"), ("X-A", "2")))
    assert item(headers=(("X-A", "1"), ("x-a", "2"))).headers == (("X-A", "1"), ("x-a", "2"))
    assert item(headers=(("Aggregator-Id", "1"),)).headers  # the plural is the known one


@pytest.mark.parametrize("ids", [("",), ("a", ""), ("a,b",), (",",)])
def test_aggregator_ids_can_be_split_again(ids):
    """By the comma that joins them."""
    with pytest.raises(ItemError, match="an id without a comma"):
        item(aggregator_ids=ids)


def test_an_id_is_not_empty_but_a_command_s_source_may_be():
    """As that of the keep-alive."""
    with pytest.raises(ItemError, match=r"^Event-Id: must not be empty"):
        item(event_id="")
    for syntax in ("text/plain", TEST):
        with pytest.raises(ItemError, match=r"^Source-Id: must not be empty"):
            item(source_id="", syntax=syntax)
    assert item(source_id="", syntax=COMMAND, body=b"Test-Connection").source_id == ""


@pytest.mark.parametrize(
    "syntax",
    [
        "text/turtle",
        "application/ld+json",
        "application/vnd.a.b-c+xml",
        "text/plain;charset=utf-8",
        "text/plain ; charset=utf-8; x=y",
        'text/plain; x="a;b\\"c"',
        "TEXT/N3",
        TEST,
    ],
)
def test_a_syntax_is_a_media_type(syntax):
    """With parameters or without, or Ztreamy's own for tests."""
    assert item(syntax=syntax).syntax == syntax


@pytest.mark.parametrize(
    "syntax",
    [
        "",
        "turtle",
        "text/",
        "/turtle",
        "text//turtle",
        "text/turtle/x",
        "te xt/turtle",
        "text /turtle",
        "text/turtle;",
        "text/turtle; charset",
        "text/turtle; charset=",
        'text/turtle; x="',
        "text/turtle, text/n3",
        "text/türtle",
        "*/*",
        "Ztreamy-Command",
        "ztreamy-command; x=y",
        "ztreamy-tests",
        "text/turtle\n",
    ],
)
def test_what_is_no_media_type_is_refused(syntax):
    """A malformed one ends Ztreamy's clients."""
    with pytest.raises(ItemError, match=r"^Syntax: "):
        item(syntax=syntax)


def test_a_syntax_is_looked_at_in_linear_time():
    """Whatever is repeated in it."""
    for evil in ("a/a" + ";a=a" * 4000 + ";", "a/a" + " " * 16000, 'a/a;a="' + "\\\\" * 8000, "a" * 16000):
        with pytest.raises(ItemError):
            item(syntax=evil)


def test_an_error_says_what_and_where_and_is_bounded():
    """Long values are cut; it is an error of the protocol."""
    with pytest.raises(ProtocolError) as caught:
        item(event_type="x" * 10_000 + "\n")
    error = caught.value
    assert isinstance(error, ItemError)
    assert error.where == "Event-Type"
    assert str(error) == f"Event-Type: {error.what}"
    assert len(str(error)) < 200
    assert str(error.within("item 3")) == f"item 3, Event-Type: {error.what}"


@given(items())
def test_every_item_has_one_head(item):
    """Nothing that can be said in an item ends its head early, and each header is a line."""
    head, _, body = encode_item(item).partition(b"\r\n\r\n")
    assert body == item.body
    lines = head.decode().splitlines()
    assert len(lines) == len(item.lines()) + 1
    assert lines[-1] == f"Body-Length: {len(item.body)}"
