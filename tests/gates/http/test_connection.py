"""One HTTP connection: versions, reuse, upgrades, bounds; on raw sockets, for no client library sends such bytes."""

from __future__ import annotations

import gzip
import json
import time
import zlib

import pytest
from support.raw import Raw, exchange
from support.sparql import Sparql
from support.subscriber import Subscriber

from triplewire.broker.errors import TooManyRequests
from triplewire.gates.http.connection import Bodies

pytestmark = pytest.mark.xdist_group("gates-http-connection")

ASK = "GET /query?query=ASK%20%7B%7D HTTP/1.1\r\nHost: x\r\n"
HEALTH = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
POST = "POST /query HTTP/1.1\r\nHost: x\r\nContent-Type: application/sparql-query\r\n"
H2C = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"
TRUE = b'{"head":{},"boolean":true}'


@pytest.fixture(scope="module")
def bounded(broker_with):
    """A broker that has little patience."""
    return broker_with(
        "http.header_timeout_s=1",
        "http.body_timeout_s=0.3",
        "http.keep_alive_s=1",
        "limits.sockets=3",
        "limits.body_bytes=100000",
    )


@pytest.fixture(scope="module")
def narrow(broker_with):
    """A broker with little room."""
    return broker_with(
        "limits.body_bytes=100000",
        "limits.bodies_bytes=150000",
        "limits.address_sockets=4",
        "http.body_timeout_s=20",
    )


def test_a_connection_is_kept_and_used_again(broker):
    """HTTP/1.1's default."""
    with Raw(broker.http) as raw:
        for _ in range(3):
            raw.send(ASK, "\r\n")
            assert raw.response()[::2] == (200, TRUE)


def test_a_connection_is_closed_where_the_client_says_so(broker):
    """Connection: close."""
    with Raw(broker.http) as raw:
        raw.send(ASK, "Connection: close\r\n\r\n")

        status, headers, body = raw.response()
        assert (status, headers["connection"], body) == (200, "close", TRUE)
        assert raw.rest() == b""


def test_pipelined_requests_are_answered_in_order(broker):
    """Whatever their gates and outcomes are."""
    with Raw(broker.http) as raw:
        raw.send(ASK, "\r\n", POST, "Content-Length: 6\r\n\r\nSELECT", HEALTH, ASK, "\r\n")

        answers = [raw.response() for _ in range(4)]
        assert [status for status, _, _ in answers] == [200, 400, 200, 200]
        assert json.loads(answers[2][2])["status"] == "ok"


def test_bytes_may_come_one_at_a_time(broker):
    """TCP keeps no message borders."""
    with Raw(broker.http) as raw:
        for byte in f"{POST}Content-Length: 6\r\n\r\nASK {{}}":
            raw.send(byte)

        assert raw.response()[::2] == (200, TRUE)


def test_a_chunked_body_is_read(broker):
    """Also with chunk extensions and trailers."""
    body = "3;x=y\r\nASK\r\n3\r\n {}\r\n0\r\nDigest: no\r\n\r\n"

    assert exchange(broker.http, POST, "Transfer-Encoding: chunked\r\n\r\n", body)[::2] == (200, TRUE)


def test_the_body_may_wait_for_100_continue(broker):
    """RFC 9110, 10.1.1: curl asks so before larger bodies."""
    with Raw(broker.http) as raw:
        raw.send(POST, "Expect: 100-continue\r\nContent-Length: 6\r\n\r\n")

        assert raw.line() == b"HTTP/1.1 100 Continue\r\n"
        assert raw.line() == b"\r\n"
        raw.send("ASK {}")
        assert raw.response()[::2] == (200, TRUE)


def test_a_body_that_is_refused_is_not_asked_for(broker):
    """The final status comes instead of 100."""
    with Raw(broker.http) as raw:
        raw.send(POST, "Expect: 100-continue\r\nContent-Length: 99999999999\r\n\r\n")

        assert raw.line().startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("headers", ["", "Host: x\r\n", "Connection: keep-alive\r\n"])
def test_http_1_0_is_answered_and_closed(broker, headers):
    """Without chunks, with its length."""
    with Raw(broker.http) as raw:
        raw.send("GET /query?query=ASK%20%7B%7D HTTP/1.0\r\n", headers, "\r\n")

        status, fields, body = raw.response()
        assert (status, fields["content-length"], body) == (200, str(len(TRUE)), TRUE)
        assert raw.rest() == b""


