"""The page and the state of the broker."""

from __future__ import annotations

import contextlib

import pytest

from triplewire.gates.web.pages import _policy

pytestmark = pytest.mark.xdist_group("gates-http")


def test_the_page_knows_the_paths(sparql):
    """Their places are filled in; nothing comes from elsewhere."""
    response = sparql.http.get("/")

    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert 'data-subscribe="/subscribe"' in response.text
    assert 'data-token="/oauth/token"' in response.text
    assert "__" not in response.text
    assert "//" not in response.text


def test_the_page_is_asked_for_again_each_time(sparql):
    """And answered without a body where it is the same."""
    response = sparql.http.get("/")

    assert response.headers["cache-control"] == "no-cache"
    again = sparql.http.get("/", headers={"If-None-Match": response.headers["etag"]})
    assert again.status_code == 304
    assert again.headers["content-security-policy"] == response.headers["content-security-policy"]


def test_the_policy_lets_nothing_in(sparql):
    """No script and no style in the page; streams are on another port, and on no other than that."""
    policy = dict(
        part.split(" ", 1) for part in sparql.http.get("/").headers["content-security-policy"].split("; ")
    )
    listed = sparql.http.get("/streams", headers={"Accept": "application/ld+json"}).json()
    (events,) = [
        way["dcat:accessURL"]
        for way in listed["dcat:dataset"][0]["dcat:distribution"]
        if way["dcat:mediaType"] == "text/event-stream"
    ]

    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["connect-src"] == f"'self' {events.partition('/events')[0]}"
    assert not any("unsafe" in value for value in policy.values())


@pytest.mark.parametrize("host", ["[::1]", "a b", "x;script-src *", "-", "x" * 300, "a:1 http://b"])
def test_what_a_host_header_says_does_not_get_into_the_policy(host):
    """But a name or an address of IPv4."""
    assert "connect-src 'self'; base-uri" in _policy(f"http://{host}:8001")
    assert "connect-src 'self' https://localhost:8444; base-uri" in _policy("https://localhost:8444")


def test_health_tells_what_the_broker_holds(sparql):
    """200 while all is well; a load balancer may ask by HEAD."""
    health = sparql.health()

    assert health["status"] == "ok"
    assert {
        "uptime_s",
        "subscriptions",
        "units",
        "sockets",
        "waiting",
        "reading",
        "updates",
        "queries",
    } <= set(health)
    assert sparql.http.head("/health").status_code == 200
    assert sparql.http.head("/").status_code == 200


def test_the_standing_queries_are_told(sparql):
    """Each with how it is followed; those that differ in constants are one."""
    texts = [f"SELECT ?s {{ ?s <urn:told:p> <urn:told:{number}> }}" for number in range(3)]
    lines = []
    with contextlib.ExitStack() as stack:
        for text in texts:
            stream = stack.enter_context(
                sparql.http.stream(
                    "GET", "/subscribe", params={"query": text}, headers={"Accept": "text/event-stream"}
                )
            )
            lines.append(stream.iter_lines())  # which would close the stream if it were let go
            assert next(lines[-1])
        (unit,) = [one for one in sparql.http.get("/units").json()["units"] if "urn:told" in one["query"]]
    assert unit["query"] in texts
    assert unit["followed"] == "one pattern, no query needed"
    assert unit["cases"] == 3


def test_health_counts_updates_queries_and_failures(sparql):
    """Since the start."""
    before = sparql.health()
    sparql.update("INSERT DATA {}")
    sparql.query("ASK {}")
    sparql.try_update("nonsense")
    after = sparql.health()

    assert after["updates"] == before["updates"] + 1
    assert after["queries"] == before["queries"] + 1
    assert after["failed"] == before["failed"] + 1


def test_the_http_interface_is_described(sparql):
    """OpenAPI, of the part that FastAPI serves."""
    document = sparql.http.get("/openapi.json").json()

    assert document["info"]["title"] == "Triplewire"
    assert "/health" in document["paths"]
