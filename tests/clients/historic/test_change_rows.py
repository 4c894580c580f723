"""Lines of N-Quads fall into the terms that Oxigraph sees in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple

from triplewire.broker.journal.quad_lines import lines
from triplewire.broker.journal.record import Record
from triplewire.broker.model import QuadDelta
from triplewire.clients.historic.change_rows import ChangeRow, QuadTexts, arrow_batches, quads_of, rows_of

IRIS = st.sampled_from(
    [NamedNode("http://example.org/a"), NamedNode("http://example.org/ü?x=_:b"), NamedNode("u:'")]
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\\n\r\t <>.\u2028\x85\x00'))
LITERALS = st.one_of(
    st.builds(Literal, TEXTS),
    st.builds(lambda text, tag: Literal(text, language=tag), TEXTS, st.sampled_from(["en", "de-at"])),
    st.builds(lambda text, iri: Literal(text, datatype=iri), TEXTS, IRIS),
)
BLANKS = st.sampled_from([BlankNode("a"), BlankNode("b.c"), BlankNode("0f")])
TRIPLES = st.builds(Triple, IRIS | BLANKS, IRIS, IRIS | BLANKS | LITERALS)
QUADS = st.builds(
    Quad, IRIS | BLANKS, IRIS, IRIS | BLANKS | LITERALS | TRIPLES, IRIS | BLANKS | st.just(DefaultGraph())
)


def texts(quad):
    graph = None if isinstance(quad.graph_name, DefaultGraph) else str(quad.graph_name)
    object_ = f"<<( {quad.object} )>>" if isinstance(quad.object, Triple) else str(quad.object)
    return QuadTexts(graph, str(quad.subject), str(quad.predicate), object_)


@given(st.sets(QUADS, max_size=20))
def test_any_quads(quads):
    """Whatever characters are in them; a triple as an object goes through the parser."""
    assert sorted(quads_of(lines(quads)), key=str) == sorted(map(texts, quads), key=str)


def test_what_is_no_line():
    """The parser has the last word."""
    with pytest.raises(SyntaxError):
        list(quads_of(b"<http://a> <http://b>\n"))


def test_what_went_comes_before_what_came():
    """One row for each quad; a change of empty graphs only has none."""
    p = NamedNode("http://example.org/p")
    old, new = Quad(p, p, Literal(1)), Quad(p, p, Literal(2), p)
    record = Record.of(QuadDelta(frozenset({new}), frozenset({old})), 7, 1_000, "who")
    assert list(rows_of(record)) == [
        ChangeRow(7, 1_000, "who", False, texts(old)),
        ChangeRow(7, 1_000, "who", True, texts(new)),
    ]
    assert list(rows_of(Record.of(QuadDelta(frozenset(), frozenset(), frozenset({p})), 8, 1, ""))) == []


def test_batches_are_bounded_by_rows_and_by_bytes():
    """Of 25,000 small rows, and of rows with large values."""
    small = ChangeRow(1, 1, "", True, QuadTexts(None, "<a:a>", "<a:a>", "<a:a>"))
    assert [batch.num_rows for batch in arrow_batches([small] * 25_000)] == [10_000, 10_000, 5_000]
    large = small._replace(quad=small.quad._replace(object="x" * 1024 * 1024))
    assert [batch.num_rows for batch in arrow_batches([large] * 9)] == [4, 4, 1]
    (batch,) = arrow_batches([small])
    assert batch.to_pylist()[0] == {
        "sequence": 1,
        "time": batch.to_pylist()[0]["time"],
        "client": "",
        "added": True,
        "graph": None,
        "subject": "<a:a>",
        "predicate": "<a:a>",
        "object": "<a:a>",
    }
    assert batch.to_pylist()[0]["time"].isoformat() == "1970-01-01T00:00:00.001000+00:00"
