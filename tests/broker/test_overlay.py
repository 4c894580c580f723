"""Net changes: an overlay looks like a copy of the store that is written into."""

from __future__ import annotations

import pyoxigraph
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad
from support.deltas import EX, XSD, World, examples

from triplewire.broker.delta_writer import write_delta
from triplewire.broker.model import QuadDelta
from triplewire.broker.overlay import Overlay

S, P = NamedNode(f"{EX}s"), NamedNode(f"{EX}p")
G, H = NamedNode(f"{EX}g"), NamedNode(f"{EX}h")
NAMED = (G, H)
# The two integers are stored as one; so few quads keep meeting each other.
VALUES = (
    Literal("1"),
    *(Literal(text, datatype=NamedNode(f"{XSD}integer")) for text in ("1", "01")),
    BlankNode("b"),
)
POOL = [Quad(S, P, value, graph) for value in VALUES for graph in (DefaultGraph(), *NAMED, BlankNode("g"))]
some = st.lists(st.sampled_from(POOL), max_size=4)
graphs = st.sampled_from(NAMED)


def store_of(quads, named=()):
    store = pyoxigraph.Store()
    store.extend(quads)
    for graph in named:
        store.add_graph(graph)
    return store


class AnOverlayIsACopy(RuleBasedStateMachine):
    """The same steps over a store and in a copy of it, compared after each."""

    @initialize(quads=some, named=st.lists(graphs, max_size=2))
    def start(self, quads, named):
        self.store, self.copy = store_of(quads, named), store_of(quads, named)
        self.before = World.of(self.store)
        self.overlay = Overlay(self.store)

    @rule(quads=some)
    def insert(self, quads):
        self.overlay.insert(iter(quads))
        self.copy.extend(quads)

    @rule(quads=some)
    def delete(self, quads):
        self.overlay.delete(iter(quads))
        for quad in quads:
            self.copy.remove(quad)

    @rule(graph=graphs)
    def create(self, graph):
        self.overlay.create(graph)
        self.copy.add_graph(graph)

    @rule(graph=graphs)
    def drop(self, graph):
        self.overlay.drop(graph)
        self.copy.remove_graph(graph)

    @rule()
    def drop_the_default_graph(self):
        self.overlay.drop(DefaultGraph())
        self.copy.clear_graph(DefaultGraph())

    @invariant()
    def it_shows_what_the_copy_holds(self):
        for graph in (DefaultGraph(), *NAMED, BlankNode("g")):
            shown = self.overlay.quads(graph)
            assert len(shown) == len(set(shown))
            assert set(shown) == set(self.copy.quads_for_pattern(None, None, None, graph))
        assert {*self.overlay.named_graphs()} - {BlankNode("g")} == {*self.copy.named_graphs()} - {
            BlankNode("g")
        }
        for graph in NAMED:
            assert self.overlay.has_graph(graph) == self.copy.contains_named_graph(graph)
        assert self.overlay.has_graph(DefaultGraph())

    @invariant()
    def its_delta_is_exact(self):
        delta, after = self.overlay.delta(), World.of(self.copy)
        assert delta.inserted == after.quads - self.before.quads
        assert delta.deleted == self.before.quads - after.quads
        assert self.overlay.is_empty == (not delta)
        assert World.of(self.store) == self.before
        written = store_of(self.before.quads, (graph for graph in self.before.graphs if graph in NAMED))
        write_delta(written, delta)
        assert World.of(written).quads == after.quads
        assert World.of(written).graphs - {BlankNode("g")} == after.graphs - {BlankNode("g")}


TestAnOverlayIsACopy = AnOverlayIsACopy.TestCase
TestAnOverlayIsACopy.settings = examples(150)


def test_there_and_back_is_no_change():
    """A quad that goes and comes back, and one that comes and goes; so with graphs."""
    old, new = Quad(S, P, Literal("old")), Quad(S, P, Literal("new"))
    overlay = Overlay(store_of([old], [G]))
    overlay.delete([old])
    overlay.insert([new])
    assert overlay.delta() == QuadDelta(frozenset([new]), frozenset([old]))
    overlay.insert([old])
    overlay.delete([new])
    overlay.drop(G)
    overlay.create(G)
    overlay.create(H)
    overlay.drop(H)
    assert overlay.is_empty
    assert not overlay.delta()


def test_a_graph_comes_with_its_first_quad():
    """It is not named apart; without a quad it is."""
    overlay = Overlay(store_of([]))
    overlay.insert([Quad(S, P, P, G)])
    overlay.create(H)
    assert overlay.delta() == QuadDelta(frozenset([Quad(S, P, P, G)]), frozenset(), frozenset([H]))


def test_a_graph_stays_when_its_last_quad_goes():
    """As Oxigraph keeps it: also one that came in the same request."""
    overlay = Overlay(store_of([]))
    overlay.insert([Quad(S, P, P, G)])
    overlay.delete([Quad(S, P, P, G)])
    assert overlay.delta() == QuadDelta(frozenset(), frozenset(), frozenset([G]))


def test_the_store_may_hold_another_form():
    """What is deleted is what is stored, not what was written."""
    overlay = Overlay(store_of([Quad(S, P, Literal(1))]))
    overlay.delete([Quad(S, P, Literal("01", datatype=NamedNode(f"{XSD}integer")))])
    assert overlay.delta().deleted == {Quad(S, P, Literal(1))}
