"""A tracker, a broker and relays, each a process of its own: one stream, for consumers and publishers at any of them."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pytest
from support.running import RunningBroker
from support.running_relay import RunningRelay, figures
from support.running_tracker import RunningTracker
from support.secured import SecuredBroker
from support.strict_consumer import StrictConsumer

from triplewire.clients.streams import AsyncStreamConsumer, StreamPublisher, StreamSettings, new_item

if TYPE_CHECKING:
    from collections.abc import Callable

QUICK = ("--set", "relay.linger_s=0.5")


@pytest.fixture(scope="module")
def tracked():
    running = RunningTracker.start("--set", "tracker.collect_s=0")
    yield running.http
    assert running.stop() == 0


@pytest.fixture
def relays_of(tracked):
    """Starts relays of the stream `news`, at a time; those that are there in the end must end well."""
    relays = []

    def start(*nodes, arguments=()):
        with ThreadPoolExecutor() as pool:
            given = ("--tracker", tracked, *QUICK, *arguments)
            relays.extend(pool.map(lambda node: RunningRelay.start(*given, "--node", node), nodes))
        return relays[-len(nodes) :]

    yield start
    for relay in relays:
        if relay.process.poll() is None:
            assert relay.stop() == 0, relay.log


@pytest.fixture
def broker_of(tracked):
    """Starts brokers of the stream `news`."""
    brokers = []

    def start(*arguments):
        overlay = (f"relay.trackers={tracked}", "relay.port=0", "streams.news.overlay=true")
        given = [part for setting in overlay for part in ("--set", setting)]
        brokers.append(RunningBroker.start(*given, *QUICK, *arguments))
        return brokers[-1]

    yield start
    for broker in brokers:
        assert broker.stop() == 0


def links_of(broker):
    (line,) = [line for line in broker.lines if line.startswith("links ")]
    return line.split()[1]


def item(text):
    return new_item("urn:test", "text/plain", text.encode())


def until(condition: Callable[[], object], timeout_s: float = 15):
    """Wait for it."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)


class Reader:
    """Our own consumer of one URL in a thread of its own: the bodies in `got`."""

    def __init__(self, url, **options):
        self.got = []
        self._url = url
        self._options = options
        self._loop = asyncio.new_event_loop()
        self._task = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(10)

    def _run(self):
        self._task = self._loop.create_task(self._follow())
        with contextlib.suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._task)
        self._loop.close()

    async def _follow(self):
        async with AsyncStreamConsumer(self._url, **self._options) as consumer:
            async for each in consumer:
                self.got.append(each.body.decode())


def met(publisher, *readers):
    """Publish until each reader has something; then what follows comes to all."""
    for number in itertools.count():
        if all(reader.got for reader in readers):
            break
        assert number < 300, "they don't find each other"
        publisher.publish(item("hello"))
        time.sleep(0.05)
    publisher.publish(item("begin"))
    until(lambda: all(reader.got[-1] == "begin" for reader in readers))
    for reader in readers:
        reader.got.clear()


class RawReader:
    """A socket that asks for a stream and reads on: the bytes of `data`, without the frames of HTTP 1.0."""

    def __init__(self, url):
        place = urlsplit(url)
        self.data = b""
        self._socket = socket.create_connection((place.hostname, place.port), timeout=10)
        self._socket.sendall(f"GET {place.path} HTTP/1.0\r\nHost: x\r\n\r\n".encode())
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._socket.close()

    def _run(self):
        with contextlib.suppress(OSError):
            while data := self._socket.recv(65536):
                self.data += data

    @property
    def got(self):
        """The bodies of the tests' items in it."""
        return [each.split(b"\r\n\r\n", 1)[1].decode() for each in self.data.split(b"Event-Id: ")[1:]]


def sorted_out(bodies, *publishers):
    """The bodies by the letter that each publisher begins with."""
    return [[body for body in bodies if body[0] == letter] for letter in publishers]


