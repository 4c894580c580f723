"""Streams of real brokers, over real sockets: by subscription, into the store, filtered, relayed, kept, guarded."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time

import httpx
import pytest
from support.certificates import LocalAuthority
from support.running import RunningBroker
from support.secured import SecuredBroker
from support.strict_consumer import StrictConsumer
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import Item, encode_item
from triplewire.clients.streams import StreamPublisher, new_item
from triplewire.clients.streams.consumer import StreamConsumer

READING = "@prefix sosa: <http://www.w3.org/ns/sosa/> . <urn:o{n}> sosa:madeBySensor <urn:s1> ; sosa:hasSimpleResult {n} ."


def reading(number: int, **fields: str) -> Item:
    return Item(f"e{number}", "s1", "text/turtle", READING.format(n=number).encode(), **fields)


def publish(url: str, *items: Item, **request) -> httpx.Response:
    headers = {"Content-Type": "application/ztreamy-event"} | request.pop("headers", {})
    return httpx.post(f"{url}/publish", content=b"".join(map(encode_item, items)), headers=headers, **request)


def kept(url: str, **parameters: str) -> list[Item]:
    """What the stream keeps and passes these filters."""
    asked = {"past-events-limit": "1000", "non-blocking": "1"} | parameters
    answer = httpx.get(f"{url}/long-polling", params=asked, timeout=10)
    assert answer.status_code == 200, answer.text
    return ItemReader().feed(answer.content) if answer.content else []


def ids(items: list[Item]) -> list[str]:
    return [each.event_id for each in items]


def until(condition, within_s: float = 10.0):
    """Wait for it; what it came to."""
    deadline = time.monotonic() + within_s
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)
    return found


@contextlib.contextmanager
def broker_of(*settings: str, arguments: tuple[str, ...] = ()):
    running = RunningBroker.start(*arguments, *(part for each in settings for part in ("--set", each)))
    try:
        yield running
        assert running.stop() == 0
    finally:
        if running.alive:
            running.kill()


class Followed:
    """A consumer on a thread, and what it has got."""

    def __init__(self, url: str, query: str = "", **headers: str) -> None:
        self.items: list[Item] = []
        self._stop = threading.Event()
        self._client = httpx.Client(timeout=10)
        request = self._client.build_request(
            "GET", f"{url}?{query}" if query else url, headers={"Accept-Encoding": "identity"} | headers
        )
        self.response = self._client.send(request, stream=True)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        reader = ItemReader()
        with contextlib.suppress(httpx.HTTPError):
            for data in self.response.iter_raw():
                self.items += [each for each in reader.feed(data) if each.command is None]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        connection = self.response.extensions["network_stream"].get_extra_info("socket")
        with contextlib.suppress(OSError):
            connection.shutdown(2)
        self._thread.join(10)
        self.response.close()
        self._client.close()


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_stream_out_of_the_box(workers):
    """Announced, listed, published into, followed by our client, filtered in the URL; by workers the same."""
    with broker_of(arguments=("--stream-workers", workers)) as broker:
        assert f"streams    {broker.streams}/   (events)" in broker.lines
        url = f"{broker.streams}/events"
        alarms = "event-type=alarm&triple=*+%3Chttp%3A%2F%2Fwww.w3.org%2Fns%2Fsosa%2FhasSimpleResult%3E+*"
        with Followed(f"{url}/stream", alarms) as some, StreamConsumer(url) as consumer:
            assert some.response.headers["content-type"] == "application/ztreamy-stream"
            got: list[Item] = []

            def follow() -> None:
                for each in consumer:
                    got.append(each)
                    if len(got) == 3:
                        return

            thread = threading.Thread(target=follow)
            thread.start()
            until(lambda: httpx.get(f"{broker.http}/health").json()["streams"]["consumers"] == 2)
            plain = Item("e3", "s1", "text/plain", b"x", event_type="alarm")
            assert publish(url, reading(1), reading(2, event_type="alarm"), plain).status_code == 200
            thread.join(10)
            assert ids(got) == ["e1", "e2", "e3"]
            assert until(lambda: ids(some.items)) == ["e2"]
        assert ids(kept(url, ask="ASK { ?s ?p ?v FILTER(?v > 1) }")) == ["e2"]
        (listed,) = httpx.get(f"{broker.streams}/streams").json()["dcat:dataset"]
        assert listed["sosa:madeBySensor"] == [{"@type": "sosa:Sensor", "dct:identifier": "s1"}]
        refused = httpx.get(f"{url}/stream", params={"ask": "SELECT * { ?s ?p ?o }"})
        assert (refused.status_code, refused.json()["status_code"]) == (400, 400)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_stream_over_websocket(workers):
    """As a page follows it: filtered, from where it was on; an orderly end is told by 1001."""
    broker = RunningBroker.start("--stream-workers", workers)
    try:
        url = f"{broker.streams}/events"
        assert publish(url, reading(1), reading(2, event_type="alarm")).status_code == 200
        page = url.replace("http", "ws")
        with (
            connect(f"{page}/stream?last-seen=e1", proxy=None) as all_of_it,
            connect(
                f"{page}/priority?event-type=alarm", subprotocols=["ztreamy-stream"], proxy=None
            ) as alarms,
        ):
            assert json.loads(all_of_it.recv(10))["Event-Id"] == "e2"
            until(lambda: httpx.get(f"{broker.http}/health").json()["streams"]["consumers"] == 2)
            assert publish(url, reading(3), reading(4, event_type="alarm")).status_code == 200
            lines = all_of_it.recv(10).splitlines()
            assert [json.loads(line)["Event-Id"] for line in lines] == ["e3", "e4"]
            assert ids(ItemReader().feed(alarms.recv(10))) == ["e4"]
            assert broker.stop() == 0
            for socket in (all_of_it, alarms):
                with pytest.raises(ConnectionClosed) as ended:
                    socket.recv(10)
                assert ended.value.rcvd.code == 1001
    finally:
        if broker.alive:
            broker.kill()


def test_streams_made_of_each_other():
    """Join, filter, by a user's own filter; into the store, from the store: an item becomes a notification."""
    settings = (
        "streams.events.store_graph=http://localhost/readings",
        "streams.more.kind=publish",
        "streams.both.kind=join",
        "streams.both.of=events,more",
        "streams.alarms.kind=filter",
        "streams.alarms.of=both",
        "streams.alarms.only=event-type=alarm",
        "streams.high.kind=subscription",
        "streams.high.query=SELECT ?o ?v { GRAPH <http://localhost/readings> { ?o "
        "<http://www.w3.org/ns/sosa/hasSimpleResult> ?v FILTER(?v > 20) } }",
    )
    with broker_of(*settings) as broker:
        base = broker.streams
        assert publish(f"{base}/events", reading(1), reading(30, event_type="alarm")).status_code == 200
        assert publish(f"{base}/more", reading(40, event_type="alarm")).status_code == 200
        assert publish(f"{base}/alarms", reading(50)).status_code == 403
        until(lambda: len(kept(f"{base}/both")) == 3)
        until(lambda: sorted(ids(kept(f"{base}/alarms"))) == ["e30", "e40"])
        until(lambda: len(kept(f"{base}/high")) >= 2)
        high = kept(f"{base}/high")
        assert [each.event_type for each in high] == ["first", "added"]
        told = json.loads(high[1].body)["notification"]["addedResults"]["results"]["bindings"]
        assert [row["v"]["value"] for row in told] == ["30"]
        found = httpx.get(
            f"{broker.http}/query",
            params={"query": "SELECT (COUNT(*) AS ?n) { GRAPH <http://localhost/readings> { ?s ?p ?o } }"},
        ).json()
        assert found["results"]["bindings"][0]["n"]["value"] == "4"
        figures = httpx.get(f"{broker.http}/metrics").text
        assert re.search(r"^triplewire_stream_items_stored_total 2\.0$", figures, re.MULTILINE)
        assert re.search(r"^triplewire_streams 5\.0$", figures, re.MULTILINE)


