"""Problems of queries and updates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.broker.tokens import splice
from triplewire.jsap.check_entries import entry_problems, source_offset
from triplewire.jsap.entries import KNOWN_NAMESPACES, entry

NAMESPACES = {**KNOWN_NAMESPACES, "ex": "http://example.org/#"}


def _problems(sparql, bindings=None, *, is_update=False):
    found = entry("E", {"sparql": sparql, "forcedBindings": bindings or {}}, "E")
    return [str(problem) for problem in entry_problems(found, NAMESPACES, is_update=is_update)]


@pytest.mark.parametrize(
    ("binding", "expected"),
    [
        ({"type": "uri"}, []),
        ({"type": "bnode"}, []),
        ({"type": "literal"}, []),
        ({"type": "literal", "language": "en"}, []),
        ({"type": "literal", "datatype": "xsd:dateTime"}, []),
        ({"type": "literal", "datatype": "ex:own", "value": "x"}, []),
        ({"type": "literal", "datatype": "xsd:decimal", "value": 1.5}, []),
        (
            {"type": "URI"},
            [
                "error: E.forcedBindings.v.type: 'URI' is not a type; there are literal, typed-literal, uri, bnode"
            ],
        ),
        (
            {"type": "literal", "datatype": "xsd:DateTime"},
            [
                "warning: E.forcedBindings.v.datatype: XSD has no datatype DateTime; did you mean xsd:dateTime?"
            ],
        ),
        (
            {"type": "literal", "datatype": "xsd:integr"},
            [
                "warning: E.forcedBindings.v.datatype: XSD has no datatype integr; did you mean integer or int?"
            ],
        ),
        (
            {"type": "literal", "datatype": "xds:integer"},
            [
                "warning: E.forcedBindings.v.datatype: xds is not a declared prefix; 'xds:integer' is taken for a full IRI"
            ],
        ),
        (
            {"type": "literal", "datatype": "xsd:dateTime", "value": "00:00"},
            ["warning: E.forcedBindings.v.value: '00:00' is not a value of xsd:dateTime"],
        ),
        (
            {"type": "literal", "datatype": "xsd:integer", "value": ""},
            ["warning: E.forcedBindings.v.value: '' is not a value of xsd:integer"],
        ),
        (
            {"type": "uri", "value": "exx:a"},
            [
                "warning: E.forcedBindings.v.value: exx is not a declared prefix; 'exx:a' is taken for a full IRI"
            ],
        ),
        (
            {"type": "uri", "value": "a b"},
            ["error: E.forcedBindings.v.value: 'a b' is not an IRI: it has ' '; write it percent-encoded"],
        ),
        (
            {"type": "literal", "language": "not-a_tag"},
            ["error: E.forcedBindings.v.value: A subtag fails to parse, it does not match any other subtags"],
        ),
        (
            {"type": "literal", "datatype": "a b"},
            ["error: E.forcedBindings.v.value: 'a b' is not an IRI: it has ' '; write it percent-encoded"],
        ),
    ],
)
def test_forced_bindings(binding, expected):
    """Types, datatypes, languages and defaults."""
    assert _problems("INSERT {<urn:s> <urn:p> ?v} WHERE {}", {"v": binding}, is_update=True) == expected


@pytest.mark.parametrize(
    "value", ["urn:a", "mailto:a@b", "http://a", "ex:a", "relative", "MQTT://b", "<foo:bar>", "own://x"]
)
def test_values_that_are_full_iris(value):
    """Their schemes are no forgotten prefixes."""
    assert _problems("ASK {?v ?p ?o}", {"v": {"type": "uri", "value": value}}) == []


def test_several_defaults():
    """Each is looked at."""
    values = ["ok", 5, {"type": "uri", "value": "urn:a"}]
    assert _problems("ASK {?s ?p ?v}", {"v": {"type": "literal", "value": values}}) == []
    assert _problems(
        "ASK {?s ?p ?v}", {"v": {"type": "literal", "value": [*values, {}], "datatype": "xsd:integer"}}
    ) == [
        "warning: E.forcedBindings.v.value: 'ok' is not a value of xsd:integer",
        'error: E.forcedBindings.v.value: expected a member "value" with a string, number or boolean',
    ]


def test_variables_that_do_not_occur():
    """With the one that was probably meant; and what is no name at all."""
    assert _problems("ASK {?sender ?p ?o}", {"sendr": {"type": "uri"}, "a-b": {"type": "uri"}}) == [
        "warning: E.forcedBindings.sendr: ?sendr does not occur in the text; did you mean sender?",
        "error: E.forcedBindings.a-b: 'a-b' is not the name of a variable",
    ]


def test_undeclared_prefixes():
    """Each once, at its first use; the rest of the text is checked as if they were declared."""
    assert _problems("SELECT *\n{?s exx:p foo:q, exx:r . ?s }") == [
        "error: E.sparql, line 2, column 5: the prefix exx: is not declared; did you mean ex?",
        "error: E.sparql, line 2, column 11: the prefix foo: is not declared",
        "error: E.sparql, line 2, column 29: not SPARQL near '}'",
    ]
    assert _problems("PREFIX foo: <urn:foo> ASK {?s foo:p ex:q, xsd:int}") == []


@pytest.mark.parametrize(
    ("sparql", "is_update", "expected"),
    [
        ("INSERT DATA {<a> <b> <c>}", False, ["error: E.sparql: this is an update; it belongs under updates"]),
        ("SELECT * {?s ?p ?o}", True, ["error: E.sparql: this is a query; it belongs under queries"]),
        ("", False, ["error: E.sparql: there is no query in it"]),
        ("PREFIX a: <b> # c", True, ["error: E.sparql: there is no update in it"]),
        ("...", False, ["error: E.sparql: there is no query in it"]),
        ("INSERT DATA {<a> <b> ?c, ?d}", True, [
            "error: E.sparql: Variables are not allowed in INSERT DATA: no value for ?c, ?d"]),
    ],
)  # fmt: skip
def test_texts_of_the_wrong_kind(sparql, is_update, expected):
    """They are told apart from texts that are no SPARQL."""
    assert _problems(sparql, is_update=is_update) == expected


def test_places_are_those_of_the_source():
    """Not of the text with its prefixes and values; a value that can't stand there is named."""
    bindings = {"v": {"type": "uri", "value": "http://example.org/a/long/one"}, "n": {"type": "bnode"}}
    assert _problems("SELECT ?v {?v ex:p ?o\n. ?v ex:q}", bindings) == [
        "warning: E.forcedBindings.n: ?n does not occur in the text",
        "error: E.sparql, line 2, column 10: not SPARQL near '}'",
    ]
    assert _problems("SELECT * {?s ex:p ?o FILTER(sameTerm(?n, ?o))}", {"n": {"type": "bnode"}}) == [
        "error: E.sparql, line 1, column 38: not SPARQL near '_:sample, ?o))}', a value of ?n"
    ]


def test_a_variable_that_can_not_be_forced():
    """As `bind` says it."""
    (problem,) = _problems("SELECT * {BIND(1 AS ?v)}", {"v": {"type": "literal", "value": "x"}})
    assert problem == "error: E.forcedBindings.v: ?v can't be forced: the text assigns it by AS or VALUES"


@given(
    st.text(alphabet="abc", max_size=8),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.text(max_size=3)), max_size=3),
)
def test_offsets_lead_back(text, steps):
    """Whatever was not replaced is found where it came from."""
    done, position = [], 0
    for skip, length, replacement in steps:
        start, end = position + skip, position + skip + length
        if end <= len(text):
            done.append((start, end, replacement))
            position = end
    kept = [index for index in range(len(text)) if not any(start <= index < end for start, end, _ in done)]
    marked = splice(text, [(start, end, "#" * len(replacement)) for start, end, replacement in done])
    found = [source_offset(done, offset) for offset, character in enumerate(marked) if character != "#"]
    assert found == kept
