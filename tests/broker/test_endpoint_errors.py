"""A remote SPARQL endpoint that is down, refuses, breaks off or talks nonsense."""

from __future__ import annotations

import threading

import pytest
from support.stores import File, remote

from triplewire.broker.errors import EndpointError, RequestError, StoreError
from triplewire.broker.model import GraphEdit, GraphWrite, Query, Update
from triplewire.broker.wire.media import CSV, JSON, TURTLE

pytestmark = pytest.mark.xdist_group("store")
SELECT = Query("SELECT ?x { ?s ?p ?x }")
CONSTRUCT = Query("CONSTRUCT WHERE { ?s ?p ?o }")
INSERT = Update("INSERT DATA { <a> <b> 1 }")


WAYS = {
    "evaluate": lambda store: store.evaluate(SELECT),
    "answer": lambda store: store.answer(SELECT, lambda _: JSON, File()),
    "apply": lambda store: store.apply(INSERT),
    "has_graph": lambda store: store.has_graph("http://x/g"),
    "write_graph": lambda store: store.write_graph(GraphWrite(GraphEdit.REPLACE, None)),
}


def test_an_address_that_is_none():
    """The start says so."""
    with pytest.raises(StoreError, match="no URL of an endpoint"):
        remote("http://[::1/query", "http://127.0.0.1:9/u")


@pytest.mark.parametrize("way", WAYS)
def test_an_endpoint_that_is_down(way):
    """502, and the sentence says that it can't be reached."""
    store = remote("http://127.0.0.1:9/q", "http://127.0.0.1:9/u")
    with pytest.raises(EndpointError, match="can't be reached") as caught:
        WAYS[way](store)
    assert (caught.value.status, caught.value.code) == (502, "sparql11_endpoint")
    store.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status", [302, 401, 404, 408, 500, 503])
def test_an_endpoint_that_refuses(stub, stub_store, way, status):
    """502 with its status and its words, cut."""
    stub.answer = (status, "text/plain", "no, because " + "x" * 10_000)
    with pytest.raises(EndpointError, match=f"answered {status}: no, because") as caught:
        WAYS[way](stub_store)
    assert len(caught.value.description) < 600


@pytest.mark.parametrize("way", WAYS)
def test_an_endpoint_that_finds_the_text_malformed(stub, stub_store, way):
    """The sender's doing, with the endpoint's words."""
    stub.answer = (400, "text/plain", "error at 1:2")
    with pytest.raises(RequestError, match="Parsing failed: error at 1:2") as caught:
        WAYS[way](stub_store)
    assert (caught.value.status, caught.value.code) == (400, "parsing failed")


GARBAGE = [
    "",
    "garbage",
    "<html>",
    "[]",
    "null",
    '{"head":{}}',
    b"\xff\xfe",
    '{"head":{"vars":["x"]},"results":',
]


@pytest.mark.parametrize("text", GARBAGE)
@pytest.mark.parametrize("kind", ["application/sparql-results+json", "text/html"])
def test_rows_that_can_not_be_read(stub, stub_store, kind, text):
    """Whatever the endpoint calls them."""
    stub.answer = (200, kind, text)
    with pytest.raises(EndpointError, match="can't be read"):
        stub_store.evaluate(SELECT)
    with pytest.raises(EndpointError, match="can't be read"):
        stub_store.answer(SELECT, lambda _: CSV, File())


@pytest.mark.parametrize("text", ["garbage", "<a> <b>", b"\xff\xfe"])
def test_triples_that_can_not_be_read(stub, stub_store, text):
    """On their way into another format."""
    stub.answer = (200, "application/n-triples", text)
    with pytest.raises(EndpointError, match="can't be read"):
        stub_store.answer(CONSTRUCT, lambda _: TURTLE, File())


def test_triples_that_can_not_be_evaluated(stub, stub_store):
    """A subscription to a CONSTRUCT ends with a sentence, not with an internal error."""
    stub.answer = (200, "text/html", "<html>")
    with pytest.raises(EndpointError):
        stub_store.evaluate(CONSTRUCT)


@pytest.mark.parametrize("way", ["evaluate", "apply"])
def test_lone_surrogates_are_refused(stub_store, way):
    """As the embedded store does."""
    with pytest.raises(RequestError):
        stub_store.evaluate(Query("ASK { ?s ?p '\ud800' }")) if way == "evaluate" else stub_store.apply(
            Update("INSERT DATA { <a> <b> '\ud800' }")
        )


@pytest.mark.parametrize("format_", [JSON, CSV])
def test_an_answer_that_breaks_off(stub, stub_store, format_):
    """Is an error, whether it is passed on or converted."""
    stub.missing = 100
    with pytest.raises(EndpointError, match="broke off"):
        stub_store.answer(SELECT, lambda _: format_, File())


@pytest.mark.parametrize("way", ["evaluate", "has_graph"])
def test_a_short_answer_that_breaks_off(stub, stub_store, way):
    """Is an error too."""
    stub.missing = 100
    with pytest.raises(EndpointError):
        WAYS[way](stub_store)


def test_an_endpoint_that_never_answers(stub):
    """Is given up after store.endpoint_timeout_s."""
    release = threading.Event()
    stub.server.RequestHandlerClass.handle_any = lambda _: release.wait(5)
    stub.server.RequestHandlerClass.do_POST = stub.server.RequestHandlerClass.handle_any
    store = remote(stub.url, stub.url, endpoint_timeout_s=0.2)
    with pytest.raises(EndpointError, match="Timeout"):
        store.evaluate(SELECT)
    release.set()
    store.close()
