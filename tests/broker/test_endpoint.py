"""A remote SPARQL 1.1 endpoint as the store: how it is asked, and the formats that are made of its answers."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl, urlsplit

import pyoxigraph
import pytest
from pyoxigraph import Literal
from support.stores import EX, PROLOGUE, File, ask, fill, remote, written

from triplewire.broker.errors import BrokerError, MalformedRequest, RequestError
from triplewire.broker.model import Query, QueryForm, Update
from triplewire.broker.wire.media import CSV, JSON, N_TRIPLES, RDF_XML, TSV, TURTLE, XML

pytestmark = pytest.mark.xdist_group("store")
SELECT = Query("SELECT ?x { ?s ?p ?x }")
CONSTRUCT = Query("CONSTRUCT WHERE { ?s ?p ?o }")
INSERT = Update("INSERT DATA { <a> <b> 1 }")
NONE = {"head": {"vars": []}, "results": {"bindings": []}}


# --- how it is asked --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST", "URL_ENCODED_POST"])
def test_a_query_is_sent_by_each_method(stub, method):
    """The text with its declarations, the dataset, what is acceptable; the endpoint's own parameters stay."""
    store = remote(f"{stub.url}/q?key=1", f"{stub.url}/u", query_method=method)
    text = "SELECT ?x { ?s ?p 'é&=+%20' }"
    store.evaluate(Query(text, ("http://x/g", "http://x/g?a=1&b"), ("http://x/h",)))
    store.close()
    ((verb, path, headers, body),) = stub.asked
    pairs = parse_qsl(urlsplit(path).query, keep_blank_values=True)
    if method == "URL_ENCODED_POST":
        assert headers["Content-Type"] == "application/x-www-form-urlencoded"
        pairs += parse_qsl(body, keep_blank_values=True)
    elif method == "POST":
        assert headers["Content-Type"].startswith("application/sparql-query")
        pairs.append(("query", body))
    assert verb == ("GET" if method == "GET" else "POST")
    assert headers["Accept"] == "application/sparql-results+json"
    assert [value for name, value in pairs if name == "default-graph-uri"] == [
        "http://x/g",
        "http://x/g?a=1&b",
    ]
    assert [value for name, value in pairs if name == "named-graph-uri"] == ["http://x/h"]
    (sent,) = [value for name, value in pairs if name == "query"]
    assert sent.startswith("BASE <http://localhost/> PREFIX rdf: <")
    assert sent.endswith(text)
    assert "\n" not in sent


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_endpoints_own_parameters_stay(stub, method):
    """Its URL may carry a key or the name of a dataset."""
    store = remote(f"{stub.url}/q?key=1", f"{stub.url}/u", query_method=method)
    store.evaluate(SELECT)
    store.close()
    assert ("key", "1") in parse_qsl(urlsplit(stub.asked[0][1]).query)


@pytest.mark.parametrize("method", ["POST", "URL_ENCODED_POST"])
def test_an_update_is_sent_by_each_method(stub, method):
    """With its dataset."""
    store = remote(f"{stub.url}/q", f"{stub.url}/u", update_method=method)
    assert store.apply(Update("DELETE WHERE { ?s ?p 'ü&' }", ("http://x/g",), ("http://x/h",))) is None
    store.close()
    ((verb, path, _, body),) = stub.asked
    pairs = parse_qsl(urlsplit(path).query) + (
        parse_qsl(body) if method == "URL_ENCODED_POST" else [("update", body)]
    )
    assert verb == "POST"
    assert urlsplit(path).path == "/u"
    assert dict(pairs)["update"].endswith("DELETE WHERE { ?s ?p 'ü&' }")
    assert dict(pairs)["using-graph-uri"] == "http://x/g"
    assert dict(pairs)["using-named-graph-uri"] == "http://x/h"


