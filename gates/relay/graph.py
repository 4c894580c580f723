"""The links of an overlay: a simple graph whose nodes have a limited number of neighbours, and what of it changed.

Everything is kept in the order in which it came, so that the same calls give the same graph in every process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Graph:
    """Nodes and links.  `nodes`, `peers` (each node's neighbours) and `open` (nodes with a free slot) are for reading."""

    def __init__(self, degree: int) -> None:
        self.degree = degree
        self.nodes: list[str] = []
        self.peers: dict[str, list[str]] = {}
        self.open: dict[str, None] = {}
        self._at: dict[str, int] = {}  # where a node stands in the list
        self._before: dict[str, list[str]] = {}  # the neighbours of who was touched, as they were

    def free(self, node: str) -> int:
        """How many neighbours it can still have."""
        return self.degree - len(self.peers[node])

    def add(self, node: str) -> None:
        """A new node, without neighbours."""
        self._at[node] = len(self.nodes)
        self.nodes.append(node)
        self.peers[node] = []
        self.open[node] = None

    def remove(self, node: str) -> list[str]:
        """Take a node out, and its links; whom it was linked with.  It takes the same time in any network."""
        peers = list(self.peers[node])
        for peer in peers:
            self.unlink(node, peer)
        del self.peers[node], self.open[node]
        last, at = self.nodes.pop(), self._at.pop(node)
        if last != node:
            self.nodes[at] = last
            self._at[last] = at
        return peers

    def link(self, a: str, b: str) -> None:
        """Two different nodes that have a free slot and are no neighbours become neighbours."""
        for node, peer in ((a, b), (b, a)):
            peers = self.peers[node]
            self._before.setdefault(node, peers.copy())
            peers.append(peer)
            if len(peers) == self.degree:
                del self.open[node]

    def unlink(self, a: str, b: str) -> None:
        """Two neighbours are so no longer."""
        for node, peer in ((a, b), (b, a)):
            peers = self.peers[node]
            self._before.setdefault(node, peers.copy())
            peers.remove(peer)
            self.open[node] = None

    def cross(self, a: str, b: str, c: str, e: str) -> None:
        """The links a-b and c-e become a-c and b-e; the same with b and c exchanged takes it back."""
        self.unlink(a, b)
        self.unlink(c, e)
        self.link(a, c)
        self.link(b, e)

    def suppose(self, reported: dict[str, list[str]]) -> None:
        """Compare with these lists of neighbours, and not with those that these nodes had, when `changed` is asked next."""
        self._before |= reported

    def changed(self) -> frozenset[str]:
        """Whose neighbours are others than when this was asked last."""
        before, self._before = self._before, {}
        return frozenset(
            node
            for node, peers in before.items()
            if node in self.peers and set(peers) != set(self.peers[node])
        )

    def parts(self, roots: Sequence[str]) -> list[list[str]]:
        """Which of these nodes reach each other: for each part what was seen of it.

        All search at once, and stop when they have met, or when at most one has anywhere left to go: that takes a small
        piece of the network, where it is connected.
        """
        leads = list(range(len(roots)))
        seen = {root: number for number, root in enumerate(roots)}
        fronts = [[root] for root in roots]

        def lead(number: int) -> int:
            while leads[number] != number:
                leads[number] = leads[leads[number]]
                number = leads[number]
            return number

        apart = len(roots)
        while apart > 1 and len({lead(number) for number, front in enumerate(fronts) if front}) > 1:
            for number, front in enumerate(fronts):
                reached: list[str] = []
                for node in front:
                    for peer in self.peers[node]:
                        if peer not in seen:
                            seen[peer] = number
                            reached.append(peer)
                        elif lead(seen[peer]) != lead(number):
                            leads[lead(seen[peer])] = lead(number)
                            apart -= 1
                fronts[number] = reached
        parts: dict[int, list[str]] = {}
        for node, number in seen.items():
            parts.setdefault(lead(number), []).append(node)
        return list(parts.values())
