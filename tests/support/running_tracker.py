"""A real tracker in a process of its own, and nodes that tell it over HTTP that they have what it told them to have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

import httpx

from triplewire.gates.relay.statuses import Instructions, StatusLimits

from .aws_delays import REGIONS, one_way_ms
from .running_program import RunningProgram, started
from .simulated_nodes import Simulated

_WORLD = len(REGIONS)
_CONSUMERS = (3, 0, 120, 40, 1500, 12, 260)


@dataclass
class RunningTracker(RunningProgram):
    """`triplewire tracker` on a free port; `http` is its base URL."""

    http: str

    @classmethod
    def start(cls, *arguments: str, env: dict[str, str] | None = None) -> RunningTracker:
        """Start it and wait for `ready`; raises RuntimeError with its output where it ends instead."""
        found = started("tracker", "--set", "tracker.port=0", *arguments, env=env)
        return cls(
            *found, next(m.group() for line in found.lines if (m := re.search(r"http://[^/\s]+", line)))
        )


class FakeNodes:
    """So many nodes of a stream, shared out to the regions of the world, without sockets of their own."""

    def __init__(
        self,
        at: str,
        stream: str,
        count: int,
        *,
        letters: str = "abcdefgh",
        headers: dict[str, str] | None = None,
    ) -> None:
        """Nodes of two streams need other `letters`, or they are the same nodes, and leave the one for the other."""
        self.http = httpx.Client(base_url=at, timeout=20, headers=headers)
        self.stream = stream
        self.regions = {f"{REGIONS[n % _WORLD]}-{letters[n // _WORLD]}": n % _WORLD for n in range(count)}
        self.nodes = {name: self._node(name, number) for number, name in enumerate(self.regions)}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def _node(self, name: str, number: int) -> Simulated:
        said = {"consumers": _CONSUMERS[number % len(_CONSUMERS)], "publishes": number == 0}
        links: dict[str, set[str]] = {self.stream: set()}
        return Simulated(name, REGIONS[self.regions[name]], links=links, rtt_ms=self.rtt_ms, more=said)

    def rtt_ms(self, node: str, peer: str) -> float:
        """There and back, as far as it is between their regions."""
        here, there = self.regions[node], self.regions.get(peer, 0)
        return one_way_ms(here, there) + one_way_ms(there, here)

    def put(self, name: str) -> None:
        """Its status, and it does as it is told."""
        headers = {"Content-Type": "application/json"}
        node = self.nodes[name]
        answer = self.http.put(f"/nodes/{name}", content=node.status().encode(), headers=headers)
        assert answer.status_code == 200, answer.text
        node.take(Instructions.read(answer.content, StatusLimits()))

    def settle(self) -> None:
        """Until all have what they were told and have said so, or five rounds."""
        for _ in range(5):
            before = self.links()
            for name in self.nodes:
                self.put(name)
            if before == self.links():
                return

    def links(self) -> dict[str, set[str]]:
        """What each has links with."""
        return {name: set(node.links.get(self.stream, ())) for name, node in self.nodes.items()}

    def leave(self, name: str) -> None:
        """Says goodbye; the others are told with their next statuses."""
        answer = self.http.delete(f"/nodes/{name}", params={"instance": self.nodes[name].instance})
        assert answer.status_code == 204, answer.text
        del self.nodes[name]
        self.settle()
