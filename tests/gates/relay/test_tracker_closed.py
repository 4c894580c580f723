"""A closed broker, a tracker that takes its tokens, and those who want something of it; all in processes of their own."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack

import httpx
import pytest
from support.authorities import World
from support.closed_overlay import GRAPH, ISSUER, PERMISSIONS, PREFIXES, ClosedSite
from support.running_tracker import RunningTracker
from support.secured import SecuredBroker

from triplewire.broker.rights import Scope

pytestmark = pytest.mark.xdist_group("tracker-closed")

CLOSED = (
    ("PUT", "/nodes/n"),
    ("DELETE", "/nodes/n"),
    ("GET", "/nodes/n/instructions?instance=i"),
    ("GET", "/nodes/n/origin?stream=news&chain=0123456789abcdef"),
    ("GET", "/consume/news/compressed"),
    ("HEAD", "/consume/news/compressed"),
    ("GET", "/streams"),
    ("GET", "/streams/news"),
    ("GET", "/topology"),
    ("GET", "/topology/news"),
    ("GET", "/latency?stream=news"),
    ("GET", "/metrics"),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ExitStack() as stack:
        yield ClosedSite(stack, tmp_path_factory.mktemp("closed") / "site")


def refused(answer, status, code):
    """The flat form, and RFC 6750's header."""
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error", "status_code", "error_description"}
    assert (answer.json()["error"], answer.json()["status_code"]) == (code, status)
    if code != "forbidden":
        assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(("method", "path"), CLOSED)
def test_a_stranger_gets_nothing(site, method, path):
    """Whatever is asked for, and before anything else of the request is looked at."""
    answer = site.ask(method, path)

    if method == "HEAD":
        assert (answer.status_code, "www-authenticate" in answer.headers) == (401, True)
    else:
        refused(answer, 401, "invalid_request")
    if method != "HEAD":
        refused(site.ask(method, path, headers={"Authorization": "Bearer x.y.z"}), 401, "invalid_request")


@pytest.mark.parametrize("path", ["/", "/health", "/keys"])
def test_what_is_open(site, path):
    """The page, whether it is well, and the public keys; strangers are told no more than that."""
    answer = site.ask("GET", path)

    assert answer.status_code == 200
    if path == "/health":
        assert answer.json() == {"status": "ok"}
        told = site.ask("GET", path, "admin").json()
        assert told["registry"]["streams"] == 3
        assert told["registry"]["problems"] == []


def test_a_client_without_the_scope_is_no_node(site):
    """403, as RFC 6750 has it."""
    refused(site.put("n", "sensor", "news"), 403, "insufficient_scope")
    refused(site.ask("GET", "/topology/news", "sensor"), 403, "insufficient_scope")
    refused(site.ask("GET", "/metrics", "relay"), 403, "insufficient_scope")
    assert site.ask("GET", "/metrics", "admin").status_code == 200


def test_a_node_is_where_its_client_may_be(site):
    """The others of its streams are refused, one by one, with the reason."""
    streams = site.put("eu-1", "relay", "news", "secrets", "traffic").raise_for_status().json()["streams"]

    assert {name: bool(one["refused"]) for name, one in streams.items()} == {
        "news": False,
        "secrets": True,
        "traffic": False,
    }
    assert "may not follow" in streams["secrets"]["refused"]
    other = site.put("o-1", "other", "unregistered").raise_for_status().json()["streams"]
    assert "registry" in other["unregistered"]["refused"]


def test_a_node_is_its_clients(site):
    """While it is alive, another client can neither speak for it nor listen in its place."""
    site.put("mine", "relay", "news").raise_for_status()

    refused(site.put("mine", "other", "traffic"), 403, "forbidden")
    refused(site.ask("GET", "/nodes/mine/instructions?instance=i", "other"), 403, "forbidden")
    refused(site.ask("DELETE", "/nodes/mine?instance=i", "other"), 403, "forbidden")
    assert site.ask("DELETE", "/nodes/mine?instance=i", "relay").status_code == 204
    site.put("mine", "other", "traffic").raise_for_status()
    assert site.ask("DELETE", "/nodes/mine?instance=i", "other").status_code == 204