def test_one_stream_at_a_broker_and_at_relays(broker_of, relays_of, tracked):
    """Whoever publishes where, each consumer gets each item once, and those of one publisher in their order."""
    broker = broker_of("--set", "streams.news.store_graph=urn:news")
    relays = relays_of("r1", "r2", "r3")
    places = [f"{broker.streams}/news", *(f"{relay.streams}/news" for relay in relays)]
    assert links_of(broker).startswith("ws://127.0.0.1:")
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(Reader(url)) for url in places]
        readers.append(stack.enter_context(Reader(f"{tracked}/consume/news/compressed")))
        first, last = (stack.enter_context(StreamPublisher(url)) for url in (places[0], places[-1]))
        met(first, *readers)
        strict = stack.enter_context(StrictConsumer(f"{places[1]}/compressed", pace=0))
        raw = stack.enter_context(RawReader(f"{places[2]}/priority"))
        until(lambda: httpx.get(f"{relays[1].pages}/health").json()["streams"]["consumers"] == 2)
        until(lambda: httpx.get(f"{relays[0].pages}/health").json()["streams"]["consumers"] >= 2)

        def publish(publisher, letter):
            for number in range(100):
                publisher.publish(item(f"{letter}{number}"))

        threads = [threading.Thread(target=publish, args=each) for each in ((first, "a"), (last, "b"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        until(lambda: all(len(reader.got) == 200 for reader in readers))
        until(lambda: len(strict.items) == 200 and len(raw.got) == 200)
        expected = [[f"{letter}{number}" for number in range(100)] for letter in "ab"]
        bodies = [[each.body.decode() for each in strict.items], raw.got, *(each.got for each in readers)]
        for got in bodies:
            assert sorted_out(got, "a", "b") == expected
        told = httpx.get(f"{broker.http}/health").json()
        assert told["relay"]["gaps"] == 0
        assert told["streams"]["of"]["news"]["not_carried"] == 0
        assert figures(f"{broker.http}/metrics")["triplewire_relay_links"] == 3


def test_what_relays_publish_is_stored_at_a_broker(broker_of, relays_of):
    """As what is published there; it need not be followed for that."""
    broker, (relay,) = broker_of("--set", "streams.news.store_graph=urn:news"), relays_of("r")
    asked = {"query": "SELECT ?o { GRAPH <urn:news> { ?s <urn:p> ?o } }"}

    def stored():
        answer = httpx.get(f"{broker.http}/query", params=asked).json()
        return sorted(int(row["o"]["value"]) for row in answer["results"]["bindings"])

    with StreamPublisher(f"{relay.streams}/news") as publisher:
        for number in range(10):
            publisher.publish(new_item("urn:s", "text/turtle", f"<urn:s> <urn:p> {number} .".encode()))
    until(lambda: stored() == [*range(10)])


def test_a_relay_that_dies_takes_nothing_with_it(relays_of, tracked):
    """The others get every item while it does, and have links enough some seconds later."""
    relays = relays_of(*(f"mortal-{number}" for number in range(7)))
    victim = relays.pop(1)
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(Reader(f"{relay.streams}/news")) for relay in relays]
        stack.enter_context(RawReader(f"{victim.streams}/news/stream"))
        publisher = stack.enter_context(StreamPublisher(f"{relays[0].streams}/news"))
        met(publisher, *readers)
        for number in range(200):
            publisher.publish(item(f"a{number}"))
            if number == 80:
                victim.kill()
        until(lambda: all(len(reader.got) == 200 for reader in readers))
        for reader in readers:
            assert reader.got == [f"a{number}" for number in range(200)]

        def degrees():
            nodes = httpx.get(f"{tracked}/topology/news").json()["nodes"]
            return {name: len(node["neighbours"]) for name, node in nodes.items() if name[:6] == "mortal"}

        alive = {f"mortal-{number}" for number in (0, *range(2, 7))}
        until(lambda: degrees() == dict.fromkeys(alive, 4))


def test_who_follows_a_relay_that_falls_silent_goes_on_at_another(relays_of, tracked):
    """It stands still, its connections stay open: what it promised to say does not come."""
    promise = ("--set", "relay.sign_of_life_s=1", "--set", "streams.news.window_most_s=0")
    relays = {relay.streams: relay for relay in relays_of("silent-1", "silent-2", arguments=promise)}
    settings = StreamSettings(backoff_first_s=0.01, backoff_longest_s=0.1, tracker_s=2)
    with contextlib.ExitStack() as stack:
        reader = stack.enter_context(Reader(f"{tracked}/consume/news", settings=settings))

        def followed():
            return [at for at, relay in relays.items() if relay.figures()["triplewire_stream_consumers"] == 1]

        until(lambda: len(followed()) == 1)
        (silent,) = followed()
        (other,) = relays.keys() - {silent}
        publisher = stack.enter_context(StreamPublisher(f"{other}/news"))
        met(publisher, reader)
        for number in range(20):
            publisher.publish(item(f"a{number}"))
        until(lambda: len(reader.got) == 20)
        time.sleep(7)  # in which nothing comes but signs of life
        assert followed() == [silent]
        process = relays[silent].process
        process.send_signal(signal.SIGSTOP)
        stack.callback(process.send_signal, signal.SIGCONT)
        since = time.monotonic()
        for number in range(20, 40):
            publisher.publish(item(f"a{number}"))
        until(lambda: len(reader.got) == 40)
        assert time.monotonic() - since < 12
        assert reader.got == [f"a{number}" for number in range(40)]


def test_who_follows_nothing_hears_nothing(relays_of):
    """A relay whose consumers have gone is out of the stream after a moment, and in it again with the next one."""
    one, other, idle = relays_of("one", "other", "idle")
    with contextlib.ExitStack() as stack:
        reader = stack.enter_context(Reader(f"{other.streams}/news"))
        publisher = stack.enter_context(StreamPublisher(f"{one.streams}/news"))
        met(publisher, reader)
        publisher.publish(item("a"))
        until(lambda: reader.got == ["a"])
        told = idle.figures()
        assert told["triplewire_relay_data_received_bytes_total"] == 0
        assert told["triplewire_relay_links"] == told["triplewire_relay_streams"] == 0
        with Reader(f"{idle.streams}/news") as late:
            met(publisher, late)
        until(lambda: idle.figures()["triplewire_relay_streams"] == 0)
        before = idle.figures()["triplewire_relay_data_received_bytes_total"]
        assert before > 0
        for number in range(20):
            publisher.publish(item(f"b{number}"))
        until(lambda: reader.got[-1] == "b19")
        assert idle.figures()["triplewire_relay_data_received_bytes_total"] == before


def test_a_broker_with_workers(broker_of, relays_of):
    """They have copies of the stream, and publish into it."""
    broker, (relay,) = broker_of("--stream-workers", "2"), relays_of("r")
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(Reader(f"{place.streams}/news")) for place in (broker, broker, relay)]
        publishers = [
            stack.enter_context(StreamPublisher(f"{place.streams}/news")) for place in (broker, relay)
        ]
        met(publishers[0], *readers)
        for number in range(20):
            publishers[0].publish(item(f"a{number}"))
            publishers[1].publish(item(f"b{number}"))
        until(lambda: all(len(reader.got) == 40 for reader in readers))
        expected = [[f"{letter}{number}" for number in range(20)] for letter in "ab"]
        assert all(sorted_out(reader.got, "a", "b") == expected for reader in readers)

        def followers():
            return httpx.get(f"{broker.http}/health").json()["streams"]["of"]["news"]["followers"]

        until(lambda: followers() == 3)  # two, and the copies


def test_without_a_tracker_nothing_is_taken():
    """The publisher hears why, and can send it again."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        relay = RunningRelay.start("--tracker", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        try:
            body = b'{"Event-Id": "e1", "Source-Id": "s", "Syntax": "text/plain", "Body": "x"}'
            headers = {"Content-Type": "application/json"}
            answer = httpx.post(f"{relay.streams}/news/publish", content=body, headers=headers, timeout=30)
            assert answer.status_code == 503
            assert "tracker" in json.loads(answer.content)["error_description"]
            assert httpx.get(f"{relay.pages}/health").json()["streams"]["taken"] == 0
        finally:
            assert relay.stop() == 0


PERMISSIONS = """
[clients.relay-1]
scopes = ["subscribe", "publish"]
[clients.relay-2]
scopes = ["subscribe"]
[clients.sensor]
scopes = ["publish"]
[clients.display]
scopes = ["subscribe"]
[clients.stranger]
scopes = ["query"]
[clients.admin]
scopes = ["subscribe", "publish", "admin"]
"""


def test_where_everybody_has_to_say_who_they_are(tmp_path):
    """The broker gives tokens, to relays as well; links speak TLS; who may not publish at the tracker's word does not."""
    issuer = "https://broker.test"
    with contextlib.ExitStack() as stack:
        secured = stack.enter_context(
            SecuredBroker(tmp_path, f"security.issuer={issuer}", permissions=PERMISSIONS)
        )
        ca = str(secured.authority.ca)
        trusting = {
            "security.provider": issuer,
            "security.provider_jwks": f"{secured.running.https}/oauth/jwks",
            "security.provider_ca": ca,
            "security.permissions": str(secured.permissions),
        }
        given = [f"--set={path}={value}" for path, value in trusting.items()]
        tracker = RunningTracker.start("--secure", *given, "--set=tracker.collect_s=0")
        stack.callback(tracker.stop)
        certificate = (
            f"--set=tls.certificate={secured.authority.certificate}",
            f"--set=tls.key={secured.authority.key}",
            "--set=tls.stream_port=0",
        )

        def relay(identity):
            credentials = f"--set=relay.credentials={tmp_path / identity}.json"
            known = ("--identity", identity, "--url", secured.running.https, "--ca", ca, credentials)
            tracked = ("--tracker", tracker.http, "--secure", *given, *certificate, *known, *QUICK)
            started = RunningRelay.start(*tracked)
            stack.callback(started.stop)
            return started

        one, two = relay("relay-1"), relay("relay-2")
        assert one.links.startswith("wss://")

        def publish(at, text, headers):
            body = f'{{"Event-Id": "{text}", "Source-Id": "s", "Syntax": "text/plain", "Body": "{text}"}}'
            headers = headers | {"Content-Type": "application/json"}
            url = f"{at.streams}/news/publish"
            return httpx.post(url, content=body, headers=headers, timeout=30)

        sensor, display, stranger = (secured.headers(name) for name in ("sensor", "display", "stranger"))
        for headers, status in (({}, 401), (stranger, 403), (display, 403)):
            assert publish(one, "x", headers).status_code == status
        assert httpx.get(f"{two.streams}/news/stream").status_code == 401
        with Reader(f"{two.streams}/news", authorization=lambda: secured.token("display")) as reader:
            for number in itertools.count():
                assert publish(one, f"e{number}", sensor).status_code == 200
                if reader.got:
                    break
                assert number < 200
                time.sleep(0.05)
            refused = publish(two, "y", sensor)
            assert refused.status_code == 403
            assert "tracker" in refused.json()["error_description"]
        context = secured.authority.context()
        health = f"{one.pages}/health"
        assert httpx.get(health, verify=context).json() == {"status": "ok"}
        told = httpx.get(health, verify=context, headers=secured.headers("admin")).json()
        assert told["relay"]["published_items"] == number + 1
        assert httpx.get(f"{one.pages}/metrics", verify=context, headers=display).status_code == 403
