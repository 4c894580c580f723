"""Items as JSON and as lines of it, both ways: what Ztreamy's consumers split and what its publishers send."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.item_strategies import bodies, items, pieces, syntaxes

from triplewire.broker.wire.item_json import (
    LineReader,
    decode_json,
    encode_array,
    encode_lines,
    encode_object,
)
from triplewire.broker.wire.items import COMMAND, KNOWN, PUBLISHED, Item, ItemError, ItemLimits, encode_head

ITEM = Item(
    "e2",
    "src-1",
    "text/turtle",
    "<a> <b> 'é\r\n'.".encode(),
    application_id="app",
    aggregator_ids=("f2bf3339", "next"),
    event_type="T",
    timestamp="2026-01-01T00:00:00.000+00:00",
    headers=(("X-Foo", "bar:baz"),),
)
GOLDEN = (
    b'{"Event-Id":"e2","Source-Id":"src-1","Syntax":"text/turtle","Application-Id":"app",'
    b'"Aggregator-Ids":["f2bf3339","next"],"Event-Type":"T","Timestamp":"2026-01-01T00:00:00.000+00:00",'
    b'"X-Foo":"bar:baz","Body":"<a> <b> \'\\u00e9\\r\\n\'."}'
)
SMALL = {"Event-Id": "e", "Source-Id": "s", "Syntax": "text/plain", "Body": ""}
LIMITS = ItemLimits(header_bytes=90, headers=5, body_bytes=20)
# Bodies that JSON brings back as they were: text, and JSON as Python writes it.
text_bodies = st.text(max_size=20, alphabet=st.characters(exclude_categories=["Cs"])).map(str.encode)
json_bodies = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
).map(lambda said: json.dumps(said, separators=(",", ":")).encode())
same_in_json = st.one_of(
    items(syntax=syntaxes.filter(lambda syntax: syntax != "application/json"), body=text_bodies),
    items(syntax=st.just("application/json"), body=json_bodies),
)


def small(**members):
    """A small object with these members, names with _ for -, those that are ... left out."""
    named = {name.replace("_", "-"): value for name, value in members.items()}
    return {name: value for name, value in (SMALL | named).items() if value is not ...}


def one(said):
    """The item that an object is."""
    (item,) = decode_json(json.dumps(said).encode())
    return item


def outcome(parts, limits=PUBLISHED):
    """The items of these pieces of lines, and the error that there was at last, if any."""
    reader, items = LineReader(limits), []
    try:
        for part in parts:
            items += reader.feed(part)
        items += reader.finish()
    except ItemError as error:
        return items, str(error)
    return items, None


def read_lines(data, limits=PUBLISHED):
    """What the lines say, whole and byte by byte, which is the same."""
    whole = outcome([data], limits)
    assert outcome([data[place : place + 1] for place in range(len(data))], limits) == whole
    return whole


def test_an_object_has_the_headers_and_the_body():
    """Strings but for the list of aggregators; ASCII; no Body-Length; no end of line within."""
    assert encode_object(ITEM) == GOLDEN
    assert decode_json(GOLDEN) == [ITEM]


def test_an_array_and_lines_are_objects():
    """Each line ends in CRLF, as consumers split at it."""
    assert encode_array([ITEM, ITEM]) == b"[" + GOLDEN + b"," + GOLDEN + b"]"
    assert encode_array([]) == b"[]"
    assert encode_lines([ITEM, ITEM]) == GOLDEN + b"\r\n" + GOLDEN + b"\r\n"
    assert encode_lines([]) == b""
    assert decode_json(encode_array([ITEM, ITEM])) == [ITEM, ITEM]
    assert decode_json(b"[]") == []


@pytest.mark.parametrize(
    ("syntax", "body", "expected"),
    [
        ("application/json", b'{"a": 1}', '{"a":1}'),
        ("application/json; charset=utf-8", b"[1.5, null]\r\n\r\n", "[1.5,null]"),
        ("Application/JSON", b'"x"', '"x"'),
        ("application/json", b"", '""'),
        ("application/json", b"{", '"{"'),
        ("application/json", b"NaN", '"NaN"'),
        ("application/json", b"1e999", '"1e999"'),
        ("application/json", b"[" * 5000 + b"]" * 5000, json.dumps("[" * 5000 + "]" * 5000)),
        ("application/json", b"9" * 5000, json.dumps("9" * 5000)),
        ("application/json", b"\xff", '"\\ufffd"'),
        ("application/ld+json", b'{"@id": "a"}', '"{\\"@id\\": \\"a\\"}"'),
        ("text/n3", b"<a> <b> <c> .", '"<a> <b> <c> ."'),
        ("text/plain", b"1", '"1"'),
        ("image/png", b"\x89PNG\xff", '"\\ufffdPNG\\ufffd"'),
    ],
)
def test_a_body_is_json_where_its_syntax_says_so(syntax, body, expected):
    """RDF stays the text that it is, and so does what only says that it is JSON; the Syntax is never another."""
    said = encode_object(Item("e", "s", syntax, body))
    assert said.endswith(f',"Body":{expected}}}'.encode())
    assert json.loads(said)["Syntax"] == syntax


@pytest.mark.parametrize(
    ("syntax", "said", "body"),
    [
        ("text/turtle", "<a> <b> 'é'.", "<a> <b> 'é'.".encode()),
        ("text/plain", "\r\n\0", b"\r\n\0"),
        ("application/json", {"a": [1, "é"]}, b'{"a":[1,"\\u00e9"]}'),
        ("application/json", "{}", b'"{}"'),
        ("application/json", None, b"null"),
        ("application/json", "\ud800", b'"\\ud800"'),
        ("application/ld+json", [{"@id": "a"}], b'[{"@id":"a"}]'),
        ("application/ld+json", '{"@id": "a"}', b'{"@id": "a"}'),
        ("application/vnd.x+json", 1, b"1"),
        (COMMAND, "Test-Connection", b"Test-Connection"),
    ],
)
def test_a_body_is_a_string_or_json(syntax, said, body):
    """What is no string becomes compact JSON, with nothing behind it."""
    assert one(small(Syntax=syntax, Body=said)).body == body


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"Event_Type": " T\t"}, {"event_type": "T"}),
        ({"Event_Type": None, "Application_Id": None, "X": None}, {}),
        ({"Timestamp": "yesterday"}, {"timestamp": "yesterday"}),
        ({"Aggregator_Ids": []}, {}),
        ({"Aggregator_Ids": None}, {}),
        ({"Aggregator_Ids": ["a", "", "b"]}, {"aggregator_ids": ("a", "b")}),
        ({"Aggregator_Ids": "a,b"}, {"aggregator_ids": ("a", "b")}),
        ({"X": "1", "@context": "2"}, {"headers": (("X", "1"), ("@context", "2"))}),
    ],
)
def test_what_is_tolerated_in_an_object(members, expected):
    """Space around values, members that are null as if they were absent, ids in one string."""
    assert one(small(**members)) == Item("e", "s", "text/plain", **expected)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (small(Event_Id=...), "Event-Id: is missing"),
        (small(Source_Id=None), "Source-Id: is missing"),
        (small(Syntax=...), "Syntax: is missing"),
        (small(Body=...), "Body: is missing"),
        (small(Body=..., body="x"), "Body: is missing: names are case-sensitive, and there is 'body'"),
        (small(Event_Id=1), "Event-Id: must be a string; it is 1"),
        (small(X=["a"]), "X: must be a string"),
        (small(Aggregator_Ids=[1]), "Aggregator-Ids: must be a list of strings"),
        (small(Aggregator_Ids={"a": "b"}), "Aggregator-Ids: must be a list of strings"),
        (small(Aggregator_Ids=["a,b"]), "Aggregator-Ids: each must be an id without a comma"),
        (small(Body_Length="0"), "Body-Length: can't be an extension"),
        (small(event_id="e"), "event-id: must be written Event-Id"),
        (small(Body=1), "Body: must be a string where Syntax is 'text/plain'"),
        (small(Body=None), "Body: must be a string"),
        (small(Body="\ud800"), "Body: a lone surrogate"),
        (small(Syntax="application/json", Body=float("nan")), "Body: is not JSON"),
        (small(Syntax=COMMAND, Body="Set-Compression"), "none of the commands"),
        (small(Event_Id="e\r\nX-Evil: 1"), "Event-Id: must have no '\\r'"),
        (small(X="a\nb"), "X: must have no '\\n'"),
        (small(X="\ud800"), "X: must have no '\\ud800'"),
        (small(**{"X: 1\r\nY": "a"}), "is no name of a header"),
        (small(**{"\ud800": "a"}), "is no name of a header"),
        (small(Aggregator_Ids=["a", "b\r\nX: 1"]), "Aggregator-Ids: must have no '\\r'"),
        (1, "must be a JSON object"),
        ("x", "must be a JSON object"),
        (None, "must be a JSON object"),
    ],
)
def test_what_is_refused(said, why):
    """As one object, in an array with its place, and on a line with its number."""
    with pytest.raises(ItemError) as alone:
        one(said)
    assert why in str(alone.value)
    with pytest.raises(ItemError) as second:
        decode_json(json.dumps([SMALL, said]).encode())
    assert str(second.value) == f"item 2, {alone.value}"
    items, error = read_lines(json.dumps(SMALL).encode() + b"\r\n" + json.dumps(said).encode() + b"\r\n")
    assert len(items) == 1
    assert error == f"line 2, {alone.value}"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"{}{}", "is not JSON"),
        (b"\xff", "byte 0 is not UTF-8"),
        (b"\xef\xbb\xbf{}", "is not JSON"),
        (b"[" * 5000, "nested too deeply"),
        (b"[" + b"[]," * 60_000 + b"[]]", "more than 50000"),
        (b"[[]]", "item 1, object: must be a JSON object"),
    ],
)
def test_what_is_not_json_is_refused(data, why):
    """And what would be much work."""
    with pytest.raises(ItemError, match=why):
        decode_json(data)


def test_what_could_not_be_read_again_as_an_item_is_refused():
    """The same limits as for items: their headers, how many, and the body."""
    item = Item("e", "s", "text/plain", b"x" * 20)
    length = len(encode_head(item))
    fits = ItemLimits(header_bytes=length, headers=4, body_bytes=20)
    assert decode_json(encode_object(item), fits) == [item]
    for limits, why in (
        (ItemLimits(length - 1, 4, 20), f"headers: longer than {length - 1} bytes"),
        (ItemLimits(length, 3, 20), "headers: more than 3"),
        (ItemLimits(length, 4, 19), "Body: 20 bytes; 19 are read"),
    ):
        with pytest.raises(ItemError, match=why):
            decode_json(encode_object(item), limits)


def test_lines_may_end_in_lf_or_be_empty():
    """An empty one is no item, and the last needs no end."""
    line = json.dumps(SMALL).encode()
    expected = [one(SMALL)] * 3
    assert read_lines(line + b"\n\r\n\n" + line + b"\r\n \r\n" + line) == (expected, None)
    assert read_lines(line + b"\r\n" + line + b"\r\n" + line + b"\r\n") == (expected, None)
    assert read_lines(b"") == ([], None)


def test_a_line_that_was_cut_is_no_item():
    """As that of a publisher that died within it."""
    line = json.dumps(SMALL).encode()
    items, error = read_lines(line + b"\r\n" + line[:-1])
    assert len(items) == 1
    assert error.startswith("line 2, object: is not JSON")


def test_a_line_is_bounded():
    """Before its end has come."""
    most = LIMITS.header_bytes + LIMITS.body_bytes
    with pytest.raises(ItemError, match=f"line 1, object: longer than {most} bytes"):
        LineReader(LIMITS).feed(b" " * (most + 1))
    assert read_lines(b" " * most + b"\n", LIMITS) == ([], None)
    assert (
        read_lines(b"\n" + b" " * (most + 1) + b"\n", LIMITS)[1]
        == f"line 2, object: longer than {most} bytes"
    )


def test_a_line_in_many_pieces_is_kept_once():
    """What is kept is not much more than what came."""
    item = Item("e", "s", "text/plain", b"x" * 1_000_000)
    line = encode_lines([item])
    reader, items = LineReader(), []
    for place in range(0, len(line), 64):
        items += reader.feed(line[place : place + 64])
        assert sys.getsizeof(reader._rest) <= 2 * len(line)
    assert items == [item]
    assert reader.finish() == []


def test_a_reader_of_lines_that_refused_stays_refused():
    """Items before the mistake are given first, `error` tells it at once."""
    reader = LineReader()
    assert len(reader.feed(json.dumps(SMALL).encode() + b"\n{\n")) == 1
    assert "line 2" in str(reader.error)
    for again in (lambda: reader.feed(GOLDEN), lambda: reader.feed(b""), reader.finish, reader.finish):
        with pytest.raises(ItemError, match="line 2, object: is not JSON"):
            again()


def test_whoever_follows_can_leave_out_lines_that_are_unfit():
    """They are told with their number; one that is too long stops the reader."""
    told = []
    reader = LineReader(LIMITS, on_unfit=told.append)
    line = json.dumps(SMALL).encode() + b"\r\n"
    assert len(reader.feed(line + b"{\r\n" + line + b"[]\r\n" + line)) == 3
    assert [error.where for error in told] == ["line 2, object", "line 4, object"]
    with pytest.raises(ItemError, match="line 6, object: longer than"):
        reader.feed(b" " * 111)


@given(st.lists(same_in_json, max_size=3))
def test_what_is_written_as_json_is_read(said):
    """The same items, in an array and on lines, where their bodies can be said in JSON as they are."""
    assert decode_json(encode_array(said)) == said
    assert read_lines(encode_lines(said)) == (said, None)


@given(items(body=bodies))
def test_any_item_can_be_said_in_json(item):
    """Whatever its body is; all but the body is the same again, and no line is cut."""
    line = encode_object(item)
    assert b"\n" not in line
    assert b"\r" not in line
    said = json.loads(line)
    assert list(said)[-1] == "Body"
    assert "Body-Length" not in said
    (again,) = decode_json(line)
    assert {name: getattr(again, name) for name in KNOWN.values() if name != "body_length"} == {
        name: getattr(item, name) for name in KNOWN.values() if name != "body_length"
    }
    assert again.headers == item.headers


@given(st.data(), st.lists(same_in_json, max_size=3))
def test_any_cut_of_lines_gives_the_same_items(data, said):
    """And the same error, where something is wrong."""
    lines = encode_lines(said)
    assert outcome(data.draw(pieces(lines))) == (said, None)
    spoilt = data.draw(st.sampled_from([b"{\r\n", b"x", b" " * 111 + b"\n", b"[]\n", b""]))
    parts = data.draw(pieces(lines + spoilt + lines))
    assert outcome(parts, LIMITS) == outcome([lines + spoilt + lines], LIMITS)