def test_who_sees_which_overlay(site):
    """Those that one may follow; an administrator all."""
    site.put("eu-2", "relay", "news", "traffic").raise_for_status()
    for path in (
        "/topology/traffic",
        "/latency?stream=traffic",
        "/consume/traffic/stream",
        "/streams/traffic",
    ):
        refused(site.ask("GET", path, "reader"), 403, "forbidden")
    assert [one["stream"] for one in site.ask("GET", "/streams", "reader").json()["streams"]] == ["news"]
    assert set(site.ask("GET", "/topology", "reader").json()["streams"]) == {"news"}
    assert set(site.ask("GET", "/topology", "admin").json()["streams"]) == {"news", "traffic"}
    moved = site.ask("GET", "/consume/news/compressed?last-seen=x", "reader")
    assert moved.status_code == 307
    assert re.fullmatch(
        r"http://eu-[12]\.example:8001/news/compressed\?last-seen=x", moved.headers["location"]
    )


def test_any_tracker_tells_of_the_others(site):
    """As the registry has them, in order."""
    told = site.ask("GET", "/streams/news", "reader").json()

    assert told == {
        "stream": "news",
        "registered": True,
        "title": "News",
        "trackers": ["http://one", "http://two"],
        "degree": 0,
    }


def certificate(site, client, stream, node):
    """What a node of a client is given for its chain in a stream."""
    said = site.put(node, client, stream, is_publisher=True).raise_for_status().json()["streams"][stream]
    assert said["refused"] == ""
    return said["certificate"]


def test_a_publisher_that_is_taken_out_gets_no_further_certificate(site):
    """Of the registry, by one who may; who may not, changes nothing."""
    assert certificate(site, "relay", "news", "p-1")
    assert certificate(site, "other", "news", "p-2") == ""
    assert certificate(site, "other", "traffic", "p-3")
    taken = f"{PREFIXES} DELETE DATA {{ GRAPH <{GRAPH}> {{ <urn:s:news> tw:mayPublish 'relay' }} }}"
    assert site.broker.update(taken, site.broker.headers("relay")).status_code == 403
    assert certificate(site, "relay", "news", "p-1")
    assert site.broker.update(taken, site.broker.headers("keeper")).status_code == 200
    try:
        site.broker.wait(lambda: certificate(site, "relay", "news", "p-1") == "")
    finally:
        back = taken.replace("DELETE", "INSERT")
        assert site.broker.update(back, site.broker.headers("keeper")).status_code == 200
    site.broker.wait(lambda: certificate(site, "relay", "news", "p-1"))


def test_a_forged_token(site, tmp_path):
    """All in it is right but the key."""
    token = World(tmp_path).tokens.issue("relay", frozenset(Scope), 60).token
    forged = site.ask("GET", "/streams", headers={"Authorization": f"Bearer {token}"})
    refused(forged, 401, "invalid_grant")


def test_a_token_for_others(site):
    """A tracker with another audience does not take it."""
    running = site.started("security.provider_audience=others")
    with httpx.Client(base_url=running.http, timeout=20) as http:
        answer = http.get("/streams", headers=site.broker.headers("relay"))
        refused(answer, 401, "invalid_grant")
        assert "audience" in answer.json()["error_description"]


def test_a_token_ends(tmp_path_factory):
    """It is good for a second, with a second of leeway, and not for longer; the node is not refused before."""
    with ExitStack() as stack:
        directory = tmp_path_factory.mktemp("short")
        settings = (f"security.issuer={ISSUER}", "security.token_s=1")
        broker = stack.enter_context(SecuredBroker(directory, *settings, permissions=PERMISSIONS))
        given = (
            "security.enabled=true",
            f"security.issuer={ISSUER}",
            f"security.directory={directory / 'nothing-is-kept-here'}",
            f"security.provider_jwks={broker.running.https}/oauth/jwks",
            f"security.provider_ca={broker.authority.ca}",
            "security.provider_leeway_s=1",
        )
        running = RunningTracker.start(*(part for setting in given for part in ("--set", setting)))
        stack.callback(running.stop)
        http = stack.enter_context(
            httpx.Client(base_url=running.http, headers=broker.headers("other"), timeout=20)
        )
        began = time.monotonic()
        assert http.get("/streams").status_code == 200
        while (answer := http.get("/streams")).status_code == 200:
            assert time.monotonic() < began + 10
            time.sleep(0.05)
        refused(answer, 401, "invalid_grant")
        assert "expired" in answer.json()["error_description"]
        assert not (directory / "nothing-is-kept-here").exists()
