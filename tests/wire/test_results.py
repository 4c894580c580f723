"""Results JSON as notifications carry it, held against Oxigraph's own reader and writer of the format."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import BaseDirection, BlankNode, Literal, NamedNode, QueryResultsFormat, Triple

from triplewire.broker.errors import ProtocolError
from triplewire.broker.model import Bindings, BindingsDelta
from triplewire.broker.wire.results import (
    decode_bindings,
    decode_delta,
    decode_term,
    encode_delta,
    encode_rows,
    encode_term,
    parse_results,
)

XSD = "http://www.w3.org/2001/XMLSchema#"
IRI = {"type": "uri", "value": "http://x/"}

texts = st.text() | st.sampled_from(
    ['"', "\\", "\x00", "\x1f\x7f\x80", "\u2028", "\U0001f600", "\r\n\t", "ქართული"]
)
iris = st.text("abz09-_~%é\U00010400/", max_size=8).map(
    lambda tail: NamedNode("http://example.org/" + tail.replace("%", "%41"))
)
blank_nodes = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,8}", fullmatch=True).map(BlankNode)
datatypes = st.sampled_from([f"{XSD}integer", f"{XSD}decimal", f"{XSD}string", "urn:x:own"]).map(NamedNode)
literals = st.one_of(
    texts.map(Literal),
    st.builds(lambda text, tag: Literal(text, language=tag), texts, st.sampled_from(["en", "de-at", "ka"])),
    st.builds(
        lambda text, way: Literal(text, language="ar", direction=way),
        texts,
        st.sampled_from([BaseDirection.LTR, BaseDirection.RTL]),
    ),
    st.builds(lambda text, kind: Literal(text, datatype=kind), texts, datatypes),
)
simple_terms = st.one_of(iris, blank_nodes, literals)
terms = st.recursive(
    simple_terms, lambda inner: st.builds(Triple, st.one_of(iris, blank_nodes), iris, inner), max_leaves=3
)
VARS = ("a", "b", "ç")
row_lists = st.lists(st.tuples(*[st.none() | terms] * len(VARS)), max_size=5)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "head",
                    "vars",
                    "results",
                    "bindings",
                    "boolean",
                    "x",
                    "type",
                    "value",
                    "xml:lang",
                    "datatype",
                    "its:dir",
                ]
            ),
            inner | st.sampled_from(["uri", "literal", "bnode", "triple", "x", ["x"], "http://x/", "\ud800"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(row_lists)
def test_rows_come_back_as_they_were(rows):
    """Whatever terms are in them, in their order, the unbound left unbound."""
    assert parse_results(encode_rows(VARS, rows)) == Bindings(VARS, tuple(rows))
    assert parse_results(encode_rows(VARS, rows).encode()).rows == tuple(rows)


@given(row_lists)
def test_oxigraph_reads_the_same_rows_and_writes_the_same_document(rows):
    """Its reader and its writer are the judges of the format."""
    text = encode_rows(VARS, rows)
    read = pyoxigraph.parse_query_results(text, format=QueryResultsFormat.JSON)
    assert [variable.value for variable in read.variables] == list(VARS)
    assert [tuple(solution) for solution in read] == rows
    again = pyoxigraph.parse_query_results(text, format=QueryResultsFormat.JSON)
    assert json.loads(again.serialize(format=QueryResultsFormat.JSON)) == json.loads(text)


@given(row_lists, row_lists)
def test_a_delta_comes_back_as_it_was(added, removed):
    """Both bags, with their multiplicities."""
    delta = BindingsDelta.between(VARS, Counter(removed), Counter(added))
    assert decode_delta(json.loads(b"{%b}" % encode_delta(delta))) == delta


def test_a_delta_is_encoded_once():
    """Many subscribers, the same bytes."""
    delta = BindingsDelta(("x",), Counter([(Literal("1"),)]), Counter())
    first, kept = encode_delta(delta), delta.encoded
    assert encode_delta(delta) is first
    assert delta.encoded is kept
    assert kept == [first]


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (NamedNode("http://x/é"), '{"type":"uri","value":"http://x/é"}'),
        (BlankNode("b0"), '{"type":"bnode","value":"b0"}'),
        (Literal('a"\\\n\x00\x7fß'), '{"type":"literal","value":"a\\"\\\\\\n\\u0000\x7fß"}'),
        (Literal("x", language="en"), '{"type":"literal","value":"x","xml:lang":"en"}'),
        (
            Literal("x", language="he", direction=BaseDirection.RTL),
            '{"type":"literal","value":"x","xml:lang":"he","its:dir":"rtl"}',
        ),
        (Literal(7), f'{{"type":"literal","value":"7","datatype":"{XSD}integer"}}'),
        (
            Triple(NamedNode("urn:s"), NamedNode("urn:p"), Literal("o")),
            '{"type":"triple","value":{"subject":{"type":"uri","value":"urn:s"},'
            '"predicate":{"type":"uri","value":"urn:p"},"object":{"type":"literal","value":"o"}}}',
        ),
    ],
)
def test_the_spelling_of_each_kind_of_term(term, text):
    """As Results JSON 3.2.2 has it, nothing more escaped than must be."""
    assert encode_term(term) == text
    assert decode_term(json.loads(text)) == term


def test_the_old_name_of_typed_literals_is_read():
    """`typed-literal` is what SPARQL 1.0 called them."""
    assert decode_term({"type": "typed-literal", "value": "7", "datatype": f"{XSD}integer"}) == Literal(7)


def test_an_empty_answer_has_its_shape():
    """Head and bindings are there even when nothing is in them."""
    assert encode_rows(("x", "y"), []) == '{"head":{"vars":["x","y"]},"results":{"bindings":[]}}'
    assert encode_rows((), [(), ()]) == '{"head":{"vars":[]},"results":{"bindings":[{},{}]}}'


@pytest.mark.parametrize("value", [True, False])
def test_ask_is_one_row(value):
    """Over the variable `boolean`."""
    assert decode_bindings({"head": {}, "boolean": value}) == Bindings(("boolean",), ((Literal(value),),))


@settings(max_examples=300)
@given(json_values)
def test_any_json_value_is_rows_or_a_protocol_error(value):
    """Nothing else comes out of the reader, whatever a broker sends."""
    for read in (
        decode_bindings,
        decode_term,
        lambda found: decode_delta({"addedResults": found, "removedResults": {}}),
    ):
        with suppress(ProtocolError):
            read(value)


@given(st.binary() | st.text(st.characters()))
def test_any_bytes_are_rows_or_a_protocol_error(data):
    """Not JSON, not UTF-8, not Results JSON: one kind of error."""
    with suppress(ProtocolError):
        parse_results(data)


@pytest.mark.parametrize(
    "document",
    [
        [],
        None,
        {},
        {"head": {}},
        {"head": None, "results": {"bindings": []}},
        {"head": {"vars": 1}, "results": {"bindings": []}},
        {"head": {"vars": ["x"]}, "results": []},
        {"head": {"vars": ["x"]}, "results": {"bindings": 1}},
        {"head": {"vars": ["x"]}, "results": {"bindings": [1]}},
        {"head": {"vars": ["x"]}, "results": {"bindings": ["x"]}},
        {"head": {"vars": ["x"]}, "results": {"bindings": [{"x": None}]}},
        {"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "uri", "value": "not an IRI"}}]}},
        {"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": ["uri"], "value": "http://x/"}}]}},
        {"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "literal", "value": None}}]}},
        {
            "head": {"vars": ["x"]},
            "results": {"bindings": [{"x": {"type": "literal", "value": "", "xml:lang": "?"}}]},
        },
        {
            "head": {"vars": ["x"]},
            "results": {
                "bindings": [{"x": {"type": "literal", "value": "", "xml:lang": "en", "its:dir": "up"}}]
            },
        },
        {
            "head": {"vars": ["x"]},
            "results": {
                "bindings": [
                    {
                        "x": {
                            "type": "triple",
                            "value": {
                                "subject": {"type": "literal", "value": ""},
                                "predicate": IRI,
                                "object": IRI,
                            },
                        }
                    }
                ]
            },
        },
    ],
)
def test_malformed_documents_are_refused(document):
    """A member is missing or of the wrong kind, or a term is none."""
    with pytest.raises(ProtocolError):
        decode_bindings(document)


@pytest.mark.parametrize("member", ["addedResults", "removedResults"])
def test_a_notification_needs_both_sides(member):
    """An empty object is an empty bag; an absent one is an error."""
    empty = {"addedResults": {}, "removedResults": {}}
    assert not decode_delta(empty)
    with pytest.raises(ProtocolError, match=member):
        decode_delta({name: side for name, side in empty.items() if name != member})


@pytest.mark.parametrize("text", ["[" * 100_000, '{"head":' * 100_000])
def test_nesting_without_end_is_a_protocol_error(text):
    """The JSON reader's recursion limit is the broker's fault no more than any other malformed text."""
    with pytest.raises(ProtocolError):
        parse_results(text)
