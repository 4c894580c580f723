"""Nodes without sockets, which do what the tracker says at once: for tests of a tracker's decisions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from triplewire.broker.overlay_config import TrackerConfig
from triplewire.broker.rights import OPEN
from triplewire.gates.relay.parcels import prove
from triplewire.gates.relay.statuses import Instructions, Status, StatusLimits, StreamStatus
from triplewire.gates.relay.tickets import TrackerKey, encoded
from triplewire.gates.relay.tracking import Tracking

if TYPE_CHECKING:
    from collections.abc import Callable

_PRIVATE = Ed25519PrivateKey.generate()
KEY = encoded(_PRIVATE.public_key().public_bytes_raw())
WALL = 1_800_000_000.0


def publishes(node: str, *streams: str, **more: Any) -> dict[str, StreamStatus]:
    """What a node says of streams that it publishes into, each with the same key."""
    return {
        stream: StreamStatus(publishes=True, key=KEY, proof=encoded(prove(stream, node, _PRIVATE)), **more)
        for stream in streams
    }


def a_status(node: str, instance: str = "i", region: str = "", **more: Any) -> Status:
    """A status with something in each place."""
    streams = more.pop("streams", {"S": StreamStatus()})
    return Status(
        node=node,
        instance=instance,
        region=region,
        links_at=more.pop("links_at", f"ws://{node}.example:8002/links"),
        streams_at=more.pop("streams_at", f"http://{node}.example:8001"),
        capacity=more.pop("capacity", 10_000),
        streams=streams,
        **more,
    )


@dataclass
class Simulated:
    """One node: what it has links with in each stream, and the newest instructions that it has taken."""

    name: str
    region: str = ""
    instance: str = "1"
    links: dict[str, set[str]] = field(default_factory=dict)
    taken: dict[str, tuple[str, int]] = field(default_factory=dict)
    rtt_ms: Callable[[str, str], float] = lambda _, __: 1.0
    reaches: Callable[[str, str], bool] = lambda _, __: True
    instructed: int = 0
    more: dict[str, Any] = field(default_factory=dict)

    def status(self) -> Status:
        """How it is now."""
        streams = {}
        for stream, peers in self.links.items():
            epoch, counter = self.taken.get(stream, ("", 0))
            said = {
                peer: self.rtt_ms(self.name, peer) if self.reaches(self.name, peer) else None
                for peer in sorted(peers)
            }
            streams[stream] = StreamStatus(epoch, counter, said, **self.more)
        return a_status(self.name, self.instance, self.region, streams=streams)

    def take(self, instructions: Instructions) -> None:
        """Does as it is told; what it would read on the wire is what it reads here."""
        read = Instructions.read(instructions.encode(), StatusLimits())
        for stream, one in read.streams.items():
            epoch, counter = self.taken.get(stream, ("", 0))
            if one.refused:
                self.links.pop(stream, None)
            elif epoch != read.epoch or one.counter >= counter:
                self.instructed += epoch != read.epoch or one.counter > counter
                self.links[stream] = {neighbour.node for neighbour in one.neighbours}
                self.taken[stream] = (read.epoch, one.counter)


class World:
    """A tracker and its nodes, with one clock."""

    def __init__(
        self,
        *,
        seed: int = 1,
        judge: Any = None,
        degree: Callable[[str], int] = lambda _: 0,
        **settings: Any,
    ) -> None:
        self.config = replace(TrackerConfig(collect_s=0.0, improve_s=0.0), **settings)
        self.now = 1000.0
        self.nodes: dict[str, Simulated] = {}
        self.key = TrackerKey.open(None, lambda: WALL + self.now)
        self.judge = judge
        self.degree = degree
        self.tracking = self.started(seed)

    def started(self, seed: int) -> Tracking:
        """The tracker, started (anew) with nothing in its memory."""
        self.tracking = Tracking(
            self.config,
            self.key,
            now=self.now,
            judge=self.judge,
            degree=self.degree,
            seed=seed,
            wall=lambda: WALL + self.now,
        )
        return self.tracking

    def join(self, name: str, *streams: str, **more: Any) -> Simulated:
        """A node comes, and tells of itself; S where no stream is named."""
        node = self.nodes[name] = Simulated(name, **more)
        node.links = {stream: set() for stream in streams or ("S",)}
        self.speak(name)
        return node

    def speak(self, name: str) -> None:
        """A node tells its status, and does as it is answered."""
        node = self.nodes[name]
        node.take(self.tracking.status(node.status(), OPEN, self.now))

    def die(self, name: str) -> None:
        """A node is gone, without a word."""
        del self.nodes[name]

    def step(self, seconds: float = 0.05) -> list[str]:
        """Time passes; those who have to be told something are, and do it; who that was."""
        self.now += seconds
        self.tracking.pass_time(self.now)
        told = [name for name in self.tracking.due(self.now) if name in self.nodes]
        for name in told:
            instructions = self.tracking.instructions(name)
            if instructions is not None:
                self.nodes[name].take(instructions)
        return told

    def run(self, seconds: float, *, step_s: float = 0.25, heartbeat_s: float = 3.0) -> None:
        """Time passes; every node tells its status each heartbeat_s, one after the other."""
        end = self.now + seconds
        while self.now < end:
            self.step(step_s)
            for number, name in enumerate(list(self.nodes)):
                phase = (self.now + number * heartbeat_s / max(len(self.nodes), 1)) % heartbeat_s
                if phase < step_s:
                    self.speak(name)

    def settle(self) -> None:
        """Until nobody has to be told anything."""
        for _ in range(100):
            self.step()
            if not self.tracking.is_pending:
                return
        raise AssertionError("the tracker has something to say all the time")

    def links(self, stream: str = "S") -> set[frozenset[str]]:
        """The links that both ends have."""
        return {
            frozenset((name, peer))
            for name, node in self.nodes.items()
            for peer in node.links.get(stream, ())
            if peer in self.nodes and name in self.nodes[peer].links.get(stream, ())
        }

    def degrees(self, stream: str = "S") -> dict[str, int]:
        """How many links each node has in a stream."""
        links = self.links(stream)
        return {
            name: sum(name in link for link in links)
            for name, node in self.nodes.items()
            if stream in node.links
        }
