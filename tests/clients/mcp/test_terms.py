"""Terms in SPARQL's notation, as the broker's TSV has them."""

from __future__ import annotations

from pyoxigraph import BlankNode, Literal, NamedNode, QueryResultsFormat, Store

from triplewire.clients.mcp.terms import shown, shown_row

XSD = "http://www.w3.org/2001/XMLSchema#"
TERMS = [
    *(Literal(text, datatype=NamedNode(XSD + "integer")) for text in ("1", "-1", "x", "1.0")),
    *(Literal(text, datatype=NamedNode(XSD + "decimal")) for text in ("1.5", "-0.5", "1")),
    *(Literal(text, datatype=NamedNode(XSD + "double")) for text in ("1000", "INF", "0.015")),
    *(Literal(text, datatype=NamedNode(XSD + "boolean")) for text in ("true", "false", "TRUE")),
    Literal("2026-01-01", datatype=NamedNode(XSD + "date")),
    Literal("Ciao", language="it"),
    Literal('quo"te \\ \n \t \r end'),
    Literal("1"),
    NamedNode("http://x/ü"),
]


def test_terms_are_written_as_in_tsv():
    """The same text that a query's answer has for the term, but what one of the two writes more plainly."""
    for term in TERMS:
        store = Store()
        tsv = store.query(f"SELECT ?t {{ VALUES ?t {{ {term} }} }}").serialize(format=QueryResultsFormat.TSV)
        assert shown(term) == tsv.decode().split("\n")[1]


def test_blank_nodes_and_unbound_variables():
    """A label, and None."""
    assert shown_row((BlankNode("b1"), None)) == ["_:b1", None]
