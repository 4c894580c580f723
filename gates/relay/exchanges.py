"""Two links of an overlay exchange their ends, where that makes all of it faster.

What an overlay is worth shows only in the fastest ways through it, so each exchange is tried, and judged by these.  Where
there are few nodes few links can be good, and this brings most; from about 256 nodes on it brings nothing that is worth
the time.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from .paths import fastest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .graph import Graph
    from .paths import Weight

# What an exchange must bring at least, as a part of all delays: measures that waver are no reason to move.
GAIN = 0.001


def exchange(  # noqa: PLR0913 - what is exchanged, and what it is judged by
    graph: Graph,
    between: Weight,
    judges: Sequence[str],
    propose: Callable[[], tuple[str, str, str, str] | None],
    *,
    hop_ms: float,
    tries: int,
) -> None:
    """Try so many exchanges that are proposed (a-b and c-e become a-c and b-e), and keep what is better by `GAIN`.

    Judged by the sum of the delays from the judges to all nodes.  What leaves any of these unreachable is never kept.
    """
    weight = cache(between)  # links are asked for again and again
    delays_ms = _sum_ms(graph, weight, judges, hop_ms)
    for _ in range(tries):
        proposed = propose()
        if proposed is None:
            return
        a, b, c, e = proposed
        graph.cross(a, b, c, e)
        crossed_ms = _sum_ms(graph, weight, judges, hop_ms)
        if crossed_ms < (1 - GAIN) * delays_ms:
            delays_ms = crossed_ms
        else:
            graph.cross(a, c, b, e)


def _sum_ms(graph: Graph, weight: Weight, judges: Sequence[str], hop_ms: float) -> float:
    total_ms = 0.0
    for judge in judges:
        routes = fastest(graph.peers.__getitem__, weight, judge, hop_ms)
        if len(routes) < len(graph.nodes):
            return math.inf
        total_ms += sum(route.delay_ms for route in routes.values())
    return total_ms
