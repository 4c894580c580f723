"""One stream's overlay as the tracker has it: who is in it, what each was told, and what each says of it.

`Topology` decides who are neighbours; here that becomes instructions, and statuses become what it has to know.

*Counters.*  Each time that a node's neighbours change, its instructions get the next number of one sequence for the whole
tracker.  A status that is not of the newest instructions says nothing of them, and its neighbours are not looked at.

*After a start* of the tracker, and where the nodes of a stream come over from another tracker, or back to this one as none
of them reached it for a while, nothing is decided for a while: the nodes keep their links and tell of them.  That ends when
it has lasted as long as it must, and every node that somebody has a link with is there; or when none with links has come
for some seconds, or it has lasted as long as it may.  Who was told its neighbours before is told the same again meanwhile,
and newcomers wait.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from .paces import Paces
from .topology import Topology
from .unlinked import Unlinked

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from triplewire.broker.overlay_config import TrackerConfig

    from .delays import Delays
    from .exchanges import Improved, Most
    from .issuing import Issuing
    from .statuses import StreamStatus
    from .tracker_counts import Counts

# How often it is looked whether all are there, and who is forgiven; how long those who come over are waited for at least
_LOOK_S = 0.5
_COME_OVER_S = 1.0
_QUIET_S = 10.0  # nobody has come with links for so long: who is missing is dead, or was never there
_AGAIN = 10  # return_s: nobody can have a stream wait again and again
_EXCHANGES = 4  # degrees: so many of one node's links are exchanged for better ones
_EXCHANGED_S = 300.0  # within this
_AGREED = 0.5  # what an exchange counts for a node whose neighbour says the same of their link; 1 is too much for 32 nodes
_ALONE_S = 10.0  # a neighbour that says nothing of a link for so long leaves its length to the other end
_MEASURED_S = (
    0.5  # after an exchange its links have to be there, and measured, before these nodes are in another
)
_MEASURING = 4  # one of so many nodes, at most


class Collecting(NamedTuple):
    """From when on, and until when at most, a stream's nodes only tell what they have; moments of the tracker's clock."""

    least: float
    most: float

    @classmethod
    def over(cls, config: TrackerConfig, now: float) -> Collecting:
        """From another tracker, one after the other: it shows when all are there."""
        return cls(now + _COME_OVER_S, now + config.return_s)


class Pairs:
    """The pairs that are linked, by how many streams: what was measured between two ends with their last one."""

    def __init__(self, delays: Delays) -> None:
        self._delays = delays
        self._streams: Counter[tuple[str, str]] = Counter()

    def __len__(self) -> int:
        return len(self._streams)

    def link(self, pair: tuple[str, str]) -> None:
        """They are neighbours in one stream more."""
        self._streams[pair] += 1

    def cut(self, pair: tuple[str, str]) -> None:
        """They are neighbours in one stream less."""
        self._streams[pair] -= 1
        if not self._streams[pair]:
            del self._streams[pair]
            self._delays.cut(*pair)


@dataclass(slots=True)
class Member:
    """A node in one stream: its newest status, its neighbours as it was told them, the number of that, and when it was."""

    status: StreamStatus
    neighbours: frozenset[str] = frozenset()
    counter: int = 0
    told: float = 0.0


@dataclass(slots=True)
class Rest:
    """Until when no exchange of links is tried, and how many tries have changed nothing since one did."""

    until: float = 0.0
    in_vain: int = 0


@dataclass(slots=True)
class Overlay:
    """The overlay of one stream.

    `counters` is the tracker's sequence, `disturbed` when links changed last, but for the better.  `version` is another
    one with each change, also over an end of the stream, `p99_ms` an estimate of how long items take, 0 where there is none yet.

    Methods return the nodes that have to be told something.
    """

    config: TrackerConfig
    delays: Delays
    pairs: Pairs
    issuing: Issuing
    counts: Counts
    counters: Iterator[int]
    degree: int
    seed: int
    collecting: Collecting | None = None
    version: int = 0
    p99_ms: float = 0.0
    disturbed: float = 0.0
    rest: Rest = field(default_factory=Rest)
    members: dict[str, Member] = field(default_factory=dict)
    _topology: Topology = field(init=False)
    _unlinked: Unlinked = field(init=False)
    _exchanged: Paces = field(init=False)
    _measuring: Paces = field(init=False)
    _came: float = 0.0
    _look: float = 0.0
    _again: float = 0.0

    def __post_init__(self) -> None:
        config = self.config
        self._topology = self._new_topology()
        self._unlinked = Unlinked(config.unlinked_s, config.forgive_s, config.refusals)
        # Who says that its links are long would be given others, until it has those that it wants
        most = _EXCHANGES * self.degree
        self._exchanged = Paces(_EXCHANGED_S / most, most)
        self._measuring = Paces(_MEASURED_S, 1)

    def heard(self, node: str, status: StreamStatus, epoch: str, now: float) -> Collection[str]:
        """A node's status; one that was not here before comes in."""
        member = self.members.get(node)
        if member is None:
            self._come(status, now)
            member = self.members[node] = Member(status)
            if self.collecting is None:
                return self._tell({node, *self._topology.join(node)}, now)
        member.status = status
        if self.collecting is not None:
            self._topology.adopt(node, _linked(status))
            return ()
        if (status.epoch, status.counter) != (epoch, member.counter):
            return ()
        for peer, rtt_ms in status.neighbours.items():
            if rtt_ms and peer in member.neighbours:
                self._measure(node, peer, rtt_ms, now)
        return self._give_up(node, member, now)

    def _measure(self, node: str, peer: str, rtt_ms: float, now: float) -> None:
        """What both ends say of their link comes to be known at once: else the first could tell less than is true, for a while."""
        other = self.members[peer]
        said_ms = other.status.neighbours.get(node)
        if said_ms:
            self.delays.report(peer, node, said_ms)
        if said_ms or now - other.told >= _ALONE_S:
            self.delays.report(node, peer, rtt_ms)

    def leave(self, node: str, now: float) -> Collection[str]:
        """A node is gone, or follows and publishes no more."""
        member = self.members.pop(node, None)
        if member is None:
            return ()
        self._unlinked.forget(node)
        changed = self._topology.leave(node)
        for peer in member.neighbours:
            self._cut(node, peer)
            self.members[peer].neighbours -= {node}
        if self.collecting is not None:
            return self._number(member.neighbours, now)
        return self._tell(changed | member.neighbours, now)

    def pass_time(self, now: float) -> Collection[str]:
        """What is due by now: the end of collecting, pairs that may be tried again."""
        if self.collecting is not None:
            if now < self._look or now < self.collecting.least:
                return ()
            self._look = now + _LOOK_S
            if self._is_waiting():
                if now < min(self.collecting.most, self._came + _QUIET_S):
                    return ()
                self._again = now + _AGAIN * self.config.return_s
            self.collecting = None
            self._topology.settle()
            return self._tell(self.members, now)
        if now < self._look:
            return ()
        self._look = now + _LOOK_S
        forgiven = self._unlinked.forgiven(now)
        for pair in forgiven:
            self._topology.forgive(*pair)
        # A small network may have had nobody else to give them
        return self._tell(self._topology.settle(), now) if forgiven else ()

    def spread(self, degree: int, now: float) -> Collection[str]:
        """From now on nodes have so many neighbours; they keep those that they have, as far as that goes."""
        self.degree = degree
        self._topology = self._new_topology()
        for node, member in self.members.items():
            said = () if self.collecting is None else _linked(member.status)
            self._topology.adopt(node, [*sorted(member.neighbours), *said])
        if self.collecting is not None:
            return ()
        self._topology.settle()
        return self._tell(self.members, now)

    def improve(self, most: Most, now: float) -> Improved:
        """Try to exchange two links for better ones; see `Topology.improve`."""
        disturbed, rest = self.disturbed, self.rest
        paces = (self._exchanged, self._measuring)
        spared = [node for node in self.members if any(pace.has_spent(node, now) for pace in paces)]
        improved = self._topology.improve(self.config.hop_ms, most, spared)
        for node in improved.changed:
            gone = self.members[node].neighbours - self._topology.neighbours(node)
            is_alone = any(self.delays.stretches(node, peer) for peer in gone)
            self._exchanged.spend(node, 1.0 if is_alone else _AGREED, now)
            self._measuring.spend(node, 1.0, now)
        self._tell(improved.changed, now)
        self.disturbed, self.rest = disturbed, rest
        return improved

    def is_reached(self, node: str) -> bool:
        """Whether a node says that it has a link with another."""
        return bool(_linked(self.members[node].status))

    def is_measuring(self, now: float) -> bool:
        """Whether many nodes were given other links just now, so that nothing is known of these yet."""
        self._measuring.forget(now)
        return _MEASURING * len(self._measuring) >= len(self.members)

    def summary(self) -> dict[str, Any]:
        """How many are in it."""
        members = self.members.values()
        return {
            "nodes": len(members),
            "consumers": sum(member.status.consumers for member in members),
            "publishers": sum(member.status.publishes for member in members),
            "degree": self.degree,
            "collecting": self.collecting is not None,
        }

    def links(self) -> dict[str, dict[str, float]]:
        """Each node with its neighbours and the delays to them, in ms one way."""
        between = self.delays.between
        return {
            node: {peer: between(node, peer) for peer in sorted(member.neighbours)}
            for node, member in self.members.items()
        }

    def _new_topology(self) -> Topology:
        return Topology(
            self.delays.between,
            degree=self.degree,
            seed=self.seed,
            sampled=self.config.sampled,
            choice=self.config.choice,
        )

    def _come(self, status: StreamStatus, now: float) -> None:
        """Others are waited for where a node comes over, or back, and some of those that it has links with are not here yet."""
        if not self.members or comes_over(status):
            self._came = now  # not for newcomers, who may come at any time
        has_others = comes_over(status) and any(peer not in self.members for peer in _linked(status))
        if self.collecting is None and now >= self._again and has_others:
            self.collecting = Collecting.over(self.config, now)
            self._again = now + _AGAIN * self.config.return_s

    def _give_up(self, node: str, member: Member, now: float) -> Collection[str]:
        told: set[str] = set()
        for peer in self._unlinked.heard(node, sorted(member.neighbours), member.status.neighbours, now):
            self.counts.refused_pairs += 1
            told.update(self._tell(self._topology.refuse(node, peer), now))
        return told

    def _tell(self, changed: Iterable[str], now: float) -> Collection[str]:
        """Take over what the topology has changed; those whose instructions are others now."""
        told: list[str] = []
        for node in changed:
            member = self.members.get(node)
            if member is None:
                continue
            before, after = member.neighbours, self._topology.neighbours(node)
            # Each link has two ends, both of which have changed: the lesser one counts it
            for peer in before - after:
                if node < peer:
                    self._cut(node, peer)
            for peer in after - before:
                if node < peer:
                    self.pairs.link((node, peer))
            member.neighbours = after
            told.append(node)
        return self._number(told, now)

    def _number(self, told: Collection[str], now: float) -> Collection[str]:
        """The lists of these are others."""
        for node in told:
            member = self.members[node]
            self.version = member.counter = next(self.counters)
            member.told = now
        if told:
            self.counts.changes += len(told)
            self.disturbed = now
            self.rest = Rest()
        return told

    def _cut(self, node: str, peer: str) -> None:
        self.pairs.cut((node, peer) if node < peer else (peer, node))
        self.issuing.let_go(node, peer)

    def _is_waiting(self) -> bool:
        """Whether somebody has a link with a node that has not come yet."""
        return any(
            peer not in self.members for member in self.members.values() for peer in _linked(member.status)
        )


def comes_over(status: StreamStatus) -> bool:
    """Whether a node that was not there has links by a tracker's instructions: by those of this one, too, if nobody reached it."""
    return bool(status.epoch and _linked(status))


def _linked(status: StreamStatus) -> Mapping[str, float | None]:
    return {peer: rtt_ms for peer, rtt_ms in status.neighbours.items() if rtt_ms is not None}
