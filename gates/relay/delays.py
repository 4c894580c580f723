"""What the tracker knows of delays: regions that nodes name, and round trips that both ends of a link report.

A delay is one way, in ms, the same in both directions, and never below that within a region.  What is known of a pair comes
from the first of these:

1. *Their link was measured.*  A round trip is as long as the end says that says more: an end can hold a ping back, but it
   can't make one faster, so who claims to be near without being so is contradicted by the other end.  **One end alone can
   make a link longer, and never shorter**: until the other has reported, what would be guessed without it counts if it is more.
2. *It was measured while they were linked*, and both said something.
3. *Links between their regions were measured*: the median of them, once there are three of which no two share a node.  So no
   single node decides what lies between two regions.  What was measured is remembered when links and nodes are gone, as
   regions stay where they are; newer measures displace older ones.
4. *Their labels.*  The same region is near, another one is far, and a node without a region is far from all.

In a large network labels alone are nearly as good as true delays.  Coordinates worked out of the few links that each node
measures were tried, and are useless, so nothing cleverer is done.

What this does not defend against: a region is a claim.  A node that names the region of its victim is taken for near until a
link between them is measured, and attackers who are really there can't be told from others at all.  Two who lie together can
make the link between themselves as short as they like.  What bounds the harm is the degree: nobody has more links than that.

The caller reports links that are there, what both ends say of one at the same time if both speak, and cuts those that are not
there any more: what is kept of links is bounded by that.
"""

from __future__ import annotations

import math
from statistics import median

# A median of fewer would say more of the nodes than of their regions.
LEAST_LINKS = 3
# Links that are remembered between two regions; the oldest give way.
SEEN = 24
# Pairs of regions that are remembered: all of 140 regions.
REGIONAL = 10_000
# Two ends that measure the same link say about the same: a part more, and a moment in which one was busy.
STRETCHED = 1.25
STRETCHED_MS = 2.0
# A median is worked out again when so large a part of what is measured between two regions has changed.
STALE_SHARE = 0.25


class _Between:
    """What links between two regions measured last, and the median of it."""

    __slots__ = ("changes", "median_ms", "seen")

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], float] = {}  # of a link in ms; the newest last
        self.changes = 0
        self.median_ms: float | None = None

    def take(self, link: tuple[str, str], measured_ms: float) -> None:
        """Both ends of a link measured it; the median follows when enough is new."""
        self.seen.pop(link, None)
        self.seen[link] = measured_ms
        if len(self.seen) > SEEN:
            del self.seen[next(iter(self.seen))]
        self.changes += 1
        if self.changes >= STALE_SHARE * len(self.seen):
            self.changes = 0
            self.median_ms = self._median()

    def _median(self) -> float | None:
        used: set[str] = set()
        found: list[float] = []
        for link, measured_ms in reversed(self.seen.items()):
            if used.isdisjoint(link):
                used.update(link)
                found.append(measured_ms)
        return median(found) if len(found) >= LEAST_LINKS else None


class Delays:
    """Delays between nodes, by what they said.  Asking costs about a microsecond."""

    def __init__(self, *, same_region_ms: float = 0.1, other_region_ms: float = 70.0) -> None:
        if not 0 < same_region_ms <= other_region_ms < math.inf:
            raise ValueError("a region must be nearer to itself than to another, and both delays above 0")
        self._same_ms = same_region_ms
        self._other_ms = other_region_ms
        self._regions: dict[str, str] = {}
        # Of each link both ends are here; None where one has said nothing.
        self._rtts: dict[str, dict[str, float | None]] = {}
        self._regional: dict[tuple[str, str], _Between] = {}

    def place(self, node: str, region: str) -> None:
        """The node is in this region; in none that is known where that is empty."""
        self._rtts.setdefault(node, {})
        self._regions[node] = region

    def forget(self, node: str) -> None:
        """The node is gone, and with it all that was said by and of it."""
        for peer in list(self._rtts.get(node, ())):
            self.cut(node, peer)
        self._rtts.pop(node, None)
        self._regions.pop(node, None)

    def report(self, node: str, peer: str, rtt_ms: float) -> None:
        """The node says how long a round trip to its neighbour takes.  Where either was not placed it counts for nothing.

        Raises:
            ValueError: for what is no length of time.
        """
        if not 0 <= rtt_ms < math.inf:
            raise ValueError(f"a round trip takes from 0 ms on, not {rtt_ms}")
        if node == peer or node not in self._rtts or peer not in self._rtts:
            return
        self._rtts[node][peer] = rtt_ms
        self._rtts[peer].setdefault(node, None)
        self._remember(node, peer)

    def cut(self, a: str, b: str) -> None:
        """There is no link between these two any more."""
        if b in self._rtts.get(a, ()):
            del self._rtts[a][b], self._rtts[b][a]

    def measured(self, a: str, b: str) -> float | None:
        """What the ends of a link say of it: the larger, or what one says where the other is silent."""
        here, there = self._said(a, b)
        if here is None and there is None:
            return None
        return max(here or 0.0, there or 0.0, 2 * self._same_ms) / 2

    def stretches(self, node: str, peer: str) -> bool:
        """Whether it is this end's word alone that makes their link long."""
        here, there = self._said(node, peer)
        return here is not None and here > STRETCHED * (there or 0.0) + STRETCHED_MS

    def between(self, a: str, b: str) -> float:
        """The delay between two nodes by the best that is known."""
        links = self._rtts.get(a)
        if links is None or b not in links:
            return self._guessed(a, b)
        here, there = links[b], self._rtts[b][a]
        if here is None or there is None:
            return max((here or there or 0.0) / 2, self._guessed(a, b))
        return max(here, there, 2 * self._same_ms) / 2

    def _guessed(self, a: str, b: str) -> float:
        here, there = self._regions.get(a, ""), self._regions.get(b, "")
        if not here or not there:
            return self._other_ms
        regional = self._regional.get((here, there) if here < there else (there, here))
        if regional is not None:
            seen_ms = regional.seen.get((a, b) if a < b else (b, a), regional.median_ms)
            if seen_ms is not None:
                return seen_ms
        return self._same_ms if here == there else self._other_ms

    def _said(self, a: str, b: str) -> tuple[float | None, float | None]:
        return self._rtts.get(a, {}).get(b), self._rtts.get(b, {}).get(a)

    def _remember(self, a: str, b: str) -> None:
        """What both ends measured tells what lies between their regions."""
        here, there = self._regions[a], self._regions[b]
        if not here or not there or None in self._said(a, b):
            return
        measured_ms = self.measured(a, b)
        assert measured_ms is not None  # both spoke
        key = (here, there) if here < there else (there, here)
        regional = self._regional.pop(key, None) or _Between()
        self._regional[key] = regional
        if len(self._regional) > REGIONAL:
            del self._regional[next(iter(self._regional))]
        regional.take((a, b) if a < b else (b, a), measured_ms)
