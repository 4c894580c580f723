"""Exact changes written into Oxigraph: all or nothing, blank nodes by their labels."""

from __future__ import annotations

import threading

import pyoxigraph
import pytest
from hypothesis import given
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple
from support.deltas import EX, World, examples, histories, quads

from triplewire.broker import delta_writer
from triplewire.broker.delta_writer import write_delta
from triplewire.broker.errors import StoreError
from triplewire.broker.model import QuadDelta

P = NamedNode(f"{EX}p")
G = NamedNode(f"{EX}g")


@given(histories())
@examples()
def test_the_store_holds_what_the_changes_say(history):
    """Every kind of term, empty graphs, and blank nodes that are the same ones as before."""
    store = pyoxigraph.Store()
    for delta, world in zip(history.deltas, history.worlds[1:], strict=True):
        write_delta(store, delta)
        assert World.of(store) == world


@given(histories())
@examples(50)
def test_many_blank_nodes_are_written_in_rows(history):
    """The way for more terms than there are variables leads to the same dataset."""
    store = pyoxigraph.Store()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delta_writer, "_VARIABLES", 0)
        for delta in history.deltas:
            write_delta(store, delta)
    assert World.of(store) == history.worlds[-1]


def nodes(count, text, graph=G):
    return frozenset(Quad(BlankNode(f"n{number}"), P, Literal(text), graph) for number in range(count))


def test_thousands_of_blank_nodes():
    """A graph of blank nodes is replaced in one piece, within Oxigraph's stack."""
    store = pyoxigraph.Store()
    write_delta(store, QuadDelta(nodes(3000, "old"), frozenset()))
    write_delta(store, QuadDelta(nodes(3000, "new"), nodes(3000, "old")))
    assert frozenset(store) == nodes(3000, "new")


def test_blank_nodes_inside_triple_terms():
    """A reifier's triple keeps pointing at the node it was said of."""
    store = pyoxigraph.Store()
    node = BlankNode()
    old, new = (Quad(node, P, Triple(node, P, Literal(text))) for text in ("1", "2"))
    write_delta(store, QuadDelta(frozenset([old]), frozenset()))
    write_delta(store, QuadDelta(frozenset([new]), frozenset([old])))
    assert list(store) == [new]


@given(quads)
@examples()
def test_single_quads_come_and_go(quad):
    """The shortest ways, for one quad in and one quad out."""
    store = pyoxigraph.Store()
    write_delta(store, QuadDelta(frozenset([quad]), frozenset()))
    assert list(store) == [quad]
    write_delta(store, QuadDelta(frozenset(), frozenset([quad])))
    assert not list(store)


def test_nothing_is_nothing():
    """An empty change is no call of the store."""
    write_delta(None, QuadDelta(frozenset(), frozenset()))


def broken_iri():
    """One that only a lenient reader lets in; no SPARQL text may name it."""
    (quad,) = pyoxigraph.parse(
        b"<http://a b> <http://p> 'x' .", format=pyoxigraph.RdfFormat.TURTLE, lenient=True
    )
    return quad.subject


def test_iris_that_are_none():
    """What a lenient load brought in can be changed and taken away like the rest."""
    store = pyoxigraph.Store()
    old, new = Quad(broken_iri(), P, Literal("x")), Quad(broken_iri(), P, Literal("y"), G)
    store.add(old)
    write_delta(store, QuadDelta(frozenset([new]), frozenset([old])))
    assert list(store) == [new]


def test_a_failure_changes_nothing():
    """Oxigraph's error is ours, and the dataset is as it was."""
    store = pyoxigraph.Store()
    before = Quad(P, P, P)
    store.add(before)
    delta = QuadDelta(frozenset([Quad(P, P, G)]), frozenset([before]), dropped=frozenset([broken_iri()]))
    with pytest.raises(StoreError, match="could not be written"):
        write_delta(store, delta)
    assert list(store) == [before]


def test_readers_see_all_or_nothing():
    """A reader on another thread never finds a half-written change, with blank nodes or without."""
    store = pyoxigraph.Store()
    done = threading.Event()
    found = []

    def read():
        # A pause between two looks, or the writer would wait for the interpreter at each blank node.
        while not done.wait(0.0002):
            found.append({quad.object.value for quad in store})

    def values(text):
        return nodes(20, text) | frozenset(
            Quad(NamedNode(f"{EX}{number}"), P, Literal(text)) for number in range(20)
        )

    write_delta(store, QuadDelta(values("0"), frozenset()))
    reader = threading.Thread(target=read)
    reader.start()
    for number in range(100):
        write_delta(store, QuadDelta(values(str(number + 1)), values(str(number))))
    done.set()
    reader.join()
    assert all(len(seen) == 1 for seen in found)
