"""Links between two ends in this process, over real sockets."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from functools import partial

import httpx
import pytest
from support.certificates import LocalAuthority
from support.overlay import until
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from triplewire.broker.errors import Forbidden, ProtocolError, Unauthorized
from triplewire.broker.overlay_config import RelayConfig
from triplewire.gates.relay import link, links
from triplewire.gates.relay.counted import Counted
from triplewire.gates.relay.links import NODE, SUBPROTOCOL, Links
from triplewire.gates.relay.messages import Leave, Wanted, encode
from triplewire.gates.relay.statuses import Neighbour

GOOD = "a.good.ticket"


class Ends:
    """The user of one end's links; remembers what happens."""

    def __init__(self, name: str, **options):
        settings = {"port": 0, **options.pop("settings", {})}
        self.name = name
        self.counted = Counted()
        self.targets: dict[str, Neighbour] = {}
        self.got: list[tuple[str, bytes]] = []
        self.ended: list[str] = []
        self.missed: list[str] = []
        self.links = Links(name, RelayConfig(**settings), self, self.counted, **options)
        self.scheme = "wss" if options.get("tls") else "ws"

    @property
    def at(self):
        return f"{self.scheme}://127.0.0.1:{self.links.port}/links"

    def reach(self, other, ticket=GOOD):
        self.targets[other.name] = Neighbour(other.name, other.at, ticket)
        self.links.dial(other.name)

    async def admit(self, _peer, ticket):
        if ticket != GOOD:
            raise Unauthorized("the ticket is not good")

    def wanted(self, peer):
        return self.targets.get(peer)

    def opened(self, link):
        pass

    def received(self, link, message):
        if message == b"wrong":
            raise ProtocolError("that is no message")
        self.got.append((link.peer, message))

    def closed(self, link):
        self.ended.append(link.peer)

    def failed(self, peer):
        self.missed.append(peer)


class Pair:
    """Two ends, of which a has dialled b."""

    def __init__(self, **options):
        self.a, self.b = Ends("a", **options), Ends("b", **options)

    async def __aenter__(self):
        await self.a.links.listen()
        await self.b.links.listen()
        self.a.reach(self.b)
        await until(lambda: self.a.links.get("b") and self.b.links.get("a"))
        return self

    async def __aexit__(self, *_):
        await asyncio.gather(self.a.links.close(), self.b.links.close())


@pytest.fixture
async def pair():
    async with Pair() as both:
        yield both


async def test_messages_arrive_in_order_both_ways(pair):
    """Whole, as they were sent, and what waits is put together into few frames."""
    sent = [encode(Wanted(bytes(8), number, number)) for number in range(1, 500)]
    for message in sent:
        pair.a.links.get("b").send(message)
        pair.b.links.get("a").send_parcel(message)
    await until(lambda: sum(len(data) for _, data in pair.a.got) == sum(map(len, sent)))
    await until(lambda: sum(len(data) for _, data in pair.b.got) == sum(map(len, sent)))
    assert b"".join(data for _, data in pair.b.got) == b"".join(sent)
    assert b"".join(data for _, data in pair.a.got) == b"".join(sent)
    assert len(pair.b.got) < 10
    assert pair.a.counted.control_out == pair.b.counted.data_out == len(sent)


async def test_there_is_one_link_for_two(pair):
    """Where both dial at a time, one link is left, and it is the one that the smaller id dialled."""
    pair.b.reach(pair.a)
    for _ in range(3):
        pair.b.links.dial("a")
        await asyncio.sleep(0.05)
    assert pair.a.links.get("b").dialled
    assert not pair.b.links.get("a").dialled
    pair.a.links.get("b").send(b"still there")
    await until(lambda: ("a", b"still there") in pair.b.got)


async def test_a_link_that_is_lost_is_dialled_again(pair):
    """At once by who dialled it, as long as it is wanted."""
    old = pair.b.links.get("a")
    old.cut()
    await until(lambda: pair.b.links.get("a") not in {None, old} and pair.a.counted.links_opened == 2)
    assert "a" in pair.b.ended and "b" in pair.a.ended
    pair.a.targets.clear()
    pair.b.links.get("a").cut()
    await until(lambda: len(pair.a.links) == 0)
    assert pair.a.counted.links_opened == 2


