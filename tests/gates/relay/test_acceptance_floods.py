"""Acceptance: whoever sends too much, or does not read, is held back, and costs neither others nor the victim more than is set.

Floods are short and on this machine only; the others' items come all the while, each once and in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time

import httpx
import psutil
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.attacker import Attacker
from support.overlay import STREAM, Network, Overlay, items, neighbours_of, until
from support.resilience import Flow, either, links_of, reached
from support.running_tracker import RunningTracker

from triplewire.gates.relay.links import NODE, SUBPROTOCOL
from triplewire.gates.relay.messages import Certified, Join, Leave, Resent, Wanted
from triplewire.gates.relay.parcels import chain_name
from triplewire.gates.relay.tickets import TrackerKey

LINK_BYTES = 256 * 1024
UNREAD_BYTES = 1024 * 1024


@pytest.fixture(scope="module")
def tracker():
    """A process; its URL."""
    running = RunningTracker.start("--set", "tracker.improve_s=0", "--set", "tracker.collect_s=0")
    yield running.http
    running.stop()


@pytest.fixture
async def three(tracker):
    """Three honest nodes, whose queues are small."""
    async with Overlay(tracker, link_bytes=LINK_BYTES, dial_s=1.0) as overlay:
        await overlay.grow(3)
        yield overlay


@contextlib.asynccontextmanager
async def going_on(overlay, but=None):
    """Two of the nodes publish; in the end everybody has everything."""
    async with Flow(overlay, "n01", "n02", per_s=20) as flow:
        yield
        await flow.stop()
        await flow.all_have(but=but)


async def test_what_is_asked_for_again_and_again_is_given_at_a_bounded_rate(three):
    """By a neighbour, by one that leaves and comes back each time, and in the names of chains that begin elsewhere."""
    async with Attacker(three.trackers[0]) as attacker:
        await attacker.linked(*three.nodes)
        node = three.nodes["n01"]
        await node.ready(STREAM)
        await node.publish(STREAM, items(20, "n01", 20_000))  # 400 KB are kept
        wire = attacker.wires["n00"]
        await until(lambda: wire.parcels and wire.parcels[-1].last == 20)
        await until(lambda: len(three.sinks["n00"].ids) == len(three.sinks["n02"].ids) == 20)
        chain, ticket = wire.parcels[0].chain, attacker.names["n00"].ticket
        for sink in three.sinks.values():
            sink.ids.clear()
        async with going_on(three):
            for again in ((), (Leave(STREAM), Join(STREAM, ticket))):
                before, began = wire.size, time.monotonic()
                while time.monotonic() < began + 1.0:
                    await wire.say(*[*again, Wanted(chain, 1, 20)] * 100)
                    await asyncio.sleep(0.02)
                got, took_s = wire.size - before, time.monotonic() - began
                # A queue's worth at once, and as much a second; and what came by the flood
                assert got < (took_s + 2.5) * LINK_BYTES, f"{got / took_s / LINK_BYTES:.1f} queues a second"
        assert three.nodes["n00"].counted.resent_refused


async def test_what_a_stranger_asks_for_is_given_only_where_it_begins(three):
    """One with a ticket that is no neighbour (any more): nothing of others' chains, however often it comes back."""
    async with Attacker(three.trackers[0]) as attacker:
        await attacker.linked(*three.nodes)
        await three.nodes["n01"].ready(STREAM)
        await three.nodes["n01"].publish(STREAM, items(20, "n01", 1000))
        await until(lambda: len(three.sinks["n00"].ids) == len(three.sinks["n02"].ids) == 20)
        await until(lambda: any(wire.parcels for wire in attacker.wires.values()))
        parcel = next(one for wire in attacker.wires.values() for one in wire.parcels)
        old = dict(attacker.names)
    await until(lambda: "a00" not in three.nodes["n00"]._members[STREAM].wanted)
    for _ in range(3):
        wire = await attacker.dial("n00")
        await wire.say(Join(STREAM, old["n00"].ticket), Wanted(parcel.chain, 1, 20))
        await asyncio.sleep(0.2)
        assert not any(isinstance(one, Resent) for one in wire.heard)
        await wire.close()


