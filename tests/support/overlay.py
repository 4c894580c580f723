"""Overlays of real nodes in this process, over real sockets, with a tracker in a process of its own or in this one."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import time
from dataclasses import dataclass, field

from support.aws_delays import REGIONS, one_way_ms
from triplewire.broker.config import Config
from triplewire.broker.overlay_config import RelayConfig, TrackerConfig
from triplewire.broker.tracker import running
from triplewire.broker.wire.items import Item
from triplewire.gates.relay.node import Node

STREAM = "news"
_numbers = itertools.count(1)


def items(count: int, source: str = "sensor", size: int = 100) -> list[Item]:
    """Items of about `size` bytes of body, each with an id of its own."""
    return [Item(f"{source}-{next(_numbers):07d}", source, "text/plain", b"x" * size) for _ in range(count)]


async def until(condition, within_s: float = 15.0, what: str = "") -> None:
    """Wait for a condition; raises AssertionError when it does not come true in time."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, what() if callable(what) else what or "it did not come true"
        await asyncio.sleep(0.01)


@dataclass
class Recorder:
    """A sink that remembers; `holds` is awaited before anything is taken, as a slow store would."""

    ids: list[str] = field(default_factory=list)
    publishers: set[str] = field(default_factory=set)
    gaps: list[tuple[str, int, int]] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
    may_take: asyncio.Event | None = None

    async def take(self, some, publisher):
        if self.may_take is not None:
            await self.may_take.wait()
        now = time.perf_counter()
        for item in some:
            self.ids.append(item.event_id)
            self.times[item.event_id] = now
        self.publishers.add(publisher)

    async def missing(self, chain, publisher, first, last):
        self.publishers.add(publisher)
        self.gaps.append((chain, first, last))


@dataclass
class Network:
    """An Impairment for one node: delays of Table 1 by regions, and parcels that are lost."""

    here: int
    regions: dict[str, int]
    lost: float = 0.0
    delayed: bool = False
    silent: set[str] = field(default_factory=set)  # to whom nothing arrives
    rng: random.Random = field(default_factory=lambda: random.Random(1))

    def hold_s(self, peer):
        return one_way_ms(self.here, self.regions[peer]) / 1000 if self.delayed else 0.0

    def loses(self, peer):
        return peer in self.silent or (self.lost > 0 and self.rng.random() < self.lost)


@contextlib.asynccontextmanager
async def tracker(**settings):
    """A tracker on this event loop; its URL."""
    defaults = {"port": 0, "collect_s": 0.0}
    async with running(Config(tracker=TrackerConfig(**{**defaults, **settings}))) as found:
        yield found.url


class Overlay:
    """Nodes of one stream, all in this process; `async with` closes those that are left."""

    def __init__(self, *trackers: str, delayed: bool = False, lost: float = 0.0, **settings) -> None:
        self.trackers = trackers
        self.nodes: dict[str, Node] = {}
        self.sinks: dict[str, Recorder] = {}
        self.networks: dict[str, Network] = {}
        self._regions: dict[str, int] = {}
        self._delayed = delayed
        self._lost = lost
        self._settings = settings

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await asyncio.gather(*(node.close() for node in self.nodes.values()))

    async def add(self, name: str, *, follows: bool = True, region: int | None = None, **settings) -> Node:
        """A node that carries the stream, and follows it."""
        place = len(self._regions) % len(REGIONS) if region is None else region
        self._regions[name] = place
        network = Network(place, self._regions, self._lost, self._delayed, rng=random.Random(name))
        config = RelayConfig(
            **{
                "trackers": self.trackers,
                "node": name,
                "port": 0,
                "region": REGIONS[place],
                **self._settings,
                **settings,
            }
        )
        node = Node(config, impairment=network)
        sink = Recorder()
        node.carry(STREAM, sink)
        await node.start("http://127.0.0.1:1")
        if follows:
            node.follow(STREAM, 1)
        self.nodes[name], self.sinks[name], self.networks[name] = node, sink, network
        return node

    async def grow(self, count: int, **settings) -> None:
        """Nodes n00, n01, ...; returns when each has its neighbours."""
        for number in range(count):
            await self.add(f"n{number:02d}", **settings)
        await self.linked()

    def degrees(self) -> dict[str, int]:
        """How many neighbours each node shares the stream with."""
        return {name: len(neighbours_of(node)) for name, node in self.nodes.items()}

    async def linked(self, degree: int = 4, within_s: float = 20.0) -> None:
        """Wait until all have as many neighbours as there can be, and both ends say so."""

        def settled():
            neighbours = {name: set(neighbours_of(node)) for name, node in self.nodes.items()}
            least = min(degree, len(neighbours) - 1)
            both = all(
                name in neighbours.get(peer, ()) for name, peers in neighbours.items() for peer in peers
            )
            # A last free place stays free where all others are full
            open_places = sum(least - len(peers) for peers in neighbours.values())
            return both and open_places <= (len(neighbours) * least) % 2

        await until(settled, within_s, lambda: f"not linked: {self.degrees()}")

    async def lose(self, name: str) -> None:
        """One node is gone without a word: its sockets are cut, and it tells the tracker nothing."""
        node = self.nodes.pop(name)
        await cut(node)

    def received(self, among=None) -> dict[str, int]:
        """How many items each sink has."""
        return {name: len(self.sinks[name].ids) for name in (among or self.nodes)}


def neighbours_of(node: Node) -> dict:
    """The links over which the node shares the stream."""
    return node._members[STREAM].forwarding.neighbours


async def cut(node: Node) -> None:
    """As if its process had been killed."""
    node._closed = True
    tasks = [*node._tasks, *node._origins._tasks, *node._links._dialling.values(), *node._tracked._tasks]
    for talk in node._tracked._talks.values():
        tasks += talk._tasks
        talk._tasks = []
    node._links._closed = True
    for link in node._links:
        link.cut()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if node._links._server is not None:
        node._links._server.close()
        await node._links._server.wait_closed()
    await node._tracked._http.aclose()
    for member in node._members.values():
        await member.forwarding.close()