async def test_round_trips_are_measured_at_both_ends(pair):
    """From the first moment on."""
    await until(lambda: pair.a.links.get("b").rtt_ms > 0 and pair.b.links.get("a").rtt_ms > 0)
    assert pair.a.links.get("b").rtt_ms < 1000


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {NODE: "a"},
        {"Authorization": f"Bearer {GOOD}"},
        {NODE: "a", "Authorization": "Bearer bad"},
        {NODE: "a", "Authorization": f"Basic {GOOD}"},
    ],
)
async def test_nobody_comes_in_without_a_ticket(pair, headers):
    """401, with the error as it is everywhere, and counted."""
    before = pair.b.counted.links_refused
    with pytest.raises(InvalidStatus) as refused:
        await connect(pair.b.at, additional_headers=headers, subprotocols=[SUBPROTOCOL])
    response = refused.value.response
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"].startswith("Bearer")
    assert b'"status_code": 401' in response.body
    assert pair.b.counted.links_refused == before + 1


async def test_links_are_bounded():
    """More than `links` are refused, and strangers' connections have a bound of their own."""
    async with Pair(settings={"links": 1}) as pair:
        headers = {NODE: "c", "Authorization": f"Bearer {GOOD}"}
        with pytest.raises(InvalidStatus) as refused:
            await connect(pair.b.at, additional_headers=headers, subprotocols=[SUBPROTOCOL])
        assert refused.value.response.status_code == 429
        assert refused.value.response.headers["Retry-After"]
        strangers = [await asyncio.open_connection("127.0.0.1", pair.b.links.port) for _ in range(120)]
        await until(lambda: len(pair.b.links._strangers) == 100)
        assert await strangers[0][0].read() == b""  # those who came first had to go
        pair.a.links.get("b").send(b"still there")
        await until(lambda: pair.b.got)
        for _, stranger in strangers:
            stranger.close()
            with suppress(ConnectionError):
                await stranger.wait_closed()


@pytest.mark.parametrize("frame", [b"wrong", "text", 20_000_000])
async def test_what_is_no_message_ends_the_link_and_nothing_else(pair, frame):
    """Bytes that are none, text, and what is too large."""
    headers = {NODE: "c", "Authorization": f"Bearer {GOOD}"}
    async with connect(
        pair.b.at, additional_headers=headers, subprotocols=[SUBPROTOCOL], max_size=None
    ) as stranger:
        if isinstance(frame, int):  # a masked binary frame of that length begins
            stranger.transport.write(b"\x82\xff" + frame.to_bytes(8) + bytes(4))
        else:
            await stranger.send(frame)
        with pytest.raises(ConnectionClosed):
            await stranger.recv()
        assert stranger.close_code in {1002, 1009}
    pair.a.links.get("b").send(b"still there")
    await until(lambda: ("a", b"still there") in pair.b.got)


async def test_who_is_not_let_in_yet_can_not_fill_the_memory(pair):
    """Frames that come before the answer to the handshake, and any number of bytes of one, cut the connection."""
    port = pair.b.links.port
    head = f"GET /links HTTP/1.1\r\nHost: x\r\n{NODE}: c\r\nAuthorization: Bearer {GOOD}\r\nConnection: Upgrade\r\n"
    head += f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: {SUBPROTOCOL}\r\n"
    head += "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    slow = asyncio.Event()

    async def admit(_peer, _ticket):
        await slow.wait()

    pair.b.admit = admit
    for sent in (b"\x82\x85\0\0\0\0hello", b"\x82\xff" + (10_000_000).to_bytes(8) + bytes(2_000_000)):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head.encode() + sent)
        with suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 3) == b""
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    slow.set()
    pair.a.links.get("b").send(b"still there")
    await until(lambda: ("a", b"still there") in pair.b.got)


