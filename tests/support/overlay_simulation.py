"""Overlays of the real `Topology` on delays that were measured, and flooding through them, event by event."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from heapq import heappop, heappush

from triplewire.gates.relay.delays import Delays
from triplewire.gates.relay.paths import fastest, figures, hops, quantile
from triplewire.gates.relay.topology import Topology

from .aws_delays import REGIONS, one_way_ms

HOP_MS = 0.5  # what a relay needs to pass an item on


class Regions:
    """Nodes in the regions of Table 1: as many in each, or by shares; named in the order in which they come."""

    def __init__(self, count, *, seed=0, shares=None):
        rng = random.Random(seed)
        self.is_even = shares is None
        if shares is None:
            numbers = [number % len(REGIONS) for number in range(count)]
            rng.shuffle(numbers)
        else:
            numbers = rng.choices(range(len(REGIONS)), shares, k=count)
        self.number = {f"node-{at}": number for at, number in enumerate(numbers)}
        self.nodes = list(self.number)

    def region(self, node):
        return REGIONS[self.number[node]]

    def one_way_ms(self, a, b):
        """What a message takes from a to b; not the same as back."""
        return one_way_ms(self.number[a], self.number[b])

    def take_over(self, node, gone):
        """A new node comes in the region of one that is gone."""
        self.number[node] = self.number.pop(gone)
        self.nodes[self.nodes.index(gone)] = node

    def sources(self, most):
        """Nodes to measure from: as many of each region, where these are alike, or as they come; all where there are not more."""
        if len(self.nodes) <= most or not self.is_even:
            return self.nodes[:most]
        taken, found = Counter(), []
        for node in self.nodes:
            if taken[self.number[node]] < most // len(REGIONS):
                taken[self.number[node]] += 1
                found.append(node)
        return found

    def unicast_ms(self):
        """Delays between all ordered pairs of nodes without any overlay, in order."""
        many = Counter(self.number.values())
        delays = []
        for here, count in many.items():
            for there, other in many.items():
                delays += [one_way_ms(here, there)] * (count * (other - (here == there)))
        return sorted(delays)

    def unicast_means_ms(self):
        """Of each node: the mean delay to all others without any overlay, in order."""
        many = Counter(self.number.values())
        means = []
        for here, count in many.items():
            total = sum(one_way_ms(here, there) * (other - (here == there)) for there, other in many.items())
            means += [total / (len(self.nodes) - 1)] * count
        return sorted(means)


class Cube:
    """No clusters at all: nodes at random in a cube with a mean distance as that of Table 1."""

    def __init__(self, count, *, seed=0, mean_ms=68.0):
        rng = random.Random(seed)
        side = mean_ms / 0.6617  # Robbins' constant: the mean distance of two points in a unit cube
        self.at = {f"node-{at}": tuple(side * rng.random() for _ in range(3)) for at in range(count)}
        self.nodes = list(self.at)

    def region(self, _node):
        return ""

    def sources(self, most):
        return self.nodes[:most]

    def one_way_ms(self, a, b):
        return sum((x - y) ** 2 for x, y in zip(self.at[a], self.at[b], strict=True)) ** 0.5

    def unicast_ms(self):
        return sorted(self.one_way_ms(a, b) for a in self.nodes for b in self.nodes if a != b)


@dataclass(frozen=True)
class Measured:
    """Delays over the fastest ways; `means_ms` has that of each source, in order."""

    mean_ms: float
    p99_ms: float
    diameter_hops: int
    mean_hops: float
    means_ms: list[float]


class Tracker:
    """As much of a tracker as places nodes: a `Topology`, and what it knows.

    `labels` are names of regions, `reports` what links measured as well, `delays` those between all nodes.
    """

    def __init__(self, world, *, knows="labels", **how):
        self.world = world
        self.delays = Delays()
        self.knows = knows
        self._reported = {}
        between = self.delays.between if knows != "delays" else self.true_ms
        self.topology = Topology(between, **how)

    def true_ms(self, a, b):
        """Half a round trip: the most that pings can tell."""
        return (self.world.one_way_ms(a, b) + self.world.one_way_ms(b, a)) / 2

    def join(self, node):
        """Placed by its label, and, where links report, what they said until now."""
        self.delays.place(node, self.world.region(node))
        return self._told(self.topology.join(node))

    def leave(self, node):
        changed = self.topology.leave(node)
        self.delays.forget(node)
        self._reported.pop(node, None)
        return self._told(changed)

    def improve(self, times):
        """As a tracker does every few seconds."""
        return sum(self._told(self.topology.improve(HOP_MS).changed) > 0 for _ in range(times))

    def _told(self, changed):
        if self.knows == "reports":
            for node in changed:
                self._report(node)
        return len(changed)

    def _report(self, node):
        peers = self.topology.neighbours(node)
        for peer in self._reported.pop(node, frozenset()) - peers:
            self.delays.cut(node, peer)
        self._reported[node] = peers
        for peer in sorted(peers):
            for here, there in ((node, peer), (peer, node)):
                self.delays.report(here, there, 2 * self.true_ms(node, peer))

    def measured(self, *, hop_ms=HOP_MS, sources=256):
        """What is true of the overlay, from as many sources of each region."""
        neighbours, delays, means, lengths = self.neighbours(), [], [], []
        for source in self.world.sources(sources):
            routes = fastest(neighbours, self.world.one_way_ms, source, hop_ms)
            reached = [route.delay_ms for node, route in routes.items() if node != source]
            assert len(reached) == len(self.topology) - 1
            means.append(sum(reached) / len(reached))
            delays += reached
            lengths += hops(neighbours, source).values()
        delays.sort()
        return Measured(
            sum(delays) / len(delays),
            quantile(delays, 0.99),
            max(lengths),
            sum(lengths) / len(delays),
            sorted(means),
        )

    def figures(self):
        """The same, of all nodes, as the tracker counts."""
        return figures(list(self.topology), self.neighbours(), self.world.one_way_ms, HOP_MS)

    def estimate(self):
        """What the tracker believes."""
        return figures(list(self.topology), self.neighbours(), self.delays.between, HOP_MS)

    def neighbours(self):
        """In an order that is the same in each process; and quicker than asking."""
        lists = {node: sorted(self.topology.neighbours(node)) for node in self.topology}
        return lists.__getitem__

    def crossing(self):
        """The share of links that leave a region."""
        ends = [(a, b) for a in self.topology for b in self.topology.neighbours(a)]
        return sum(self.world.region(a) != self.world.region(b) for a, b in ends) / len(ends)


def built(world, **how):
    """An overlay of all nodes of a world, which came one after another."""
    tracker = Tracker(world, **how)
    for node in world.nodes:
        tracker.join(node)
    return tracker


def flooded(neighbours, one_way_ms, source, hop_ms=HOP_MS, *, silent=frozenset()):
    """When an item arrives where, and how many copies were sent: each node passes the first on, but not back.

    The silent take and pass nothing on.
    """
    arrived, copies, order = {}, 0, 0
    events = [(0.0, 0, source, "")]
    while events:
        at, _, node, sender = heappop(events)
        if node in arrived:
            continue
        arrived[node] = at
        if node in silent:
            continue
        for peer in neighbours(node):
            if peer != sender:
                copies += 1
                order += 1
                heappush(events, (at + hop_ms + one_way_ms(node, peer), order, peer, node))
    return arrived, copies


def largest_part(nodes, neighbours):
    """How many of these nodes are in the largest part that links among them hold together."""
    left, most = set(nodes), 0
    while left:
        reached = [left.pop()]
        for node in reached:
            found = [peer for peer in neighbours(node) if peer in left]
            left.difference_update(found)
            reached += found
        most = max(most, len(reached))
    return most


def zipf(count, power=1.0):
    """Shares of `count` regions, the first with the most."""
    return [(rank + 1) ** -power for rank in range(count)]