async def test_who_does_not_read_costs_a_queue_and_no_more(three, monkeypatch):
    """Parcels for it are let go, pongs end the link; the others notice nothing of either."""
    monkeypatch.setattr(
        "triplewire.gates.relay.link._UNREAD_BYTES", UNREAD_BYTES
    )  # else two of the largest frames
    async with Attacker(three.trackers[0]) as attacker:
        await attacker.linked(*three.nodes)
        async with going_on(three):
            node = three.nodes["n00"]
            link = node._links.get("a00")
            attacker.wires["n00"].socket.transport.pause_reading()
            await three.nodes["n01"].ready(STREAM)
            await node.ready(STREAM)
            for _ in range(60):
                await node.publish(STREAM, items(1, "n00", 100_000))
                assert link.waiting_bytes <= LINK_BYTES + 100_500
            await until(lambda: node.counted.dropped > 20)
            for name in ("n01", "n02"):
                came = three.sinks[name]
                await until(lambda came=came: sum(each.startswith("n00") for each in came.ids) == 60)
                came.ids[:] = [each for each in came.ids if not each.startswith("n00")]
            # It says nothing itself, and may live; but pings want pongs, which it does not read either
            pings = (b"\x89\xfd" + bytes(4) + b"p" * 125) * 500
            waiting = 0
            for _ in range(200):
                attacker.wires["n00"].socket.transport.write(pings)
                await asyncio.sleep(0.002)
                if link._connection.transport.is_closing():
                    break
                waiting = max(waiting, link._connection.transport.get_write_buffer_size())
            assert link._connection.transport.is_closing()
            assert waiting < UNREAD_BYTES


async def test_half_open_connections_let_others_in(three):
    """Hundreds that send no whole request, or a slow one: a newcomer has its links meanwhile, and they end in time."""
    node = three.nodes["n00"]
    async with going_on(three), contextlib.AsyncExitStack() as stack:
        before = psutil.Process().num_fds()
        strangers = [await stack.enter_async_context(HalfOpen(node.port)) for _ in range(300)]
        slow = asyncio.gather(*(one.drip() for one in strangers))
        server_side = psutil.Process().num_fds() - before - len(strangers)
        assert server_side <= 110
        async with Attacker(three.trackers[0], "b00") as newcomer:
            await newcomer.linked(*three.nodes, within_s=5)
        await asyncio.wait_for(slow, 5)  # dial_s is 1 s
        async with httpx.AsyncClient() as http:
            assert (await http.get(f"http://127.0.0.1:{node.port}/links")).status_code == 426


class HalfOpen:
    """Somebody who begins a request."""

    def __init__(self, port):
        self._port = port

    async def __aenter__(self):
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(b"GET /links HTTP/1.1\r\nHost: x\r\n")
        return self

    async def __aexit__(self, *_):
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()

    async def drip(self):
        """A header now and then, until the other end has had enough."""
        with contextlib.suppress(ConnectionError):
            while not self._reader.at_eof():
                self._writer.write(b"X-Slow: 1\r\n")
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.3):
                        await self._reader.read(1000)


async def test_frames_before_the_handshake_is_answered_are_not_kept(three):
    """A stranger whose ticket is by a key that has to be asked for first has time to send megabytes."""
    node = three.nodes["n00"]
    ticket = TrackerKey(Ed25519PrivateKey.generate()).ticket(STREAM, "x", "n00", "e", time.time() + 60)
    head = (
        f"GET /links HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{NODE}: x\r\n"
        f"Sec-WebSocket-Key: {'A' * 22}==\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer {ticket}\r\n"
        f"Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\n\r\n"
    ).encode()
    frame = b"\x82\xff" + (8_000_000).to_bytes(8, "big") + bytes(4) + bytes(8_000_000)
    before = psutil.Process().memory_info().rss
    async with going_on(three):
        for _ in range(10):
            reader, writer = await asyncio.open_connection("127.0.0.1", node.port)
            writer.write(head)
            with contextlib.suppress(ConnectionError):
                for _ in range(3):
                    writer.write(frame)
                    await writer.drain()
                await asyncio.wait_for(reader.read(), 5)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
    assert psutil.Process().memory_info().rss - before < 100_000_000
    assert set(neighbours_of(node)) == {"n01", "n02"}


async def test_a_flood_of_certificates_takes_what_is_set_and_no_more(tracker):
    """Good ones, of a tracker that the node trusts; each with a first parcel."""
    async with Overlay(tracker, chains=200) as overlay:
        await overlay.grow(3)
        key = TrackerKey(Ed25519PrivateKey.generate())
        for node in overlay.nodes.values():
            node._tracked.keys.add(key.jwks(), "http://a-test")
        async with going_on(overlay, but=("x", "")), Attacker(tracker) as attacker:
            await attacker.linked(*overlay.nodes)
            wire = attacker.wires["n00"]
            later = time.time() + 60
            for _ in range(600):
                signer = Ed25519PrivateKey.generate()
                token, chain = certificate_of(key, signer, later)
                await wire.say(Certified(token), attacker.parcel(1, items(1, "x"), chain=chain, key=signer))
            await until(lambda: overlay.nodes["n00"].counted.certificates_refused >= 300)
            for node in overlay.nodes.values():
                assert len(node._chains) <= 200


