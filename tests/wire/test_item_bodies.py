"""Bodies that end Ztreamy's client for Python are refused; all others pass, and none is changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from support.item_strategies import items

from triplewire.broker.wire.item_bodies import check_body, json_value
from triplewire.broker.wire.items import TEST, Item, ItemError, encode_item


def item(syntax, body):
    """An item with this body."""
    return Item("e", "s", syntax, body)


def why_not(said):
    """Where the mistake is; nothing where there is none."""
    try:
        check_body(said)
    except ItemError as error:
        return error.where
    return ""


@pytest.mark.parametrize(
    ("syntax", "body"),
    [
        ("text/n3", b""),
        ("text/n3", b"<a> <b> <c> ."),
        ("text/n3", "@prefix : <http://ex/> . :a :b 'é', 1.5, [ :c ( :d ) ] .".encode()),
        ("text/n3", b"{ <a> <b> <c> } => { <a> <c> <b> } ."),
        ("Text/N3; charset=utf-8", b"<a> <b> <c> ."),
        ("application/json", b' {"a": [1, 1.5, null]}\r\n\r\n'),
        ("application/json", b'"\\ud800"'),
        ("application/ld+json", b'{"@context": "http://ex/context", "@id": "a"}'),
        ("text/turtle", b"<a"),
        ("application/xml", b"<a"),
        ("application/vnd.x+json", b"{"),
        ("text/plain", b"\xff"),
        (TEST, b"{"),
        ("ztreamy-command", b"Test-Connection"),
    ],
)
def test_what_clients_can_read_or_don_t_parse_passes(syntax, body):
    """Turtle, too: Ztreamy knows two syntaxes of RDF, and no other."""
    said = item(syntax, body)
    wire = encode_item(said)
    check_body(said)
    assert encode_item(said) is wire
    assert wire.endswith(b"\r\n\r\n" + body)


@pytest.mark.parametrize(
    ("syntax", "body", "why"),
    [
        ("text/n3", b"<a> <b>", "body: is not N3 of RDF: "),
        ("text/n3", b"a:b <b> <c> .", "body: is not N3 of RDF: "),
        ("text/n3", b"{ <a> <b> ?x } => { <a> <c> ?x } .", "body: is not N3 of RDF: variables"),
        ("text/n3", b"<a> <b> '\xff' .", "body: is not N3 of RDF: "),
        ("TEXT/N3 ;x=y", b"<a", "body: is not N3 of RDF: "),
        ("application/json", b"", "body: is not JSON"),
        ("application/json; charset=utf-8", b"{", "body: is not JSON"),
        ("application/json", b"[NaN]", "body: is not JSON"),
        ("application/json", b"1e999", "body: is not JSON"),
        ("application/json", b"\xff", "body: byte 0 is not UTF-8"),
        ("application/json", b"[" * 101 + b"]" * 101, "body: the JSON is nested too deeply"),
        ("application/json", b"9" * 5000, "body: is not JSON"),
        ("application/ld+json", b"{", "body: is not JSON"),
    ],
)
def test_what_would_end_a_client_is_refused(syntax, body, why):
    """By a sentence that can be sent."""
    with pytest.raises(ItemError, match=why) as caught:
        check_body(item(syntax, body))
    assert len(str(caught.value).encode()) < 400


@pytest.mark.parametrize("nested", [b"[<p> %b]", b"{%b}", b"(%b)", b"{%b <b> <c>}"])
def test_n3_that_is_nested_deeply_harms_nobody(nested):
    """A hundred thousand levels."""
    before, after = (part * 100_000 for part in nested.split(b"%b"))
    assert why_not(item("text/n3", b"<a> <b> " + before + b"<c>" + after + b" .")) in {"", "body"}


def test_json_is_what_it_says():
    """And no more than that."""
    assert json_value(b'{"a": [1, "\xc3\xa9"]} \r\n') == {"a": [1, "é"]}


@given(items())
def test_any_body_passes_or_is_an_item_error(said):
    """Nothing else leaves."""
    if said.syntax in {"text/n3", "application/json", "application/ld+json"}:
        assert why_not(said) in {"", "body"}
    else:
        assert why_not(said) == ""