def test_a_large_answer_to_http_1_0_ends_with_the_connection(broker, sparql):
    """RFC 9112, 6.1: HTTP/1.0 knows no chunks."""
    values = "VALUES ?a { 0 1 2 3 4 5 6 7 8 9 }"
    query = "SELECT * { " + " ".join(values.replace("?a", f"?{name}") for name in "abcd") + " }"
    expected = sparql.query(query, accept="text/csv").text
    with Raw(broker.http) as raw:
        raw.send("POST /query HTTP/1.0\r\nAccept: text/csv\r\nContent-Type: application/sparql-query\r\n")
        raw.send(f"Content-Length: {len(query)}\r\n\r\n{query}")

        head, _, body = raw.rest().partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert b"content-length" not in head
    assert body.decode() == expected
    assert len(body) > 64 * 1024


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_an_upgrade_that_is_not_offered_is_ignored(broker, method):
    """RFC 9110, 7.8: Java's HTTP client asks for h2c on each request; its body must not be lost."""
    request = f"{POST}{H2C}Content-Length: 6\r\n\r\nASK {{}}" if method == "POST" else f"{ASK}{H2C}\r\n"
    with Raw(broker.http) as raw:
        for _ in range(2):
            raw.send(request, HEALTH)
            assert raw.response()[::2] == (200, TRUE)
            assert raw.response()[0] == 200
        raw.send(request[:-3])
        raw.send(request[-3:])
        assert raw.response()[::2] == (200, TRUE)


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ("FETCH /query HTTP/1.1\r\n\r\n", "Invalid method"),
        ("\x16\x03\x01\x02\x00\x01", "not an HTTP request"),
        ("GET /caf\u00e9 HTTP/1.1\r\nHost: x\r\n\r\n", "Invalid char in url"),
        ("CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n", "not a proxy"),
        ("GET / HTTP/3.7\r\n\r\n", "not an HTTP request"),
        (f"{POST}Content-Length: six\r\n\r\n", "Content-Length"),
        (f"{POST}Content-Length: 3\r\nContent-Length: 4\r\n\r\nASK", "Content-Length"),
        (f"{POST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding"),
        (f"{POST}Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "chunk size"),
        (f"{ASK}No colon here\r\n\r\n", "header"),
        (f"{ASK}X: a\0b\r\n\r\n", "header value"),
        (f"{ASK}: empty\r\n\r\n", "header"),
    ],
)
def test_bytes_that_are_not_http_are_told_so(broker, request_, says):
    """400 in SEPA's form, and the connection is closed: nobody knows where the next request would begin."""
    with Raw(broker.http) as raw:
        raw.send(request_)

        status, headers, body = raw.response()
        assert (status, headers["connection"]) == (400, "close")
        assert says in json.loads(body)["error_description"]
        assert raw.rest() == b""


def test_headers_without_end_are_cut_off(broker):
    """431 before they fill the memory."""
    with Raw(broker.http) as raw:
        raw.send(ASK, "X-Filler: ", "x" * 600_000)

        status, _, body = raw.response()
        assert status == 431
        assert "262144 bytes" in json.loads(body)["error_description"]


def test_long_headers_are_read(broker):
    """A query of 64 KiB fits into a URL; a longer one is told to be posted."""
    request = "GET /query?query=ASK%20%7B%7D%23{} HTTP/1.1\r\nHost: x\r\nCookie: {}\r\n\r\n"

    assert exchange(broker.http, request.format("x" * 65_000, "x" * 100_000))[::2] == (200, TRUE)
    status, _, body = exchange(broker.http, request.format("x" * 70_000, ""))
    assert status == 414
    assert "can be posted" in json.loads(body)["error_description"]


def test_a_silent_stranger_is_cut(bounded):
    """http.header_timeout_s, counted from the first byte, whatever trickles in."""
    with Raw(bounded.http) as silent, Raw(bounded.http) as slow:
        started = time.monotonic()
        slow.send("GET /query?query=A")
        assert silent.rest() == slow.rest() == b""
        assert 0.5 < time.monotonic() - started < 10


def test_a_body_that_does_not_come_is_a_timeout(bounded):
    """504 with the setting's name."""
    status, _, body = exchange(bounded.http, POST, "Content-Length: 6\r\n\r\nASK")

    assert status == 504
    assert json.loads(body)["error"] == "request_timeout"
    assert "http.body_timeout_s" in json.loads(body)["error_description"]


def test_the_rest_of_a_refused_body_is_not_waited_for(bounded):
    """The connection of a client that was told 413 and goes on too slowly ends."""
    with Raw(bounded.http) as raw:
        raw.send(POST, "Content-Length: 99999999999\r\n\r\nASK")
        assert raw.response()[0] == 413
        raw.send("more")
        assert raw.rest() == b""


def test_who_sends_a_large_body_to_its_end_reads_why_it_was_refused(bounded):
    """Most clients read when they have sent; the connection can be used again."""
    with Sparql(bounded.http) as sparql:
        for _ in range(2):
            response = sparql.try_update("#" * 5_000_000)
            assert (response.status_code, response.json()["error"]) == (413, "too_large")
            assert sparql.ask("ASK {}")


def test_a_request_that_is_half_sent_does_not_keep_the_broker_from_its_end(fresh_broker):
    """Status 0, and no traceback of it."""
    log = fresh_broker.log_path
    with Raw(fresh_broker.http) as raw, Raw(fresh_broker.http) as silent:
        raw.send(POST, "Content-Length: 6\r\n\r\nASK")
        silent.send("GET /health HTTP/1.1\r\n")
        fresh_broker.process.terminate()
        assert fresh_broker.process.wait(10) == 0
    assert "Traceback" not in log.read_text()
    fresh_broker.stop()


