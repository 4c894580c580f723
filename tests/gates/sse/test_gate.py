"""Subscriptions as server-sent events."""

from __future__ import annotations

import re
import threading
import time
from urllib.parse import quote

import httpx
import pytest
from support.events import EventStream
from support.raw import Raw
from support.sparql import Sparql
from support.subscriber import bag, fold, values

pytestmark = pytest.mark.xdist_group("gates-sse")

ALL = "SELECT ?s ?o { ?s <p> ?o }"
EVENTS = {"Accept": "text/event-stream"}
FORM, QUERY = "application/x-www-form-urlencoded", "application/sparql-query"


@pytest.fixture(scope="module")
def client(broker_with):
    """A client of a broker that sends a comment each 0.2 s, and whose answers may have three rows."""
    settings = "http.event_ping_s=0.2", "limits.answer_rows=3", "limits.resume_s=0.1"
    with Sparql(broker_with(*settings).http) as sparql:
        yield sparql


@pytest.fixture(autouse=True)
def empty(client):
    """Nothing is there, and nobody."""
    client.update("DROP ALL")
    client.wait_for_health(within_s=2, subscriptions=0, away=0, sockets=0)


def test_the_first_event_holds_the_first_results(client):
    """The notification as WebSocket clients get it, at once, under an id of spuid and sequence."""
    client.update("INSERT DATA { <a> <p> 'é' }")
    with EventStream(client.http, ALL, params={"alias": "mine"}) as stream:
        event = stream.next_event()

    assert stream.response.status_code == 200
    assert stream.response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert stream.response.headers["cache-control"] == "no-store"
    assert event.name == "message"
    assert event.id == f"{event.notification['spuid']}#0"
    assert re.fullmatch(r"sepa://subscription/[0-9a-f-]{36}#0", event.id)
    assert event.notification["alias"] == "mine"
    assert event.notification["sequence"] == 0
    assert values(event.notification["addedResults"]) == [{"s": "http://localhost/a", "o": "é"}]
    assert event.notification["removedResults"] == {"head": {"vars": ["s", "o"]}, "results": {"bindings": []}}


def test_later_events_hold_the_changes(client):
    """One for each update, in order; together they are the answer."""
    with EventStream(client.http, ALL) as stream:
        first = stream.next_event()
        for number in range(5):
            client.update(f"DELETE WHERE {{ <a> <p> ?o }}; INSERT DATA {{ <a> <p> {number} }}")
        events = [first, *(stream.next_event() for _ in range(5))]

    spuid = first.notification["spuid"]
    assert [event.id for event in events] == [f"{spuid}#{number}" for number in range(6)]
    assert fold([event.notification for event in events]) == bag(client.query(ALL).json())


def test_a_text_with_line_breaks_stays_one_event(client):
    """They are escaped in JSON."""
    client.update(r"INSERT DATA { <a> <p> 'one\ntwo\r\n\r\ndata: three\u2028' }")
    with EventStream(client.http, ALL) as stream:
        event = stream.next_event()

    assert values(event.notification["addedResults"])[0]["o"] == "one\ntwo\r\n\r\ndata: three\u2028"


@pytest.mark.parametrize(
    "request_",
    [
        {"data": {"query": ALL, "default-graph-uri": "http://ex/g"}},
        {"content": ALL, "params": {"default-graph-uri": "http://ex/g"}, "headers": {"Content-Type": QUERY}},
    ],
    ids=["form", "direct"],
)
def test_a_long_query_can_be_posted(client, request_):
    """By form and directly, with its dataset."""
    client.update("INSERT DATA { <a> <p> 'default' GRAPH <http://ex/g> { <a> <p> 'g' } }")
    with EventStream(client.http, ALL, "POST", **request_) as stream:
        event = stream.next_event()

    assert values(event.notification["addedResults"]) == [{"s": "http://localhost/a", "o": "g"}]


def test_the_dataset_can_be_named_in_the_url(client):
    """What happens elsewhere is not heard."""
    graphs = {"default-graph-uri": "http://ex/g", "named-graph-uri": "http://ex/h"}
    with EventStream(client.http, ALL, params=graphs) as stream:
        stream.next_event()
        client.update("INSERT DATA { <a> <p> 'default' }")
        client.update("INSERT DATA { GRAPH <http://ex/g> { <a> <p> 'g' } }")

        assert values(stream.next_event().notification["addedResults"])[0]["o"] == "g"


