"""Clients that are slow, silent, stopped, cut off or very many: the broker keeps nothing of them and serves the rest."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from stress.peers import (
    Listener,
    Publisher,
    Watched,
    close_all,
    event_request,
    fold,
    handshake,
    open_listeners,
    plug,
    read_until,
    reset,
    room_for,
    subscribe_frame,
    text_frame,
    until,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.running import RunningBroker

pytestmark = [pytest.mark.xdist_group("stress-endurance")]

WATCHED = "SELECT ?v WHERE { <urn:watched> <urn:v> ?v }"


def write(value: str) -> str:
    """An update after which the watched thing has another value."""
    return (
        f"DELETE {{ ?s <urn:v> ?old }} INSERT {{ ?s <urn:v> '{value}' }} "
        "WHERE { BIND(<urn:watched> AS ?s) OPTIONAL { ?s <urn:v> ?old } }"
    )


def http_side(broker: RunningBroker) -> str:
    """The subscribe URL of the HTTP port, for WebSockets."""
    return f"{broker.http.replace('http', 'ws', 1)}/subscribe"


async def in_threads(count: int, work: Callable[[], None], *, at_once: int = 20) -> None:
    """Do blocking work `count` times."""
    gate = asyncio.Semaphore(at_once)

    async def one() -> None:
        async with gate:
            await asyncio.to_thread(work)

    await asyncio.gather(*(one() for _ in range(count)))


# Those that do not read.


def is_readable(plugged: socket.socket) -> bool:
    """Whether something has come, or the end; unlike select() for descriptors of any number."""
    waiting = select.poll()
    waiting.register(plugged, select.POLLIN)
    return bool(waiting.poll(0))


@pytest.mark.slow
async def test_readers_that_stall_are_cut_and_harm_nobody(start: Callable[..., RunningBroker]) -> None:
    """15 that never read, 10 that do: the 15 are cut within bounded memory, the 10 miss nothing and do not wait."""
    broker = start("limits.outbox_bytes=1000000", "limits.send_s=3")
    watched = Watched(broker)
    async with Publisher(broker) as publisher:
        listeners = await open_listeners(broker.ws, 10)
        for listener in listeners:
            await listener.subscribe(WATCHED)
        stalled = []
        for url, opening in [(broker.ws, True), (http_side(broker), True), (broker.http, False)] * 5:
            plugged = plug(url, receive_buffer=4096)
            if opening:
                plugged.sendall(handshake(url))
                read_until(plugged, b"\r\n\r\n")
                plugged.sendall(subscribe_frame(WATCHED))
            else:
                plugged.sendall(event_request(broker.http, WATCHED))
            stalled.append(plugged)
        await publisher.holds(subscriptions=25, sockets=25)

        before, most, delays = watched.rss, 0, []
        text = "x" * 20_000
        for n in range(400):  # 8 MB for each: more than the system's buffers and the outbox take
            posted = time.monotonic()
            await publisher.update(write(f"{n} {text}"))
            await listeners[0].hears(n + 2)
            delays.append(time.monotonic() - posted)
            most = max(most, watched.rss - before)
        await asyncio.gather(*(listener.hears(401) for listener in listeners))
        now = await publisher.rows(WATCHED)
        assert all(list(fold(listener.heard).values()) == [now] for listener in listeners)
        await publisher.holds(subscriptions=10, sockets=10)
        delays.sort()
        print(f"stalled readers: rss +{most / 1e6:.0f} MB, others' p99 {delays[395] * 1000:.1f} ms")
        # 15 outboxes of 1 MB, a message in each transport, and what encoding needs meanwhile.
        assert most < 80_000_000
        assert delays[395] < 1.0
        for plugged in stalled:
            plugged.close()
        await close_all(listeners)
        await publisher.holds(subscriptions=0, sockets=0)


@pytest.fixture
def bystander() -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts a subscriber in a process of its own, which can be stopped as a whole."""
    program = """if True:
        import sys
        from websockets.sync.client import connect
        with connect(sys.argv[1], ping_interval=None, proxy=None) as socket:
            socket.send(sys.argv[2])
            for message in socket:
                print("heard", flush=True)
    """
    started: list[subprocess.Popen[str]] = []

    def starter(url: str) -> subprocess.Popen[str]:
        subscribe = json.dumps({"subscribe": {"sparql": WATCHED}})
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", program, url, subscribe],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "heard\n"
        return process

    yield starter
    for process in started:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


