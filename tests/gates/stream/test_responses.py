"""Heads, chunks and errors as bytes."""

from __future__ import annotations

import gzip
import json

import pytest

from triplewire.broker.errors import (
    Forbidden,
    MethodNotAllowed,
    NotFound,
    Overloaded,
    ShuttingDown,
    TooManyRequests,
    Unauthorized,
)
from triplewire.gates.stream.forms import ZTREAMY
from triplewire.gates.stream.responses import (
    chunk,
    failure,
    gzipped,
    preflight,
    stream_head,
    whole,
    with_field,
)


def parsed(response):
    head, _, body = response.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    pairs = [line.split(": ", 1) for line in lines]
    assert len({name.lower() for name, _ in pairs}) == len(pairs)
    return int(first.split()[1]), dict(pairs), body


def test_chunks():
    """The length in hexadecimal digits; nothing is no chunk, as that would be the last."""
    assert chunk(b"0123456789abcdef!") == b"11\r\n0123456789abcdef!\r\n"
    assert chunk(b"") == b""


def test_the_head_of_a_stream():
    """Golden but for its date."""
    status, headers, body = parsed(stream_head(ZTREAMY, deflate=True, framed=True))
    assert (status, body) == (200, b"")
    assert headers.pop("Date").endswith("GMT")
    assert headers == {
        "Transfer-Encoding": "chunked",
        "Content-Type": "application/ztreamy-stream",
        "Content-Encoding": "deflate",
        "Cache-Control": "no-store",
        "Vary": "Accept, Accept-Encoding",
        "X-Accel-Buffering": "no",
        "Access-Control-Allow-Origin": "*",
        "X-Content-Type-Options": "nosniff",
    }
    assert "Transfer-Encoding" not in parsed(stream_head(ZTREAMY, deflate=False, framed=False))[1]


def test_a_head_with_one_more_field():
    """Behind the others."""
    head = stream_head(ZTREAMY, deflate=False, framed=True)
    status, headers, body = parsed(with_field(head, "X-One", "2"))
    assert (status, headers.pop("X-One"), body) == (200, "2", b"")
    assert headers == parsed(head)[1]


@pytest.mark.parametrize(
    ("error", "status", "header", "value"),
    [
        (NotFound("x"), 404, None, None),
        (MethodNotAllowed("x", allow=("GET", "HEAD")), 405, "Allow", "GET, HEAD"),
        (Unauthorized("x"), 401, "WWW-Authenticate", "Bearer"),
        (
            Forbidden("x", code="insufficient_scope"),
            403,
            "WWW-Authenticate",
            'Bearer error="insufficient_scope"',
        ),
        (Overloaded("x"), 503, "Retry-After", "1"),
        (ShuttingDown("x"), 503, "Retry-After", "1"),
        (TooManyRequests("x"), 503, "Retry-After", "1"),
    ],
)
def test_errors(error, status, header, value):
    """SEPA's flat object; what means "not now" is 503 whatever it is elsewhere."""
    found, headers, body = parsed(failure(error))
    assert found == status
    if status < 500:
        assert json.loads(body) == told(error, status)
    else:  # Ztreamy's consumers would take it for the beginning of an item
        assert body == b""
    assert int(headers["Content-Length"]) == len(body)
    if header:
        assert headers[header] == value


def told(error, status):
    """SEPA's flat object."""
    return {"error": error.code, "status_code": status, "error_description": "x"}


@pytest.mark.parametrize(("error", "status"), [(Overloaded("x"), 503), (TooManyRequests("x"), 429)])
def test_publishers_are_told_more(error, status):
    """What there is no room for, also of a 5xx."""
    found, _, body = parsed(failure(error, publishing=True))
    assert (found, json.loads(body)) == (status, told(error, status))


def test_a_whole_response():
    """With its length, with or without its body."""
    _, headers, body = parsed(whole(200, b"abc", "text/plain", keep_alive=False))
    assert (headers["Content-Length"], headers["Connection"], body) == ("3", "close", b"abc")
    assert parsed(whole(200, b"abc", head_only=True))[2] == b""
    assert gzip.decompress(gzipped(b"abc")) == b"abc"


def test_the_answer_to_options():
    """What a browser asks before it publishes."""
    status, headers, _ = parsed(preflight(("POST", "OPTIONS")))
    assert status == 200
    assert headers["Allow"] == headers["Access-Control-Allow-Methods"] == "POST, OPTIONS"
