"""Documents that LOAD names: read in any format, within limits, from where they were asked for."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode

from triplewire.broker import loading
from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import RequestError
from triplewire.broker.loading import load_document

TURTLE = "@prefix : <http://x/> . :s :p 'a', <rel> . _:b :p _:b ."
LIMITS = LimitsConfig()


def load(stub, path="/doc", limits=LIMITS):
    return load_document(f"{stub.url}{path}", limits)


def refused(stub, *words, path="/doc", limits=LIMITS):
    with pytest.raises(RequestError) as caught:
        load(stub, path, limits)
    assert caught.value.code == "update_failed"
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert len(str(caught.value)) < 600


def test_its_triples(stub):
    """Relative IRIs are of the document's place; blank nodes are new ones each time."""
    stub.answer = (200, "text/turtle", TURTLE)
    first, second = load(stub), load(stub)
    assert {quad.object for quad in first} >= {Literal("a"), NamedNode(f"{stub.url}/rel")}
    blanks = [
        {quad.object for quad in quads if isinstance(quad.object, BlankNode)} for quads in (first, second)
    ]
    assert len(blanks[0] | blanks[1]) == 2


def test_it_asks_for_rdf(stub):
    """With an Accept that names every format that can be read."""
    stub.answer = (200, "text/turtle", "")
    assert load(stub) == []
    ((method, path, headers, _),) = stub.asked
    assert (method, path) == ("GET", "/doc")
    assert {"text/turtle", "application/rdf+xml", "application/n-triples"} <= {
        kind.strip() for kind in headers["Accept"].split(",")
    }


@pytest.mark.parametrize(
    ("kind", "path", "text"),
    [
        ("text/turtle; charset=utf-8", "/doc.nt", TURTLE),
        ("application/n-triples", "/", '<http://x/s> <http://x/p> "a" .'),
        ("application/ld+json", "/", '{"@id": "http://x/s", "http://x/p": "a"}'),
        ("application/octet-stream", "/data.ttl?x=1", TURTLE),
        ("", "/data.nt", '<http://x/s> <http://x/p> "a" .'),
        ("nonsense", "/a.b/data.rdf", '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>'),
    ],
)
def test_the_format_is_told_by_the_server_or_by_the_name(stub, kind, path, text):
    """The server's word comes first; a name is asked where it says nothing that we know."""
    stub.answer = (200, kind, text)
    subjects = {quad.subject for quad in load(stub, path)}
    assert subjects >= ({NamedNode("http://x/s")} if "/s" in text or ":s" in text else set())


def test_a_format_that_nobody_tells(stub):
    """It is not guessed from the text."""
    stub.answer = (200, "text/html", TURTLE)
    with pytest.raises(RequestError):
        load(stub, "/doc")


@pytest.mark.parametrize("status", [204, 301, 302, 307, 404, 500])
def test_only_success_is_read(stub, status):
    """A redirect is not followed: it could lead to a host that is not allowed."""
    if status == 204:
        stub.answer = (204, "text/turtle", "")
        assert load(stub) == []
        return
    stub.answer = (status, "text/turtle", TURTLE)
    refused(stub, f"answered by {status}")
    assert len(stub.asked) == 1


def test_its_size_is_bounded(stub):
    """What is too long is not read to its end."""
    stub.answer = (200, "text/turtle", TURTLE + " " * 1000)
    limits = LimitsConfig(body_bytes=1000)
    refused(stub, "over 1000 bytes", "limits.body_bytes", limits=limits)
    stub.answer = (200, "text/turtle", TURTLE.ljust(1000))
    assert len(load(stub, limits=limits)) == 3


def test_its_depth_is_bounded(stub):
    """As that of a document that is sent to us."""
    depth = LIMITS.nesting + 1
    stub.answer = (200, "application/ld+json", '{"http://x/p":' * depth + "{}" + "}" * depth)
    with pytest.raises(RequestError, match="nested"):
        load(stub)


def test_what_is_no_rdf_is_refused(stub):
    """In Oxigraph's words, cut short."""
    stub.answer = (200, "text/turtle", "<a> <b> <" + "c" * 5000)
    refused(stub, "LOAD", "failed")


def test_an_answer_that_ends_early(stub):
    """It is no document, though what has come may be well-formed."""
    stub.answer = (200, "text/turtle", TURTLE)
    stub.missing = 10
    refused(stub, "failed")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/doc", "http://[/", "nonsense:x", f"http://{'a' * 300}/"])
def test_nobody_is_there(url):
    """Or the IRI is no place on the Web."""
    with pytest.raises(RequestError, match="LOAD") as caught:
        load_document(url, LIMITS)
    assert caught.value.code == "update_failed"


def test_its_time_is_bounded(monkeypatch):
    """Also where a byte comes now and then: a load holds up the updates behind it."""
    monkeypatch.setattr(loading, "_TIMEOUT_S", 0.4)
    server = socket.create_server(("127.0.0.1", 0))

    def drip():
        client, _ = server.accept()
        with client:
            client.recv(65536)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/turtle\r\nContent-Length: 100\r\n\r\n")
            try:
                for _ in range(100):
                    client.sendall(b" ")
                    time.sleep(0.05)
            except OSError:
                pass  # the other side has left

    thread = threading.Thread(target=drip)
    thread.start()
    started = time.monotonic()
    with pytest.raises(RequestError, match="too long"):
        load_document(f"http://127.0.0.1:{server.getsockname()[1]}/", LIMITS)
    assert time.monotonic() - started < 2
    thread.join()
    server.close()
