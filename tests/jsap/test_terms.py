"""Values as SPARQL terms."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum

import pyoxigraph as ox
import pytest

from triplewire.broker.errors import ProfileError
from triplewire.jsap.terms import UNDEF, ForcedBinding, checked, iri, term

XSD = "http://www.w3.org/2001/XMLSchema#"
NAMESPACES = {"xsd": XSD, "ex": "http://example.org/#", "": "urn:empty:", "http": "urn:odd:"}

LITERAL = ForcedBinding()
URI = ForcedBinding("uri")
BNODE = ForcedBinding("bnode")


class _Word(StrEnum):
    HELLO = "hello"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Ciao!", '"Ciao!"'),
        ("", '""'),
        ("UNDEF", '"UNDEF"'),
        ('a "quoted" \\ word', '"a \\"quoted\\" \\\\ word"'),
        ("it's", '"it\'s"'),
        ("a\nb\r\tc", '"a\\nb\\r\\tc"'),
        ("\0\x1f\x7f\x85", '"\\u0000\\u001F\\u007F\\u0085"'),
        ("ვაიმეე 😀", '"ვაიმეე 😀"'),
        (_Word.HELLO, '"hello"'),
        (5, f'"5"^^<{XSD}integer>'),
        (True, f'"true"^^<{XSD}boolean>'),
        (1.5, f'"1.5"^^<{XSD}double>'),
        (Decimal("1.50"), f'"1.50"^^<{XSD}decimal>'),
        (ox.Literal("x", language="en"), '"x"@en'),
        (ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL), '"x"@ar--rtl'),
        (ox.Literal("5", datatype=ox.NamedNode(XSD + "byte")), f'"5"^^<{XSD}byte>'),
        (ox.Literal("x"), '"x"'),
        (ox.NamedNode("urn:a"), "<urn:a>"),
        (ox.BlankNode("b1"), "_:b1"),
        (UNDEF, "UNDEF"),
    ],
)
def test_values_for_a_literal(value, expected):
    """Strings are escaped, other values are typed, and terms stay what they are."""
    assert term(value, LITERAL, NAMESPACES) == expected


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        (ForcedBinding(datatype="xsd:integer"), "5", f'"5"^^<{XSD}integer>'),
        (ForcedBinding(datatype=f"<{XSD}date>"), "2024-01-01", f'"2024-01-01"^^<{XSD}date>'),
        (ForcedBinding(datatype=f"{XSD}date"), "2024-01-01", f'"2024-01-01"^^<{XSD}date>'),
        (ForcedBinding(datatype="ex:own"), "x", '"x"^^<http://example.org/#own>'),
        (ForcedBinding(datatype="xsd:string"), "x", '"x"'),
        (ForcedBinding(datatype="xsd:decimal"), 123.45, f'"123.45"^^<{XSD}decimal>'),
        (ForcedBinding(datatype="xsd:boolean"), False, f'"false"^^<{XSD}boolean>'),
        (ForcedBinding(language="en-GB"), "x", '"x"@en-gb'),
        (ForcedBinding("typed-literal", datatype="xsd:int"), "5", f'"5"^^<{XSD}int>'),
        (URI, "http://a/b?c#d", "<http://a/b?c#d>"),
        (URI, "mailto:a@b", "<mailto:a@b>"),
        (URI, "urn:a:b", "<urn:a:b>"),
        (URI, "hello", "<hello>"),
        (URI, "<hello>", "<hello>"),
        (URI, "<ex:x>", "<ex:x>"),
        (URI, "ex:x", "<http://example.org/#x>"),
        (URI, r"ex:x\,y", "<http://example.org/#x,y>"),
        (URI, ":x", "<urn:empty:x>"),
        (URI, "http:x", "<urn:odd:x>"),
        (URI, "http://x", "<http://x>"),
        (URI, "UNDEF", "UNDEF"),
        (BNODE, "_:x", "_:x"),
        (BNODE, "x.y", "_:x.y"),
    ],
)
def test_what_is_declared_holds_for_strings(declared, value, expected):
    """Type, datatype and language are those of the profile."""
    assert term(value, declared, NAMESPACES) == expected


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        (LITERAL, {"type": "uri", "value": "ex:x"}, "<http://example.org/#x>"),
        (URI, {"type": "literal", "value": "x"}, '"x"'),
        (LITERAL, {"type": "bnode", "value": "b0"}, "_:b0"),
        (LITERAL, {"type": "literal", "value": "x", "xml:lang": "de"}, '"x"@de'),
        (ForcedBinding(datatype="xsd:int"), {"value": "5"}, f'"5"^^<{XSD}int>'),
        (ForcedBinding(datatype="xsd:int"), {"value": 5}, f'"5"^^<{XSD}int>'),
        (ForcedBinding(datatype="xsd:int"), {"value": "5", "datatype": "xsd:byte"}, f'"5"^^<{XSD}byte>'),
        (ForcedBinding(datatype="xsd:int"), {"value": "5", "language": "en"}, '"5"@en'),
        (ForcedBinding(datatype="xsd:int"), {"type": "uri", "value": "urn:a"}, "<urn:a>"),
        (ForcedBinding(language="en"), {"value": "5", "datatype": "xsd:int"}, f'"5"^^<{XSD}int>'),
    ],
)
def test_a_binding_of_the_results_format_brings_its_own_type(declared, value, expected):
    """What it leaves out is what the profile says, as long as it is of that type."""
    assert term(value, declared, NAMESPACES) == expected


@pytest.mark.parametrize(
    ("declared", "value", "reason"),
    [
        (LITERAL, "\ud800", "surrogates"),
        (LITERAL, None, "no value"),
        (LITERAL, [1], "no value"),
        (LITERAL, ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:a"), ox.NamedNode("urn:a")), "no value"),
        (LITERAL, object(), "no value"),
        (LITERAL, {"type": "literal"}, '"value"'),
        (LITERAL, {"value": {"value": "x"}}, '"value"'),
        (LITERAL, {"value": "x", "datatype": 5}, "expected a string as datatype"),
        (LITERAL, {"value": "x", "type": "resource"}, "'resource' is not a type"),
        (ForcedBinding("resource"), "x", "'resource' is not a type; there are literal"),
        (ForcedBinding(language="not a tag"), "x", "subtag"),
        (ForcedBinding(language="en", datatype="xsd:int"), "x", "not both"),
        (ForcedBinding(language="en"), 5, "not both"),
        (
            ForcedBinding(datatype="http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"),
            "x",
            "needs a language",
        ),
        (ForcedBinding(datatype="a b"), "x", "not an IRI"),
        (ForcedBinding(datatype="xsd:double"), 10**400, "too large"),
        (URI, "", "empty"),
        (URI, "http://a b", "not an IRI: it has ' '"),
        (URI, "http://a>", "not an IRI: it has '>'"),
        (URI, "<a><b>", "not an IRI"),
        (URI, "a\\u003Eb", "not an IRI"),
        (URI, "http://[x", "not an IRI"),
        (URI, "1:b", "not an IRI"),
        (URI, "_:b", "not an IRI"),
        (URI, "\ud800", "surrogates"),
        (URI, 5, "expected a string for the type uri"),
        (BNODE, "", "not the label"),
        (BNODE, "a b", "not the label"),
        (BNODE, "_:a .", "not the label"),
        (BNODE, "_:a.", "not the label"),
        (BNODE, "_:a#", "not the label"),
        (BNODE, "\U00010000", "takes in no label"),
    ],
)
def test_what_is_no_term(declared, value, reason):
    """The path and the reason are in the error."""
    with pytest.raises(ProfileError, match=reason) as raised:
        term(value, declared, NAMESPACES, "queries.Q.forcedBindings.x")
    assert raised.value.path == "queries.Q.forcedBindings.x"


def test_without_a_default_a_value_is_required():
    """An empty string is a default for literals only."""
    assert ForcedBinding("literal").is_required
    assert ForcedBinding("uri", "").is_required
    assert ForcedBinding("bnode", "").is_required
    assert not ForcedBinding("literal", "").is_required
    assert not ForcedBinding("literal", value=False).is_required


def test_iris():
    """Prefixed names are expanded, brackets taken off, the rest checked and left alone."""
    assert iri("ex:a", NAMESPACES) == "http://example.org/#a"
    assert iri("<ex:a>", NAMESPACES) == "ex:a"
    assert iri("<>", NAMESPACES) == ""
    assert checked("../a?b#c") == "../a?b#c"
    with pytest.raises(ValueError, match="percent-encoded"):
        checked("a{b}")
