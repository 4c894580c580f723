"""Consumers go to near nodes that have room, evenly."""

from __future__ import annotations

import random
from collections import Counter

from support.simulated_nodes import a_status

from triplewire.broker.rights import OPEN
from triplewire.gates.relay.nodes import Node
from triplewire.gates.relay.redirects import ranked

RNG = random.Random(1)
FAR = {"eu": 1.0, "us": 70.0}


def a_node(name, region="eu", capacity=100, consumers=0):
    node = Node(a_status(name, region=region, capacity=capacity), OPEN, 0.0)
    node.capacity, node.consumers = capacity, consumers
    return name, node


def chosen(*nodes):
    found = ranked(nodes, lambda name: FAR[dict(nodes)[name].status.region], RNG)
    assert sorted(name for name, _ in found) == sorted(name for name, _ in nodes)
    return found[0][0] if found else None


def test_nobody_where_there_is_none():
    """None, and no error."""
    assert chosen() is None


def test_a_near_one():
    """As long as it is not nearly full."""
    assert chosen(a_node("far", "us"), a_node("near", "eu", consumers=70)) == "near"
    assert chosen(a_node("far", "us"), a_node("near", "eu", consumers=90)) == "far"


def test_one_with_room_whatever_the_distance():
    """A full one only where all are full, and then the one that is over by the least."""
    assert chosen(a_node("far", "us", consumers=99), a_node("near", "eu", consumers=100)) == "far"
    assert chosen(a_node("more", consumers=130), a_node("less", "us", consumers=110)) == "less"
    assert chosen(a_node("none", capacity=0), a_node("full", consumers=100)) in {"none", "full"}


def test_a_crowd_is_spread_evenly():
    """Those that were sent count at once: about as many are everywhere, and nearly so where it is about capacities."""
    for capacity, apart in ((10_000, 45), (200, 8)):
        nodes = [a_node(f"n{number}", capacity=capacity) for number in range(7)]
        sent = Counter()
        for _ in range(700):
            name, node = ranked(nodes, lambda _: 0.0, RNG)[0]
            node.sent += 1
            sent[name] += 1
        assert all(abs(count - 100) <= apart for count in sent.values())


def test_who_is_better_by_a_hair_does_not_have_all():
    """What is within a millisecond is as good: a node that says that it is empty, and large, has its part."""
    honest = [a_node(f"n{number}", consumers=1) for number in range(3)]
    liar = a_node("liar", capacity=20_000)
    sent = Counter(ranked([*honest, liar], lambda _: 0.0, RNG)[0][0] for _ in range(400))
    assert 100 <= sent["liar"] <= 320
    assert all(sent[name] > 10 for name, _ in honest)


def test_larger_nodes_have_more():
    """In the measure of what they want."""
    nodes = [a_node("large", capacity=3000), a_node("small", capacity=1000)]
    for _ in range(400):
        ranked(nodes, lambda _: 0.0, RNG)[0][1].sent += 1
    assert 270 <= nodes[0][1].sent <= 330
