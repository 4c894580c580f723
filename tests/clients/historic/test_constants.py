"""Constant terms, as plain Python's reference makes them."""

from __future__ import annotations

import pytest
from support.plain_mapping import plain_mapping
from support.tables import mapping_of

from triplewire.clients.historic.constants import constant_term
from triplewire.clients.historic.plan import Constant, Rule, TermMap, TermType

XSD = "http://www.w3.org/2001/XMLSchema#"
BASE = "http://base/"
TERMS = (
    TermMap(Constant("http://e/x"), TermType.IRI),
    TermMap(Constant("x y"), TermType.IRI),
    TermMap(Constant("x"), TermType.IRI),
    TermMap(Constant("x"), TermType.IRI, base="urn:other:"),
    TermMap(Constant("a b/\u00e4%"), TermType.BLANK),
    TermMap(Constant('say "hi"\n\t\\\x00\x7f'), TermType.LITERAL),
    TermMap(Constant("x"), TermType.LITERAL, datatype=f"{XSD}string"),
    TermMap(Constant("1"), TermType.LITERAL, datatype=f"{XSD}integer"),
    TermMap(Constant("1"), TermType.LITERAL, datatype="relative"),
    TermMap(Constant("1"), TermType.LITERAL, datatype="http://e/<>"),
    TermMap(Constant("x"), TermType.LITERAL, language=Constant("de-AT")),
    TermMap(Constant("x"), TermType.LITERAL, language=Constant("no tag")),
    TermMap(Constant(""), TermType.LITERAL),
)


@pytest.mark.parametrize("term", TERMS)
def test_a_constant_is_what_the_reference_makes_of_it(term):
    """None is what breaks each row."""
    subject = TermMap(Constant("urn:s"), TermType.IRI)
    lines, broken = plain_mapping([{}], mapping_of("x", "csv", Rule("s", subject, subject, term)))
    made = constant_term(term, BASE)
    assert (made is None) == bool(broken)
    assert {f"<urn:s> <urn:s> {made} ."} == lines or (made is None and not lines)
