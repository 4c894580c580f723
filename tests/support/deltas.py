"""Quads of every kind, and histories of exact changes, for Hypothesis; and directories for each example."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pyoxigraph
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from pyoxigraph import BaseDirection, BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple

from triplewire.broker.delta_writer import write_delta
from triplewire.broker.model import QuadDelta

XSD = "http://www.w3.org/2001/XMLSchema#"
EX = "http://example.org/"

texts = st.text(max_size=12) | st.sampled_from(
    ['"', "\\", "\\u0041", "\n", "\r", "\t", "\x00", "\x7f", "_:b", "<<( >>", "é", "\U0010ffff", " .\n"]
)
blanks = st.sampled_from(
    [BlankNode(label) for label in ("a", "b", "0", "a.b", "1f", "f" * 32, "0" * 31 + "1")]
)
nodes = st.sampled_from([NamedNode(f"{EX}{name}") for name in ("s", "t", "ü", "a_:b", "%41")])
predicates = st.sampled_from([NamedNode(f"{EX}{name}") for name in ("p", "q")])
literals = st.one_of(
    st.builds(Literal, texts),
    st.builds(lambda text: Literal(text, language="en-gb"), texts),
    st.builds(
        lambda text, way: Literal(text, language="he", direction=way),
        texts,
        st.sampled_from([BaseDirection.LTR, BaseDirection.RTL]),
    ),
    st.builds(lambda n: Literal(str(n), datatype=NamedNode(f"{XSD}integer")), st.integers(-3, 3)),
    st.builds(lambda text: Literal(text, datatype=NamedNode(f"{EX}type")), texts),
)
triples = st.recursive(
    st.builds(Triple, nodes | blanks, predicates, nodes | blanks | literals),
    lambda inner: st.builds(Triple, nodes | blanks, predicates, inner),
    max_leaves=3,
)
graphs = st.sampled_from([NamedNode(f"{EX}g1"), NamedNode(f"{EX}g2")])
quads = st.builds(
    Quad,
    nodes | blanks,
    predicates,
    nodes | blanks | literals | triples,
    st.just(DefaultGraph()) | graphs | st.sampled_from([BlankNode("g")]),
)


def examples(count=100):
    """So many, however long each takes on a busy machine."""
    return settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@dataclass
class World:
    """A dataset in Python: what Oxigraph must hold after the same changes."""

    quads: frozenset[Quad] = frozenset()
    graphs: frozenset = frozenset()

    def exact(self, deleted, inserted, created, dropped) -> QuadDelta:
        """The exact change that these wishes come to, as an update's plan nets it."""
        dropped = (dropped & self.graphs) - created - {quad.graph_name for quad in inserted}
        gone = deleted | {quad for quad in self.quads if quad.graph_name in dropped}
        new = inserted - self.quads
        implied = {quad.graph_name for quad in new}
        return QuadDelta(
            frozenset(new),
            frozenset((gone & self.quads) - inserted),
            frozenset(created - self.graphs - implied),
            frozenset(dropped),
        )

    def after(self, delta: QuadDelta) -> World:
        """The dataset after a change."""
        implied = {quad.graph_name for quad in delta.inserted if quad.graph_name != DefaultGraph()}
        return World(
            (self.quads - delta.deleted) | delta.inserted,
            (self.graphs - delta.dropped) | delta.created | implied,
        )

    @classmethod
    def of(cls, store: pyoxigraph.Store) -> World:
        """What a store holds."""
        return cls(frozenset(store), frozenset(store.named_graphs()))


@dataclass
class History:
    """Changes, and the dataset after each of them; `worlds[0]` is empty."""

    deltas: list[QuadDelta] = field(default_factory=list)
    worlds: list[World] = field(default_factory=lambda: [World()])

    def add(self, delta: QuadDelta) -> None:
        """One more change."""
        self.deltas.append(delta)
        self.worlds.append(self.worlds[-1].after(delta))


@st.composite
def histories(draw, min_size=1, max_size=8):
    """Changes that come back to the same few quads, so that they undo and repeat each other."""
    pool = draw(st.lists(quads, min_size=3, max_size=10, unique=True))
    some = st.frozensets(st.sampled_from(pool), max_size=4)
    history = History()
    for _ in range(draw(st.integers(min_size, max_size))):
        wishes = (
            draw(some),
            draw(some),
            draw(st.frozensets(graphs, max_size=1)),
            draw(st.frozensets(graphs, max_size=1)),
        )
        if delta := history.worlds[-1].exact(*wishes):
            history.add(delta)
    if not history.deltas:
        history.add(QuadDelta(frozenset(pool[:1]), frozenset()))
    return history


def replacement(number: int) -> QuadDelta:
    """A sensor's value that takes the place of the one before: change `number`, counted from 1."""
    return QuadDelta(
        frozenset({_value(number)}), frozenset({_value(number - 1)} if number > 1 else frozenset())
    )


def _value(number: int) -> Quad:
    return Quad(NamedNode(f"{EX}sensor"), NamedNode(f"{EX}value"), Literal(str(number)), NamedNode(f"{EX}g"))


def replacements(count: int) -> History:
    """Many of them."""
    history = History()
    for number in range(1, count + 1):
        history.add(replacement(number))
    return history


def record(journal, deltas, store=None, *, client="tester", now=1000.0):
    """Append changes as the engine does: journal, store, settled; a second for each."""
    for number, delta in enumerate(deltas):
        journal.append(delta, client, now + number)
        if store is not None:
            write_delta(store, delta)
        journal.settle()


@contextlib.contextmanager
def fresh_directory():
    """A directory for one of many examples; in memory where that is to be had, for the many fsyncs."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="triplewire-", dir=memory if memory.is_dir() else None) as name:
        yield Path(name)
