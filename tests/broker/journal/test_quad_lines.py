"""Quads as lines: read back as they were, and equal lines for equal quads."""

from __future__ import annotations

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat
from support.deltas import EX, blanks, examples, graphs, quads

from triplewire.broker.errors import MalformedRequest
from triplewire.broker.journal.quad_lines import (
    by_blank_nodes,
    graph_text,
    graphs_of,
    lines,
    load_labeled,
    load_plain,
    read_graph,
    read_lines,
    rewritten,
)


@given(st.frozensets(quads))
@examples()
def test_quads_come_back(some):
    """Every kind of term, blank nodes by their labels; a line each."""
    text = lines(some)
    assert frozenset(read_lines(text)) == some
    assert text.count(b"\n") == len(some)


@given(st.frozensets(quads))
@examples()
def test_a_store_writes_the_same_lines(some):
    """A snapshot's lines can be compared with those of the journal."""
    store = pyoxigraph.Store()
    store.extend(some)
    dumped = store.dump(format=RdfFormat.N_QUADS)
    assert sorted(dumped.split(b"\n")) == sorted(lines(some).split(b"\n"))


@given(st.frozensets(quads))
@examples()
def test_lines_of_another_version_are_written_anew(some):
    """What this version would write is what comes of them."""
    assert rewritten(lines(some)) == lines(list(read_lines(lines(some))))


@given(st.frozensets(quads))
@examples()
def test_a_store_is_filled_with_labels_kept(some):
    """Only the lines that may name a blank node need the parser; together they are all."""
    plain, labeled = by_blank_nodes(lines(some))
    store = pyoxigraph.Store()
    load_plain(store, plain)
    load_labeled(store, labeled)
    assert frozenset(store) == some


def test_oxigraph_s_loading_gives_new_labels():
    """The reason for two ways; should this ever fail, one is enough."""
    quad = Quad(BlankNode("a"), NamedNode(EX), Literal("x"))
    store = pyoxigraph.Store()
    store.load(lines([quad]), format=RdfFormat.N_QUADS, lenient=True)
    assert list(store) != [quad]


def test_many_quads_are_written_in_pieces():
    """More than are read back at once."""
    some = frozenset(Quad(BlankNode(f"n{n}"), NamedNode(EX), Literal("x")) for n in range(25_000))
    assert frozenset(read_lines(lines(some))) == some


@pytest.mark.parametrize("code", ["003E", "005C", "000A"])
def test_what_would_not_come_back_is_refused(code):
    """An IRI that a lenient reader let in may not poison the journal."""
    text = f"<http://a\\u{code}b> <http://p> <http://o> .".encode()
    (quad,) = pyoxigraph.parse(text, format=RdfFormat.N_QUADS, lenient=True)
    with pytest.raises(MalformedRequest, match="can't be written as N-Quads"):
        lines([quad])


def test_a_forged_graph_is_refused():
    """An IRI that would be read as two."""
    text = b"<http://s> <http://p> <http://o\\u003E\\u0020\\u003Chttp://g> ."
    (quad,) = pyoxigraph.parse(text, format=RdfFormat.N_QUADS, lenient=True)
    with pytest.raises(MalformedRequest):
        lines([quad])


@given(graphs | blanks)
@examples()
def test_names_of_graphs_come_back(graph):
    """IRIs and blank nodes are told apart."""
    assert read_graph(graph_text(graph)) == graph


def test_graphs_of_quads():
    """The default graph has no name."""
    node = NamedNode(EX)
    blank = BlankNode("g")
    some = [Quad(node, node, node), Quad(node, node, node, node), Quad(node, node, node, blank)]
    assert graphs_of(some) == {node, blank}
