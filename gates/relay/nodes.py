"""The nodes that a tracker knows: each by its newest status, whether it is alive, and how often it may speak.

Moments are in seconds of one clock that never goes back.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triplewire.broker.errors import Conflict, NotFound, TooManyRequests

from .holders import Holders
from .judge import Everybody
from .paces import Paces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triplewire.broker.overlay_config import TrackerConfig
    from triplewire.broker.rights import Access

    from .delays import Delays
    from .judge import Judge
    from .statuses import Status

    Owner = tuple[str, str]

_BURST_S = 1.0  # what may come in so much time may come at once
_CARRIED = 10  # tracker.streams: different ones that are remembered
_LATELY_S = 30.0  # after which half of those that were sent to a node are thought to be gone


@dataclass(slots=True)
class Node:
    """A node that is alive: its newest status, whose it is, the streams that it may not be in with the reasons.

    `listening` is how many streams of instructions it has open, `capacity` how many consumers it is believed to take.
    `sent` are the consumers that were sent there since its status, `lately` those before: it has so many whatever it says.
    """

    status: Status
    who: Access
    seen: float
    joined: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    listening: int = 0
    has_listened: bool = False
    capacity: int = 0
    consumers: int = 0
    sent: int = 0
    lately: float = 0.0
    owner: Owner | None = field(init=False)

    def __post_init__(self) -> None:
        self.owner = owner_of(self.who)

    @property
    def load(self) -> float:
        """The part of its capacity that is taken; more than 1 where it has more consumers than it wants."""
        taken = max(self.consumers, self.lately) + self.sent
        return taken / self.capacity if self.capacity else 1.0 + taken


class Nodes:
    """Those that are alive, by their ids; those that were silent for longest come first."""

    def __init__(self, config: TrackerConfig, delays: Delays, judge: Judge | None = None) -> None:
        self._config = config
        self._delays = delays
        self._judge: Judge = judge or Everybody()
        self._nodes: OrderedDict[str, Node] = OrderedDict()
        self._ended: OrderedDict[str, float] = OrderedDict()  # whose instructions have ended, and when
        self._looked = 0.0  # for who is gone
        self._owned: Counter[Owner] = Counter()
        self._regions: Counter[str] = Counter()
        self._carriers: dict[str, dict[str, Owner | None]] = {}
        self._carried = Holders()
        step_s, at_once = 1 / config.statuses_per_s, _BURST_S * config.statuses_per_s
        self._statuses = Paces(step_s, at_once)
        self._of_clients = Paces(step_s, at_once)
        self._questions = Paces(step_s, at_once)

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def get(self, node: str) -> Node | None:
        """None where it is not alive."""
        return self._nodes.get(node)

    def alive(self, node: str, instance: str) -> Node:
        """The node, as this process.

        Raises:
            NotFound: it is not alive.
            Conflict: it is alive as another process.
        """
        found = self._nodes.get(node)
        if found is None:
            raise NotFound(f"there is no node {node!r:.80}: it has to tell its status first")
        if found.status.instance != instance:
            raise _in_use(node)
        return found

    def speaks(self, node: str, who: Access, now: float, site: str = "") -> None:
        """A node says how it is; what it said lately counts also where it has left meanwhile.

        A client may speak as often as all its nodes that are alive, and once more: names are free.  What is said under a
        node's name at another `site` than its own takes nothing from it.

        Raises:
            TooManyRequests: the node or its client does so too often.
        """
        owner = owner_of(who)
        if owner is not None and self._of_clients.has_spent(owner, now):
            raise self._too_often(f"the client {who.client!r:.80}", "speaks for its nodes", " for each")
        if not self._statuses.may((node, site), now):
            raise self._too_often(f"the node {node!r:.80}", "speaks")
        self._spend(owner, 1, now)

    def spends(self, node: str, who: Access, statuses: int, now: float, site: str = "") -> None:
        """What it said takes as long as so many statuses more."""
        self._statuses.spend((node, site), statuses, now)
        self._spend(owner_of(who), statuses, now)

    def asks(self, node: str, now: float, site: str = "") -> None:
        """A node asks for something else: as often, and apart from that, so that nothing takes its heartbeats from it.

        Raises:
            TooManyRequests: it does so too often.
        """
        if not self._questions.may((node, site), now):
            raise self._too_often(f"the node {node!r:.80}", "asks")

    def is_taken(self, status: Status, who: Access) -> bool:
        """Whether another process has to leave first, which is dead.

        Raises:
            Conflict: it is alive.
            TooManyRequests: there are as many nodes as there may be, or as many of this client.
        """
        known = self._nodes.get(status.node)
        if known is None:
            if len(self._nodes) >= self._config.nodes:
                raise TooManyRequests(
                    f"there are {self._config.nodes} nodes, and no more may come (tracker.nodes)"
                )
            owner, most = owner_of(who), self._config.client_nodes
            if most and owner is not None and self._owned[owner] >= most:
                raise TooManyRequests(
                    f"the client {who.client!r:.80} has {most} nodes, and no more of it may come (tracker.client_nodes)"
                )
            return False
        if known.status.instance == status.instance:
            # Others were told where it takes links
            return known.status.links_at != status.links_at
        if known.listening or not known.has_listened:
            raise _in_use(status.node)
        return True

    def tell(self, status: Status, who: Access, now: float) -> tuple[Node, bool]:
        """A node's status; the node, and whether the status is a new one and not one that comes late."""
        known = self._nodes.get(status.node)
        if known is None:
            known = self._nodes[status.node] = Node(status, who, now)
            self._own(who, 1)
            self._place(status.region)
            self._delays.place(status.node, status.region)
        elif status.number and status.number <= known.status.number:
            return known, False
        else:
            self._uncarry(known.status)
            if known.status.region != status.region:
                self._displace(known.status.region)
                self._place(status.region)
                self._delays.place(status.node, status.region)
        self._carry(status, who, known.owner)
        known.lately = (known.lately + known.sent) * 0.5 ** ((now - known.seen) / _LATELY_S)
        known.status, known.who, known.seen = status, who, now
        known.capacity = min(status.capacity, self._config.capacity)
        known.consumers = sum(one.consumers for one in status.streams.values())
        known.sent = 0
        self._nodes.move_to_end(status.node)
        return known, True

    def remove(self, node: str) -> Node | None:
        """The node is gone."""
        known = self._nodes.pop(node, None)
        if known is not None:
            self._ended.pop(node, None)
            self._own(known.who, -1)
            self._uncarry(known.status)
            self._displace(known.status.region)
            self._delays.forget(node)
        return known

    def listen(self, node: str, instance: str) -> Node:
        """The node opens a stream of instructions.  Raises NotFound or Conflict."""
        found = self.alive(node, instance)
        found.listening += 1
        found.has_listened = True
        self._ended.pop(node, None)
        return found

    def unlisten(self, node: Node, now: float) -> None:
        """A stream of instructions has ended, which the node opened; it may be gone, or there anew, meanwhile."""
        node.listening -= 1
        if not node.listening and self._nodes.get(node.status.node) is node:
            self._ended[node.status.node] = now

    def gone(self, now: float) -> list[str]:
        """Those that are silent for too long, or have let their instructions end; while nobody looked, nobody was heard."""
        missed_s, self._looked = now - self._looked, now
        if missed_s > self._config.heartbeat_s:
            for known in self._nodes.values():
                known.seen = min(known.seen + missed_s, now)
            for node, ended in self._ended.items():
                self._ended[node] = min(ended + missed_s, now)
        found = dict.fromkeys(_until(self._ended.items(), now - self._config.gone_s))
        seen = ((node, known.seen) for node, known in self._nodes.items())
        found.update(dict.fromkeys(_until(seen, now - self._config.silent_s)))
        return list(found)

    def carriers(self, stream: str) -> list[str]:
        """Those that would join a stream once somebody follows there."""
        return list(self._carriers.get(stream, ()))

    def far_ms(self, region: str, node: str) -> float:
        """The delay from a place in this region to a node; "" is anywhere."""
        # No node's id has this sign
        return self._delays.between(f"@{region}", node) if region else 0.0

    def _too_often(self, who: str, does: str, each: str = "") -> TooManyRequests:
        return TooManyRequests(
            f"{who} {does} more than {self._config.statuses_per_s:g} times a second{each}"
            " (tracker.statuses_per_s)"
        )

    def _spend(self, owner: Owner | None, times: int, now: float) -> None:
        if owner is not None:
            self._of_clients.spend(owner, times / (1 + self._owned[owner]), now)

    def _own(self, who: Access, change: int) -> None:
        owner = owner_of(who)
        if owner is not None:
            self._owned[owner] += change
            if not self._owned[owner]:
                del self._owned[owner]

    def _place(self, region: str) -> None:
        self._regions[region] += 1
        if region and self._regions[region] == 1:
            self._delays.place(f"@{region}", region)

    def _displace(self, region: str) -> None:
        self._regions[region] -= 1
        if not self._regions[region]:
            del self._regions[region]
            self._delays.forget(f"@{region}")

    def _carry(self, status: Status, who: Access, owner: Owner | None) -> None:
        for stream in status.carries[: self._config.node_streams]:
            if self._has_room(stream, owner) and not self._judge.refusal(stream, who):
                carriers = self._carriers.setdefault(stream, {})
                if status.node not in carriers:
                    carriers[status.node] = owner
                    self._carried.hold(stream, owner)

    def _has_room(self, stream: str, owner: Owner | None) -> bool:
        if stream in self._carriers or self._judge.registered(stream):
            return True
        most = self._config.client_streams if owner is not None else 0
        if most and self._carried.count(owner) >= _CARRIED * most:
            return False
        return len(self._carriers) < _CARRIED * self._config.streams

    def _uncarry(self, status: Status) -> None:
        for stream in status.carries:
            carriers = self._carriers.get(stream, {})
            if status.node in carriers:
                self._carried.let_go(stream, carriers.pop(status.node))
            if not carriers:
                self._carriers.pop(stream, None)


def _until(times: Iterable[tuple[str, float]], moment: float) -> Iterator[str]:
    for node, time in times:
        if time > moment:
            return
        yield node


def owner_of(who: Access) -> Owner | None:
    """Whose nodes are counted together; None where nobody has to say who they are."""
    return (who.issuer, who.client) if who.client else None


def _in_use(node: str) -> Conflict:
    return Conflict(f"the node {node!r:.80} is alive as another process", code="node_in_use")
