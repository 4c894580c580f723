"""Names for the blank nodes of an item."""

from __future__ import annotations

import re

import pyoxigraph
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import RdfFormat

from triplewire.broker.wire.documents import Document, to_ntriples
from triplewire.gates.stream.skolem import skolemized

BODY = b'<urn:a> <urn:p> [ <urn:q> _:x ] . _:x <urn:q> "_:x" . [] <urn:p> (1 2) .'


def read(body=BODY, format_=RdfFormat.TURTLE):
    """As feeding reads it: with other labels each time."""
    return to_ntriples([Document(body, format_)], "urn:g", 100)


def triples(text):
    return pyoxigraph.Dataset(pyoxigraph.parse(text, format=RdfFormat.N_TRIPLES))


def test_the_same_item_has_the_same_names_each_time():
    """Whatever labels its nodes are given; another item's are others."""
    assert read() != read()
    named = skolemized(read(), "1 e1")
    assert named == skolemized(read(), "1 e1")
    assert not set(re.findall("urn:uuid:[^>]*", named)) & set(
        re.findall("urn:uuid:.*", skolemized(read(), "2 e1"))
    )


def test_it_says_the_same():
    """The graph with IRIs is the one with blank nodes, but for their names; literals that look like nodes stay."""
    named = skolemized(read(), "1")
    assert "_:" not in named.replace('"_:x"', "")
    assert '"_:x"' in named
    back = triples(re.sub("<urn:uuid:([-0-9a-f]+)>", lambda found: f"_:b{found[1].replace('-', '')}", named))
    whole = triples(read())
    for each in (back, whole):
        each.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    assert back == whole
    assert len(whole) == 8


def test_nodes_in_triple_terms_are_named_too():
    """RDF 1.2: a triple may be what another one is about, to any depth."""
    body = b"_:a <urn:r> <<( _:b <urn:p> <<( _:a <urn:p> 1 )>> )>> ."
    named = skolemized(read(body), "1")
    assert "_:" not in named
    assert len(set(re.findall("urn:uuid:[^>]*", named))) == 2


def test_without_blank_nodes_nothing_is_touched():
    """Not even read."""
    assert skolemized("<a> <b> nonsense", "1") == "<a> <b> nonsense"


def test_every_syntax_keeps_its_order():
    """The names follow from the places of the nodes."""
    documents = {
        RdfFormat.JSON_LD: b'[{"urn:p": {"urn:q": 1}}, {"urn:p": [{"urn:q": 2}, {"@id": "_:x"}]}]',
        RdfFormat.RDF_XML: b"<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:e='urn:e:'>"
        b"<r:Description><e:p r:parseType='Resource'><e:q>1</e:q></e:p></r:Description></r:RDF>",
    }
    for format_, body in documents.items():
        assert (
            skolemized(read(body, format_), "1")
            == skolemized(read(body, format_), "1")
            != read(body, format_)
        )


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1))
def test_nodes_stay_apart(edges):
    """As many names as nodes, whatever graph it is."""
    body = "".join(f"_:n{one} <urn:p> _:n{other} .\n" for one, other in edges)
    named = skolemized(read(body.encode()), "1")
    nodes = {each for edge in edges for each in edge}
    assert len(set(re.findall("urn:uuid:[^>]*", named))) == len(nodes)
    assert len(triples(named)) == len(set(edges))