@pytest.mark.parametrize("query_method", ["GET", "POST", "URL_ENCODED_POST"])
@pytest.mark.parametrize("update_method", ["POST", "URL_ENCODED_POST"])
def test_a_real_endpoint_takes_each_method(oxigraph, query_method, update_method):
    """`oxigraph serve` answers the same to all."""
    store = fill(
        remote(oxigraph.query, oxigraph.update, query_method=query_method, update_method=update_method)
    )
    store.apply(Update(f"{PROLOGUE} INSERT DATA {{ :é :q 'ü+&%20' }}"))
    assert ask(store, "SELECT ?s ?o { ?s :q ?o }") == [f"{EX}é ü+&%20"]
    assert ask(store, "SELECT ?o { ?s :p ?o }", default_graphs=(f"{EX}g", f"{EX}h")) == ["1", "1", "2"]
    store.close()


def test_what_is_asked_of_the_endpoint_only_when_it_may_be_answered(stub, stub_store):
    """No update on the query path, no text that the guards refuse."""
    with pytest.raises(MalformedRequest, match="a query is expected here; this is an update"):
        stub_store.evaluate(Query(INSERT.sparql))
    with pytest.raises(MalformedRequest, match="an update is expected here"):
        stub_store.apply(Update(SELECT.sparql))
    for text in ("ASK { SERVICE <http://x/> {} }", "ASK {" + "{" * 500 + "}" * 500 + "}"):
        with pytest.raises(RequestError):
            stub_store.evaluate(Query(text))
    assert stub.asked == []


# --- formats ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", [JSON, XML, CSV, TSV])
def test_an_endpoint_that_knows_only_json_serves_all_formats(stub, stub_store, format_):
    """It is asked for the format wanted and, less, for JSON; what comes is converted."""
    sink = File()
    stub_store.answer(SELECT, lambda _: format_, sink)
    assert stub.asked[0][2]["Accept"] == f"{format_.media_type}, application/sparql-results+json;q=0.5"
    assert (sink.form, sink.format) == (QueryForm.SELECT, format_)
    if format_ is CSV:
        assert sink.getvalue().split() == [b"x", b"1"]
    else:
        read = pyoxigraph.parse_query_results(sink.getvalue(), format=format_.writer)
        assert [row["x"] for row in read] == [Literal("1")]


@pytest.mark.parametrize("format_", [N_TRIPLES, TURTLE, RDF_XML])
def test_an_endpoint_that_knows_only_n_triples_serves_all_formats(stub, stub_store, format_):
    """The same for graphs."""
    stub.answer = (200, "application/n-triples", "<urn:a> <http://x/b> _:c .\n" * 2)
    sink = written(stub_store, CONSTRUCT.sparql, format_)
    assert {quad.subject.value for quad in pyoxigraph.parse(sink.getvalue(), format=format_.writer)} == {
        "urn:a"
    }
    assert len(stub_store.evaluate(CONSTRUCT).rows) == 1, "each triple once"


@pytest.mark.parametrize(
    ("kind", "text", "format_"),
    [
        ("Text/CSV; charset=utf-8", "as it is", CSV),
        ("application/json", "{}", JSON),
        ("text/xml", "<x/>", XML),
    ],
)
def test_what_is_of_the_format_wanted_is_passed_on(stub, stub_store, kind, text, format_):
    """Byte for byte, whichever of the format's names the endpoint uses."""
    stub.answer = (200, kind, text)
    assert written(stub_store, SELECT.sparql, format_).getvalue() == text.encode()


@pytest.mark.parametrize(
    ("answer", "there"),
    [({"head": {}, "boolean": True}, True), ({"head": {}, "boolean": False}, False), (NONE, False)],
)
def test_whether_a_graph_is_there(stub, stub_store, answer, there):
    """By an ASK that knows empty graphs too, where the endpoint does."""
    stub.answer = (200, "application/sparql-results+json", json.dumps(answer))
    assert stub_store.has_graph("http://x/g") is there
    assert "GRAPH <http://x/g> {}" in stub.asked[0][3]


def test_a_choice_that_fails_asks_nothing(stub, stub_store):
    """NotAcceptable comes before the endpoint is troubled."""

    def choose(_):
        raise BrokerError("none")

    with pytest.raises(BrokerError, match="none"):
        stub_store.answer(SELECT, choose, File())
    assert stub.asked == []
