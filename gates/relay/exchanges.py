"""Two links of an overlay exchange their ends, where that makes all of it faster.

What an overlay is worth shows only in the fastest ways through it, so each exchange is tried, and judged by these.  Where
there are few nodes few links can be good, and this brings most; from about 256 nodes on it brings nothing that is worth
the time.

*Two looks.*  What makes the four nodes slower that get another neighbour hardly ever makes all faster, so of seven tries six
are given up when it was looked from these four alone.  The first try of each call is looked at from all whatever these say,
or what helps the others alone would never be found.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from .graph import Graph
    from .paths import Weight

    Links = dict[str, list[tuple[str, float]]]

# What an exchange must bring at least, as a part of all delays: measures that waver are no reason to move.
GAIN = 0.001
# An exchange is judged from all nodes of a small network, and from so many of one that is more than twice as large.
JUDGES = 32
# Exchanges are asked for so often, before there is said to be none: some are of nodes that may not take part.
PROPOSALS = 8


class Most(NamedTuple):
    """How many exchanges are tried at most, and from how many nodes all ways are found before the last of them."""

    tries: int
    looks: float = math.inf


ONE = Most(1)


class Improved(NamedTuple):
    """Whose lists changed, how many exchanges were tried for that, and from how many nodes all ways were found."""

    changed: frozenset[str]
    tries: int
    looks: int


def judges_of(nodes: Sequence[str], rng: Random) -> Sequence[str]:
    """The nodes from which an exchange is judged."""
    return nodes if len(nodes) <= 2 * JUDGES else rng.sample(nodes, JUDGES)


def exchange(  # noqa: PLR0913 - what is exchanged, and what it is judged by
    graph: Graph,
    between: Weight,
    judges: Sequence[str],
    propose: Callable[[], tuple[str, str, str, str] | None],
    *,
    hop_ms: float,
    most: Most = ONE,
) -> Improved:
    """Try exchanges that are proposed (a-b and c-e become a-c and b-e), until one is better by `GAIN`, and keep that.

    Judged by the sum of the delays from the judges to all nodes.  What leaves any of these unreachable is never kept.
    """

    def links_of(node: str) -> list[tuple[str, float]]:
        return [(peer, between(node, peer) + hop_ms) for peer in graph.peers[node]]

    links = {node: links_of(node) for node in graph.nodes}
    known = {judge: _sum_ms(links, judge) for judge in judges}
    least_ms = (1 - GAIN) * sum(known.values())
    looks = len(judges)
    tries = 0
    while tries < most.tries and (looks < most.looks or not tries):
        proposed = next(filter(None, (propose() for _ in range(PROPOSALS))), None)
        if proposed is None:
            break
        tries += 1
        for node in proposed:
            if node not in known:
                known[node] = _sum_ms(links, node)
                looks += 1
        a, b, c, e = proposed
        before = {node: links[node] for node in proposed}
        graph.cross(a, b, c, e)
        links |= {node: links_of(node) for node in proposed}
        crossed = {node: _sum_ms(links, node) for node in proposed}
        looks += len(crossed)
        if tries == 1 or sum(crossed.values()) < sum(known[node] for node in proposed):
            for judge in judges:
                if judge not in crossed:
                    crossed[judge] = _sum_ms(links, judge)
                    looks += 1
            if sum(crossed[judge] for judge in judges) < least_ms:
                break
        graph.cross(a, c, b, e)
        links |= before
    return Improved(graph.changed(), tries, looks)


def _sum_ms(links: Links, source: str) -> float:
    """The delays from one node to all others by the fastest ways, as `fastest` has them, in half the time; infinite where one is not reached."""
    best = {source: 0.0}
    waiting = [(0.0, source)]
    while waiting:
        delay_ms, node = heappop(waiting)
        if delay_ms > best[node]:
            continue
        for peer, link_ms in links[node]:
            reached_ms = delay_ms + link_ms
            if reached_ms < best.get(peer, math.inf):
                best[peer] = reached_ms
                heappush(waiting, (reached_ms, peer))
    return sum(best.values()) if len(best) == len(links) else math.inf
