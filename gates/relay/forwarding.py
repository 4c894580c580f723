"""One stream at one node: each parcel goes on to all neighbours but the one that it came from, once; then into its order.

What is here already is dropped before anything is verified, and counts as here only once it is verified: a forged parcel
neither spreads nor hides the true one.  What comes because it was asked for is not passed on.

Neighbours are told what is kept here when a link begins, and when a chain has been quiet for a moment, so that a last
parcel that was lost is missed, too.  What is missing is asked of neighbours in turn, and at last of the node where its
chain begins.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from triplewire.broker.errors import ProtocolError

from .allowances import Allowances
from .certified import CertifiedChain
from .chains import Sequencer, SequencerLimits
from .duplicates import Duplicates
from .gaps import Want
from .giving import Giving
from .kept import Kept
from .messages import Absent, Certified, Heads, Resent, Wanted, encode, heads_of
from .parcels import verify
from .returning import Returning
from .tickets import LEEWAY_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from triplewire.broker.overlay_config import RelayConfig

    from .carrying import Sink
    from .counted import Counted
    from .link import Link
    from .parcels import Parcel
    from .places import Places
    from .tickets import Certificate

log = logging.getLogger("triplewire.gates.relay")

_QUIET_S: Final = 0.5
_FRESH_S: Final = 5.0  # a chain that was certified so lately began just now
_IN_VAIN: Final = 3  # tries: neighbours that answer nothing may be all that there are
_ASKED: Final = 100  # ranges of one neighbour, of which it is known that they are asked for
_HOLES: Final = 10  # ranges that one answer names as absent
_WANT_COST: Final = 4096  # bytes, to look for what somebody misses
_EXPIRE_S: Final = 5.0
_OWN_IDLE: Final = 0.75  # a publisher begins a new chain before others forget its last one
_BUSY: Final = 2  # a link with more than this part of its queue in use is asked for nothing


@dataclass(slots=True)
class _Neighbour:
    """A link that shares the stream since `at`; `claims` are the last items that it says it has, by chain."""

    link: Link
    at: float
    claims: dict[bytes, int] = field(default_factory=dict)
    asked: dict[tuple[bytes, int, int], None] = field(default_factory=dict)


class Forwarding:
    """A stream's parcels.  `ask_origin` is called with what no neighbour has; all times are the event loop's."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that it depends on
        self,
        sink: Sink,
        config: RelayConfig,
        counted: Counted,
        ask_origin: Callable[[Certificate, Want], None],
        forget: Callable[[bytes], None],
        renews: Callable[[], bool],
        places: Places | None = None,
    ) -> None:
        """`forget` is called with each chain that goes, as it has been idle for too long.

        `renews` tells whether certificates are renewed: one that has ended counts on while no tracker is there.
        `places` are where a stream that is kept stands in its chains.
        """
        self._config = config
        self._counted = counted
        self._ask_origin = ask_origin
        self._forget = forget
        self._renews = renews
        self._loop = asyncio.get_running_loop()
        self._chains: dict[bytes, CertifiedChain] = {}  # the one that was idle longest first, nearly
        self._loud: dict[bytes, CertifiedChain] = {}  # neighbours do not know yet how far these are here
        self._neighbours: dict[str, _Neighbour] = {}
        self._allowances = Allowances(config.link_bytes)
        self._duplicates = Duplicates(config.chains, config.gaps, config.chain_idle_s)
        self._kept = Kept(config.kept_bytes, config.kept_s)
        limits = SequencerLimits(tries=config.gap_tries, chains=config.chains, idle_s=config.chain_idle_s)
        self._sequencer = Sequencer(random.Random(), limits)  # noqa: S311 - spreads waits, and nothing else
        self._places = places
        self._returning = Returning(places, config.chain_idle_s, self._newest) if places is not None else None
        self._giving = Giving(
            sink,
            config.sink_parcels,
            self._publisher,
            self._catch_up,
            counted,
            places.gave if places is not None else None,
        )
        self._withheld: dict[bytes, int] = {}  # by chain, the first number that the sink was too slow for
        self._nobodys: tuple[bytes, int] | None = (
            None  # from where on of which chain nobody else has anything
        )
        self._expire_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def __contains__(self, peer: str) -> bool:
        return peer in self._neighbours

    def __len__(self) -> int:
        return len(self._neighbours)

    @property
    def neighbours(self) -> dict[str, Link]:
        """The links that share the stream, by the node at the other end."""
        return {peer: one.link for peer, one in self._neighbours.items()}

    @property
    def jammed(self) -> bool:
        """Whether over each link more waits than it should."""
        return bool(self._neighbours) and all(self._is_busy(one.link) for one in self._neighbours.values())

    @property
    def alone(self) -> bool:
        """Whether something was published here, and nobody else has it, as there was no neighbour."""
        return self._nobodys is not None

    def expect(self, p99_ms: float) -> None:
        """So long takes what takes long on its way here."""
        self._sequencer.p99_ms = p99_ms

    def share(self, link: Link) -> None:
        """The stream is shared over a link from now on: say what is here."""
        now = self._loop.time()
        self._neighbours[link.peer] = _Neighbour(link, now)
        for chain in self._chains.values():
            link.send(chain.message)
        if self._nobodys is not None:
            chain_name, first = self._nobodys
            self._nobodys = None
            for parcel in self._kept.between(chain_name, first, self._newest(chain_name)):
                link.send_parcel(parcel.data)
        for some in heads_of(self._heads(self._chains, now - self._config.backfill_s)):
            link.send(encode(some))
        self._sequencer.linked(link.peer, now)
        self._chase()

    def unshare(self, peer: str) -> None:
        """It is shared over that link no longer; what was asked there is asked of others."""
        one = self._neighbours.pop(peer, None)
        if one is None:
            return
        now = self._loop.time()
        for chain, first, last in one.asked:
            self._sequencer.absent(chain, first, last, peer, now)
        self._sequencer.unlinked(peer, now)
        self._chase()

    def certified(self, certificate: Certificate, token: str, source: str = "") -> bool:
        """Whose a chain is; passed on where that is news.  False where there are too many chains."""
        now = self._loop.time()
        known = self._chains.get(certificate.chain)
        if known is not None and certificate.expires <= known.certificate.expires:
            return True
        message = encode(Certified(token))
        if known is not None:
            known.certificate, known.message = certificate, message
            if source:
                known.heard_at = now  # who publishes it is there
        else:
            if len(self._chains) >= self._config.chains and not self._expire(now):
                return False
            self._chains[certificate.chain] = CertifiedChain(certificate, message, now + _FRESH_S, now)
            if source:
                self._go_on(certificate.chain, now)
        for peer, one in self._neighbours.items():
            if peer != source:
                one.link.send(message)
        return True

    def _go_on(self, name: bytes, now: float) -> None:
        """Where the stream stood in this chain before, if it is kept."""
        after = self._places.after(name) if self._places is not None else None
        if after is not None:
            self._chains[name].fresh_until = 0.0
            self._duplicates.begin(name, after, now)
            self._sequencer.begin(name, after, now)

    def came(self, parcel: Parcel, link: Link) -> None:
        """A parcel of a chain that is certified.

        Raises:
            ProtocolError: it is forged, and by who sends it, as nobody passes such a thing on.
        """
        counted = self._counted
        if self._duplicates.seen(parcel.chain, parcel.first, parcel.last):
            counted.duplicates += 1
            counted.duplicate_items += parcel.count
            return
        if self._is_true(parcel):
            self._pass_on(parcel, link)
            self._order(parcel)

    def resent(self, parcel: Parcel, link: Link) -> None:
        """A parcel that was asked for, or so it says; raises ProtocolError where it is forged.

        One that is ahead of all that came is news: it goes on to those who have not said that they have it.
        """
        if self._duplicates.seen(parcel.chain, parcel.first, parcel.last) or not self._is_true(parcel):
            return
        if parcel.last > self._chains[parcel.chain].newest:
            for one in self._neighbours.values():
                if one.link is not link and one.claims.get(parcel.chain, 0) < parcel.last:
                    one.link.send_parcel(parcel.data)
        self._order(parcel)

    def publish(self, parcel: Parcel) -> None:
        """A parcel of this node's own; it does not go to the sink."""
        now = self._loop.time()
        chain = self._chains[parcel.chain]
        self._duplicates.new(parcel.chain, parcel.first, parcel.last, now)
        self._kept.add(parcel, now)
        chain.heard_at = now
        chain.newest = parcel.last
        if not chain.own and self._places is not None:
            self._places.own(parcel.chain)
        chain.own = True
        self._loud[parcel.chain] = chain
        if not self._neighbours and self._nobodys is None:
            self._nobodys = parcel.chain, parcel.first
        self._pass_on(parcel, None)

    def _is_true(self, parcel: Parcel) -> bool:
        chain = self._chains[parcel.chain]
        certificate = chain.certificate
        if time.time() > certificate.expires + LEEWAY_S and self._renews():
            self._counted.uncertified += 1
            return False
        if verify(parcel, certificate.key):
            return True
        self._counted.forged += 1
        raise ProtocolError(f"a parcel of {parcel.chain.hex()} is not signed by who publishes it")

    def _pass_on(self, parcel: Parcel, source: Link | None) -> None:
        for one in self._neighbours.values():
            if one.link is not source:
                one.link.send_parcel(parcel.data)

    def _order(self, parcel: Parcel) -> None:
        now = self._loop.time()
        name = parcel.chain
        chain = self._chains[name]
        if not chain.newest and now < chain.fresh_until:
            # It has begun just now: what is before its first parcel is still to come
            self._duplicates.begin(name, 0, now)
            self._sequencer.begin(name, 0, now)
        self._duplicates.new(name, parcel.first, parcel.last, now)
        self._kept.add(parcel, now)
        self._counted.parcels += 1
        self._counted.items += parcel.count
        chain.heard_at = now
        chain.newest = max(chain.newest, parcel.last)
        self._loud[name] = chain
        if name in self._withheld or self._giving.full:
            self._counted.withheld += 1
            self._withheld[name] = min(self._withheld.get(name, parcel.first), parcel.first)
            return
        self._giving.put(self._sequencer.arrived(parcel, now))
        self._chase()

    def _catch_up(self) -> None:
        """The sink has room for what it was too slow for."""
        if not self._withheld:
            return
        now = self._loop.time()
        for name in list(self._withheld):
            first = self._withheld.pop(name)
            for parcel in self._kept.between(name, first, self._chains[name].newest):
                if self._giving.full:
                    self._withheld[name] = parcel.first
                    return
                self._giving.put(self._sequencer.arrived(parcel, now))
        self._chase()

    def heads(self, heads: Heads, link: Link) -> None:
        """What a neighbour has of chains of this stream."""
        now = self._loop.time()
        for name, (oldest, newest) in heads.heads.items():
            chain = self._chains[name]
            if chain.own:
                continue
            one = self._neighbours.get(link.peer)
            if one is not None:
                one.claims[name] = newest
            if not chain.newest and one is not None and now - one.at < _FRESH_S:
                chain.fresh_until = 0.0
                self._duplicates.begin(name, oldest - 1, now)
            if name not in self._withheld:
                self._sequencer.heads(name, oldest, newest, link.peer, now)
            if one and self._returning and self._returning.heads(name, oldest, newest, link.peer):
                link.send(encode(Wanted(name, newest, newest)))
        self._chase()

    def wanted(self, want: Wanted, link: Link) -> None:
        """Somebody misses something: give what is kept, then say what is not, and what is kept of the chain at all.

        Who is no neighbour is given only of what begins here.
        """
        chain = self._chains[want.chain]
        if (link.peer not in self._neighbours and not chain.own) or not self._may_resend(link, _WANT_COST):
            self._counted.resent_refused += 1
            return
        following = want.first
        holes: list[tuple[int, int]] = []
        for parcel in self._kept.between(want.chain, want.first, want.last):
            if parcel.first > following:
                holes.append((following, parcel.first - 1))
            following = parcel.last + 1
            if not self._may_resend(link, len(parcel.data)):
                self._counted.resent_refused += 1
                return
            self._counted.resent += 1
            link.send_parcel(encode(Resent(parcel)))
        if following <= want.last:
            holes.append((following, want.last))
        for hole in holes[:_HOLES]:
            link.send(encode(Absent(want.chain, *hole)))
        if holes and chain.newest:
            head = self._kept.head(want.chain) or (chain.newest + 1, chain.newest)
            link.send(encode(Heads({want.chain: head})))

    def _may_resend(self, link: Link, size: int) -> bool:
        """As much in a second as a link's queue holds, whatever links the same node has had."""
        return not self._is_busy(link) and self._allowances.take(link.peer, size, self._loop.time())

    def _is_busy(self, link: Link) -> bool:
        return link.waiting_bytes > self._config.link_bytes // _BUSY

    def absent(self, absent: Absent, link: Link) -> None:
        """A neighbour has not what it was asked for."""
        self._counted.absent += 1
        self._sequencer.absent(absent.chain, absent.first, absent.last, link.peer, self._loop.time())
        self._chase()

    def _chase(self) -> None:
        """Ask for what is due, give up what is lost, and see when there is more of that."""
        due = self._sequencer.due()
        if due is None:
            return
        now = self._loop.time()
        if due <= now:
            self._giving.put(self._sequencer.given_up(now))
            for want in self._sequencer.wants(now):
                self._ask(want, now)
            due = self._sequencer.due()
            if due is None:
                return
        if self._timer is None or self._timer.cancelled() or due < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(max(due, now + 0.001), self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._chase()

    def _ask(self, want: Want, now: float) -> None:
        here = self._kept.between(want.chain, want.first, want.last)
        if here:  # the sink was too slow for it, or it came by another way
            for parcel in here:
                self._giving.put(self._sequencer.arrived(parcel, now))
            return
        left = [peer for peer in self._neighbours if peer not in want.absent]
        peers = [peer for peer in left if peer in want.holders] or (left if want.proven else [])
        if peers:
            one = self._neighbours[peers[want.tried % len(peers)]]
            self._counted.wants += 1
            if len(one.asked) >= _ASKED:
                del one.asked[next(iter(one.asked))]
            one.asked[want.chain, want.first, want.last] = None
            one.link.send(encode(Wanted(want.chain, want.first, want.last)))
        in_vain = want.proven if not peers else want.tried >= _IN_VAIN
        if in_vain and want.chain in self._chains:
            self._ask_origin(self._chains[want.chain].certificate, want)
        elif not peers and want.holders:
            self._sequencer.unasked(want.chain, now)

    def tick(self) -> None:
        """Now and then: tell how far chains that are quiet are here, and let go of those that are over."""
        now = self._loop.time()
        quiet = {name: chain for name, chain in self._loud.items() if now - chain.heard_at >= _QUIET_S}
        if quiet and self._neighbours:
            self._tell(quiet)
        for name in quiet:
            del self._loud[name]
        self._kept.expire(now)
        self._return(now)
        if now >= self._expire_at:
            self._expire_at = now + _EXPIRE_S
            self._expire(now)

    def _return(self, now: float) -> None:
        """Have what was published while a kept stream was not there, or tell at last that it is lost."""
        if self._returning is None:
            return
        longest_s = self._sequencer.longest_s
        asks, markers = self._returning.step(now, longest_s, self._chains, is_there=bool(self._neighbours))
        for one in asks:
            want = Want(one.chain, one.last, one.last, 0, frozenset(), frozenset(), proven=False)
            self._ask_origin(self._chains[one.chain].certificate, want)
        self._giving.put(markers)

    def _tell(self, chains: dict[bytes, CertifiedChain]) -> None:
        for some in heads_of(self._heads(chains)):
            message = encode(some)
            for one in self._neighbours.values():
                one.link.send(message)

    def _heads(
        self, chains: dict[bytes, CertifiedChain], since: float | None = None
    ) -> dict[bytes, tuple[int, int]]:
        """What is kept of those that have begun; of what is not, the number that comes next.

        What is waited for here is told as well, or whoever hears of the chain by this would take it to begin behind that.
        """
        kept = self._kept.heads(since)
        found = {}
        for name, chain in chains.items():
            if chain.newest:
                oldest, newest = kept.get(name, (chain.newest + 1, chain.newest))
                position = self._sequencer.position(name) if name not in self._withheld else None
                found[name] = (oldest if position is None else min(oldest, position), newest)
        return found

    def _expire(self, now: float) -> int:
        """How many chains went."""
        idle_s = self._config.chain_idle_s
        gone = [
            name
            for name, chain in self._chains.items()
            if now - chain.heard_at > (idle_s * _OWN_IDLE if chain.own else idle_s)
            and name not in self._withheld
        ]
        for name in gone:
            self.forget(name)
        return len(gone)

    def forget(self, name: bytes) -> None:
        """A chain is over."""
        del self._chains[name]
        self._loud.pop(name, None)
        self._withheld.pop(name, None)
        for one in self._neighbours.values():
            one.claims.pop(name, None)
        self._kept.forget(name)
        if self._nobodys is not None and self._nobodys[0] == name:
            self._nobodys = None
        self._forget(name)

    def _newest(self, chain: bytes) -> int:
        return self._chains[chain].newest if chain in self._chains else 0

    def _publisher(self, chain: bytes) -> str:
        known = self._chains.get(chain)
        return known.certificate.publisher if known is not None else ""

    def chains(self) -> Iterable[bytes]:
        """Those that are known."""
        return tuple(self._chains)

    async def close(self) -> None:
        """Give to the sink what waits."""
        if self._timer is not None:
            self._timer.cancel()
        self._neighbours.clear()
        await self._giving.close()
        if self._places is not None:
            self._places.write()
