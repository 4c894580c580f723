"""Acceptance: a link is had by a tracker's ticket alone, for as long as the tracker wants it, and nobody has more than others."""

from __future__ import annotations

import asyncio
import base64
import json
import time

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.attacker import Attacker, dialling
from support.overlay import STREAM, Overlay, items, neighbours_of, until
from support.resilience import Flow, either
from support.running_tracker import RunningTracker
from websockets.exceptions import InvalidStatus

from triplewire.gates.relay.forwarding import Forwarding
from triplewire.gates.relay.messages import Certified, Heads, Join, Resent, Wanted
from triplewire.gates.relay.tickets import TrackerKey, encoded

DEGREE = 4


@pytest.fixture(scope="module")
def tracker():
    """A process; its URL."""
    settings = ("tracker.improve_s=0", "tracker.collect_s=0", "tracker.rejoin_s=0")
    running = RunningTracker.start(*(part for setting in settings for part in ("--set", setting)))
    yield running.http
    running.stop()


def _part(token, at):
    part = token.split(".")[at]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def _put_together(head, claims, signature):
    return ".".join([*(encoded(json.dumps(part).encode()) for part in (head, claims)), signature])


def tickets(good, certificate, victim):
    """What is no ticket for a link of a00 with n00, by what it is instead."""
    head, claims, signature = _part(good, 0), _part(good, 1), good.split(".")[2]
    stranger = TrackerKey(Ed25519PrivateKey.generate())
    posing = TrackerKey(Ed25519PrivateKey.generate())
    posing.kid = head["kid"]
    trusted = TrackerKey(Ed25519PrivateKey.generate())
    victim._tracked.keys.add(trusted.jwks(), "http://a-test")  # it signs what the tracker would not
    now = time.time()
    return {
        "none": None,
        "nothing": "",
        "no token": "a.b.c",
        "of another key": stranger.ticket(STREAM, "a00", "n00", "e", now + 60),
        "of another key, by the tracker's name": posing.ticket(STREAM, "a00", "n00", "e", now + 60),
        "not signed": _put_together(head | {"alg": "none"}, claims, ""),
        "not signed, but something": _put_together(head | {"alg": "none"}, claims, signature),
        "signed by the public key": _put_together(head | {"alg": "HS256"}, claims, signature),
        "for longer": _put_together(head, claims | {"exp": claims["exp"] + 600}, signature),
        "a certificate": certificate,
        "expired": trusted.ticket(STREAM, "a00", "n00", "e", now - 60),
        "of others": trusted.ticket(STREAM, "n01", "n02", "e", now + 60),
        "of another with the victim": trusted.ticket(STREAM, "n01", "n00", "e", now + 60),
        "of the attacker with another": trusted.ticket(STREAM, "a00", "n01", "e", now + 60),
        "for a stream that is not here": trusted.ticket("elsewhere", "a00", "n00", "e", now + 60),
    }


async def test_without_a_good_ticket_there_is_no_link(tracker):
    """401 for each, with what to show instead, and each is counted; the good one opens it."""
    async with Overlay(tracker) as overlay:
        await overlay.grow(3)
        node = overlay.nodes["n00"]
        async with Attacker(tracker) as attacker:
            await attacker.linked("n00", "n01", "n02")
            await attacker.certified()
            good = attacker.names["n00"].ticket
            counted = node.counted.links_refused
            found, challenges = {}, set()
            bad = tickets(good, attacker.token, node)
            for what, ticket in bad.items():
                try:
                    async with dialling(node.links_at, "a00", ticket):
                        found[what] = 101
                except InvalidStatus as refused:
                    found[what] = refused.response.status_code
                    challenges.add(refused.response.headers["WWW-Authenticate"].partition(" ")[0])
            assert found == dict.fromkeys(bad, 401)
            assert challenges == {"Bearer"}
            assert node.counted.links_refused == counted + len(bad)
            with pytest.raises(InvalidStatus):
                await dialling(node.links_at, "somebody", good)
            assert attacker.wires["n00"].is_open
            assert set(neighbours_of(node)) == {"a00", "n01", "n02"}