async def test_pings_of_a_peer_that_does_not_read_pile_up_nowhere(pair):
    """The answers pass by the queue: over a bound the connection is cut."""
    headers = {NODE: "c", "Authorization": f"Bearer {GOOD}"}
    async with connect(pair.b.at, additional_headers=headers, subprotocols=[SUBPROTOCOL]) as stranger:
        await until(lambda: pair.b.links.get("c"))
        link = pair.b.links.get("c")
        stranger.transport.pause_reading()
        ping = b"\x89\xfd\0\0\0\0" + bytes(125)
        for _ in range(100_000):
            stranger.transport.write(ping * 100)
            await asyncio.sleep(0)
            if pair.b.links.get("c") is not link:
                break
            assert link._connection.transport.get_write_buffer_size() < 50_000_000
        await until(lambda: pair.b.links.get("c") is None)
        stranger.transport.abort()


async def test_a_peer_that_does_not_read_loses_its_oldest_parcels():
    """What waits is bounded, control messages are kept, and the newest parcels arrive when it reads again."""
    async with Pair(settings={"link_bytes": 300_000}) as pair:
        link = pair.a.links.get("b")
        reading = pair.b.links.get("a")._connection.transport
        reading.pause_reading()
        parcel = b"\x01" + os.urandom(99_999)
        for number in range(300):
            link.send_parcel(parcel + bytes((number % 256,)))
            await asyncio.sleep(0)
            assert link.waiting_bytes <= 400_000
        link.send(encode(Leave("news")))
        assert pair.a.counted.dropped > 100
        reading.resume_reading()
        await until(lambda: any(encode(Leave("news")) in data for _, data in pair.b.got))
        assert pair.b.got[-1][1].endswith(bytes((299 % 256,)) + encode(Leave("news")))


async def test_a_peer_that_is_silent_is_noticed():
    """A link whose other end has frozen is cut, though its socket stays open."""
    pair = Pair(settings={"ping_s": 0.1, "silent_s": 0.4})
    pair.b = Ends("b", settings={"ping_s": 100, "silent_s": 100})
    async with pair:
        pair.a.targets.clear()
        pair.b.links.get("a")._connection.transport.pause_reading()
        started = time.monotonic()
        await until(lambda: "b" in pair.a.ended, 5)
        assert time.monotonic() - started < 2
        assert pair.a.counted.links_lost == 1


async def test_messages_that_come_with_the_handshake_are_not_lost(pair, monkeypatch):
    """What is sent before the other end's link is there waits for it."""
    monkeypatch.setattr(links, "_LIVED_S", 0.0)  # these links live for a moment only
    for number in range(20):
        pair.a.targets.clear()
        pair.b.links.get("a").cut()
        await until(lambda: len(pair.a.links) == len(pair.b.links) == 0)
        hello, hi = b"hello %d" % number, b"hi %d" % number
        pair.a.opened = partial(lambda text, link: link.send(text), hello)
        pair.b.opened = partial(lambda text, link: link.send(text), hi)
        pair.a.reach(pair.b)
        await until(partial(pair.b.got.__contains__, ("a", hello)))
        await until(partial(pair.a.got.__contains__, ("b", hi)))


async def test_who_is_dialled_when_a_try_has_just_ended_is_dialled():
    """The one who tried has found that nobody is wanted, and has not been cleared away yet."""
    a, b = Ends("a"), Ends("b")
    await b.links.listen()
    a.links.dial("b")
    asyncio.get_running_loop().call_soon(a.reach, b)  # in the step behind that in which the try ends
    await until(lambda: a.links.get("b") and b.links.get("a"))
    await asyncio.gather(a.links.close(), b.links.close())


async def test_the_end_does_not_wait_for_who_can_not_be_reached(monkeypatch):
    """Whoever is tried again later is tried no more, and who has let us in meanwhile is told."""
    monkeypatch.setattr(links, "_AGAIN_S", 60.0)
    a, b = Ends("a"), Ends("b")
    await a.links.listen()
    for peer in ("b", "c"):
        a.targets[peer] = Neighbour(peer, "ws://127.0.0.1:9/links", GOOD)
        a.links.dial(peer)
    await until(lambda: sorted(a.missed) == ["b", "c"])
    b.reach(a)
    await until(lambda: a.links.get("b") and b.links.get("a"))
    b.targets.clear()
    async with asyncio.timeout(3):
        await a.links.close()
    await until(lambda: b.ended == ["a"])
    assert b.counted.links_lost == 0
    await b.links.close()