def certificate_of(key, signer, expires):
    """A chain's certificate and its name."""
    public = signer.public_key().public_bytes_raw()
    return key.certificate(STREAM, public, "", "x", "ws://x", expires), chain_name(STREAM, "x", public)


async def test_a_flood_of_statuses_is_refused_and_others_are_heard(tracker, three):
    """Too many, too large, and with round trips that are none; the nodes stay where they are."""
    before = figures_of(tracker)
    async with going_on(three), Attacker(tracker) as attacker:
        await attacker.linked(*three.nodes)
        codes = []
        for _ in range(4):
            answers = await asyncio.gather(*(attacker.put() for _ in range(50)))
            codes += [answer.status_code for answer in answers]
        assert codes.count(429) > 150
        await asyncio.sleep(1.2)
        good = attacker.status().encode()
        bad = {
            b'"n00":NaN': 400,
            b'"n00":-1': 400,
            b'"n00":1e9': 400,
            b'"n00":1e999': 400,
            b'"n00":"0"': 400,
            b'"a00":1': 400,
            b'"n00":' + b"[" * 10_000: 400,
            b'"n00":1' + b" " * 300_000: 413,
        }
        begin = good.index(b'"neighbours":{') + len(b'"neighbours":{')
        end = good.index(b"}", begin)
        for said, code in bad.items():
            await until_put(attacker, good[:begin] + said + good[end:], code)
        assert not any(node.health()["tracker_trouble"] for node in three.nodes.values())
    after = figures_of(tracker)
    assert after["refused"] - before.get("refused", 0) >= 150


async def until_put(attacker, body, code):
    """This body is answered so, once the rate allows it."""
    for _ in range(20):
        answer = await attacker.put(body)
        if answer.status_code != 429:
            assert answer.status_code == code, (body[:100], answer.text)
            return
        await asyncio.sleep(0.15)
    raise AssertionError("429")


def figures_of(tracker):
    lines = httpx.get(f"{tracker}/metrics").text.splitlines()
    found = {"refused": 0.0}
    for line in lines:
        if line.startswith("triplewire_tracker_refused_total"):
            found["refused"] += float(line.rpartition(" ")[2])
    return found


class Dropper(Network):
    """Takes everything, answers, and passes on nothing."""

    def loses(self, peer):  # noqa: ARG002 - as an Impairment is asked
        return True


async def test_silent_droppers_cost_honest_nodes_no_item(tracker):
    """A fifth of all nodes: 99 % of the honest have each item by the flood alone, and all of them a moment later."""
    count = either(20, 64)
    async with Overlay(tracker) as overlay:
        await overlay.grow(count)
        droppers = [f"n{number:02d}" for number in range(2, count, 5)]
        for name in droppers:
            links = overlay.nodes[name]._links
            links._impairment = Dropper(0, {})
            for link in links:
                link._impairment = links._impairment
        honest = [name for name in overlay.nodes if name not in droppers]
        share = flooded(links_of(overlay), count // 5)
        assert share >= 0.99
        async with Flow(overlay, "n00", "n01", per_s=20) as flow:
            await asyncio.sleep(either(2.0, 20.0))
            await flow.stop()
            wants = sum(node.counted.wants for node in overlay.nodes.values())
            silent = {name: overlay.nodes.pop(name) for name in droppers}
            await flow.all_have()
            overlay.nodes |= silent
        print(f"{len(honest)} honest nodes, {wants} times asked; by the flood alone {share:.2%} at the mean")


async def test_who_has_only_droppers_for_neighbours_asks_where_the_items_come_from(tracker):
    """They say what they have, and give nothing of it."""
    async with Overlay(tracker) as overlay:
        await overlay.grow(8)
        around = set(neighbours_of(overlay.nodes["n00"]))
        publisher = next(name for name in overlay.nodes if name not in {*around, "n00"})
        for name in around:
            overlay.networks[name].silent.add("n00")
        async with Flow(overlay, publisher, per_s=20) as flow:
            await asyncio.sleep(0.5)
            await flow.stop()
            await flow.all_have()
        assert overlay.nodes["n00"].counted.origins


def flooded(links, count):
    """The part of honest nodes that the flood alone reaches from one of them; the mean of many choices of so many droppers."""
    rng = random.Random(1)
    shares = []
    for _ in range(300):
        honest = rng.sample(sorted(links), len(links) - count)
        found = reached({name: links[name].intersection(honest) for name in honest})
        shares.append(len(found) / len(honest))
    return sum(shares) / len(shares)