def test_comments_keep_a_silent_stream_open(client):
    """Each http.event_ping_s one; a proxy would close what says nothing."""
    with EventStream(client.http, ALL) as stream:
        stream.next_event()
        started = time.monotonic()
        comments = [stream.next().comment for _ in range(2)]

    assert comments == ["still here"] * 2
    assert 0.15 < time.monotonic() - started < 3


def test_a_client_that_leaves_ends_its_subscription(client):
    """Within a second; others hear on."""
    with EventStream(client.http, ALL) as staying:
        leaving = [EventStream(client.http, ALL) for _ in range(3)]
        client.wait_for_health(subscriptions=4)
        for stream in leaving:
            stream.next_event()
            stream.close()
        client.wait_for_health(within_s=1, subscriptions=1, sockets=1)

        staying.next_event()
        client.update("INSERT DATA { <a> <p> 1 }")
        assert staying.next_event().notification["sequence"] == 1


@pytest.mark.parametrize(
    ("method", "request_", "status", "says"),
    [
        ("GET", {"params": {"query": "SELECT"}}, 400, "Parsing failed"),
        ("GET", {"params": {"query": "DROP ALL"}}, 400, "this is an update"),
        ("GET", {}, 400, "query is missing"),
        ("GET", {"params": {"query": [ALL, ALL]}}, 400, "given 2 times"),
        ("GET", {"params": {"query": ALL, "alias": ["a", "b"]}}, 400, "alias is given 2 times"),
        ("GET", {"params": {"query": ALL, "default-graph-uri": "no iri"}}, 400, "not an absolute IRI"),
        ("POST", {"data": {"update": "DROP ALL"}}, 400, "query is missing"),
        (
            "POST",
            {"content": ALL, "headers": {"Content-Type": "text/plain"}},
            415,
            "application/sparql-query",
        ),
        ("PUT", {"params": {"query": ALL}}, 405, "not a way to subscribe"),
        ("HEAD", {"params": {"query": ALL}}, 405, None),
    ],
)
def test_what_is_wrong_at_the_start_is_an_error_of_http(client, method, request_, status, says):
    """So that a browser's EventSource does not ask for ever."""
    request_ = request_ | {"headers": EVENTS | request_.get("headers", {})}
    response = client.http.request(method, "/subscribe", **request_)

    assert response.status_code == status
    if says is not None:
        assert says in response.json()["error_description"]
        assert response.json()["status_code"] == status
    client.wait_for_health(within_s=1, subscriptions=0, sockets=0)


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "text/html,*/*;q=0.8"])
def test_without_its_media_type_there_is_no_stream(client, accept):
    """406 with a sentence: a client that does not know of streams would wait for the end of one."""
    request = client.http.build_request("GET", "/subscribe", params={"query": ALL})
    del request.headers["accept"]
    if accept is not None:
        request.headers["Accept"] = accept
    response = client.http.send(request)

    assert response.status_code == 406
    assert "Accept: text/event-stream" in response.json()["error_description"]


def test_a_subscription_that_fails_later_ends_its_stream(client):
    """An event of type error, and the end: nothing more would come."""
    with EventStream(client.http, ALL) as stream:
        stream.next_event()
        client.update("INSERT DATA { <a> <p> 1, 2, 3, 4 }")
        events = [event for event in stream if event.comment is None]

    assert [event.name for event in events] == ["error"]
    assert "limits.answer_rows" in (events[0].data or "")
    client.wait_for_health(within_s=1, subscriptions=0, sockets=0)


def test_a_client_that_gives_up_ends_its_subscription(client):
    """A time-out of its own is as good as a goodbye."""
    with pytest.raises(httpx.ReadTimeout):
        client.http.get("/subscribe", params={"query": ALL}, headers=EVENTS, timeout=0.05)

    client.wait_for_health(within_s=1, subscriptions=0, sockets=0)


def test_many_streams_hear_the_same_update(client):
    """Fifty of them, one evaluation."""
    streams = [EventStream(client.http, ALL) for _ in range(50)]
    for stream in streams:
        stream.next_event()
    assert client.health()["units"] == 1

    client.update("INSERT DATA { <a> <p> 1 }")
    assert [stream.next_event().notification["sequence"] for stream in streams] == [1] * 50
    for stream in streams:
        stream.close()