def test_two_hops_add_no_window():
    """Three brokers in a row, whose windows are 2 s: what is at the first is at the third at once, and once."""
    slow = ("streams.events.window_s=2", "streams.events.window_most_s=2")
    relay = ("streams.events.kind=relay",)
    with (
        broker_of(*slow) as first,
        broker_of(*slow, *relay, f"streams.events.url={first.streams}/events") as second,
        broker_of(*slow, *relay, f"streams.events.url={second.streams}/events") as third,
        Followed(f"{third.streams}/events/priority") as end,
    ):
        until(lambda: all(_is_followed(each.http) for each in (first, second)))
        publish(f"{first.streams}/events", reading(0))
        until(lambda: ids(end.items) == ["e0"])
        delays = []
        for number in range(1, 11):
            began = time.perf_counter()
            assert publish(f"{first.streams}/events", reading(number)).status_code == 200
            until(lambda number=number: len(end.items) == number + 1)
            delays.append(time.perf_counter() - began)
        assert ids(end.items) == [f"e{number}" for number in range(11)]
        assert len(set(end.items[-1].aggregator_ids)) == 3
        assert sorted(delays)[5] < 0.5, "no window's 2 s is in it"


def _is_followed(http: str, **request) -> bool:
    """Whether a relay is there: what comes before that it does not ask for."""
    return httpx.get(f"{http}/health", **request).json()["streams"]["consumers"] > 0