def test_an_idle_connection_is_closed(bounded):
    """http.keep_alive_s."""
    with Raw(bounded.http) as raw:
        raw.send(HEALTH)
        assert raw.response()[0] == 200
        assert raw.rest() == b""


def test_one_connection_too_many_is_told_so(bounded):
    """503 with Retry-After, and room again when one has left."""
    with Raw(bounded.http) as first, Raw(bounded.http) as second, Raw(bounded.http) as third:
        for raw in (first, second, third):
            raw.send(HEALTH)
            assert raw.response()[0] == 200
        with Raw(bounded.http) as fourth:
            status, headers, body = fourth.response()
            assert (status, headers["retry-after"]) == (503, "1")
            assert json.loads(body)["error"] == "too_many_requests"
    with Sparql(bounded.http) as sparql:
        assert sparql.ask("ASK {}")


@pytest.mark.parametrize(
    ("coding", "compress"), [("gzip", gzip.compress), ("x-gzip", gzip.compress), ("deflate", zlib.compress)]
)
def test_a_body_may_be_compressed(broker, coding, compress):
    """A query, an update, a document."""
    headers = {"Content-Encoding": coding}
    with Sparql(broker.http) as sparql:
        for path, media_type, text in (
            ("/update", "application/sparql-update", "INSERT DATA { <urn:c> <urn:p> 1 }"),
            ("/rdf-graph-store?graph=urn:c", "text/turtle", "<urn:c> <urn:p> 2 ."),
            ("/query", "application/sparql-query", "ASK { <urn:c> <urn:p> 1 GRAPH <urn:c> { ?s ?p 2 } }"),
            ("/query", "application/x-www-form-urlencoded", "query=ASK%7B%7D"),
        ):
            sent = compress(text.encode())
            response = sparql.http.post(path, content=sent, headers=headers | {"Content-Type": media_type})
            assert response.status_code < 300, response.text
        assert response.json()["boolean"] is True
        assert sparql.ask("ASK { <urn:c> <urn:p> 1 GRAPH <urn:c> { ?s ?p 2 } }")
        sparql.update("DROP ALL")


def test_a_body_that_inflates_beyond_the_limit_is_refused_and_the_connection_goes_on(narrow):
    """413 where it passes the limit, whatever its own size."""
    sent = gzip.compress(b"#" * 100_001)
    with Sparql(narrow.http) as sparql:
        response = sparql.http.post(
            "/update",
            content=sent,
            headers={"Content-Encoding": "gzip", "Content-Type": "application/sparql-update"},
        )
        assert (response.status_code, response.json()["error"]) == (413, "too_large")
        assert "100000 bytes (limits.body_bytes)" in response.json()["error_description"]
        assert sparql.ask("ASK {}")


def test_the_bodies_of_all_requests_have_a_limit_together(narrow):
    """429 with Retry-After, and room again when one was answered, or its client has left."""
    half = "#" * 90_000
    with Raw(narrow.http) as first, Raw(narrow.http) as second:
        first.send(POST, "Content-Length: 90001\r\n\r\n", half)
        with Sparql(narrow.http) as sparql:
            sparql.wait_for_health(status="ok")
        time.sleep(0.2)
        second.send(POST, "Content-Length: 90000\r\n\r\n", half)
        status, headers, body = second.response()
        assert (status, headers["retry-after"]) == (429, "1")
        assert "150000 bytes (limits.bodies_bytes)" in json.loads(body)["error_description"]
        first.send("x")
        assert first.response()[0] == 400
        second.send(POST, "Content-Length: 90000\r\n\r\n", half)
        assert second.response()[0] == 400
        first.send(POST, "Content-Length: 90001\r\n\r\n", half)
    with Sparql(narrow.http) as sparql:
        for _ in range(100):
            response = sparql.query(half)
            if response.status_code == 400:
                break
            time.sleep(0.02)
        assert response.status_code == 400


def test_the_connections_of_one_address_have_a_limit(narrow):
    """429, WebSockets count too, and there is room again when one has left."""
    with Raw(narrow.http) as first, Raw(narrow.http) as second:
        for raw in (first, second):
            raw.send(HEALTH)
            assert raw.response()[0] == 200
        with Subscriber(narrow.http.replace("http", "ws", 1) + "/subscribe") as subscriber:
            assert subscriber.subscribe("ASK {}")["sequence"] == 0
            with Raw(narrow.http) as third:
                third.send(HEALTH)
                assert third.response()[0] == 200
                with Raw(narrow.http) as fourth:
                    status, headers, body = fourth.response()
                    assert (status, headers["retry-after"]) == (429, "1")
                    assert "has 4 sockets open" in json.loads(body)["error_description"]
                    assert "limits.address_sockets" in json.loads(body)["error_description"]
    with Sparql(narrow.http) as sparql:
        assert sparql.ask("ASK {}")


def test_a_body_that_is_alone_may_be_of_any_size():
    """It has a limit of its own; a smaller one for all must not make it impossible."""
    bodies = Bodies(10)
    bodies.hold(15)
    with pytest.raises(TooManyRequests, match=r"limits\.bodies_bytes"):
        bodies.hold(1)
    assert bodies.size == 15
