"""Comparisons with numbers: what Oxigraph says of the same."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Store

from triplewire.spu.numbers import OPERATORS, XSD, asked, holds, number

digits = st.one_of(
    st.integers(-20, 20).map(str),
    st.integers(-(2**70), 2**70).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-50, max_value=50).map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map("{:f}".format),
    st.floats().map(str),
    st.sampled_from(
        ["0.1", "-0", "0.0", "1e0", "1E2", "INF", "-INF", "NaN", "9007199254740993", "abc", "1_0", " 1 "]
    ),
)
types = st.sampled_from(["integer", "decimal", "double", "float", "int", "unsignedByte", "string", "boolean"])
literals = st.builds(lambda text, kind: Literal(text, datatype=NamedNode(XSD + kind)), digits, types)
written = st.one_of(
    st.integers(-20, 20).map(str),
    st.integers(-(2**70), 2**70).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-50, max_value=50).map(str),
    st.sampled_from(["0.1", "1e0", "-1.5E1", "1e400", "9007199254740993.0", "0.12345678901234567890"]),
)


def stored(term):
    """As the store holds it."""
    store = Store()
    node = NamedNode("urn:x")
    store.add(Quad(node, node, term))
    return next(iter(store)).object


def judged(term, operator, text):
    """What Oxigraph says of a stored term and a number as it is written."""
    store = Store()
    node = NamedNode("urn:x")
    store.add(Quad(node, node, term))
    return bool(store.query(f"ASK {{ ?s ?p ?o FILTER(?o {operator} {text}) }}"))


def held(text):
    """A number of a query as the store holds it; None where it is out of range, and a query with it not understood."""
    (row,) = Store().query(f"SELECT ({text} AS ?n) {{}}")
    return None if row["n"] is None else stored(row["n"])


@settings(max_examples=1500, deadline=None)
@given(literals, st.sampled_from(list(OPERATORS)), written)
@example(Literal("0.1", datatype=NamedNode(XSD + "double")), "=", "0.1")
@example(Literal("0.1", datatype=NamedNode(XSD + "float")), "=", "0.1")
@example(Literal("9007199254740992", datatype=NamedNode(XSD + "double")), "<", "9007199254740993")
@example(Literal("99999999999999999999", datatype=NamedNode(XSD + "integer")), "=", "99999999999999999999")
def test_it_is_what_oxigraph_says(term, operator, text):
    """For all kinds of numbers, near and far, and for what is none."""
    assume(held(text) is not None)
    expected = judged(term, operator, text)
    assert holds(stored(term), operator, held(text)) == expected
    assert asked(stored(term), operator, held(text)) == expected


@pytest.mark.parametrize(
    "term", [NamedNode("urn:1"), BlankNode("b"), None, Literal("1"), Literal("1", language="en")]
)
def test_what_is_no_number_is_in_no_relation_to_one(term):
    """An IRI, a blank node, nothing, and texts."""
    assert number(term) is None
    assert not any(holds(term, operator, held("1")) for operator in OPERATORS)


def test_infinity_is_a_number_and_nan_is_none():
    """So that what is sorted stays sorted."""
    assert number(Literal("INF", datatype=NamedNode(XSD + "double"))).near == math.inf
    assert number(Literal("NaN", datatype=NamedNode(XSD + "double"))) is None