async def test_a_stopped_client_is_gone_within_the_ping_timeout(
    start: Callable[..., RunningBroker], bystander: Callable[[str], subprocess.Popen[str]]
) -> None:
    """A process that is stopped answers no ping, on either port: it is dropped, and one that lives is not."""
    broker = start("websocket.ping_interval_s=1", "websocket.ping_timeout_s=2", "websocket.close_timeout_s=1")
    descriptors = Watched(broker)
    async with Publisher(broker) as publisher, await Listener.open(broker.ws) as living:
        await living.subscribe(WATCHED)
        await publisher.health()
        before = descriptors.descriptors
        stopped = [await asyncio.to_thread(bystander, url) for url in (broker.ws, http_side(broker))]
        await publisher.holds(subscriptions=3, sockets=3)
        for process in stopped:
            os.kill(process.pid, signal.SIGSTOP)
        began = time.monotonic()
        await publisher.holds(timeout_s=15, subscriptions=1, sockets=1)
        took = time.monotonic() - began
        assert 1.0 < took < 10.0
        await descriptors.comes_back_to(before)
        await publisher.update(write("after"))
        await living.hears(2)


async def test_an_idle_client_stays_and_hears_the_next_event(start: Callable[..., RunningBroker]) -> None:
    """Over many ping intervals without a word of its own, a subscriber on each port and an event stream stay."""
    broker = start(
        "websocket.ping_interval_s=0.2",
        "websocket.ping_timeout_s=1",
        "http.event_ping_s=0.2",
        "http.keep_alive_s=1",
        "http.header_timeout_s=1",
        "http.body_timeout_s=1",
        "websocket.open_timeout_s=1",
    )
    async with Publisher(broker) as publisher:
        listeners = [await Listener.open(url) for url in (broker.ws, http_side(broker))]
        for listener in listeners:
            await listener.subscribe(WATCHED)
        with plug(broker.http) as stream:
            stream.sendall(event_request(broker.http, WATCHED))
            await asyncio.to_thread(read_until, stream, b'"sequence":0')
            await asyncio.sleep(4)
            await publisher.holds(subscriptions=3, sockets=3)
            await publisher.update(write("at last"))
            heard = await asyncio.to_thread(read_until, stream, b'"sequence":1')
        assert heard.count(b"\n\n") > 5  # the comments that kept it open
        for listener in listeners:
            await listener.hears(2)
        await close_all(listeners)
        await publisher.holds(subscriptions=0, sockets=0)


# Those that vanish.


async def test_a_client_cut_off_in_the_middle_of_a_message(start: Callable[..., RunningBroker]) -> None:
    """RST inside a frame that it sends, or one that it receives, ends that client and nothing else."""
    broker = start()
    watched = Watched(broker)
    async with Publisher(broker) as publisher, await Listener.open(broker.ws) as living:
        await living.subscribe(WATCHED)
        await publisher.health()
        before = watched.descriptors
        for url in (broker.ws, http_side(broker)):
            sending = plug(url)
            sending.sendall(handshake(url))
            read_until(sending, b"\r\n\r\n")
            sending.sendall(text_frame("x" * 100_000)[:5_000])
            receiving = plug(url, receive_buffer=4096)
            receiving.sendall(handshake(url))
            read_until(receiving, b"\r\n\r\n")
            receiving.sendall(subscribe_frame(WATCHED))
            read_until(receiving, b'"sequence":0')
            await publisher.holds(subscriptions=2, sockets=3)
            await publisher.update(write("x" * 3_000_000))
            assert len(await asyncio.to_thread(receiving.recv, 1000)) > 0
            reset(sending)
            reset(receiving)
            await publisher.holds(subscriptions=1, sockets=1)
            await publisher.update(write("y"))
        with plug(broker.http) as posting:
            posting.sendall(
                b"POST /update HTTP/1.1\r\nHost: x\r\nContent-Type: application/sparql-update\r\n"
            )
            posting.sendall(b"Content-Length: 1000\r\n\r\nINSERT DATA {")
            reset(posting)
        await living.hears(5)
        await watched.comes_back_to(before)


