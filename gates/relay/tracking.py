"""What a tracker knows and decides: statuses come in, instructions go out.  No I/O; whoever calls says what time it is.

A node's status is its whole state, and what it is answered is the whole of what it shall have.  Others whose neighbours
changed by it are told when nothing more has changed for a moment, so that a crowd of newcomers does not have each link made
and cut many times; that is what `due` is for.

The same seed and the same calls, in their order and with their times, make the same overlays.
"""

from __future__ import annotations

import random
import secrets
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from triplewire.broker.errors import Forbidden, NotFound

from .holders import Holders
from .judge import Everybody
from .nodes import Nodes, owner_of
from .overlays import Overlays
from .paces import Paces
from .redirects import Redirects
from .statuses import Instructions, Neighbour, StreamInstructions
from .tracker_counts import Counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from triplewire.broker.overlay_config import TrackerConfig
    from triplewire.broker.rights import Access

    from .judge import Judge
    from .nodes import Node
    from .overlay import Overlay
    from .statuses import Status, StreamStatus
    from .tickets import TrackerKey

_SEED_BITS = 64
_RETURNS = 5  # into one stream, that may come at once


class Tracking:
    """The state of a tracker.  `degree` tells a stream's own, 0 for the tracker's; `wall` seconds since the epoch."""

    def __init__(  # noqa: PLR0913 - what it is given, by keyword
        self,
        config: TrackerConfig,
        key: TrackerKey,
        *,
        now: float,
        judge: Judge | None = None,
        degree: Callable[[str], int] = lambda _: 0,
        seed: int | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.counted = Counts()
        self._config = config
        self._judge: Judge = judge or Everybody()
        self._rng = random.Random(secrets.randbits(_SEED_BITS) if seed is None else seed)  # noqa: S311
        self.overlays = Overlays(
            config, key, counts=self.counted, rng=self._rng, degree=degree, wall=wall, now=now
        )
        self.nodes = Nodes(config, self.overlays.delays, self._judge)
        self.redirects = Redirects(self.nodes, self.overlays, self._judge, self._rng, self.counted)
        self._returns = Paces(config.rejoin_s, _RETURNS)
        self._begun = Holders()  # by clients
        # Names are free, so a client's nodes come into a stream together no faster than some of them might
        step_s = config.rejoin_s / _RETURNS if config.client_nodes else 0.0
        self._of_clients = Paces(step_s, config.client_nodes + _RETURNS)
        # When a node's instructions changed first, and last
        self._pending: dict[str, tuple[float, float]] = {}

    @property
    def epoch(self) -> str:
        """What this start of the tracker is called."""
        return self.overlays.epoch

    def status(self, status: Status, who: Access, now: float) -> Instructions:
        """A node says how it is, by a client that may speak for it; what it shall have.

        Raises:
            Conflict: another process is alive under its id.
            TooManyRequests: there are as many nodes as there may be, or as many of this client.
        """
        name = status.node
        if self.nodes.is_taken(status, who):
            self.remove(name, now)
        node, is_new = self.nodes.tell(status, who, now)
        if not is_new:
            self.counted.late += 1
            return self._instructions(name, node)
        self.counted.statuses += 1
        for stream in node.joined - status.streams.keys():
            self._leave(name, node, stream, now)
        node.refused = {}
        for stream, one in status.streams.items():
            refusal = self._refusal(stream, node)
            if refusal:
                node.refused[stream] = refusal
                self._leave(name, node, stream, now)
            elif stream in node.joined or self._join(name, node, stream, now):
                self._put_off(self.overlays.heard(name, stream, one, now), now)
        self._pending.pop(name, None)  # the answer has it all
        return self._instructions(name, node)

    def instructions(self, name: str) -> Instructions | None:
        """The whole of what a node shall have by now; None where it is not alive."""
        node = self.nodes.get(name)
        return self._instructions(name, node) if node is not None else None

    def remove(self, name: str, now: float) -> bool:
        """A node is gone; whether it was there."""
        node = self.nodes.get(name)
        if node is None:
            return False
        for stream in list(node.joined):
            self._leave(name, node, stream, now)
        self.nodes.remove(name)
        self._pending.pop(name, None)
        return True

    def pass_time(self, now: float) -> list[str]:
        """Let go of who is silent, and do what is due by now; the nodes that are gone."""
        gone = self.nodes.gone(now)
        for name in gone:
            self.remove(name, now)
        self.counted.gone += len(gone)
        self._returns.forget(now)
        self._of_clients.forget(now)
        if not self._judge.known:
            self.overlays.wait(now)
        self._put_off(self.overlays.pass_time(now), now)
        return gone

    def due(self, now: float) -> list[str]:
        """The nodes that have to be told their instructions now, by `instructions`; each is said once."""
        quiet, most = now - self._config.debounce_s, now - self._config.debounce_most_s
        due = [name for name, (first, last) in self._pending.items() if last <= quiet or first <= most]
        for name in due:
            del self._pending[name]
        return due

    @property
    def is_pending(self) -> bool:
        """Whether somebody has to be told something."""
        return bool(self._pending)

    @property
    def is_busy(self) -> bool:
        """Whether time should be passed again soon, and not only some times a second."""
        return self.is_pending or self.overlays.is_busy

    def judge(self, now: float) -> None:
        """Permissions, or the registry, are others: who may not be where it is leaves, and all hear of it."""
        self._put_off(self.overlays.spread(now), now)
        for name in list(self.nodes):
            node = self.nodes.get(name)
            assert node is not None
            before, node.refused = node.refused, {}
            for stream in node.status.streams:
                if refusal := self._refusal(stream, node):
                    node.refused[stream] = refusal
                    self._leave(name, node, stream, now)
            if before != node.refused or any(one.publishes for one in node.status.streams.values()):
                self._put_off([name], now)

    def origin(self, name: str, stream: str, chain: str) -> Neighbour:
        """The node that a chain is of, with a ticket for a link with it, for a member of the stream.

        Raises:
            NotFound: there is no such chain, or its node is gone.
            Forbidden: the node is not in the stream, or the chain is its own.
        """
        overlay = self.overlays.get(stream)
        if overlay is None or name not in overlay.members:
            raise Forbidden(f"the node {name!r:.80} is not in the stream {stream!r:.200}")
        origin = overlay.issuing.origin(chain)
        node = self.nodes.get(origin) if origin is not None else None
        if origin is None or node is None or origin not in overlay.members:
            raise NotFound(f"there is no chain {chain!r:.40} in the stream {stream!r:.200}")
        if origin == name:
            raise Forbidden("the chain is the node's own")
        return Neighbour(origin, node.status.links_at, overlay.issuing.single(name, origin))

    def topology(self, stream: str) -> dict[str, Any]:
        """A stream's overlay, as a client sees it.  Raises NotFound."""
        overlay = self.overlays.there(stream)
        links = overlay.links()
        nodes: dict[str, Any] = {}
        for name, member in overlay.members.items():
            node = self.nodes.get(name)
            assert node is not None, "who is gone has left its streams"
            nodes[name] = {
                "region": node.status.region,
                "consumers": member.status.consumers,
                "publishes": member.status.publishes,
                "streams_at": node.status.streams_at,
                "neighbours": {peer: round(delay_ms, 3) for peer, delay_ms in links[name].items()},
            }
        return {
            "stream": stream,
            "epoch": self.epoch,
            "degree": overlay.degree,
            "collecting": overlay.collecting is not None,
            "nodes": nodes,
        }

    def state(self) -> dict[str, Any]:
        """Figures, for /health and /metrics."""
        return {"nodes": len(self.nodes), **self.overlays.state(), **asdict(self.counted)}

    def _refusal(self, stream: str, node: Node) -> str:
        refusal = self._judge.refusal(stream, node.who)
        if refusal or stream in node.joined:
            return refusal
        if len(node.joined) >= self._config.node_streams:
            return f"the node is in {self._config.node_streams} streams already (tracker.node_streams)"
        if self.overlays.get(stream) is not None or self._judge.registered(stream):
            return ""
        if self.overlays.is_full:
            return f"there are {self._config.streams} streams, and no more may come (tracker.streams)"
        most = self._config.client_streams if node.owner is not None else 0
        if most and self._begun.count(node.owner) >= most:
            return f"its client has begun {most} streams, and more have to be registered (tracker.client_streams)"
        return ""

    def _join(self, name: str, node: Node, stream: str, now: float) -> bool:
        """Whether a node comes into a stream now: others get other neighbours each time, so not without end."""
        overlay, owner = self.overlays.get(stream), owner_of(node.who)
        # While nodes only tell what they have, as all do who come back at once, nobody gets others
        is_counted = owner is not None and (overlay is None or overlay.collecting is None)
        is_early = is_counted and self._of_clients.has_spent((owner, stream), now)
        if is_early or not self._returns.may((name, stream), now):
            self.counted.put_off += 1
            return False
        if is_counted:
            self._of_clients.spend((owner, stream), 1.0, now)
        node.joined.add(stream)
        self._begun.hold(stream, node.owner)
        self.counted.joins += 1
        return True

    def _leave(self, name: str, node: Node, stream: str, now: float) -> None:
        if stream in node.joined:
            node.joined.discard(stream)
            self._begun.let_go(stream, node.owner)
            self.counted.leaves += 1
            self._put_off(self.overlays.leave(name, stream, now), now)

    def _put_off(self, names: Iterable[str], now: float) -> None:
        for name in names:
            first, _ = self._pending.get(name, (now, now))
            self._pending[name] = (first, now)

    def _instructions(self, name: str, node: Node) -> Instructions:
        self.counted.instructed += 1
        # Numbered as neighbours are: of a refusal and an admission that pass each other on their way, the newer one counts
        streams = {
            stream: StreamInstructions(self.overlays.number(), refused=refusal)
            for stream, refusal in node.refused.items()
        }
        for stream in node.joined if self._judge.known else ():
            overlay = self.overlays.there(stream)
            # While others tell what they have, it keeps what it was told here; if that was nothing, what it has
            if overlay.collecting is None or overlay.members[name].counter:
                streams[stream] = self._stream(name, node, stream, overlay)
        return Instructions(self.epoch, self._config.heartbeat_s, streams)

    def _stream(self, name: str, node: Node, stream: str, overlay: Overlay) -> StreamInstructions:
        member = overlay.members[name]
        neighbours = []
        for peer in sorted(member.neighbours):
            other = self.nodes.get(peer)
            assert other is not None, "who is gone has left its streams"
            neighbours.append(Neighbour(peer, other.status.links_at, overlay.issuing.ticket(name, peer)))
        return StreamInstructions(
            member.counter,
            tuple(neighbours),
            self._certificate(name, node, stream, overlay, member.status),
            overlay.p99_ms,
            nodes=len(overlay.members),
        )

    def _certificate(self, name: str, node: Node, stream: str, overlay: Overlay, said: StreamStatus) -> str:
        publisher = self._judge.publisher(stream, node.who) if said.key else None
        if publisher is None:
            return ""
        return overlay.issuing.certificate(said.key, said.proof, publisher, name, node.status.links_at)
