"""Any sequence of calls keeps the overlay whole, and what it answers is what changed."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.overlay_simulation import largest_part

from triplewire.gates.relay.exchanges import Most
from triplewire.gates.relay.topology import Topology

names = st.integers(0, 13).map(lambda number: f"{'abc'[number % 3]}{number}")


def between(here, there):
    return 0.1 if here[0] == there[0] else 40.0 + 10 * abs(ord(here[0]) - ord(there[0]))


class Overlay(RuleBasedStateMachine):
    """Beside it: who is there, what lists were told, and who was refused to whom.

    Told lists are what nodes would have.  A list that changed without anybody being told of it is found by that.
    """

    @initialize(
        degree=st.integers(2, 6), choice=st.sampled_from(["detour", "uniform"]), seed=st.integers(0, 9)
    )
    def begin(self, degree, choice, seed):
        self.degree = degree
        self.topology = Topology(between, degree=degree, choice=choice, seed=seed, sampled=4)
        self.told = {}
        self.refused = set()
        self.is_adopting = False

    def tell(self, changed):
        for node in changed:
            self.told[node] = self.topology.neighbours(node)

    @rule(node=names)
    def join(self, node):
        is_new = node not in self.topology
        changed = self.topology.join(node)
        assert (node in changed) == is_new
        if is_new and not self.refused and not self.is_adopting:
            assert len(changed) <= self.degree + 1
        self.tell(changed)

    @rule(node=names)
    def leave(self, node):
        self.told.pop(node, None)
        self.refused = {pair for pair in self.refused if node not in pair}
        peers = self.topology.neighbours(node)
        changed = self.topology.leave(node)
        if not self.refused and not self.is_adopting:
            assert peers <= changed | {p for p in peers if self.topology.neighbours(p) == self.told[p]}
        self.tell(changed)
        self.settle()

    @rule(node=names, reported=st.lists(names, max_size=9))
    def adopt(self, node, reported):
        self.topology.adopt(node, reported)
        self.told[node] = frozenset(reported)
        self.is_adopting = True
        assert all(len(self.topology.neighbours(peer)) <= self.degree for peer in self.topology)
        assert all(peer not in self.topology.neighbours(peer) for peer in self.topology)

    @rule()
    def settle(self):
        self.tell(self.topology.settle())
        self.is_adopting = False

    @rule(node=names, peer=names)
    def refuse(self, node, peer):
        self.settle()
        is_one = node != peer and node in self.topology and peer in self.topology
        changed = self.topology.refuse(node, peer)
        if is_one:
            self.refused.add(frozenset((node, peer)))
        else:
            assert not changed
        self.tell(changed)

    @rule(node=names, peer=names)
    def forgive(self, node, peer):
        self.topology.forgive(node, peer)
        self.refused.discard(frozenset((node, peer)))
        self.settle()

    @rule(tries=st.integers(1, 5))
    def improve(self, tries):
        self.settle()
        before = {node: self.topology.neighbours(node) for node in self.topology}
        changed = self.topology.improve(most=Most(tries)).changed
        assert len(changed) in {0, 4}
        assert all(len(self.topology.neighbours(node)) == len(before[node]) for node in before)
        self.tell(changed)

    @invariant()
    def is_whole(self):
        topology, degree, count = self.topology, self.degree, len(self.topology)
        links = {frozenset((a, b)) for a in topology for b in topology.neighbours(a)}
        assert all(len(link) == 2 for link in links)
        assert not links & self.refused
        assert all(a in topology.neighbours(b) for a in topology for b in topology.neighbours(a))
        assert all(len(topology.neighbours(node)) <= degree for node in topology)
        if self.is_adopting:
            return
        assert self.told == {node: topology.neighbours(node) for node in topology}
        if not self.refused:
            free = sum(min(degree, count - 1) - len(topology.neighbours(node)) for node in topology)
            assert free == (0 if count <= degree else count * degree % 2)
            assert largest_part(topology, topology.neighbours) == count


TestOverlay = Overlay.TestCase
TestOverlay.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
