"""Which relays of one stream are linked: a random graph of a low degree, in which near nodes are linked more often.

Every node has `degree` links, so what a publisher sends does not grow with the stream, and the loss of a node costs
nobody an item.  The tracker alone chooses, so nobody can seek out a node to be near to it.

*A newcomer* takes free slots where there are some, and then steps in between the two ends of links: the link is cut, and
each end gets the newcomer instead.  Two of its slots are filled at a time, so all others keep their degree (the
interposition of SWAN, Bourassa and Holt 2003, as the tracker of "The Streamr Network: Performance and Scalability", 2020,
has it).  *Where a node leaves*, its neighbours are paired.  Two with a slot each that can't be paired, as they are
linked already, step in between the ends of a link together: one gets this end, the other that one.

*The choice.*  "uniform" is the published algorithm: any link.  "detour" looks at some links and chooses one the more often,
the less longer its way becomes by the step: by 1/(w(v,p) + w(v,q) - w(p,q) + 1 ms)^2.  Near nodes come together that way,
and links between regions stay, as it costs nothing to step in beside either end of one.  The square is what lasts: with a
lower power the good links are worn down as nodes come and go, and the best of all would always be the same.

Invariants, after each call but from `adopt` to `settle`: the graph is simple and connected, and nobody has more than `degree` neighbours;
where there are more nodes than that, all have exactly that many (all but one where nodes and degree are odd); where there
are fewer, all are linked with all.  Refused pairs are the exception: where too few others are left, slots stay free, and
parts apart.  A join changes the lists of `degree + 1` nodes; a leave those of `degree`, and of two more for each pair that
can't be made among them.

No I/O and no clock.  The same seed and the same calls make the same overlay: nothing is iterated in the order of hashes.
"""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING

from .exchanges import ONE, exchange, judges_of
from .graph import Graph

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from .exchanges import Improved, Most

CHOICES = ("detour", "uniform")
# Added to a detour: what is shorter than this is as good.
NEAR_MS = 1.0
# Pairings that are tried before nodes with a free slot step in between others.
PAIRINGS = 8
# Refused pairs that are remembered of a node; the oldest give way.
REFUSED = 64
# So many reported neighbours are looked at, as a multiple of the degree: who is honest has no more.
REPORTED = 8
# Links that are drawn at least, before all are looked at for one that will do.
DRAWS = 32