def test_a_stream_over_http_1_0_has_no_chunks(client):
    """Its end is that of the connection."""
    with Raw(str(client.http.base_url)) as raw:
        raw.send(f"GET /subscribe?query={quote(ALL)} HTTP/1.0\r\nAccept: text/event-stream\r\n\r\n")
        head = list(iter(raw.line, b"\r\n"))

        assert not any(line.lower().startswith(b"transfer-encoding") for line in head)
        assert raw.line().startswith(b"id: sepa://subscription/")
        assert raw.line().startswith(b'data: {"notification":')


def test_the_end_of_the_broker_is_the_end_of_the_stream(fresh_broker):
    """The last chunk is sent: to the client it is an end and not an error."""
    with Sparql(fresh_broker.http) as sparql, EventStream(sparql.http, ALL) as stream:
        stream.next_event()
        stopping = threading.Thread(target=fresh_broker.process.terminate)
        stopping.start()
        assert [event for event in stream if event.comment is None] == []
        stopping.join()

    assert fresh_broker.process.wait(10) == 0
    assert "Traceback" not in fresh_broker.log
    fresh_broker.stop()


# --- coming back ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["header", "parameter"])
def test_a_stream_that_comes_back_is_told_what_it_missed(sparql, how):
    """As EventSource does it, by the id of the last event; one event, and the next has the next number."""
    sparql.update("DROP ALL")
    with EventStream(sparql.http, ALL) as stream:
        last = stream.next_event()
        sparql.update("INSERT DATA { <a> <p> 1 }")
        stream.next_event()  # came, but let it be lost on the way
    sparql.wait_for_health(subscriptions=0, sockets=0)
    sparql.update("DELETE DATA { <a> <p> 1 }; INSERT DATA { <a> <p> 2, 3 }")
    sparql.update("DELETE DATA { <a> <p> 3 }")

    back = (
        {"headers": {"Last-Event-ID": last.id}} if how == "header" else {"params": {"last-event-id": last.id}}
    )
    with EventStream(sparql.http, ALL, **back) as stream:
        missed = stream.next_event()
        sparql.update("INSERT DATA { <b> <p> 4 }")
        more = stream.next_event()
    spuid = last.notification["spuid"]
    assert (missed.id, more.id) == (f"{spuid}#1", f"{spuid}#2")
    assert values(missed.notification["addedResults"]) == [{"s": "http://localhost/a", "o": "2"}]
    assert values(missed.notification["removedResults"]) == []
    assert values(more.notification["addedResults"]) == [{"s": "http://localhost/b", "o": "4"}]


@pytest.mark.parametrize(
    "last", ["", "nonsense", "sepa://subscription/1#0", "#", "#1", "x#-1", "x#" + "9" * 30, "x#\u0663"]
)
def test_an_id_that_is_not_known_begins_anew(sparql, last):
    """First results under another spuid."""
    with EventStream(sparql.http, ALL, params={"last-event-id": last}) as stream:
        assert stream.next_event().notification["sequence"] == 0


def test_a_stream_that_comes_back_for_another_query_begins_anew(sparql):
    """And the old subscription is no more."""
    with EventStream(sparql.http, ALL) as stream:
        last = stream.next_event()
    sparql.wait_for_health(subscriptions=0)
    before = sparql.health()["away"]
    with EventStream(sparql.http, "SELECT ?s { ?s <p> ?o }", headers={"Last-Event-ID": last.id}) as stream:
        first = stream.next_event()
        assert first.notification["sequence"] == 0
        assert first.notification["spuid"] != last.notification["spuid"]
        assert sparql.health()["away"] == before - 1


def test_a_stream_that_does_not_come_back_in_time_begins_anew(client):
    """After limits.resume_s nothing of it is left."""
    with EventStream(client.http, ALL) as stream:
        last = stream.next_event()
    client.wait_for_health(within_s=2, subscriptions=0, away=0, units=0)
    with EventStream(client.http, ALL, headers={"Last-Event-ID": last.id}) as stream:
        assert stream.next_event().notification["sequence"] == 0


def test_a_stream_can_be_taken_over_before_its_end_is_noticed(sparql):
    """The old connection is cut."""
    with EventStream(sparql.http, ALL) as old:
        last = old.next_event()
        with EventStream(sparql.http, ALL, headers={"Last-Event-ID": last.id}) as new:
            assert new.next_event().id == f"{last.notification['spuid']}#1"
            with pytest.raises(httpx.TransportError):
                list(old)
            sparql.wait_for_health(subscriptions=1, sockets=1)
