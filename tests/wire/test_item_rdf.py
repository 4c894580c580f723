"""Bodies of items as RDF."""

from __future__ import annotations

import pytest
from pyoxigraph import RdfFormat

from triplewire.broker.wire.item_rdf import iris_of, quads_in


def test_all_iris_of_a_triple():
    """Those of a datatype, and of a term that is a triple itself."""
    text = b'<urn:s> <urn:p> <<( <urn:a> <urn:b> "1"^^<urn:t> )>> .'
    (quad,) = quads_in(text, RdfFormat.TURTLE)
    assert set(iris_of(quad)) == {"urn:s", "urn:p", "urn:a", "urn:b", "urn:t"}


def test_relative_iris_are_read():
    """Against a base that is the same on both sides."""
    (quad,) = quads_in(b"<s> <p> 1 .", RdfFormat.TURTLE)
    assert quad.subject.value == "http://localhost/s"


@pytest.mark.parametrize(
    ("body", "format_"),
    [
        (b"<urn:s> <urn:p> .", RdfFormat.TURTLE),
        (b"\xff", RdfFormat.TURTLE),
        (b"[" * 200 + b"]" * 200, RdfFormat.JSON_LD),
        (b"<a><b></a>", RdfFormat.RDF_XML),
    ],
)
def test_what_is_not_well_formed_says_nothing(body, format_):
    """Neither does what is nested too deep."""
    assert quads_in(body, format_) == ()
