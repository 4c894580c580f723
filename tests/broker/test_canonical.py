"""Canonical forms: what a store gives back is what we said it would hold."""

from __future__ import annotations

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple
from support import deltas
from support.deltas import EX, XSD, examples

from triplewire.broker.canonical import canonical

P = NamedNode(f"{EX}p")
digits = st.text("0123456789", max_size=20)
numbers = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "", "-", "+"]),
    digits,
    st.sampled_from(["", ".", ".0", ".5", ".05", ".50", ".1234567890123456789"]),
    st.sampled_from(["", "", "", "e0", "E-5"]),
)
moments = st.builds(
    "{:0>4}-{:0>2}-{:0>2}T{:0>2}:{:0>2}:{:0>2}{}{}".format,
    st.integers(0, 20_000) | st.just("-0044"),
    st.integers(0, 13),
    st.integers(0, 32),
    st.integers(0, 25),
    st.integers(0, 60),
    st.integers(0, 61),
    st.sampled_from(["", ".5", ".50", ".000", ".123456789", ".1234567890123456789012"]),
    st.sampled_from(["", "Z", "+00:00", "-05:00", "+14:00", "z"]),
)
datatypes = st.sampled_from(
    [
        NamedNode(f"{XSD}{name}")
        for name in (
            *("string", "boolean", "integer", "decimal", "double", "float", "int", "unsignedByte", "anyURI"),
            *("dateTime", "dateTimeStamp", "date", "time", "gYear", "duration", "dayTimeDuration"),
        )
    ]
)
literals = st.builds(
    lambda text, datatype: Literal(text, datatype=datatype),
    numbers | moments | st.sampled_from(["true", "1", "TRUE", "INF", "P12M", "PT60M", "", " 1", "1\n"]),
    datatypes,
)


def of_value(value):
    return Quad(P, P, value)


def stored(quads):
    store = pyoxigraph.Store()
    store.extend(quads)
    return set(store)


@given(st.lists(literals.map(of_value) | deltas.quads, max_size=8))
@examples(400)
def test_it_is_what_the_store_gives_back(quads):
    """Every kind of term, alone and together with others."""
    assert set(canonical(quads)) == stored(quads)


@given(st.lists(literals.map(of_value), max_size=8))
@examples(100)
def test_once_is_enough(quads):
    """What is canonical stays as it is."""
    once = canonical(quads)
    assert set(canonical(once)) == set(once)


@pytest.mark.parametrize(
    ("text", "name", "kept", "kept_name"),
    [
        ("020.50", "decimal", "20.5", "decimal"),
        ("+5", "integer", "5", "integer"),
        ("-0", "integer", "0", "integer"),
        ("7", "unsignedByte", "7", "integer"),
        ("1", "boolean", "true", "boolean"),
        ("1e1", "double", "10", "double"),
        ("2026-01-01T00:00:00+00:00", "dateTime", "2026-01-01T00:00:00Z", "dateTime"),
        ("2026-01-01T24:00:00Z", "dateTime", "2026-01-02T00:00:00Z", "dateTime"),
        ("2026-01-01T00:00:00Z", "dateTimeStamp", "2026-01-01T00:00:00Z", "dateTime"),
        ("PT60M", "duration", "PT1H", "duration"),
        ("nonsense", "integer", "nonsense", "integer"),
        ("99999999999999999999", "integer", "99999999999999999999", "integer"),
    ],
)
def test_what_is_kept(text, name, kept, kept_name):
    """Oxigraph keeps values, not their lexical forms; what has no value it keeps as it is."""
    (quad,) = canonical([of_value(Literal(text, datatype=NamedNode(f"{XSD}{name}")))])
    assert quad.object == Literal(kept, datatype=NamedNode(f"{XSD}{kept_name}"))


def test_inside_triple_terms():
    """And blank nodes keep their labels on the way."""
    node = BlankNode("n")
    (quad,) = canonical([Quad(node, P, Triple(node, P, Literal("01", datatype=NamedNode(f"{XSD}integer"))))])
    assert quad == Quad(node, P, Triple(node, P, Literal(1)))


@pytest.mark.parametrize(
    "value", [Literal("020.50"), Literal("X", language="en"), P, BlankNode("b"), Literal(5)]
)
def test_most_are_not_even_looked_at(value, monkeypatch):
    """Texts, nodes and plain numbers cost no store."""
    monkeypatch.setattr(pyoxigraph, "Store", None)
    assert canonical([of_value(value)]) == [of_value(value)]