def test_a_relay_survives_its_source_and_itself(tmp_path):
    """The source is killed and begins again, what it keeps is still there; the relay too; nothing is lost or twice."""
    source_data, relay_data = (("--data", str(tmp_path / name)) for name in ("source", "relay"))
    keep = ("--set", "streams.events.keep=true")
    source = RunningBroker.start(*source_data, *keep, memory=False)
    port = source.streams.rpartition(":")[2]
    settings = (
        *keep,
        "--set",
        "streams.events.kind=relay",
        "--set",
        f"streams.events.url={source.streams}/events",
    )
    relay = RunningBroker.start(*relay_data, *settings, memory=False)
    try:
        publish(f"{source.streams}/events", reading(1), reading(2))
        until(lambda: len(kept(f"{relay.streams}/events")) == 2)
        source.kill()
        source = RunningBroker.start(*source_data, *keep, "--set", f"stream.port={port}", memory=False)
        publish(f"{source.streams}/events", reading(3))
        until(lambda: len(kept(f"{relay.streams}/events")) == 3, 20)
        relay.kill()
        publish(f"{source.streams}/events", reading(4))
        relay = RunningBroker.start(*relay_data, *settings, memory=False)
        until(lambda: len(kept(f"{relay.streams}/events")) == 4, 20)
        assert ids(kept(f"{relay.streams}/events")) == ["e1", "e2", "e3", "e4"]
        assert [relay.stop(), source.stop()] == [0, 0]
    finally:
        for each in (relay, source):
            if each.alive:
                each.kill()


PERMISSIONS = """
[clients.sensor]
scopes = ["publish"]
publish = ["events"]
[clients.display]
scopes = ["subscribe"]
follow = ["alarms"]
[clients.admin]
scopes = ["publish", "subscribe", "admin"]
"""


