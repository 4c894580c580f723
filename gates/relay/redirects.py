"""Which node a consumer is sent to: a near one that is not full, and never all of a crowd to the same one.

What counts is the delay between the regions, and how full a node is, as if consumers waited in a queue there: next to
nothing for a half empty one, and more than any distance for a full one.  Those that were sent to a node count as its
consumers until its next status, or a crowd that comes within a second would be sent to one node; and for a while after it,
whatever that says.  Nodes that are about as good are chosen at random: nobody has all consumers by being better by a hair.

A node that no other has a link with has nothing to give, and so has room: where others of its stream have links, it comes last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence

    from .judge import Judge
    from .nodes import Node, Nodes
    from .overlays import Overlays
    from .tracker_counts import Counts

_LOOKED_AT = 256  # nodes, of more: the best of so many is about as good as the best of all
# A node that is half full is as good as one that is empty and so much farther off
_HALF_FULL_MS = 20.0
_AS_GOOD_MS = 1.0


class Redirects:
    """Among the nodes of a stream, and those that carry it."""

    def __init__(
        self, nodes: Nodes, overlays: Overlays, judge: Judge, rng: random.Random, counts: Counts
    ) -> None:
        self._nodes = nodes
        self._overlays = overlays
        self._judge = judge
        self._rng = rng
        self._counts = counts

    def best(
        self, stream: str, region: str = "", avoid: Iterable[str] = (), *, counts: bool = True
    ) -> tuple[str, str] | None:
        """Where a consumer of a stream should go: a node and the base URL of its stream port; None where there is none.

        What is to be avoided is named by either.  Unless it `counts`, the node is thought to have no consumer more by it.
        """
        avoided = {*avoid}
        found = self._with_room(stream, region, avoided)
        if found is None:
            self._counts.not_sent += 1
            return None
        name, node = found
        node.sent += counts
        self._counts.sent += 1
        return name, node.status.streams_at

    def _with_room(self, stream: str, region: str, avoided: set[str]) -> tuple[str, Node] | None:
        """The one that is over by the least where none has."""
        members, carriers = self._overlays.members(stream), self._nodes.carriers(stream)
        overlay = self._overlays.get(stream)
        is_reached = overlay.is_reached if overlay is not None else _anyone
        if not any(map(is_reached, members)):  # nobody is: they have just come, or there is but one
            is_reached = _anyone
        full: list[tuple[str, Node]] = []
        for names, may in ((members, is_reached), (carriers, _anyone)):
            found = self._among(stream, region, names, avoided, may)
            if found is not None and found[1].load < 1.0:
                return found
            full += [found] if found is not None else []
        if full:
            return min(full, key=lambda found: found[1].load)
        return self._among(stream, region, members, avoided, lambda name: not is_reached(name))

    def _among(
        self, stream: str, region: str, names: Sequence[str], avoided: set[str], may: Callable[[str], bool]
    ) -> tuple[str, Node] | None:
        found = None
        if len(names) > _LOOKED_AT:
            sample = filter(may, self._rng.sample(names, _LOOKED_AT))
            found = self._best(stream, region, sample, avoided)
        return found or self._best(stream, region, filter(may, names), avoided)

    def _best(
        self, stream: str, region: str, names: Iterable[str], avoided: set[str]
    ) -> tuple[str, Node] | None:
        serving = self._serving(names, avoided)
        for found in ranked(serving, lambda name: self._nodes.far_ms(region, name), self._rng):
            # Whoever was let in may be so no longer, and who only would join was not judged yet
            if not self._judge.refusal(stream, found[1].who):
                return found
        return None

    def _serving(self, names: Iterable[str], avoided: set[str]) -> list[tuple[str, Node]]:
        """Those of the nodes that have a stream port, and are not to be avoided."""
        return [
            (name, node)
            for name in names
            if name not in avoided
            and (node := self._nodes.get(name)) is not None
            and node.status.streams_at
            and node.status.streams_at not in avoided
        ]


def _anyone(_: str) -> bool:
    return True


def ranked(
    nodes: Sequence[tuple[str, Node]], far_ms: Callable[[str], float], rng: random.Random
) -> list[tuple[str, Node]]:
    """The nodes, the best one first.  `far_ms` is the delay to a node of one's region."""
    delays: dict[str, float] = {}  # by region: all in one are as far

    def cost(found: tuple[str, Node]) -> tuple[float, float]:
        name, node = found
        region = node.status.region
        if region not in delays:
            delays[region] = far_ms(name)
        load = node.load
        if load >= 1.0:
            return float("inf"), load
        return delays[region] + _HALF_FULL_MS * load / (1.0 - load) + _AS_GOOD_MS * rng.random(), 0.0

    return sorted(nodes, key=cost)
