"""No value becomes anything else than the one term it is: what an injection would need."""

from __future__ import annotations

import pyoxigraph as ox
from hypothesis import assume, example, given
from hypothesis import strategies as st

from triplewire.broker.errors import ProfileError
from triplewire.broker.tokens import tokens
from triplewire.jsap.forced_bindings import bind
from triplewire.jsap.terms import ForcedBinding, term

BASE = "http://localhost/"
NAMESPACES = {"ex": "http://example.org/#", "xsd": "http://www.w3.org/2001/XMLSchema#"}
LITERAL = {"v": ForcedBinding("literal")}
URI = {"v": ForcedBinding("uri")}
BNODE = {"v": ForcedBinding("bnode")}

# Texts made of what breaks texts, beside any text at all.
nasty = st.lists(
    st.sampled_from(
        ['"', "'", '"""', "\\", "\n", "\r", "\0", "}", "{", ">", "<", "?v", "$x", "#", ";", ".", ")", "\\u0022", "@en",
         "^^", " ", "ex:", "urn:a", "_:b", "😀", "%", "DROP ALL", "\u2028", "\ufffe", "\ud7ff", "http://"]
    )
).map("".join)  # fmt: skip
anything = st.text() | nasty
scalar = anything.filter(lambda value: not any("\ud800" <= character <= "\udfff" for character in value))


@given(scalar)
@example('" . ?s ?p ?o } ; DROP ALL #')
@example("'''")
@example("\\")
def test_a_string_selected_is_that_string(value):
    """One row, one column, one literal, equal to the value."""
    text = bind("SELECT (?v AS ?r) {}", LITERAL, {"v": value}, NAMESPACES)
    assert [list(row) for row in ox.Store().query(text)] == [[ox.Literal(value)]]


@given(scalar)
def test_a_string_stored_is_that_string(value):
    """It goes in by an update and comes back as it was."""
    store = ox.Store()
    store.update(bind("INSERT DATA {<urn:s> <urn:p> ?v}", LITERAL, {"v": value}, NAMESPACES))
    assert [quad.object for quad in store] == [ox.Literal(value)]


@given(scalar, st.sampled_from(["en", "de-AT", "x-own"]))
def test_a_string_with_a_language_is_that_string(value, language):
    """The tag is one, and the value stays."""
    text = bind("SELECT (?v AS ?r) {}", {"v": ForcedBinding(language=language)}, {"v": value}, NAMESPACES)
    assert [row[0] for row in ox.Store().query(text)] == [ox.Literal(value, language=language)]


@given(st.text(alphabet=st.characters(categories=["Cs", "Lu"])))
def test_a_lone_surrogate_is_refused(value):
    """It is no character, so there is no such literal; all other texts pass."""
    try:
        term(value, ForcedBinding(), NAMESPACES)
    except ProfileError:
        assert any("\ud800" <= character <= "\udfff" for character in value)
    else:
        value.encode()


@given(anything)
@example("urn:a> . <urn:b")
@example("a\\u003Eb")
@example("//[")
def test_a_uri_is_one_iri_or_refused(value):
    """In either case nothing else in the query has changed."""
    assume(value != "UNDEF")
    template = "SELECT (?v AS ?r) WHERE { FILTER(?v = ?v) }"
    try:
        text = bind(template, URI, {"v": value}, NAMESPACES)
    except ProfileError:
        return
    found, expected = list(tokens(text)), list(tokens(template.replace("?v", "<urn:v>")))
    assert [token.kind for token in found] == [token.kind for token in expected]
    assert [token.text for token in found if token.kind != "iri"] == [
        token.text for token in expected if token.kind != "iri"
    ]
    rows = [list(row) for row in ox.Store().query(text, base_iri=BASE)]
    assert [[type(node) for node in row] for row in rows] == [[ox.NamedNode]]


@given(anything)
def test_a_blank_node_is_one_or_refused(value):
    """A label is a label."""
    try:
        text = bind("INSERT DATA {?v <urn:p> <urn:o>}", BNODE, {"v": value}, NAMESPACES)
    except ProfileError:
        return
    store = ox.Store()
    store.update(text)
    assert [type(quad.subject) for quad in store] == [ox.BlankNode]


@given(anything)
def test_a_datatype_is_one_iri_or_refused(value):
    """Also where the caller gives it."""
    try:
        text = bind("SELECT (?v AS ?r) {}", LITERAL, {"v": {"value": "x", "datatype": value}}, NAMESPACES)
    except ProfileError:
        return
    rows = [row[0] for row in ox.Store().query(text, base_iri=BASE)]
    assert [node.value for node in rows] == ["x"]


@given(anything)
def test_a_language_is_one_tag_or_refused(value):
    """Also where the caller gives it."""
    try:
        text = bind("SELECT (?v AS ?r) {}", LITERAL, {"v": {"value": "x", "language": value}}, NAMESPACES)
    except ProfileError:
        return
    assert [row[0].language for row in ox.Store().query(text)] == [value.lower() or None]