def test_who_may_publish_and_follow(tmp_path):
    """Tokens of the right scope, for streams that are named; the directory shows no others; strangers get nothing."""
    streams = (
        "streams.alarms.kind=filter",
        "streams.alarms.of=events",
        "streams.alarms.only=event-type=alarm",
    )
    with SecuredBroker(tmp_path, *streams, permissions=PERMISSIONS) as secured:
        base = secured.running.streams
        sensor, display, admin = (secured.headers(name) for name in ("sensor", "display", "admin"))
        item = reading(1, event_type="alarm")
        assert publish(f"{base}/events", item).status_code == 401
        assert publish(f"{base}/events", item, headers=display).status_code == 403
        assert publish(f"{base}/alarms", item, headers=sensor).status_code == 403
        assert publish(f"{base}/events", item, headers=sensor).status_code == 200

        def read(name, headers):
            asked = {"past-events-limit": "9", "non-blocking": "1"}
            return httpx.get(f"{base}/{name}/long-polling", params=asked, headers=headers)

        until(lambda: b"Event-Id: e1" in read("alarms", display).content)
        assert [read(name, display).status_code for name in ("events", "nothing")] == [403, 403]
        assert read("events", sensor).status_code == 403
        assert read("events", {}).status_code == 401

        def listed(headers, client=None, url=f"{base}/streams"):
            answer = (client or httpx).get(url, headers=headers)
            return (
                [each["@id"] for each in answer.json()["dcat:dataset"]]
                if answer.is_success
                else answer.status_code
            )

        over_tls = secured.running.streams_tls  # who asks over TLS is told where TLS is spoken
        for client, url, at in ((None, f"{base}/streams", base), (secured.http, "/streams", over_tls)):
            assert listed(display, client, url) == [f"{at}/alarms"]
            assert listed(admin, client, url) == [f"{at}/alarms", f"{at}/events"]
            assert listed(sensor, client, url) == 403
            assert listed({}, client, url) == 401

        wanted = {"name": "copy", "kind": "join", "of": ["events"]}
        assert secured.http.post("/streams", json=wanted, headers=display).status_code == 403
        assert secured.http.post("/streams", json=wanted).status_code == 401
        assert secured.http.post("/streams", json=wanted, headers=admin).status_code == 201
        assert listed(admin) == [f"{base}/alarms", f"{base}/copy", f"{base}/events"]
        assert secured.http.delete("/streams/copy", headers=display).status_code in {401, 403}
        assert secured.http.delete("/streams/copy", headers=admin).status_code == 204
        socket = f"{base.replace('http', 'ws')}/alarms/stream?last-seen=none"
        token = display["Authorization"].partition(" ")[2]
        with connect(f"{socket}&access_token={token}", proxy=None) as page:
            assert json.loads(page.recv(10))["Event-Id"] == "e1"
        for refused, headers in ((socket, sensor), (socket, {}), (f"{socket}&access_token={token}x", {})):
            with pytest.raises(InvalidStatus):
                connect(refused, additional_headers=headers, proxy=None)
        # the same over TLS
        context = secured.authority.context()
        answer = publish(f"{secured.running.streams_tls}/events", reading(2), headers=sensor, verify=context)
        assert answer.status_code == 200


def test_streams_that_come_and_go_are_known_to_workers():
    """Made at run time, followed at any worker, and ended: then the response ends."""
    with broker_of(arguments=("--stream-workers", "2")) as broker:
        made = httpx.post(f"{broker.http}/streams", json={"name": "copy", "kind": "join", "of": ["events"]})
        assert made.status_code == 201
        url = f"{broker.streams}/copy"
        until(lambda: _there(url))
        with Followed(f"{url}/stream") as followed:
            publish(f"{broker.streams}/events", reading(1))
            until(lambda: ids(followed.items) == ["e1"])
            assert httpx.delete(f"{broker.http}/streams/copy").status_code == 204
            until(lambda: not followed._thread.is_alive())
        until(lambda: not _there(url))


def _there(url: str) -> bool:
    answer = httpx.get(f"{url}/long-polling", params={"past-events-limit": "1", "non-blocking": "1"})
    return answer.status_code == 200


def test_the_stream_port_over_tls(tmp_path):
    """With the certificate of the others; the plain port is there as well."""
    authority = LocalAuthority(tmp_path)
    running = RunningBroker.start(*authority.settings())
    try:
        assert running.streams_tls.startswith("https://127.0.0.1:")
        url = f"{running.streams_tls}/events"
        context = authority.context()
        assert publish(url, reading(1), verify=context).status_code == 200
        assert ids(kept(f"{running.streams}/events")) == ["e1"]
        for directory, place in (
            (f"{running.streams_tls}/streams", running.streams_tls),
            (f"{running.https}/streams", running.streams_tls),
            (f"{running.http}/streams", running.streams),
        ):
            listed = httpx.get(directory, headers={"Accept": "application/ld+json"}, verify=context)
            assert listed.json()["dcat:dataset"][0]["@id"] == f"{place}/events"
        policy = httpx.get(running.https, verify=context).headers["content-security-policy"]
        assert f"connect-src 'self' {running.streams_tls};" in policy
        with pytest.raises(httpx.ConnectError):
            publish(url, reading(2))
        assert running.stop() == 0
    finally:
        if running.alive:
            running.kill()


