"""Connections: pings, bounds, fragments, slow and silent peers, plain HTTP, and the broker's end."""

from __future__ import annotations

import base64
import json
import os
import time

import httpx
import pytest
from support.raw import Raw
from support.sparql import Sparql
from support.subscriber import Subscriber
from websockets.exceptions import ConnectionClosed

pytestmark = pytest.mark.xdist_group("gates-websocket-server")

ALL = "SELECT ?s ?o { ?s <p> ?o }"
SUBSCRIBE = json.dumps({"subscribe": {"sparql": ALL}})


@pytest.fixture(scope="module")
def bounded(broker_with):
    """A broker with small limits."""
    return broker_with(
        "limits.message_bytes=1000",
        "limits.subscriptions_per_socket=2",
        "limits.subscriptions=3",
        "limits.sockets=4",
        "limits.outbox_messages=50",
        "limits.send_s=0.5",
        "websocket.open_timeout_s=2",
    )


@pytest.fixture(scope="module", params=["ws", "http"])
def bounded_url(request, bounded):
    """Either port of it."""
    return bounded.ws if request.param == "ws" else f"{bounded.http.replace('http', 'ws', 1)}/subscribe"


def handshake(url: str) -> Raw:
    """A WebSocket connection of which the test itself is the client: it answers no ping."""
    raw = Raw(url.replace("ws", "http", 1))
    key = base64.b64encode(os.urandom(16)).decode()
    raw.send("GET /subscribe HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n")
    raw.send(f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n")
    assert raw.line().startswith(b"HTTP/1.1 101")
    while raw.line() != b"\r\n":
        pass
    return raw


def frame(text: str, *, opcode: int = 1, fin: bool = True) -> bytes:
    """A masked frame (the mask is zero)."""
    data = text.encode()
    length = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
    return bytes([(0x80 if fin else 0) | opcode]) + length + b"\0\0\0\0" + data


def test_a_client_that_answers_no_ping_is_dropped(broker_with):
    """After websocket.ping_timeout_s, with its subscriptions; one that answers stays."""
    running = broker_with(
        "websocket.ping_interval_s=0.5", "websocket.ping_timeout_s=0.5", "websocket.close_timeout_s=0.2"
    )
    silent = handshake(running.ws)
    silent.send(frame(SUBSCRIBE))
    with Subscriber(running.ws) as answering, Sparql(running.http) as sparql, silent:
        answering.subscribe(ALL)
        sparql.wait_for_health(subscriptions=2)
        sparql.wait_for_health(within_s=4, subscriptions=1, sockets=1)

        sparql.update("INSERT DATA { <a> <p> 1 }")
        assert answering.notification()["sequence"] == 1


def test_a_message_may_come_in_fragments(broker, sparql):
    """RFC 6455, 5.4; also byte by byte, with a ping between."""
    with handshake(broker.ws) as raw:
        raw.send(frame(SUBSCRIBE[:10], fin=False), frame("beat", opcode=9))
        for byte in frame(SUBSCRIBE[10:20], opcode=0, fin=False):
            raw.send(bytes([byte]))
        raw.send(frame(SUBSCRIBE[20:], opcode=0))
        sparql.wait_for_health(subscriptions=1)
    with Subscriber(broker.ws) as client:
        client.socket.send(iter(SUBSCRIBE))
        assert client.notification()["sequence"] == 0


def say_too_much(client, parts):
    """1001 characters whole, or some more in fragments."""
    client.socket.send("x" * 1001 if parts == 1 else iter(["x" * 200] * parts))
    client.hear()


@pytest.mark.parametrize("parts", [1, 10])
def test_a_message_over_the_limit_closes_with_1009(bounded_url, parts):
    """limits.message_bytes, whole or in fragments; what is under it is read."""
    with Subscriber(bounded_url) as client:
        assert (
            client.exchange({"subscribe": {"sparql": ALL, "x": "x" * 900}})["notification"]["sequence"] == 0
        )
        with pytest.raises(ConnectionClosed) as closed:
            say_too_much(client, parts)
    assert closed.value.rcvd.code == 1009


def test_a_message_that_is_not_utf_8_closes_with_1007(broker):
    """RFC 6455, 8.1."""
    with Subscriber(broker.ws) as client:
        client.socket.send(b"\xff\xfe", text=True)
        with pytest.raises(ConnectionClosed) as closed:
            client.hear()
    assert closed.value.rcvd.code == 1007


def test_one_subscription_too_many_is_told_so(bounded, bounded_url):
    """On one socket and in all; an unsubscribe makes room. SEPA's status for it is 500 here."""
    with Subscriber(bounded_url) as first, Subscriber(bounded_url) as second:
        spuid = first.subscribe(ALL)["spuid"]
        first.subscribe(ALL)
        refused = first.exchange({"subscribe": {"sparql": ALL, "alias": "third"}})
        assert (refused["error"], refused["status_code"], refused["alias"]) == (
            "too_many_requests",
            500,
            "third",
        )
        assert "limits.subscriptions_per_socket" in refused["error_description"]

        second.subscribe(ALL)
        refused = second.exchange({"subscribe": {"sparql": ALL}})
        assert "(limits.subscriptions)" in refused["error_description"]
        first.exchange({"unsubscribe": {"spuid": spuid}})
        second.subscribe(ALL)
    with Sparql(bounded.http) as sparql:
        sparql.wait_for_health(subscriptions=0)


def test_one_socket_too_many_is_told_so(bounded, bounded_url):
    """1013, try again later; room again when one has left."""
    clients = [Subscriber(bounded_url) for _ in range(4)]
    with Subscriber(bounded_url) as fifth, pytest.raises(ConnectionClosed) as closed:
        fifth.hear()
    assert closed.value.rcvd.code == 1013
    assert "limits.sockets" in closed.value.rcvd.reason
    events = httpx.get(
        f"{bounded.http}/subscribe", params={"query": ALL}, headers={"Accept": "text/event-stream"}
    )
    assert (events.status_code, events.headers["retry-after"]) == (429, "1")
    assert "limits.sockets" in events.json()["error_description"]

    clients.pop().close()
    with Sparql(bounded.http) as sparql:
        sparql.wait_for_health(sockets=3)
    with Subscriber(bounded_url) as fifth:
        fifth.subscribe(ALL)
    for client in clients:
        client.close()


def test_a_subscriber_that_does_not_read_is_cut_and_harms_nobody(bounded, bounded_url):
    """Updates are not held up, and one that reads hears all of them."""
    text = "x" * 100_000
    with (
        handshake(bounded_url) as stalled,
        Subscriber(bounded_url) as reading,
        Sparql(bounded.http) as sparql,
    ):
        sparql.update("DROP ALL")
        stalled.send(frame(SUBSCRIBE))
        reading.subscribe(ALL)
        sparql.wait_for_health(subscriptions=2)
        for number in range(100):
            started = time.monotonic()
            sparql.update(f"DELETE WHERE {{ <s> <p> ?o }}; INSERT DATA {{ <s> <p> '{number}{text}' }}")
            assert time.monotonic() - started < 1
            assert reading.notification()["sequence"] == number + 1
        sparql.wait_for_health(within_s=5, subscriptions=1, sockets=1)
    assert "is slow and is closed" in bounded.log


def test_a_handshake_that_does_not_come_is_not_waited_for(bounded):
    """websocket.open_timeout_s."""
    url = bounded.ws.replace("ws", "http", 1)
    with Raw(url) as silent, Raw(url) as slow:
        slow.send("GET /subscribe HT")
        assert silent.rest() == slow.rest() == b""


@pytest.mark.parametrize(
    ("method", "body"), [("GET", None), ("POST", "ASK {}"), ("POST", "x" * 100_000), ("OPTIONS", None)]
)
def test_plain_http_on_the_websocket_port_gets_a_sentence(broker, method, body):
    """426: a producer that was given the wrong port is told which is right."""
    url = broker.ws.replace("ws", "http", 1)
    response = httpx.request(method, url, content=body, headers={"Content-Type": "application/sparql-query"})

    assert response.status_code == 426
    assert response.headers["upgrade"] == "websocket"
    assert "This port speaks WebSocket" in response.text
    assert "SPARQL over HTTP" in response.text


def test_plain_http_at_the_subscribe_path_is_told_of_both_ways(sparql):
    """On the HTTP port, where no event stream is accepted."""
    response = sparql.http.get("/subscribe", params={"query": ALL})

    assert response.status_code == 406
    assert "WebSocket" in response.json()["error_description"]


@pytest.mark.parametrize("key", ["", "not base64"])
def test_a_broken_handshake_is_refused(broker, key):
    """With a sentence, on both ports."""
    headers = f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
    for url in (broker.ws.replace("ws", "http", 1), broker.http):
        with Raw(url) as raw:
            raw.send(f"GET /subscribe HTTP/1.1\r\nHost: x\r\n{headers}\r\n")
            status, _, body = raw.response()
        assert status == 400
        assert b"Sec-WebSocket-Key" in body


def test_the_broker_says_goodbye_at_its_end(fresh_broker):
    """1001 on both ports, an ended event stream, status 0, and nothing of it in the log."""
    urls = [fresh_broker.ws, f"{fresh_broker.http.replace('http', 'ws', 1)}/subscribe"]
    clients = [Subscriber(url) for url in urls]
    for client in clients:
        client.subscribe(ALL)
    assert fresh_broker.alive
    log = fresh_broker.log_path
    fresh_broker.process.terminate()
    for client in clients:
        with pytest.raises(ConnectionClosed) as closed:
            client.hear()
        assert closed.value.rcvd.code == 1001
        client.close()

    assert fresh_broker.process.wait(10) == 0
    assert "ERROR" not in log.read_text()
    assert "Traceback" not in log.read_text()
    fresh_broker.stop()
