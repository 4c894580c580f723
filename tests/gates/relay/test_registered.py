"""What the registry's RDF says: streams, publishers, trackers in order; and what of it counts for nothing."""

from __future__ import annotations

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat

from triplewire.gates.relay.registered import NIL, PREDICATES, Registered, read, triples_of

PREFIXES = (
    "@prefix tw: <urn:triplewire:> . @prefix dct: <http://purl.org/dc/terms/> . "
    "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . "
)
ONE, TWO = "http://one.example:8003", "https://two.example"


def told(turtle):
    """The reading of a text of Turtle."""
    quads = pyoxigraph.parse(PREFIXES + turtle, format=RdfFormat.TURTLE)
    return read([(quad.subject, quad.predicate, quad.object) for quad in quads])


def test_a_stream_with_all_there_is():
    """Title, publishers, trackers in their order, degree."""
    streams, problems = told(
        f'<urn:s> dct:identifier "traffic" ; dct:title "Traffic"@en ; tw:mayPublish "a", "b" ;'
        f" tw:tracker ( <{TWO}/> <{ONE}> ) ; tw:degree 6 ."
    )

    assert streams == {"traffic": Registered("traffic", "Traffic", frozenset("ab"), (TWO, ONE), 6)}
    assert problems == []


def test_who_is_not_named_may_not_publish():
    """A stream without publishers takes nobody's items; a star lets in all whom the permissions let."""
    streams, _ = told(
        '<urn:a> dct:identifier "closed" . <urn:b> dct:identifier "open" ; tw:mayPublish "*", "a" .'
    )

    assert streams["closed"].publishers == frozenset()
    assert streams["open"].publishers is None


def test_what_is_no_stream_is_passed_over():
    """Whatever else stands in the graph."""
    assert told('<urn:a> dct:title "A document" ; dct:creator <urn:b> .') == ({}, [])


@pytest.mark.parametrize(
    "line",
    [
        "tw:tracker <http://one.example>",
        "tw:tracker ( <ftp://one.example> )",
        'tw:tracker ( "http://one.example" )',
        "tw:tracker ( <http://one.example?x=1> )",
        "tw:tracker ( <http:///path> )",
        "tw:tracker ( <http://one.example> ), ( <http://two.example> )",
        "tw:tracker _:a . _:a rdf:first <http://one.example> ; rdf:rest _:a",
        "tw:tracker _:a . _:a rdf:first <http://one.example>",
        "tw:tracker _:a . _:a rdf:first <http://one.example>, <http://two.example> ; rdf:rest rdf:nil",
        "tw:tracker ( " + " ".join(f"<http://t{n}.example>" for n in range(17)) + " )",
        "tw:degree 1",
        "tw:degree 33",
        "tw:degree 4, 6",
        'tw:degree "four"',
        "tw:degree <urn:four>",
        'tw:degree "\u0664"',
    ],
)
def test_a_line_that_cant_be_read_counts_for_nothing(line):
    """It is a problem with the stream's name; what else is said of the stream holds."""
    streams, problems = told(f'<urn:s> dct:identifier "s" ; tw:mayPublish "a" ; {line} .')

    assert streams == {"s": Registered("s", publishers=frozenset("a"))}
    assert len(problems) == 1
    assert "'s'" in problems[0]


@pytest.mark.parametrize("text", ["<urn:a>", '""', f'"{"x" * 257}"'])
def test_a_name_is_a_text(text):
    """Not empty, not longer than a client's."""
    streams, problems = told(f'<urn:s> dct:identifier "s" ; tw:mayPublish {text} .')

    assert streams == {"s": Registered("s")}
    assert len(problems) == 1


def test_a_stream_that_is_described_twice_is_closed():
    """Nobody knows which of the two is right."""
    streams, problems = told(
        '<urn:a> dct:identifier "s" ; tw:mayPublish "*" . <urn:b> dct:identifier "s" ; tw:mayPublish "b" .'
    )

    assert streams == {"s": Registered("s")}
    assert "twice" in problems[0]


def test_a_subject_with_two_names_is_passed_over():
    """It describes neither."""
    streams, problems = told('<urn:a> dct:identifier "s", "t" ; tw:mayPublish "*" .')

    assert streams == {}
    assert "more than one" in problems[0]


def test_a_tracker_named_twice_is_asked_once():
    """At its first place; a slash at the end makes no other of it."""
    streams, _ = told(f'<urn:a> dct:identifier "s" ; tw:tracker ( <{ONE}> <{TWO}> <{ONE}/> ) .')

    assert streams["s"].trackers == (ONE, TWO)


def test_rows_as_triples():
    """Those that are none are left out."""
    good = {"s": BlankNode("a"), "p": NIL, "o": Literal("x")}
    assert triples_of(
        [good, {"s": Literal("x"), "p": NIL, "o": NIL}, {"p": NIL, "o": NIL}, {"s": NIL, "p": NIL}]
    ) == [(BlankNode("a"), NIL, Literal("x"))]


_NODES = st.sampled_from([BlankNode("a"), BlankNode("b"), NIL, NamedNode("urn:s"), NamedNode(ONE)])
_TERMS = _NODES | st.sampled_from([Literal("s"), Literal("*"), Literal("4"), Literal("")])


@given(st.lists(st.tuples(_NODES, st.sampled_from(PREDICATES), _TERMS), max_size=40), st.randoms())
def test_whatever_is_there_is_read(triples, rng):
    """In whatever order: always the same, never an error, never a stream that nobody named."""
    streams, problems = read(triples)
    rng.shuffle(triples)
    again, others = read(triples)

    assert (streams, sorted(problems)) == (again, sorted(others))
    names = {o.value for _, p, o in triples if p == PREDICATES[0] and isinstance(o, Literal)}
    assert streams.keys() <= names
    for stream in streams.values():
        assert len(set(stream.trackers)) == len(stream.trackers) <= 16