async def test_nobody_has_more_neighbours_than_the_degree(tracker, most):
    """However often somebody joins anew and keeps its tickets: with all of them it has no more links than others."""
    async with Overlay(tracker) as overlay:
        await overlay.grow(either(9, 24))
        async with Attacker(tracker) as attacker, Flow(overlay, "n01", "n02", per_s=20) as flow:
            for _ in range(either(6, 20)):
                await attacker.linked()
                await attacker.forget()
                attacker.told = None
            await attacker.linked()
            others = attacker.names.keys() - {one.node for one in attacker.told.neighbours}
            assert others
            await until(lambda: not any("a00" in _wanted(overlay.nodes[peer]) for peer in others))
            more = [await attacker.share(peer) for peer in others for _ in range(2)]
            await asyncio.sleep(1.0)
            assert len([node for node in overlay.nodes.values() if "a00" in neighbours_of(node)]) <= DEGREE
            assert not any(wire.parcels for wire in more)
            await asyncio.gather(*(wire.close() for wire in more))
            await flow.stop()
            await flow.all_have(late=set())
        await overlay.linked(DEGREE)
    assert max(most.values()) == DEGREE


def _wanted(node):
    """Whom its tracker wants it to have for neighbours."""
    return node._members[STREAM].wanted


@pytest.fixture
def most(monkeypatch):
    """The most neighbours that nodes have had at the end of a step of the event loop, by their streams' forwarding."""
    found = {}
    share = Forwarding.share

    def shared(forwarding, link):
        share(forwarding, link)
        loop = asyncio.get_running_loop()
        loop.call_soon(
            lambda: found.update({id(forwarding): max(found.get(id(forwarding), 0), len(forwarding))})
        )

    monkeypatch.setattr(Forwarding, "share", shared)
    return found


async def test_an_old_ticket_is_of_no_use_once_the_tracker_has_separated_the_two(tracker, monkeypatch):
    """It opens a link until it ends, as links have to come back where no tracker is; but no item goes over that, and it is ended.

    Nothing is said or resent there of the stream; after 2 s the other has to leave it, and 3 s later the link.
    """
    monkeypatch.setattr("triplewire.gates.relay.membership._HELD_S", either(0.5, 2.0))
    monkeypatch.setattr("triplewire.gates.relay.node._IDLE_S", either(0.5, 3.0))
    async with Overlay(tracker) as overlay:
        await overlay.grow(8)
        async with Attacker(tracker) as attacker:
            await attacker.linked()
            old = dict(attacker.names)
            for _ in range(40):  # until it has another neighbour in the place of one
                await attacker.forget()
                attacker.told = None
                await attacker.linked()
                left = [peer for peer in old if peer not in {one.node for one in attacker.told.neighbours}]
                if left:
                    break
            peer = left[0]
            node = overlay.nodes[peer]
            await until(lambda: "a00" not in neighbours_of(node))
            publisher = next(name for name in overlay.nodes if name != peer)
            await overlay.nodes[publisher].ready(STREAM)
            await overlay.nodes[publisher].publish(STREAM, items(5))
            await until(lambda: len(overlay.sinks[peer].ids) == 5)
            chain = next(iter(overlay.nodes[peer]._chains))
            began = time.monotonic()
            await until(lambda: "a00" not in _wanted(node))
            wire = await attacker.dial(peer, old[peer].ticket)
            await wire.say(Join(STREAM, old[peer].ticket), Wanted(chain, 1, 5))
            while wire.is_open:
                assert time.monotonic() - began < 10
                await overlay.nodes[publisher].publish(STREAM, items(1))
                assert "a00" not in neighbours_of(node)
                await asyncio.sleep(0.05)
            assert not any(isinstance(one, (Certified, Heads, Resent)) for one in wire.heard)
            assert not wire.parcels
            assert wire.socket.close_code == 1000
            print(f"cut off after {time.monotonic() - began:.1f} s")
