"""Which format an Accept header gets, and which reader a media type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import RdfFormat

from triplewire.broker.errors import NotAcceptable, UnsupportedMediaType
from triplewire.broker.model import QueryForm
from triplewire.broker.wire.media import (
    CSV,
    GRAPHS,
    JSON,
    JSON_LD,
    N3,
    N_QUADS,
    N_TRIPLES,
    RDF_XML,
    RESULTS,
    TRIG,
    TSV,
    TURTLE,
    XML,
    essence,
    formats_of,
    negotiate,
    parameter,
    rdf_format,
)

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "result", "graph"),
    [
        (None, JSON, TURTLE),
        ("", JSON, TURTLE),
        ("   ", JSON, TURTLE),
        ("*/*", JSON, TURTLE),
        ("*/*;q=0.1", JSON, TURTLE),
        ("application/*", JSON, N_TRIPLES),
        ("text/*", CSV, TURTLE),
        ("application/sparql-results+json", JSON, None),
        ("APPLICATION/Sparql-Results+JSON", JSON, None),
        ("application/json", JSON, JSON_LD),
        ("text/json", JSON, None),
        ("application/xml", XML, RDF_XML),
        ("text/xml", XML, RDF_XML),
        ("text/csv", CSV, None),
        ("text/tab-separated-values", TSV, None),
        ("text/tsv", TSV, None),
        ("text/turtle", None, TURTLE),
        ("application/x-turtle", None, TURTLE),
        ("application/n-triples", None, N_TRIPLES),
        ("text/plain", None, N_TRIPLES),
        ("application/rdf+xml", None, RDF_XML),
        ("application/ld+json", None, JSON_LD),
        ('application/ld+json;profile="http://www.w3.org/ns/json-ld#expanded"', None, JSON_LD),
        ("text/n3", None, N3),
        ("application/trig", None, TRIG),
        ("application/n-quads", None, N_QUADS),
        # qualities: the most wanted, ours first among equals
        ("text/csv, application/sparql-results+json", JSON, None),
        ("text/csv, application/sparql-results+json;q=0.9", CSV, None),
        ("text/csv;q=0.5, text/tab-separated-values;q=0.6", TSV, None),
        ("text/turtle;q=0.8, application/rdf+xml;q=0.9, */*;q=0.1", JSON, RDF_XML),
        ("application/n-triples, text/turtle", None, TURTLE),
        ("text/csv ; q = 0.5 , text/tab-separated-values ;Q=0.6", TSV, None),
        ("text/csv;charset=utf-8;q=0.2, application/xml;charset=utf-8;q=0.3", XML, RDF_XML),
        ("text/csv;q=1.000, application/json;q=0.999", CSV, JSON_LD),
        # the more specific range decides, whatever the order
        ("*/*;q=1, application/sparql-results+json;q=0.1, text/turtle;q=0.1", XML, N_TRIPLES),
        ("application/sparql-results+json;q=0.1, */*", XML, TURTLE),
        ("text/*;q=0.9, text/csv;q=0.2, */*;q=0.1", TSV, TURTLE),
        ("application/*;q=0.5, */*;q=0.9", CSV, TURTLE),
        ("application/json;q=0.2, application/sparql-results+json;q=0.7, text/csv;q=0.5", JSON, JSON_LD),
        # q=0 excludes
        ("application/sparql-results+json;q=0, */*", XML, TURTLE),
        ("application/json;q=0, */*", XML, TURTLE),
        ("text/turtle;q=0, text/*;q=0, */*", JSON, N_TRIPLES),
        ("application/*;q=0, */*", CSV, TURTLE),
        ("*/*;q=0, text/csv;q=0.1, text/turtle;q=0.1", CSV, TURTLE),
        # odd ones
        (BROWSER, XML, RDF_XML),
        ("text/csv,,", CSV, None),
        (";q=1, text/csv", CSV, None),
        ("text/csv;q=5, application/json", JSON, JSON_LD),
        ("application/json;q=nonsense, text/csv;q=0.1", CSV, None),
        ("application/json;q=nan, text/csv;q=0.1", CSV, None),
        ("application/json;q=-1, text/csv;q=0.1", CSV, None),
        # what stands in quotes separates nothing
        ('application/ld+json;profile="a,b";q=0.1, text/turtle;q=0.5, text/csv', CSV, TURTLE),
        ('application/ld+json;profile="a;q=0", */*;q=0.1', JSON, JSON_LD),
        ('application/ld+json;profile="\\",text/turtle', None, JSON_LD),
        # none
        ("text/html", None, None),
        ("image/*", None, None),
        ("*/*;q=0", None, None),
        ("*", None, None),
        ("nonsense", None, None),
    ],
)
def test_the_format_an_accept_header_gets(accept, result, graph):
    """RFC 9110, 12.5.1; None is NotAcceptable."""
    for formats, wanted in ((RESULTS, result), (GRAPHS, graph)):
        if wanted is None:
            with pytest.raises(NotAcceptable, match="there are") as caught:
                negotiate(accept, formats)
            assert formats[0].media_type in caught.value.description
        else:
            assert negotiate(accept, formats) is wanted


@given(st.text() | st.text('*/;=,q.0159aptexcsv+ \t"-'))
def test_any_header_is_a_format_or_not_acceptable(accept):
    """Nothing else comes of it."""
    for formats in (RESULTS, GRAPHS):
        try:
            assert negotiate(accept, formats) in formats
        except NotAcceptable:
            assert accept.strip()


@pytest.mark.parametrize("format_", [*RESULTS, *GRAPHS])
def test_each_format_is_had_by_its_own_name(format_):
    """With or without the parameters that we send ourselves."""
    for formats in (RESULTS, GRAPHS):
        if format_ in formats:
            assert negotiate(format_.media_type, formats) is format_
            assert negotiate(format_.content_type, formats) is format_


def test_text_formats_say_their_charset():
    """JSON and XML tell it themselves (RFC 8259, RFC 7303)."""
    assert [format_.charset for format_ in RESULTS] == [False, False, True, True]
    assert CSV.content_type == "text/csv; charset=utf-8"
    assert JSON.content_type == "application/sparql-results+json"


@pytest.mark.parametrize("form", list(QueryForm))
def test_the_formats_of_each_form(form):
    """CONSTRUCT and DESCRIBE give graphs, SELECT and ASK rows."""
    assert formats_of(form) is (GRAPHS if form.name in {"CONSTRUCT", "DESCRIBE"} else RESULTS)


@pytest.mark.parametrize(
    ("content_type", "format_"),
    [
        ("text/turtle", RdfFormat.TURTLE),
        ("Text/Turtle ; charset=UTF-8", RdfFormat.TURTLE),
        ("application/x-turtle", RdfFormat.TURTLE),
        ("application/n-triples", RdfFormat.N_TRIPLES),
        ("application/rdf+xml; charset=utf-8", RdfFormat.RDF_XML),
        ("application/xml", RdfFormat.RDF_XML),
        ('application/ld+json;profile="x"', RdfFormat.JSON_LD),
        ("text/n3", RdfFormat.N3),
        ("application/trig", RdfFormat.TRIG),
        ("text/x-nquads", RdfFormat.N_QUADS),
    ],
)
def test_the_reader_of_a_media_type(content_type, format_):
    """By its essence, in any case, whatever its parameters."""
    assert rdf_format(content_type) == format_


@pytest.mark.parametrize(
    ("content_type", "said"),
    [
        (None, "needs a Content-Type"),
        ("", "needs a Content-Type"),
        ("; charset=utf-8", "needs a Content-Type"),
        ("text/plain", "'text/plain' is not read here"),
        ("application/json", "'application/json' is not read here"),
        ("text/csv", "text/turtle"),
        ("*/*", "not read"),
    ],
)
def test_what_has_no_reader_is_refused(content_type, said):
    """Types that are absent, too vague or not RDF; the sentence lists those that are read."""
    with pytest.raises(UnsupportedMediaType, match="there are text/turtle") as caught:
        rdf_format(content_type)
    assert said in caught.value.description


@pytest.mark.parametrize(
    ("content_type", "kind", "charset"),
    [
        (None, "", None),
        ("", "", None),
        ("text/turtle", "text/turtle", None),
        (' Text/Turtle ;Charset="UTF-8"; x=y', "text/turtle", "UTF-8"),
        ("a/b;charset", "a/b", ""),
        ("a/b;charset=", "a/b", ""),
        ("a/b; boundary=charset; charset = latin-1 ", "a/b", "latin-1"),
        ('a/b; boundary="x;charset=y"; charset=z', "a/b", "z"),
    ],
)
def test_a_media_type_and_its_parameters(content_type, kind, charset):
    """The essence in lower case; a parameter unquoted."""
    assert (essence(content_type), parameter(content_type, "charset")) == (kind, charset)