def test_a_publisher_that_is_faster_than_the_store_waits():
    """It is refused with 503 and comes again; in the end all is stored, and nothing twice."""
    with broker_of(
        "streams.events.store_graph=http://localhost/g", "streams.events.history_items=200"
    ) as broker:
        url, refused = f"{broker.streams}/events", 0
        with httpx.Client() as client:
            for start in range(0, 2000, 50):
                items = b"".join(encode_item(reading(number)) for number in range(start, start + 50))
                while True:
                    headers = {"Content-Type": "application/ztreamy-event"}
                    answer = client.post(f"{url}/publish", content=items, headers=headers)
                    if answer.status_code == 200:
                        break
                    assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
                    refused += 1
                    time.sleep(0.01)
        told = until(
            lambda: (
                (found := httpx.get(f"{broker.http}/health").json()["streams"])["stored"] == 2000 and found
            )
        )
        assert (told["store_failed"], told["store_behind"]) == (0, 0)


def test_a_relay_has_an_identity_where_it_must(tmp_path):
    """It registers there, gets its tokens, and believes the authority that it is told; over TLS."""
    (tmp_path / "there").mkdir()
    permissions = PERMISSIONS + '[clients.relay]\nscopes = ["subscribe"]\nfollow = ["events"]\n'
    with SecuredBroker(tmp_path / "there", permissions=permissions) as secured:
        settings = (
            "streams.events.kind=relay",
            f"streams.events.url={secured.running.streams_tls}/events",
            f"streams.events.login={secured.running.https}",
            "streams.events.identity=relay",
            f"streams.events.credentials={tmp_path / 'credentials.json'}",
            f"streams.events.ca={secured.authority.ca}",
        )
        with broker_of(*settings) as broker:
            admin = secured.headers("admin")
            until(lambda: _is_followed(secured.running.http, headers=admin))
            sent = publish(f"{secured.running.streams}/events", reading(1), headers=secured.headers("sensor"))
            assert sent.status_code == 200
            assert until(lambda: ids(kept(f"{broker.streams}/events"))) == ["e1"]
            assert httpx.get(f"{broker.http}/health").json()["streams"]["of"]["events"]["trouble"] == ""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_an_orderly_end_sends_nobody_away_for_good(workers):
    """Whoever comes back before the port is closed is told 503, as published clients never come back after a 404."""
    broker = RunningBroker.start("--stream-workers", workers)
    with contextlib.ExitStack() as stack:
        consumers = [
            stack.enter_context(StrictConsumer(f"{broker.streams}/events/compressed", pace=0))
            for _ in range(10)
        ]
        with StreamPublisher(f"{broker.streams}/events") as publisher:
            publisher.publish(new_item("s", "text/plain", b"last"))
        for consumer in consumers:
            consumer.until(1)
        assert broker.stop() == 0
        assert [consumer.gave_up for consumer in consumers] == [None] * 10


def test_a_body_that_would_end_its_readers_is_refused():
    """And what came before it on the same request is taken where items are taken one by one."""
    broker = RunningBroker.start()
    try:
        good, bad = (new_item("s", "text/n3", body) for body in (b"<urn:a> <urn:b> 1 .", b"<urn:a> nonsense"))
        body = encode_item(good) + encode_item(bad)
        for access, media, taken in (("publish", "ztreamy-event", 0), ("publish-cont", "ztreamy-stream", 1)):
            answer = httpx.post(
                f"{broker.streams}/events/{access}",
                content=body,
                headers={"Content-Type": f"application/{media}"},
            )
            assert (answer.status_code, "body" in answer.text) == (400, True)
            assert httpx.get(f"{broker.http}/health").json()["streams"]["taken"] == taken
    finally:
        broker.stop()