async def test_one_that_is_cut_off_and_comes_back_is_told_what_is_so(
    start: Callable[..., RunningBroker],
) -> None:
    """20 times reset while updates run: each new subscription begins with the whole answer, and its changes fit."""
    broker = start()
    ended = False

    async def keep_writing(publisher: Publisher, name: str) -> int:
        n = 0
        while not ended:
            n += 1
            await publisher.update(f"INSERT DATA {{ <urn:{name}> <urn:n> {n} }}")
        return n

    async with Publisher(broker) as publisher:
        writing = [asyncio.create_task(keep_writing(publisher, name)) for name in ("a", "b")]
        for _ in range(20):
            listener = await Listener.open(broker.ws)
            await listener.subscribe("SELECT ?s ?n WHERE { ?s <urn:n> ?n }")
            await until(lambda heard=listener.heard: len(heard) > 10)
            fold(listener.heard)
            listener.connection.transport.abort()
        listener = await Listener.open(broker.ws)
        await listener.subscribe("SELECT ?s ?n WHERE { ?s <urn:n> ?n }")
        ended = True
        written = sum([await task for task in writing])
        await until(lambda: [answer.total() for answer in fold(listener.heard).values()] == [written])
        assert list(fold(listener.heard).values()) == [
            await publisher.rows("SELECT ?s ?n WHERE { ?s <urn:n> ?n }")
        ]
        await listener.close()
        await publisher.holds(subscriptions=0, sockets=0)


@pytest.mark.slow
async def test_five_hundred_clients_a_second_leave_nothing_behind(
    start: Callable[..., RunningBroker],
) -> None:
    """5000 clients come, subscribe and go, well or badly: no subscription, socket or descriptor is left."""
    broker = start()
    watched = Watched(broker)
    turn = iter(range(10_000_000))

    def come_and_go() -> None:
        n = next(turn)
        url = (broker.ws, http_side(broker))[n % 2]
        with plug(url) as plugged:
            plugged.sendall(handshake(url))
            read_until(plugged, b"\r\n\r\n")
            plugged.sendall(subscribe_frame(WATCHED))
            read_until(plugged, b'"sequence":0')
            if n % 3 == 0:
                plugged.sendall(b"\x88\x82\0\0\0\0\x03\xe8")  # a close frame with 1000
                while plugged.recv(1024):
                    pass
            elif n % 3 == 1:
                reset(plugged)

    async with Publisher(broker) as publisher, await Listener.open(broker.ws) as living:
        await living.subscribe(WATCHED)
        await publisher.health()
        before, began = watched.descriptors, time.monotonic()
        memory = watched.rss
        for second in range(10):
            await in_threads(500, come_and_go)
            await publisher.update(write(str(second)))
            await asyncio.sleep(max(0.0, began + second + 1 - time.monotonic()))
        took = time.monotonic() - began
        await publisher.holds(subscriptions=1, sockets=1)
        await watched.comes_back_to(before)
        await living.hears(11)
        grown = watched.rss - memory
        print(f"5000 clients in {took:.1f} s, rss {grown / 1e6:+.1f} MB")
        assert took < 60
        assert grown < 50_000_000


@pytest.mark.slow
async def test_ten_thousand_that_hang_up_at_once(start: Callable[..., RunningBroker]) -> None:
    """Opened and reset before, in and after the handshake or the request: nothing is left, and it takes bounded time."""
    broker = start()
    watched = Watched(broker)
    event = event_request(broker.http, WATCHED)
    ends = [
        (broker.ws, b""),
        (broker.ws, handshake(broker.ws)[:40]),
        (broker.ws, handshake(broker.ws)),
        (broker.ws, handshake(broker.ws) + subscribe_frame(WATCHED)),
        (broker.http, event[:30]),
        (broker.http, event),
        (http_side(broker), handshake(http_side(broker)) + subscribe_frame(WATCHED)),
        (broker.http, b"GET /query?query=ASK%7B%7D HTTP/1.1\r\nHost: x\r\n\r\n"),
    ]

    def hang_up() -> None:
        for url, said in ends * 5:
            plugged = plug(url)
            if said:
                plugged.sendall(said)
            reset(plugged)

    async with Publisher(broker) as publisher, await Listener.open(broker.ws) as living:
        await living.subscribe(WATCHED)
        await publisher.health()
        before, memory, began = watched.descriptors, watched.rss, time.monotonic()
        await in_threads(250, hang_up, at_once=8)
        await publisher.update(write("still there"))
        await living.hears(2)
        await publisher.holds(subscriptions=1, sockets=1)
        await watched.comes_back_to(before)
        took, grown = time.monotonic() - began, watched.rss - memory
        print(f"10,000 resets in {took:.1f} s, rss {grown / 1e6:+.1f} MB")
        assert took < 60
        assert grown < 50_000_000


