"""Whatever nodes do, in whatever order: the tracker's books agree, each node is told what holds, and nothing is left behind."""

from __future__ import annotations

import random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.simulated_nodes import World, a_status

from triplewire.broker.rights import OPEN
from triplewire.gates.relay.statuses import StreamStatus

NAMES = [f"n{number}" for number in range(14)]
STREAMS = ["S", "T", "U"]
DEGREE = 4

names = st.sampled_from(NAMES)
streams = st.sets(st.sampled_from(STREAMS))


class Nodes(RuleBasedStateMachine):
    """A tracker, and nodes that come, go, die, lie, and can't reach each other."""

    @initialize(seed=st.integers(0, 1000), collect_s=st.sampled_from([0.0, 4.0]))
    def begin(self, seed, collect_s):
        self.world = World(seed=seed, collect_s=collect_s, improve_s=1.0, forgive_s=20.0)
        self.apart = set()
        self.counters = {}

    @rule(name=names, wanted=streams, region=st.sampled_from(["", "eu", "us"]))
    def be_in(self, name, wanted, region):
        """A node comes, or is in other streams than before."""
        if name not in self.world.nodes:
            node = self.world.join(name, *wanted or {"S"}, region=region)
            node.reaches = lambda one, other: frozenset((one, other)) not in self.apart
            return
        links = self.world.nodes[name].links
        for stream in STREAMS:
            if stream in wanted:
                links.setdefault(stream, set())
            else:
                links.pop(stream, None)
        self.world.speak(name)

    @precondition(lambda self: self.world.nodes)
    @rule(data=st.data())
    def say_goodbye(self, data):
        """A node leaves all."""
        name = data.draw(st.sampled_from(sorted(self.world.nodes)))
        self.world.die(name)
        self.world.tracking.remove(name, self.world.now)

    @precondition(lambda self: self.world.nodes)
    @rule(data=st.data())
    def die(self, data):
        """A node falls silent."""
        self.world.die(data.draw(st.sampled_from(sorted(self.world.nodes))))

    @rule(seconds=st.sampled_from([0.02, 0.3, 3.0, 12.0]))
    def wait(self, seconds):
        """Time passes, with heartbeats."""
        self.world.run(seconds, step_s=min(seconds, 0.25))

    @rule(one=names, other=names)
    def part(self, one, other):
        """Two can't reach each other, or can again."""
        if one != other:
            self.apart ^= {frozenset((one, other))}

    @rule(
        name=names,
        stream=st.sampled_from(STREAMS),
        epoch=st.booleans(),
        counter=st.integers(0, 60),
        data=st.data(),
    )
    def lie(self, name, stream, epoch, counter, data):
        """Any status at all, of a node that is there."""
        if name in self.world.nodes and stream in self.world.nodes[name].links:
            said = data.draw(
                st.dictionaries(
                    st.sampled_from([*NAMES, "x"]).filter(lambda peer: peer != name),
                    st.none() | st.floats(0, 200),
                )
            )
            true = self.world.nodes[name].status()
            one = StreamStatus(self.world.tracking.epoch if epoch else "other", counter, said)
            status = a_status(name, "1", true.region, streams={**true.streams, stream: one})
            self.world.tracking.status(status, OPEN, self.world.now)
            self.world.speak(name)

    @rule(seed=st.integers(0, 1000))
    def restart(self, seed):
        """The tracker begins anew, with nothing."""
        self.world.started(seed)
        self.counters = {}

    @invariant()
    def books_agree(self):
        """Links have two ends, nobody has too many, and what is kept is of who is there."""
        if not hasattr(self, "world"):
            return
        tracking = self.world.tracking
        pairs = set()
        for stream in tracking.overlays.names():
            nodes = tracking.topology(stream)["nodes"]
            assert nodes, "a stream without nodes is let go of"
            for name, node in nodes.items():
                assert len(node["neighbours"]) <= DEGREE
                for peer in node["neighbours"]:
                    assert name in nodes[peer]["neighbours"]
                    pairs.add(frozenset((name, peer)))
        assert tracking.state()["links"] == len(pairs)
        assert set(tracking._pending) <= set(tracking.nodes)

    @invariant()
    def counters_only_grow(self):
        """For each node in each stream, also over leaving and coming back; and with each list there is another one."""
        if not hasattr(self, "world"):
            return
        for name in self.world.tracking.nodes:
            for stream, one in self.world.tracking.instructions(name).streams.items():
                told = frozenset(neighbour.node for neighbour in one.neighbours)
                counter, before = self.counters.get((name, stream), (0, None))
                assert one.counter >= counter
                assert one.counter > counter or told == before
                self.counters[name, stream] = (one.counter, told)

    def teardown(self):
        """When it is quiet everybody has what the tracker says, and when all are gone nothing is left."""
        if not hasattr(self, "world"):
            return
        world = self.world
        self.apart.clear()
        for name in world.nodes:
            if world.tracking.nodes.get(name) is None:
                world.speak(name)
        world.run(60.0)
        tracking = world.tracking
        assert set(tracking.nodes) == set(world.nodes)
        for stream in STREAMS:
            members = {name for name, node in world.nodes.items() if stream in node.links}
            assert (stream in tracking.overlays.names()) == bool(members)
            if members:
                shown = tracking.topology(stream)["nodes"]
                assert set(shown) == members
                for name in members:
                    assert world.nodes[name].links[stream] == set(shown[name]["neighbours"])
                degrees = world.degrees(stream)
                assert sum(degrees.values()) >= len(members) * min(DEGREE, len(members) - 1) - 1
        for name in list(world.nodes):
            world.die(name)
        for _ in range(10):
            world.step(world.config.silent_s / 9)
        assert tracking.state()["nodes"] == tracking.state()["streams"] == tracking.state()["links"] == 0
        assert not tracking._pending
        assert not tracking.overlays.delays._rtts


TestNodes = Nodes.TestCase
TestNodes.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)


def test_a_storm_of_comings_and_goings_leaves_a_whole_overlay():
    """A tenth of the nodes replaced each few seconds, for minutes: connected at each look, and all degrees are back."""
    world = World(seed=3, improve_s=0.0)
    rng = random.Random(3)
    for number in range(64):
        world.join(f"n{number}", region=f"r{number % 8}")
    world.settle()
    for number in range(64, 64 + 120):
        gone = rng.choice(sorted(world.nodes))
        world.die(gone)
        if number % 2:
            world.tracking.remove(gone, world.now)
        world.join(f"n{number}", region=f"r{number % 8}")
        world.run(1.0)
        reached, ahead = set(), [next(iter(world.nodes))]
        links = world.links()
        while ahead:
            node = ahead.pop()
            if node not in reached:
                reached.add(node)
                ahead += [peer for link in links if node in link for peer in link]
        assert reached == set(world.nodes)
    world.run(10)
    assert set(world.degrees().values()) == {DEGREE}