async def test_a_peer_that_was_heard_while_this_process_slept_is_not_heard_in_the_future():
    """Its silence would be noticed so much later."""
    async with Pair(settings={"ping_s": 0.05, "silent_s": 0.5}) as pair:
        pair.a.targets.clear()
        connection = pair.a.links.get("b")._connection
        for _ in range(3):
            pair.b.links.get("a").send(b"hello")
            pair.b.links.get("a").flush()
            time.sleep(0.4)  # noqa: ASYNC251 - that is what is tested
            for _ in range(5):
                await asyncio.sleep(0)
                assert connection.heard <= connection.loop.time()


async def test_how_long_it_took_to_be_let_in_is_no_silence():
    """Who waited for keys of a tracker is not cut as the link begins."""
    async with Pair(settings={"ping_s": 0.1, "silent_s": 0.4}) as pair:
        slow = asyncio.Event()

        async def admit(_peer, _ticket):
            await slow.wait()

        pair.b.admit = admit
        c = Ends("c", settings={"ping_s": 100, "silent_s": 100})
        await c.links.listen()
        c.reach(pair.b)
        await until(lambda: pair.b.links._strangers)
        await asyncio.sleep(0.6)
        slow.set()
        await until(lambda: pair.b.links.get("c") and c.links.get("b"))
        await asyncio.sleep(0.2)
        assert (c.counted.links_opened, pair.b.counted.links_lost) == (1, 0)
        await c.links.close()


async def test_who_can_not_be_reached_is_told_and_tried_again():
    """Nobody is there, then somebody is."""
    a, b = Ends("a"), Ends("b")
    await b.links.listen()
    port = b.links.port
    await b.links.close()
    a.targets["b"] = Neighbour("b", f"ws://127.0.0.1:{port}/links", GOOD)
    a.links.dial("b")
    await until(lambda: len(a.missed) >= 2)
    b = Ends("b", settings={"port": port})
    await b.links.listen()
    await until(lambda: a.links.get("b"))
    await asyncio.gather(a.links.close(), b.links.close())
    assert b.ended == ["a"]


async def test_links_over_tls(tmp_path):
    """With a certificate the port speaks wss, and who dials believes `trust` alone."""
    authority = LocalAuthority(tmp_path)
    import ssl

    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(authority.certificate, authority.key)
    async with Pair(tls=server, trust=authority.context()) as pair:
        pair.a.links.get("b").send(b"hello")
        await until(lambda: pair.b.got == [("a", b"hello")])
        c = Ends("c", tls=server, trust=ssl.create_default_context())
        await c.links.listen()
        c.reach(pair.b)
        await until(lambda: c.missed)
        assert pair.b.links.get("c") is None
        c.targets.clear()
        await c.links.close()


async def test_pages_are_on_the_same_port():
    """Each with its own rights; all else is not found."""

    async def open_page(authorization):
        return "text/plain", f"for {authorization}".encode()

    async def closed_page(authorization):
        raise Forbidden("not for you")

    end = Ends("a", pages={"/health": open_page, "/metrics": closed_page})
    await end.links.listen()
    base = f"http://127.0.0.1:{end.links.port}"
    async with httpx.AsyncClient() as http:
        found = await http.get(f"{base}/health", headers={"Authorization": "Bearer x"})
        assert (found.status_code, found.text) == (200, "for Bearer x")
        assert found.headers["Content-Type"] == "text/plain"
        refused = await http.get(f"{base}/metrics")
        assert (refused.status_code, refused.json()["error"]) == (403, "forbidden")
        assert (await http.get(f"{base}/else")).status_code == 404
        assert (await http.get(f"{base}/links")).status_code == 426
    await end.links.close()