class Topology:
    """The links of one stream's relays.  `between(a, b)` is what is known of the delay between two nodes, in ms."""

    def __init__(
        self,
        between: Callable[[str, str], float],
        *,
        degree: int = 4,
        seed: int = 0,
        sampled: int = 32,
        choice: str = "detour",
    ) -> None:
        if degree < 2 or sampled < 1 or choice not in CHOICES:
            raise ValueError(f"a degree from 2 on, samples from 1 on, and one of {', '.join(CHOICES)}")
        self._between = between
        self._is_uniform = choice == "uniform"
        self._sampled = 1 if self._is_uniform else sampled
        self._rng = random.Random(seed)  # noqa: S311 - the same seed makes the same overlay
        self._graph = Graph(degree)
        self._refused: dict[str, dict[str, None]] = {}  # both ways round
        self._reports: dict[str, list[str]] = {}  # adopted since the last `settle`

    def __len__(self) -> int:
        return len(self._graph.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self._graph.peers

    def __iter__(self) -> Iterator[str]:
        return iter(self._graph.nodes)

    def neighbours(self, node: str) -> frozenset[str]:
        """Whom the node is to be linked with; nobody, where it is not in the overlay."""
        return frozenset(self._graph.peers.get(node, ()))

    def join(self, node: str) -> frozenset[str]:
        """The node comes.  Whose lists changed, itself among them; nobody's, where it was there."""
        if node in self:
            return frozenset()
        self._graph.add(node)
        self._fill()
        return self._graph.changed() | {node}

    def leave(self, node: str) -> frozenset[str]:
        """The node is gone.  Whose lists changed."""
        if node not in self:
            return frozenset()
        for peer in list(self._refused.get(node, ())):
            self.forgive(node, peer)
        self._refused.pop(node, None)
        is_adopting = bool(self._reports)
        self._reports.pop(node, None)
        peers = self._graph.remove(node)
        if not is_adopting:  # else slots stay free for links that were not reported yet, until `settle`
            self._mend(peers)
        return self._graph.changed()

    def adopt(self, node: str, reported: Iterable[str]) -> None:
        """After a restart: the node is there, and says that it has these links.

        They are made when it is settled: a link that one end reports is believed where both are there and have a slot for
        it.  What both ends report goes before that, and so does what was here before, so no false report costs anybody a
        link that both ends have.
        """
        if node not in self:
            self._graph.add(node)
        self._reports[node] = list(dict.fromkeys(reported))[: REPORTED * self._graph.degree]

    def settle(self) -> frozenset[str]:
        """What was adopted is all there is: slots are filled, and parts that are apart are connected.

        Whose lists are not what they were, or what they reported.
        """
        reports, self._reports = self._reports, {}
        self._graph.suppose(reports)
        pairs = [(node, peer) for node, reported in reports.items() for peer in reported if peer in self]
        had: set[tuple[str, str]] = set()
        for node, peer in pairs:
            if peer in self._graph.peers[node]:
                self._graph.unlink(node, peer)
                had.add((node, peer))
        for node, peer in pairs:
            if (node, peer) in had or node in reports.get(peer, ()):
                self._link_if_open(node, peer)
        for node, peer in pairs:
            self._link_if_open(node, peer)
        # Who has nobody comes like a newcomer: pairs of many who have nobody would be pairs at random.
        alone = [node for node in self._graph.nodes if not self._graph.peers[node]]
        for node in alone:
            self._graph.remove(node)
        self._mend(self._graph.nodes)
        for node in alone:
            self._graph.add(node)
            self._fill()
        return self._graph.changed()

    def refuse(self, node: str, peer: str) -> frozenset[str]:
        """No link can be made between these two: both get others, and are not paired until `forgive`.  Whose lists changed."""
        if node == peer or node not in self or peer not in self:
            return frozenset()
        for here, there in ((node, peer), (peer, node)):
            refused = self._refused.setdefault(here, {})
            refused[there] = None
            if len(refused) > REFUSED:
                self.forgive(here, next(iter(refused)))
        if peer in self._graph.peers[node]:
            self._graph.unlink(node, peer)
            self._mend([node, peer])
        return self._graph.changed()

    def forgive(self, node: str, peer: str) -> None:
        """These two may be paired again."""
        for here, there in ((node, peer), (peer, node)):
            self._refused.get(here, {}).pop(there, None)

    def improve(self, hop_ms: float = 0.5, most: Most = ONE, spared: Collection[str] = ()) -> Improved:
        """Try to exchange the ends of two links, and keep that where it makes the sum of all delays less by a thousandth.

        Until one is kept, or as many were tried as may be.  Those that are spared keep their links.

        It is judged by the fastest ways from all nodes, or from some of them in a larger network.  To look from one takes
        about 50 us with 64 nodes.
        """
        judges = judges_of(self._graph.nodes, self._rng)
        propose = partial(self._propose, frozenset(spared))
        return exchange(self._graph, self._between, judges, propose, hop_ms=hop_ms, most=most)

    def _propose(self, spared: frozenset[str]) -> tuple[str, str, str, str] | None:
        """Links a-b and c-e that may become a-c and b-e."""
        linked = [node for node in self._graph.nodes if self._graph.peers[node] and node not in spared]
        if not linked:
            return None
        a = self._rng.choice(linked)
        b = self._rng.choice(self._graph.peers[a])
        found = self._link_for(a, b)
        return (a, b, *found) if found and spared.isdisjoint((b, *found)) else None

    def _mend(self, roots: Sequence[str]) -> None:
        """Links were cut: what these nodes hold together is connected again, and slots are filled."""
        first, *others = self._graph.parts(roots) or [[]]
        for part in others:
            self._connect(first, part)
        self._fill()

    def _connect(self, *parts: list[str]) -> None:
        """Link two parts by free slots; where one has none, a link is cut in it that does not hold it together."""
        ends = [[node for node in part if node in self._graph.open] for part in parts]
        for has_cut in (False, True):
            for part, slots in zip(parts, ends, strict=True):
                if has_cut or not slots:
                    slots.extend(self._cut_in(part))
            for node in ends[0]:
                for peer in ends[1]:
                    if self._suits(node, peer):
                        self._graph.link(node, peer)
                        return

    def _cut_in(self, part: list[str]) -> list[str]:
        """Cut a link that does not hold the part together; its ends, or nothing where it has none."""
        for node in self._rng.sample(part, len(part)):
            for peer in list(self._graph.peers[node]):
                self._graph.unlink(node, peer)
                if len(self._graph.parts([node, peer])) == 1:
                    return [node, peer]
                self._graph.link(node, peer)
        return []

    def _fill(self) -> None:
        """Slots are taken: by pairs of nodes that have one, or else by stepping in between others."""
        best: list[tuple[str, str]] = []
        slots = sum(map(self._graph.free, self._graph.open))
        for _ in range(PAIRINGS if 1 < len(self._graph.open) <= 2 * self._graph.degree else 1):
            best = max(best, self._pairing(), key=len)
            if 2 * len(best) >= slots - 1:
                break
        for pair in best:
            self._graph.link(*pair)
        for node in list(self._graph.open):
            while self._graph.free(node) > 1 and self._step_in(node, node):
                pass
        single = list(self._graph.open)
        while len(single) > 1:
            node = single.pop()
            partner = next((peer for peer in single if self._step_in(node, peer)), None)
            if partner is not None:
                single.remove(partner)

    def _pairing(self) -> list[tuple[str, str]]:
        """Pairs of nodes with a free slot, near ones more often; not always as many as there can be."""
        free = {node: self._graph.free(node) for node in self._graph.open}
        order = list(free)
        self._rng.shuffle(order)
        pairs: list[tuple[str, str]] = []
        for at, node in enumerate(order):
            others = order[at + 1 :]
            if len(others) > self._sampled > 1:
                others = self._rng.sample(others, self._sampled)
            found = [peer for peer in others if free[peer] and self._suits(node, peer)]
            while free[node] and found:
                (peer,) = self._rng.choices(
                    found, [self._liking(self._between(node, peer)) for peer in found]
                )
                pairs.append((node, peer))
                found.remove(peer)
                free[node] -= 1
                free[peer] -= 1
        return pairs

    def _step_in(self, v: str, w: str) -> bool:
        """Cut a link p-q for v-p and w-q: two slots of one node are filled, or one each of two."""
        link = self._link_for(v, w)
        if link is None:
            return False
        p, q = link
        self._graph.unlink(p, q)
        self._graph.link(v, p)
        self._graph.link(w, q)
        if v == w or w in self._graph.peers[v] or len(self._graph.parts([v, w])) == 1:
            return True
        # These two were refused to each other, and p-q was all that held their parts together: each takes the far end.
        self._graph.unlink(v, p)
        self._graph.unlink(w, q)
        crosses = self._suits(v, q) and self._suits(w, p)
        for pair in ((v, q), (w, p)) if crosses else ((p, q),):
            self._graph.link(*pair)
        return crosses

    def _link_for(self, v: str, w: str) -> tuple[str, str] | None:
        """A link p-q that may be cut for v-p and w-q: one of those that were looked at, or of all where none of them will do."""
        graph, draw = self._graph, self._rng.random
        found: list[tuple[str, str]] = []
        for _ in range(2 * self._sampled + DRAWS):
            p = graph.nodes[int(draw() * len(graph.nodes))]
            peers = graph.peers[p]
            at = int(draw() * graph.degree)
            if at < len(peers) and self._suits(v, p) and self._suits(w, peers[at]):
                found.append((p, peers[at]))
                if len(found) == self._sampled:
                    break
        if not found:
            suiting = (p for p in graph.nodes if self._suits(v, p))
            found = [(p, q) for p in suiting for q in graph.peers[p] if self._suits(w, q)]
        if not found:
            return None
        between = self._between
        likings = [self._liking(between(v, p) + between(w, q) - between(p, q)) for p, q in found]
        return self._rng.choices(found, likings)[0]

    def _liking(self, more_ms: float) -> float:
        return 1.0 if self._is_uniform else (max(more_ms, 0.0) + NEAR_MS) ** -2

    def _suits(self, node: str, peer: str) -> bool:
        peers = self._graph.peers[node]
        return node != peer and peer not in peers and peer not in self._refused.get(node, ())

    def _link_if_open(self, node: str, peer: str) -> None:
        slots = self._graph.open
        if node in slots and peer in slots and self._suits(node, peer):
            self._graph.link(node, peer)
