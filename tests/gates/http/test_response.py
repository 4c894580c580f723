"""What every response has: CORS for pages of any origin, compression for large bodies, errors in SEPA's form."""

from __future__ import annotations

import gzip

import pytest

pytestmark = pytest.mark.xdist_group("gates-http")

ORIGIN = {"Origin": "https://dashboard.example.org"}
PATHS = [
    "/query",
    "/update",
    "/sparql",
    "/rdf-graph-store",
    "/rdf-graph-store/x",
    "/subscribe",
    "/health",
    "/",
    "/nowhere",
]
LONG = (
    "SELECT ?x { VALUES ?x { "
    + " ".join(f"<http://example.org/thing/{number}>" for number in range(300))
    + " } }"
)


@pytest.mark.parametrize("origin", ["https://dashboard.example.org", "null", "http://localhost:3000"])
@pytest.mark.parametrize("path", PATHS)
def test_a_preflight_is_204_for_any_origin(sparql, path, origin):
    """Method and headers are allowed as they are asked for (vaimee/SEPA#12: it was 500)."""
    response = sparql.http.options(
        path,
        headers={
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type,authorization",
        },
    )

    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["access-control-allow-origin"] == origin
    assert response.headers["access-control-allow-methods"] == "POST"
    assert response.headers["access-control-allow-headers"] == "content-type,authorization"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/query?query=ASK%20%7B%7D", 200),
        ("GET", "/query?query=SELECT", 400),
        ("GET", "/rdf-graph-store?graph=urn:none", 404),
        ("GET", "/update", 405),
        ("GET", "/subscribe?query=ASK%20%7B%7D", 406),
        ("POST", "/update", 415),
        ("POST", "/rdf-graph-store", 415),
        ("GET", "/health", 200),
        ("GET", "/", 200),
        ("GET", "/nowhere", 404),
        ("POST", "/health", 405),
    ],
)
def test_every_response_may_be_read_by_a_page_of_any_origin(sparql, method, path, status):
    """Errors too, or a browser shows its own; without an Origin the headers are spared."""
    response = sparql.http.request(method, path, headers=ORIGIN)

    assert response.status_code == status
    assert response.headers["access-control-allow-origin"] == ORIGIN["Origin"]
    assert "Origin" in response.headers["vary"]
    assert "access-control-allow-origin" not in sparql.http.request(method, path).headers


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("/query", "GET, HEAD, POST, OPTIONS"),
        ("/update", "POST, OPTIONS"),
        ("/sparql", "GET, HEAD, POST, OPTIONS"),
        ("/rdf-graph-store", "GET, HEAD, PUT, POST, DELETE, OPTIONS"),
        ("/subscribe", "GET, POST, OPTIONS"),
    ],
)
def test_options_tells_the_methods(sparql, path, allow):
    """Also where no browser asks."""
    response = sparql.http.options(path)

    assert response.status_code == 204
    assert response.headers["allow"] == allow
    assert "access-control-allow-methods" not in response.headers


@pytest.mark.parametrize(
    ("accept", "compressed"),
    [
        ("gzip", True),
        ("x-gzip", True),
        ("deflate, gzip;q=0.5", True),
        ("GZIP", True),
        ("*", True),
        ("br, *;q=0.1", True),
        ("*;q=0, gzip", True),
        ("gzip;q=1.0, identity; q=0.5, *;q=0", True),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000, *", False),
        ("*;q=0", False),
        ("br, zstd", False),
        ("", False),
    ],
)
def test_a_large_answer_is_compressed_for_those_who_take_it(sparql, accept, compressed):
    """RFC 9110, 12.5.3; the length is that of the bytes sent."""
    with sparql.http.stream(
        "GET", "/query", params={"query": LONG}, headers={"Accept-Encoding": accept}
    ) as response:
        body = b"".join(response.iter_raw())

    assert response.headers.get("content-encoding") == ("gzip" if compressed else None)
    assert "Accept-Encoding" in response.headers["vary"]
    assert response.headers["content-length"] == str(len(body))
    assert (gzip.decompress(body) if compressed else body).count(b'"uri"') == 300


def test_a_small_answer_is_not_compressed(sparql):
    """Below http.gzip_bytes it would cost more than it saves."""
    response = sparql.http.get("/query", params={"query": "ASK {}"}, headers={"Accept-Encoding": "gzip"})

    assert "content-encoding" not in response.headers


def test_an_error_is_sepas_flat_object(sparql):
    """Three members; the status is that of HTTP."""
    response = sparql.query("SELECT")

    assert set(response.json()) == {"error", "status_code", "error_description"}
    assert response.json()["status_code"] == response.status_code == 400
    assert response.headers["content-type"] == "application/json; charset=utf-8"
