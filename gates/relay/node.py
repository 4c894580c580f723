"""A member of overlays: it has links with other nodes, and passes on what is published in the streams that it is in.

It is in a stream only while somebody follows or publishes there, and a little longer; what it carries else, its tracker
knows by name, so that the first consumer of a stream can be sent here.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from triplewire.broker.errors import (
    Forbidden,
    NotFound,
    Overloaded,
    ProtocolError,
    ShuttingDown,
    Unauthorized,
)

from .counted import Counted
from .forwarding import Forwarding
from .links import Links
from .membership import Membership
from .messages import Absent, Certified, Heads, Join, Leave, Need, Resent, Wanted, decode, encode
from .origins import Origins
from .parcels import Parcel
from .publishing_chain import PublishingChain, all_left
from .statuses import Status
from .tickets import Forged
from .told_chains import ToldChains
from .tracked import Tracked
from .unproven import Unproven

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Sequence

    from triplewire.broker.overlay_config import RelayConfig
    from triplewire.broker.wire.items import Item
    from triplewire.clients.authorization import TokenSource

    from .carrying import Sink
    from .impairment import Impairment
    from .link import Link
    from .links import Pages
    from .messages import Message
    from .places import Places
    from .statuses import Neighbour, StreamInstructions, StreamStatus

log = logging.getLogger("triplewire.gates.relay")

_TICK_S: Final = 0.25
_IDLE_S: Final = 3.0  # how long a link stays that no stream is shared over
_JAM_S: Final = 0.005


class Node:
    """Implements Carrier, and is the user of its links and its trackers.  Made on the event loop."""

    def __init__(
        self,
        config: RelayConfig,
        *,
        tls: ssl.SSLContext | None = None,
        tokens: TokenSource | None = None,
        pages: Pages | None = None,
        impairment: Impairment | None = None,
    ) -> None:
        """`tls` is the certificate of the links' port, `tokens` say who this is to the trackers.

        Raises:
            ClientError: `relay.ca` can't be read.
        """
        self.node = config.node or f"node-{secrets.token_hex(6)}"
        self.counted = Counted()
        self.links_at = config.links_at
        self._streams_at = config.streams_at
        self._config = config
        self._instance = secrets.token_hex(8)
        self._statuses = 0
        self._members: dict[str, Membership] = {}
        self._chains: dict[bytes, Membership] = {}
        self._tracked = Tracked(self.node, config, self, self.counted, tokens)
        self._links = Links(
            self.node,
            config,
            self,
            self.counted,
            tls=tls,
            trust=self._tracked.trust,
            pages=pages,
            impairment=impairment,
        )
        self._idle: dict[str, float] = {}
        self._origins = Origins(self.node, config.dial_s, self._tracked, self._links, self.counted)
        self._unproven = Unproven(self._tracked.learn, self._proven)
        self._told_chains = ToldChains(
            self._members, self._chains, self._tracked.keys, self.counted, config.chains
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def start(self, streams_at: str = "") -> None:
        """Open the port for links, and be known to a tracker; consumers find this node's streams at `streams_at`.

        Raises:
            OSError: the port can't be opened.
        """
        await self._links.listen()
        self._streams_at = self._config.streams_at or streams_at
        self.links_at = self._config.links_at or self._links.url
        self._tracked.start()
        self._begin(self._pass_time())

    @property
    def port(self) -> int:
        """The port for links."""
        return self._links.port

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # What streams ask of it: Carrier

    def carry(self, stream: str, sink: Sink, places: Places | None = None) -> None:
        """See `Carrier`."""
        if self._closed or stream in self._members:
            return
        forwarding = Forwarding(
            sink,
            self._config,
            self.counted,
            self._origins.ask,
            self._forget,
            lambda: self._tracked.renews(stream),
            places,
        )
        changed = self._tracked.changed
        self._members[stream] = Membership(stream, forwarding, changed, self._config.dial_s)
        self._tracked.changed()

    async def drop(self, stream: str) -> None:
        """See `Carrier`."""
        if stream in self._members:
            await self._members[stream].handed_over()
        member = self._members.pop(stream, None)
        if member is None:
            return
        if member.joined:
            self._leave(member)
        for chain in member.forwarding.chains():
            member.forwarding.forget(chain)
        self._tracked.changed()
        await member.forwarding.close()

    def follow(self, stream: str, followers: int) -> None:
        """See `Carrier`."""
        member = self._members.get(stream)
        if member is None or self._closed or followers == member.followers:
            return
        was_followed, member.followers = bool(member.followers), followers
        member.used_at = asyncio.get_running_loop().time()
        if followers and not member.joined:
            self._join(member)
        elif was_followed != bool(followers):
            self._tracked.changed(stream)

    async def ready(self, stream: str) -> None:
        """See `Carrier`."""
        member = self._member(stream)
        member.used_at = asyncio.get_running_loop().time()
        if member.own is None:
            member.own = self._own(member)
            member.decided.clear()
            self._tracked.changed(stream)
        if not member.joined:
            self._join(member)
        self._let_end(member)
        if not member.decided.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._config.dial_s):
                    await member.decided.wait()
        trouble, is_refused = self._tracked.trouble(stream)
        if is_refused:
            raise Forbidden(f"the tracker does not take this node: {trouble}")
        if member.refused or member.unpublished:
            raise Forbidden(member.refused or member.unpublished)
        if member.own is None or not member.own.token:
            raise Overloaded(f"no tracker has answered in time{': ' if trouble else ''}{trouble}")
        if not member.is_in:
            raise Overloaded(f"{self.node} is not linked with any of the nodes that have {stream}")

    def is_there(self, stream: str) -> bool:
        """See `Carrier`."""
        member = self._members.get(stream)
        if member is None or not member.joined:
            return member is not None
        return member.is_in and not self._tracked.trouble(stream)[1]

    async def publish(self, stream: str, items: Sequence[Item]) -> None:
        """See `Carrier`."""
        member = self._member(stream)
        if member.refused:
            raise Forbidden(member.refused)
        member.used_at = asyncio.get_running_loop().time()
        if not member.joined and member.own is not None:  # it has lasted until they were taken here
            self._join(member)
        self._let_end(member)
        if member.own is None or not member.own.token:
            raise Overloaded(f"no tracker lets {self.node} publish in {stream} yet")
        leaving = member.own.append(items)
        await all_left(leaving)
        await asyncio.sleep(0)  # the links write in the next step
        with suppress(TimeoutError):
            async with asyncio.timeout(self._config.dial_s):
                while member.forwarding.jammed:  # noqa: ASYNC110 - any of the links may end that
                    await asyncio.sleep(_JAM_S)

    def _member(self, stream: str) -> Membership:
        if self._closed:
            raise ShuttingDown("this node is closing")
        member = self._members.get(stream)
        if member is None:
            raise NotFound(f"{stream} is not carried here")
        return member

    def _own(self, member: Membership) -> PublishingChain:
        return PublishingChain(
            member.stream, self.node, self._config, self.counted, member.forwarding.publish
        )

    def _let_end(self, member: Membership) -> None:
        """A certificate that has ended is none any more where a tracker is there to give another one."""
        own = member.own
        if (
            own is not None
            and own.token
            and own.expires <= time.time()
            and self._tracked.renews(member.stream)
        ):
            own.token = ""
            member.decided.clear()
            self._tracked.changed(member.stream)

    def _join(self, member: Membership) -> None:
        member.begin()
        self._tracked.join(member.stream)
        log.info("= in %s", member.stream)

    def _leave(self, member: Membership) -> None:
        member.end()
        self._tracked.leave(member.stream)
        log.info("= out of %s", member.stream)

    def _forget(self, chain: bytes) -> None:
        member = self._chains.pop(chain, None)
        if member is not None and member.own is not None and member.own.name == chain:
            member.own = None

    # What trackers say

    def status(self, streams: Iterable[str]) -> Status:
        """See `TrackedUser`."""
        joined = {name: self._members[name].status() for name in streams if name in self._members}
        self._statuses += 1
        return Status(
            node=self.node,
            instance=self._instance,
            number=self._statuses,
            region=self._config.region,
            links_at=self.links_at,
            streams_at=self._streams_at,
            capacity=self._config.capacity,
            streams=joined,
            carries=tuple(name for name in self._members if name not in joined),
        )

    def instructed(
        self, stream: str, epoch: str, instructions: StreamInstructions, status: StreamStatus | None
    ) -> None:
        """See `TrackedUser`."""
        member = self._members.get(stream)
        if member is None or not member.joined or self._closed:
            return
        if not member.take(epoch, instructions):
            self.counted.instructions_ignored += 1
            return
        self.counted.instructions += 1
        if member.refused:
            member.leave_all()
            member.decided.set()
            return
        self._be_certified(member, instructions, status)
        for peer in member.wanted:
            link = self._links.get(peer)
            if link is not None:
                member.offer(link)
            elif self.node < peer:
                self._links.dial(peer)
        member.settle()

    def _be_certified(
        self, member: Membership, instructions: StreamInstructions, status: StreamStatus | None
    ) -> None:
        own = member.own
        if own is None:
            return
        if not own.token and not member.unpublished:
            member.decided.clear()  # it was refused before
        if instructions.certificate and instructions.certificate == own.token:
            member.unpublished = ""
            member.decided.set()
        elif instructions.certificate:
            try:
                certificate = self._tracked.keys.certificate(instructions.certificate, time.time())
            except Unauthorized as error:
                log.warning("! %s: the tracker's certificate is not good: %s", member.stream, error)
                return
            if certificate.chain == own.name and member.forwarding.certified(
                certificate, instructions.certificate
            ):
                self._chains[own.name] = member
                own.token = instructions.certificate
                own.expires = certificate.expires
                member.unpublished = ""
                member.decided.set()
        elif status is not None and status.key == own.key:
            member.unpublished = f"the tracker does not let this node publish in {member.stream}"
            member.decided.set()

    # What its links ask of it: LinkUser

    async def admit(self, peer: str, ticket: str) -> None:
        """See `LinkUser`."""
        said = await self._tracked.ticket(ticket)
        if said.nodes != {self.node, peer}:
            raise Unauthorized("the ticket is for others")
        member = self._members.get(said.stream)
        if member is None or not member.joined:
            raise Unauthorized(f"{self.node} is not in {said.stream}")

    def wanted(self, peer: str) -> Neighbour | None:
        """See `LinkUser`."""
        if self._closed:
            return None
        if peer < self.node or peer in self._origins:
            return self._origins.target(peer)
        members = (member for member in self._members.values() if member.joined)
        return next((member.wanted[peer] for member in members if peer in member.wanted), None)

    def opened(self, link: Link) -> None:
        """See `LinkUser`."""
        self._origins.opened(link.peer)
        for member in self._members.values():
            if member.joined and link.peer in member.wanted:
                member.offer(link)

    def closed(self, link: Link) -> None:
        """See `LinkUser`."""
        self._idle.pop(link.peer, None)
        self._told_chains.closed(link)
        for member in self._members.values():
            member.left(link)
        if self.wanted(link.peer) is not None:
            self._links.dial(link.peer)

    def failed(self, peer: str) -> None:
        """See `LinkUser`."""
        for member in self._members.values():
            if member.joined and peer in member.wanted:
                member.failed(peer)

    def received(self, link: Link, frame: bytes) -> None:
        """See `LinkUser`."""
        if self._links.get(link.peer) is not link:
            return  # another one has taken its place
        counted = self.counted
        data = 0
        for message in decode(frame):
            if isinstance(message, Parcel):
                counted.data_in += 1
                data += len(message.data)
                member = self._chains.get(message.chain)
                if member is None:
                    counted.uncertified += 1
                    self._told_chains.lacks(message.chain, link)
                elif member.joined and not member.forwarding.came(message, link):
                    self._told_chains.lacks(message.chain, link)
            elif isinstance(message, Resent):
                counted.data_in += 1
                data += len(message.parcel.data) + 1
                member = self._chains.get(message.parcel.chain)
                if member is not None and member.joined:
                    member.forwarding.resent(message.parcel, link)
            else:
                counted.control_in += 1
                self._told(link, message, may_learn=True)
        counted.data_in_bytes += data
        counted.control_in_bytes += len(frame) - data

    def _proven(self, link: Link, message: Message) -> None:
        if self._links.get(link.peer) is link:
            self._told(link, message, may_learn=False)

    def _told(self, link: Link, message: Message, *, may_learn: bool) -> None:
        if may_learn and self._unproven.holds(link):
            self._unproven.put(link, message)
            return
        match message:
            case Join() | Certified():
                self._shown(link, message, may_learn=may_learn)
            case Leave(stream):
                if stream in self._members:
                    self._members[stream].left(link)
            case Heads():
                self._told_chains.heads(message, link)
            case Wanted() | Need():
                self._told_chains.asked(message, link)
            case Absent():
                self._told_chains.absent(message, link)

    def _shown(self, link: Link, message: Join | Certified, *, may_learn: bool) -> None:
        """A token; where its signer is not known, the trackers are asked for their keys first.

        Raises:
            ProtocolError: it is forged, and by who sends it, as nobody passes such a thing on.
        """
        token = message.ticket if isinstance(message, Join) else message.token
        try:
            if may_learn and not self._tracked.keys.knows(token):
                self._unproven.put(link, message)
            elif isinstance(message, Join):
                self._joins(link, message)
            else:
                self._told_chains.certified(message, link)
        except Unauthorized as error:
            log.info("! %s: %s", link.peer, error.description)
            if isinstance(message, Join):
                self.counted.links_refused += 1
                link.send(encode(Leave(message.stream)))
            else:
                self.counted.certificates_refused += 1
            if isinstance(error, Forged):
                raise ProtocolError("a token is not signed by whom it names") from error

    def _joins(self, link: Link, join: Join) -> None:
        ticket = self._tracked.keys.ticket(join.ticket, time.time())
        if ticket.stream != join.stream or ticket.nodes != {self.node, link.peer}:
            raise Unauthorized("the ticket is for another stream, or for others")
        member = self._members.get(join.stream)
        if member is None or not member.joined:
            link.send(encode(Leave(join.stream)))
        else:
            member.asked(link)

    # Time

    async def _pass_time(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            for member in tuple(self._members.values()):
                try:
                    self._tick(member)
                except Exception:  # the next tick comes, whatever became of this one
                    log.exception("! %s", member.stream)
            try:
                now = asyncio.get_running_loop().time()
                self._told_chains.tick()
                self._end_idle(now)
            except Exception:
                log.exception("! the node")

    def _tick(self, member: Membership) -> None:
        member.forwarding.tick()
        if member.joined:
            member.settle()
            if member.is_over(self._config.linger_s, self._config.kept_s):
                self._leave(member)

    def _end_idle(self, now: float) -> None:
        for link in self._links:
            peer = link.peer
            if peer in self._origins or any(member.knows(peer) for member in self._members.values()):
                self._idle.pop(peer, None)
            elif now - self._idle.setdefault(peer, now) > _IDLE_S:
                link.end(1000, "no stream is shared")

    def health(self) -> dict[str, Any]:
        """See `Carrier`."""
        return {
            "node": self.node,
            **self._tracked.health(),
            "links": len(self._links),
            "members": sum(member.joined for member in self._members.values()),
            **asdict(self.counted),
        }

    async def close(self) -> None:
        """Send what waits, tell the trackers, and say goodbye to the others."""
        if self._closed:
            return
        self._closed = True
        for member in self._members.values():
            if member.own is not None and member.own.token:
                member.own.flush()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(
            *self._tasks, self._origins.close(), self._unproven.close(), return_exceptions=True
        )
        await self._tracked.close()
        await self._links.close()
        await asyncio.gather(*(member.forwarding.close() for member in self._members.values()))
