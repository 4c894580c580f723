"""Items as filters look at them."""

from __future__ import annotations

import pytest
from pyoxigraph import NamedNode
from support.stepped import item

from triplewire.gates.stream import looked
from triplewire.gates.stream.looked import MOST_BYTES, Looked, rdf_format


@pytest.mark.parametrize(
    ("syntax", "body"),
    [
        ("text/turtle", b"<urn:a> <urn:b> <urn:c> ."),
        ("text/turtle; charset=utf-8", b"<urn:a> <urn:b> <urn:c> ."),
        ("Text/Turtle", b"<urn:a> <urn:b> <urn:c> ."),
        ("application/n-triples", b"<urn:a> <urn:b> <urn:c> ."),
        ("text/n3", b"<urn:a> <urn:b> <urn:c> ."),
        ("application/ld+json", b'{"@id": "urn:a", "urn:b": {"@id": "urn:c"}}'),
        (
            "application/rdf+xml",
            b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:u="urn:">'
            b'<r:Description r:about="urn:a"><u:b r:resource="urn:c"/></r:Description></r:RDF>',
        ),
        ("application/trig", b"<urn:g> { <urn:a> <urn:b> <urn:c> }"),
        ("application/n-quads", b"<urn:a> <urn:b> <urn:c> <urn:g> ."),
    ],
)
def test_rdf_in_every_syntax(syntax, body):
    """The same triple, the same IRIs, and one graph for queries."""
    found = Looked(item("e", body, syntax=syntax))
    assert [quad.predicate for quad in found.quads] == [NamedNode("urn:b")]
    assert found.iris == {"urn:a", "urn:b", "urn:c"}
    assert bool(found.store.query("ASK { <urn:a> <urn:b> <urn:c> }"))


def test_iris_of_datatypes_count():
    """A vocabulary may be one of datatypes."""
    assert "urn:celsius" in Looked(item("e", b'<urn:a> <urn:b> "21"^^<urn:celsius> .')).iris


@pytest.mark.parametrize(
    ("syntax", "body"),
    [
        ("text/plain", b"<urn:a> <urn:b> <urn:c> ."),
        ("application/json", b'{"@id": "urn:a"}'),
        ("ztreamy-command", b"Test-Connection"),
        ("text/turtle", b"<urn:a> <urn:b>"),
        ("text/turtle", b"\xff\xfe"),
        ("application/ld+json", b"[" * 5000),
        ("application/rdf+xml", b"<a>" * 500),
        ("text/turtle", b"# " + b"x" * MOST_BYTES + b"\n<urn:a> <urn:b> <urn:c> ."),
    ],
)
def test_what_is_no_rdf_says_nothing(syntax, body):
    """Nor does what is not well-formed, what is nested to end a process, or is too much to read here."""
    found = Looked(item("e", body, syntax=syntax))
    assert (found.quads, found.iris) == ((), frozenset())


def test_it_is_read_once(monkeypatch):
    """Whoever asks, and only if somebody does."""
    parsed = []
    monkeypatch.setattr(looked, "_parsed", lambda each: parsed.append(each) or [])
    found = Looked(item("e"))
    assert parsed == []
    assert (found.quads, found.iris, len(found.store)) == ((), frozenset(), 0)
    assert len(parsed) == 1


def test_formats():
    """By the media type without its parameters."""
    assert rdf_format("image/png") is None
    assert rdf_format("text/n3;x=y") is not None