@pytest.mark.slow
async def test_five_thousand_silent_connections_are_dropped(start: Callable[..., RunningBroker]) -> None:
    """Connections that never say a word are closed after the header timeout, on both ports; the broker serves on."""
    room_for(6000)
    broker = start("http.header_timeout_s=3", "websocket.open_timeout_s=3", "websocket.close_timeout_s=1")
    watched = Watched(broker)
    async with Publisher(broker) as publisher, await Listener.open(broker.ws) as living:
        await living.subscribe(WATCHED)
        await publisher.health()
        before, began = watched.descriptors, time.monotonic()
        silent = [plug(url) for _ in range(2500) for url in (broker.http, broker.ws)]
        opened = time.monotonic() - began
        await publisher.update(write("meanwhile"))
        await living.hears(2)
        await watched.comes_back_to(before, timeout_s=20)
        took = time.monotonic() - began
        ended = [is_readable(plugged) for plugged in silent[:200]]
        print(f"5000 silent connections opened in {opened:.1f} s, dropped after {took:.1f} s")
        assert all(ended)
        for plugged in silent:
            plugged.close()
        await publisher.holds(subscriptions=1, sockets=1)


def test_a_request_that_trickles_is_dropped(start: Callable[..., RunningBroker]) -> None:
    """Headers a byte at a time do not renew the header timeout."""
    broker = start("http.header_timeout_s=1")
    with plug(broker.http) as plugged:
        began = time.monotonic()
        ended = False
        for byte in b"GET /query?query=ASK%7B%7D HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"x" * 1000:
            try:
                plugged.sendall(bytes([byte]))
            except (BrokenPipeError, ConnectionResetError):
                ended = True
                break
            time.sleep(0.05)
            if time.monotonic() - began > 10:
                break
        assert ended
        assert time.monotonic() - began < 5


async def test_half_open_and_half_said_is_closed(start: Callable[..., RunningBroker]) -> None:
    """A FIN alone, half a body, and silence after an answer: none stays, and none is left in CLOSE_WAIT."""
    broker = start(
        "http.header_timeout_s=1",
        "http.body_timeout_s=1",
        "http.keep_alive_s=1",
        "websocket.open_timeout_s=1",
        "websocket.close_timeout_s=1",
        "websocket.ping_interval_s=1",
        "websocket.ping_timeout_s=1",
    )
    watched = Watched(broker)
    query = b"GET /query?query=ASK%7B%7D HTTP/1.1\r\nHost: x\r\n\r\n"
    half = b"POST /query HTTP/1.1\r\nHost: x\r\nContent-Type: application/sparql-query\r\nContent-Length: 99\r\n\r\nASK"
    # what is said, and whether the writing side is closed then
    cases = [
        (broker.http, b"", True),
        (broker.http, query[:20], True),
        (broker.http, query, True),
        (broker.http, query, False),
        (broker.http, half, False),
        (broker.http, half, True),
        (broker.http, event_request(broker.http, WATCHED), True),
        (broker.ws, b"", True),
        (broker.ws, handshake(broker.ws), True),
        (broker.ws, handshake(broker.ws)[:50], False),
        (broker.ws, handshake(broker.ws) + subscribe_frame(WATCHED), True),
        (broker.ws, handshake(broker.ws) + subscribe_frame(WATCHED), False),
        (http_side(broker), handshake(http_side(broker)), True),
        (http_side(broker), handshake(http_side(broker)), False),
    ]
    async with Publisher(broker) as publisher:
        before = watched.descriptors
        plugs = []
        for url, said, closed in cases * 5:
            plugged = plug(url)
            plugged.sendall(said)
            if closed:
                plugged.shutdown(socket.SHUT_WR)
            plugs.append(plugged)
        await watched.comes_back_to(before, timeout_s=15)
        await publisher.holds(subscriptions=0, sockets=0)
        assert watched.waiting_to_close == 0
        for plugged in plugs:
            plugged.close()