async def test_a_link_that_ends_at_once_is_not_dialled_all_the_time(pair):
    """Somebody who takes each link and cuts it is left alone for longer and longer."""
    pair.b.opened = lambda link: link.cut()
    pair.b.links.get("a").cut()
    await asyncio.sleep(1.5)
    assert 2 < pair.a.counted.links_opened < 8


async def test_a_held_message_keeps_its_order():
    """Delays may grow and shrink; what is sent later never arrives earlier, and a lost parcel is lost."""

    class Bad:
        def __init__(self):
            self.delays = [0.03, 0.0, 0.02, 0.001, 0.0]
            self.sent = 0

        def hold_s(self, _peer):
            self.sent += 1
            return self.delays[self.sent % len(self.delays)]

        def loses(self, _peer):
            return self.sent % 7 == 0

    async with Pair(impairment=Bad()) as pair:
        for number in range(50):
            pair.a.links.get("b").send(b"%02d" % number)
        await until(lambda: b"".join(data for _, data in pair.b.got).endswith(b"49"))
        assert b"".join(data for _, data in pair.b.got) == b"".join(b"%02d" % number for number in range(50))
        assert pair.a.links.get("b").rtt_ms >= 0


async def test_goodbye_is_1001_and_nothing_of_what_waits_is_lost(pair):
    """A node that ends says so, behind all that it had to send."""
    for number in range(1000):
        pair.a.links.get("b").send_parcel(b"%04d" % number)
    await pair.a.links.close()
    await until(lambda: len(pair.b.links) == 0)
    assert b"".join(data for _, data in pair.b.got).endswith(b"0999")
    assert pair.b.counted.links_lost == 0


@pytest.mark.parametrize("leaving", ["a", "b"])
async def test_who_leaves_waits_for_a_peer_that_reads_slowly(pair, leaving):
    """Publishers have been answered for what waits; the end that dialled, and the one that was dialled."""
    here, there = (pair.a, pair.b) if leaving == "a" else (pair.b, pair.a)
    transport = there.links.get(leaving)._connection.transport
    transport.pause_reading()
    for number in range(200):
        here.links.get(there.name).send_parcel(b"%04d" % number + bytes(40_000))
    ending = asyncio.create_task(here.links.close())
    await asyncio.sleep(0.5)
    transport.resume_reading()
    await ending
    await until(lambda: len(there.links) == 0)
    assert sum(len(data) for _, data in there.got) == 200 * 40_004
    assert (here.counted.links_lost, there.counted.links_lost) == (0, 0)


async def test_who_leaves_does_not_wait_for_ever(pair, monkeypatch):
    """A peer that does not read at all, and a stranger that says nothing, hold up nobody's end."""
    monkeypatch.setattr(link, "GOODBYE_S", 0.2)
    pair.b.links.get("a")._connection.transport.pause_reading()
    pair.a.links.get("b").send_parcel(bytes(4_000_000))
    _, writer = await asyncio.open_connection("127.0.0.1", pair.a.links.port)
    async with asyncio.timeout(3):
        await pair.a.links.close()
    writer.close()


async def test_whatever_fails_as_a_link_is_made_it_is_tried_again(monkeypatch):
    """A library, or what is to be done with a new link: it is logged, the link is cut, and the next try may be good."""
    monkeypatch.setattr(links, "_AGAIN_S", 0.01)
    a, b = Ends("a"), Ends("b")
    tries, opened = [], a.links._opened

    async def moody(target):
        tries.append(target)
        if len(tries) == 1:
            raise RuntimeError("a bug")
        return await opened(target)

    def fails_once(_):
        if len(tries) == 2:
            raise KeyError("another")

    a.links._opened, a.opened = moody, fails_once
    await a.links.listen()
    await b.links.listen()
    a.reach(b)
    await until(lambda: len(tries) == 3 and a.links.get("b") is not None and b.links.get("a") is not None)
    assert (a.missed, a.ended) == (["b"], ["b"])
    await asyncio.gather(a.links.close(), b.links.close())
