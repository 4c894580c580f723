"""A node's part in one stream: whom its tracker wants it to share the stream with, and with whom it does.

Both ends of a link say so (JOIN, with the tracker's ticket) before anything of the stream walks over it, and one end is
enough to end that (LEAVE): from then on both begin anew.  Where others take the places of neighbours, these are left when
the others are there, or have not come for a moment, so that the stream does not stop between.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from .messages import Join, Leave, encode
from .statuses import StreamStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from .forwarding import Forwarding
    from .link import Link
    from .publishing_chain import PublishingChain
    from .statuses import Neighbour, StreamInstructions

_HELD_S: Final = 2.0  # how long somebody who wants to share the stream waits for our own instructions
_AGAIN_S: Final = 1.0  # between two JOINs to the same node: what follows each is all certificates
_LOOK_S: Final = 0.01
_BREAK_S: Final = 1.0  # how long neighbours that have to go stay when the others do not come


class Membership:
    """What happens with one stream here.  `changed` is called when the tracker should hear of it."""

    def __init__(
        self, stream: str, forwarding: Forwarding, changed: Callable[[str], None], dial_s: float
    ) -> None:
        """`dial_s`: see `relay.dial_s`."""
        self._dial_s = dial_s
        self._offered_at: dict[str, float] = {}  # of late
        self._later: dict[str, Link] = {}  # to whom it is offered again soon
        self._lacking: dict[str, float] = {}  # of those wanted, who is not there, and since when
        self.stream = stream
        self.forwarding = forwarding
        self.followers = 0
        self.used_at = 0.0  # somebody followed, or published
        self.joined = False
        self.refused = ""  # why the tracker does not let this node in
        self.own: PublishingChain | None = None
        self.unpublished = ""  # why it may not publish
        self.decided = asyncio.Event()  # whether it may
        self.wanted: dict[str, Neighbour] = {}
        self.missed: set[str] = set()  # of those wanted, who could not be reached
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._ours: dict[str, Link] = {}  # whom we told
        self._theirs: dict[str, tuple[Link, float]] = {}  # who told us, and when
        self._epoch = ""
        self._counter = 0
        self._instructed_at = 0.0
        self._nodes = 0  # in the stream, as the tracker says
        self._in_at = 0.0  # it was in the overlay

    def knows(self, peer: str) -> bool:
        """Whether a link to that node has something to do with this stream."""
        return peer in self._ours or peer in self._theirs or (self.joined and peer in self.wanted)

    @property
    def is_in(self) -> bool:
        """Whether it is in the overlay: there is somebody to share the stream with, or nobody else at all.

        Links come and go: where there was one just now, it is.
        """
        return self._is_linked or self._loop.time() - self._in_at <= self._dial_s

    @property
    def _is_linked(self) -> bool:
        is_alone = bool(self._epoch) and not self.wanted and self._nodes <= 1
        return not self.refused and (is_alone or len(self.forwarding) > 0)

    @property
    def waits(self) -> bool:
        """Whether somebody is to come who is to have what was published here while nobody was there."""
        return self.forwarding.alone and (bool(self.wanted) or not self._epoch)

    def is_over(self, linger_s: float, kept_s: float) -> bool:
        """Whether nobody has followed or published for so long that the stream can be left."""
        idle_s = self._loop.time() - self.used_at
        # What is kept no longer can be handed to nobody
        return not self.followers and idle_s > linger_s and not (self.waits and idle_s < kept_s)

    async def handed_over(self) -> None:
        """Return when what was published here has left and somebody has it, if that is in time."""
        if self.own is not None:
            self.own.flush()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._dial_s):
                while self.joined and self.waits:  # noqa: ASYNC110 - much may end that
                    await asyncio.sleep(_LOOK_S)

    def status(self) -> StreamStatus:
        """For the tracker."""
        neighbours: dict[str, float | None] = dict.fromkeys(self.missed)
        neighbours |= {peer: link.rtt_ms for peer, link in self.forwarding.neighbours.items()}
        return StreamStatus(
            epoch=self._epoch,
            counter=self._counter,
            neighbours=neighbours,
            consumers=self.followers,
            publishes=self.own is not None,
            key=self.own.key if self.own is not None else "",
            proof=self.own.proof if self.own is not None else "",
        )

    def take(self, epoch: str, instructions: StreamInstructions) -> bool:
        """Whether these instructions count; whoever calls has links offered to those that are wanted now."""
        if epoch == self._epoch and instructions.counter < self._counter:
            return False
        if (epoch, instructions.counter) != (self._epoch, self._counter):
            self._instructed_at = self._loop.time()
            self.missed.clear()
        self._epoch, self._counter = epoch, instructions.counter
        self.refused = instructions.refused
        self._nodes = instructions.nodes
        self.wanted = {neighbour.node: neighbour for neighbour in instructions.neighbours}
        if instructions.p99_ms:
            self.forwarding.expect(instructions.p99_ms)
        return True

    def offer(self, link: Link) -> None:
        """There is a link to somebody who is wanted."""
        if link.peer not in self._ours:
            now = self._loop.time()
            if now - self._offered_at.get(link.peer, -_AGAIN_S) < _AGAIN_S:
                self._later[link.peer] = link
                return
            self._offered_at[link.peer] = now
            self._ours[link.peer] = link
            link.send(encode(Join(self.stream, self.wanted[link.peer].ticket)))
        self._share(link)

    def asked(self, link: Link) -> None:
        """The other end wants to share, and may."""
        self._theirs[link.peer] = (link, self._loop.time())
        if self.joined and link.peer in self.wanted:
            self.offer(link)

    def may_ask(self, link: Link) -> bool:
        """Whether the other end has shown a ticket for this stream."""
        return link.peer in self._theirs

    def _share(self, link: Link) -> None:
        if link.peer in self._theirs and link.peer not in self.forwarding:
            self.missed.discard(link.peer)
            self.forwarding.share(link)
            self._changed(self.stream)
            self.settle()

    def settle(self) -> None:
        """Share with those who had to wait; leave those who have to go, and send away who was not wanted for too long."""
        now = self._loop.time()
        for peer in [peer for peer, at in self._offered_at.items() if now - at >= _AGAIN_S]:
            del self._offered_at[peer]
        later, self._later = self._later, {}
        for link in later.values():
            if link.peer in self.wanted:
                self.offer(link)
        self._miss(now)
        self._leave_surplus(now)
        if self._is_linked:
            self._in_at = now
        for link, since in [*self._theirs.values()]:
            if link.peer not in self.wanted and link.peer not in self._ours and now - since > _HELD_S:
                self._leave(link)

    def _miss(self, now: float) -> None:
        """Who has not come for too long can't be reached."""
        self._lacking = {
            peer: self._lacking.get(peer, now) for peer in self.wanted if peer not in self.forwarding
        }
        for peer, since in self._lacking.items():
            if peer not in self.missed and now - since > self._dial_s:
                self.missed.add(peer)
                self._changed(self.stream)

    def _leave_surplus(self, now: float) -> None:
        surplus = [peer for peer in self._ours if peer not in self.wanted]
        if not surplus:
            return
        there = sum(peer in self.forwarding for peer in self.wanted)
        is_whole = there + len(self.missed) >= len(self.wanted)
        if not is_whole and now - self._instructed_at < _BREAK_S:
            surplus = surplus[: max(0, len(self.forwarding) - len(self.wanted))]
        for peer in surplus:
            self._leave(self._ours[peer])

    def _leave(self, link: Link) -> None:
        link.send(encode(Leave(self.stream)))
        self.left(link)

    def left(self, link: Link) -> None:
        """The stream is not shared over that link any more, or the link has ended."""
        self._ours.pop(link.peer, None)
        self._theirs.pop(link.peer, None)
        self._later.pop(link.peer, None)
        if link.peer in self.forwarding:
            self.forwarding.unshare(link.peer)
            self._changed(self.stream)

    def failed(self, peer: str) -> None:
        """Somebody who is wanted can't be reached."""
        if peer not in self.missed and peer not in self.forwarding:
            self.missed.add(peer)
            self._changed(self.stream)
            self.settle()

    def leave_all(self) -> None:
        """Share the stream with nobody."""
        self.wanted = {}
        self.missed.clear()
        for link in {**self._ours, **{peer: link for peer, (link, _) in self._theirs.items()}}.values():
            self._leave(link)

    def begin(self) -> None:
        """Be a member."""
        self.joined = True
        self._epoch, self._counter = "", 0
        self._in_at = self._loop.time()

    def end(self) -> None:
        """Be none any more."""
        self.joined = False
        self.leave_all()
        self.forwarding.leave()
        self.refused = ""