# Those that are very many.


@pytest.mark.slow
async def test_ten_thousand_subscriptions_on_five_hundred_sockets(
    start: Callable[..., RunningBroker],
) -> None:
    """All hear their first results; an update for one reaches that one, an update for all reaches all; then all go."""
    room_for(1500)
    broker = start()
    sockets, own, shared = 500, 10, 10

    def mine(socket_number: int, n: int) -> str:
        return f"SELECT ?v WHERE {{ <urn:mine:{socket_number}:{n}> <urn:v> ?v }}"

    async with Publisher(broker) as publisher:
        began = time.monotonic()
        listeners = await open_listeners(broker.ws, sockets)
        for number, listener in enumerate(listeners):
            for n in range(own):
                await listener.send(mine(number, n), f"mine:{n}")
            for n in range(shared):
                await listener.send(f"SELECT ?v WHERE {{ <urn:ours:{n}> <urn:v> ?v }}", f"ours:{n}")
        await asyncio.gather(*(listener.hears(own + shared) for listener in listeners))
        await publisher.holds(subscriptions=sockets * (own + shared), sockets=sockets)
        subscribed = time.monotonic() - began

        began = time.monotonic()
        await publisher.update("INSERT DATA { <urn:mine:123:7> <urn:v> 'for one' }")
        await listeners[123].hears(own + shared + 1)
        one = time.monotonic() - began
        heard = listeners[123].heard[-1]
        assert heard["sequence"] == 1
        assert [row["v"]["value"] for row in heard["addedResults"]["results"]["bindings"]] == ["for one"]

        triples = [f"<urn:mine:{number}:{n}> <urn:v> 'all'" for number in range(sockets) for n in range(own)]
        triples += [f"<urn:ours:{n}> <urn:v> 'all'" for n in range(shared)]
        began = time.monotonic()
        await publisher.update(f"INSERT DATA {{ {' . '.join(triples)} }}")
        expected = [2 * (own + shared) + (number == 123) for number in range(sockets)]
        await asyncio.gather(*(one.hears(count) for one, count in zip(listeners, expected, strict=True)))
        everyone = time.monotonic() - began
        for number, listener in enumerate(listeners):
            answers = [sum(answer.values()) for answer in fold(listener.heard).values()]
            assert sorted(answers) == [1] * (own + shared - (number == 123)) + [2] * (number == 123)
        await close_all(listeners)
        await publisher.holds(subscriptions=0, sockets=0)
        print(
            f"10,000 subscriptions: made in {subscribed:.1f} s, one told in {one:.3f} s, all in {everyone:.1f} s"
        )


def test_a_busy_port_says_so(start: Callable[..., RunningBroker]) -> None:
    """Over the limit of sockets a connection is refused at once, and when others have gone it is served."""
    broker = start("limits.sockets=20", "websocket.close_timeout_s=1")
    opened = []
    for _ in range(20):
        plugged = plug(broker.ws)
        plugged.sendall(handshake(broker.ws))
        read_until(plugged, b"\r\n\r\n")
        opened.append(plugged)
    with plug(broker.ws) as late:
        late.sendall(handshake(broker.ws))
        said = b""
        while more := late.recv(4096):
            said += more
        assert (
            b"\x03\xf5" in said or b" 503 " in said
        )  # closed with 1013, try again later, or refused in HTTP
    for plugged in opened:
        plugged.close()
    deadline = time.monotonic() + 10
    while True:
        try:
            with plug(broker.ws) as again:
                again.sendall(handshake(broker.ws) + subscribe_frame(WATCHED))
                read_until(again, b'"sequence":0')
            break
        except (OSError, AssertionError):
            assert time.monotonic() < deadline
            time.sleep(0.1)
