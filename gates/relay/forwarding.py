"""One stream at one node: each parcel goes on to all neighbours but the one that it came from, once; then into its order.

What is here already is dropped before anything is verified, and counts as here only once it is verified: a forged parcel
neither spreads nor hides the true one.  What comes because it was asked for is not passed on.

Neighbours are told what is kept here when a link begins, and when a chain has been quiet for a moment, so that a last
parcel that was lost is missed, too.  What is missing is asked of neighbours in turn, and at last of the node where its
chain begins.  A certificate goes to all neighbours while it is news, and with it where the chain begins, as its first parcels
may come in any order by many ways; else it is for those who need it, and ask.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from triplewire.broker.errors import ProtocolError

from .answers import Answers
from .certified import CertifiedChain
from .chains import Sequencer, SequencerLimits
from .duplicates import Duplicates
from .gaps import Want
from .giving import Giving
from .kept import Kept
from .messages import MOST_NEEDED, Heads, Wanted, encode
from .needs import Head
from .parcels import verify
from .returning import Returning
from .telling import Telling
from .tickets import LEEWAY_S
from .unheard import Unheard

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from triplewire.broker.overlay_config import RelayConfig

    from .carrying import Sink
    from .counted import Counted
    from .link import Link
    from .messages import Absent
    from .parcels import Parcel
    from .places import Places
    from .tickets import Certificate

log = logging.getLogger("triplewire.gates.relay")

_IN_VAIN: Final = 3  # tries: neighbours that answer nothing may be all that there are
_ASKED: Final = 100  # ranges of one neighbour, of which it is known that they are asked for
_EXPIRE_S: Final = 5.0
_BEGINS_S: Final = 1.0  # after it was heard of, parcels of a chain may come at any moment
_OWN_IDLE: Final = 0.75  # a publisher begins a new chain before others forget its last one


@dataclass(slots=True)
class _Neighbour:
    """A link that shares the stream; `claims` are what it says it has, by chain."""

    link: Link
    claims: dict[bytes, Head] = field(default_factory=dict)
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
        self._neighbours: dict[str, _Neighbour] = {}
        self._duplicates = Duplicates(config.chains, config.gaps, config.chain_idle_s)
        self._kept = Kept(config.kept_bytes, config.kept_s)
        self._answers = Answers(self._kept, config, counted)
        self._unheard = Unheard(self._kept, config.kept_s, config.silent_s + config.ping_s)
        limits = SequencerLimits(tries=config.gap_tries, chains=config.chains, idle_s=config.chain_idle_s)
        self._sequencer = Sequencer(random.Random(), limits, counted=counted)  # noqa: S311 - spreads waits
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
        self._unsaid: dict[
            bytes, set[str]
        ] = {}  # where these begin is not known yet; who need not be told of them
        self._withheld: dict[bytes, int] = {}  # by chain, the first number that the sink was too slow for
        self._telling = Telling(self._kept, self._sequencer, self._withheld, config.backfill_s)
        self._since: float | None = None  # when the first neighbour came
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
        return bool(self._neighbours) and all(
            self._answers.is_busy(one.link) for one in self._neighbours.values()
        )

    @property
    def alone(self) -> bool:
        """Whether something was published here, and nobody else has it, as there was no neighbour."""
        return bool(self._unheard)

    def expect(self, p99_ms: float) -> None:
        """So long takes what takes long on its way here."""
        self._sequencer.p99_ms = p99_ms

    def share(self, link: Link) -> None:
        """The stream is shared over a link from now on: say what is here."""
        now = self._loop.time()
        if self._since is None:
            self._since = now
        self._neighbours[link.peer] = _Neighbour(link)
        # Of these parcels come sooner than a certificate could be asked for
        own = [chain for chain in self._chains.values() if chain.own]
        begin = [
            chain
            for chain in self._chains.values()
            if chain.is_to_begin
            or (not chain.newest and chain.begins is not None and now - chain.heard_at < _BEGINS_S)
        ]
        chains = self._chains.copy()
        for chain in dict.fromkeys((*own, *begin[-MOST_NEEDED:], *self._telling.loud[-MOST_NEEDED:])):
            if not chain.has_ended:
                name = chain.certificate.chain
                for message in (chain.message, *self._telling.messages({name: chains.pop(name)}, now)):
                    link.send(message)
        for message in self._telling.messages(chains, now):
            link.send(message)
        for parcel in self._unheard.give(now):
            link.send_parcel(parcel.data)
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
        if not self._neighbours:
            own = next((name for name, known in self._chains.items() if known.own), None)
            self._unheard.left(own, now)
        self._chase()

    def leave(self) -> None:
        """The stream is left: when it is joined again this is a newcomer, but for where chains stood here."""
        self._since = None
        if self._places is None:
            self._sequencer.leave()

    def certified(
        self,
        certificate: Certificate,
        token: str,
        source: str = "",
        *,
        begun: bool = False,
        told: Mapping[Link, Head] | None = None,
    ) -> bool:
        """Whose a chain is; passed on where that is news.  False where there are too many chains.

        Of one that has `begun` elsewhere nobody knows here where, but for what neighbours say, or have `told` of it before.
        """
        now = self._loop.time()
        name = certificate.chain
        known = self._chains.get(name)
        if known is not None and certificate.expires > known.certificate.expires:
            known.certificate, known.token = certificate, token
            if source:
                known.heard_at = now  # who publishes it is there
            self._tell({source}, known.message)
        elif known is not None:
            # This neighbour heard of it sooner
            if not begun and name in self._unsaid and not self._after(name):
                known.fresh, known.begins = True, 1
                self._say(name, now)
        else:
            if len(self._chains) >= self._config.chains and not self._expire(now):
                return False
            # Who is not new in the stream has been here since before all that is kept
            new = (
                self._since is not None and now - self._since > self._config.kept_s - self._config.backfill_s
            )
            begins = None if begun else 1
            self._chains[name] = CertifiedChain(
                certificate, token, not begun, new, now, own=not source, begins=begins
            )
            if source:
                self._go_on(name, now)
            heads = told or {}
            self._unsaid[name] = {source, *(link.peer for link in heads)}
            if not begun:
                self._say(name, now)
            for link, head in heads.items():
                self.heads(Heads({name: head[:2]}, {name: head.recent}), link)
        return True

    def _say(self, name: bytes, now: float) -> None:
        """Tell neighbours of a chain before anything of it comes to them from here, and where it begins."""
        known_to = self._unsaid.pop(name, None)
        if known_to is None:
            return
        chain = self._chains[name]
        if chain.is_to_begin:
            self._tell(known_to, chain.message)
            return
        # Who is too slow for what is not urgent hears of the chain by heads
        known_to |= {peer for peer, one in self._neighbours.items() if self._answers.is_busy(one.link)}
        self._tell(known_to, chain.message, *self._telling.messages({name: chain}, now))

    def _tell(self, known_to: Container[str], *messages: bytes) -> None:
        for peer, one in self._neighbours.items():
            if peer not in known_to:
                for message in messages:
                    one.link.send(message)

    def _go_on(self, name: bytes, now: float) -> None:
        """A kept stream goes on where it stood in this chain."""
        after = self._after(name)
        if after is not None:
            if after:
                chain = self._chains[name]
                chain.fresh, chain.begins = False, None
            self._begin(name, after, now)

    def _after(self, name: bytes) -> int | None:
        """Where the stream stood in this chain before, if it is kept."""
        return self._places.after(name) if self._places is not None else None

    def _begin(self, name: bytes, after: int, now: float) -> None:
        self._duplicates.begin(name, after, now)
        self._sequencer.begin(name, after, now)

    def lacks(self, name: bytes) -> bool:
        """Whether its certificate has ended or ends soon, and this node may have missed the next one."""
        return time.time() > self._chains[name].certificate.expires - LEEWAY_S

    def needed(self, name: bytes, link: Link) -> None:
        """A neighbour has no good certificate of this chain."""
        chain = self._chains[name]
        if link.peer in self._neighbours:
            heads = self._telling.messages({name: chain}, self._loop.time())
            self._answers.needed(chain, link, heads)
        elif chain.own:
            self._answers.needed(chain, link)

    def came(self, parcel: Parcel, link: Link) -> bool:
        """A parcel of a chain that is certified; whether its certificate still counts.

        Raises:
            ProtocolError: it is forged, and by who sends it, as nobody passes such a thing on.
        """
        counted = self._counted
        if self._duplicates.seen(parcel.chain, parcel.first, parcel.last):
            counted.duplicates += 1
            counted.duplicate_items += parcel.count
            return True
        if not self._is_true(parcel):
            return False
        self._appear(parcel)
        self._pass_on(parcel, link)
        self._order(parcel)
        return True

    def resent(self, parcel: Parcel, link: Link) -> None:
        """A parcel that was asked for, or so it says; raises ProtocolError where it is forged.

        One that is ahead of all that came is news: it goes on to those who have not said that they have it.
        """
        name = parcel.chain
        if not self._is_missed(parcel) or not self._is_true(parcel):
            return
        self._appear(parcel)
        if parcel.last > self._chains[name].newest:
            for one in self._neighbours.values():
                if one.link is not link and (name not in one.claims or one.claims[name].newest < parcel.last):
                    one.link.send_parcel(parcel.data)
        self._order(parcel)

    def _is_missed(self, parcel: Parcel) -> bool:
        """Whether it has not been here, or has, and went before the sink had room for it."""
        numbers = parcel.chain, parcel.first, parcel.last
        if not self._duplicates.seen(*numbers):
            return True
        return self._sequencer.misses(*numbers) and not self._kept.between(*numbers)

    def publish(self, parcel: Parcel) -> None:
        """A parcel of this node's own; it does not go to the sink."""
        now = self._loop.time()
        chain = self._chains[parcel.chain]
        self._duplicates.new(parcel.chain, parcel.first, parcel.last, now)
        self._kept.add(parcel, now, own=True)
        chain.heard_at = now
        if not chain.newest and self._places is not None:
            self._places.own(parcel.chain)
        chain.newest = parcel.last
        self._telling.came(parcel.chain, chain)
        if not self._neighbours:
            self._unheard.published(parcel)
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

    def _appear(self, parcel: Parcel) -> None:
        """Where nobody has said where a chain begins, it begins with the first parcel of it that comes."""
        if parcel.chain in self._unsaid:
            now = self._loop.time()
            self._chains[parcel.chain].begins = parcel.first
            self._begin(parcel.chain, parcel.first - 1, now)
            self._say(parcel.chain, now)

    def _pass_on(self, parcel: Parcel, source: Link | None) -> None:
        for one in self._neighbours.values():
            if one.link is not source:
                one.link.send_parcel(parcel.data)

    def _order(self, parcel: Parcel) -> None:
        now = self._loop.time()
        name = parcel.chain
        chain = self._chains[name]
        if chain.is_to_begin:
            self._begin(name, 0, now)
        if self._duplicates.new(name, parcel.first, parcel.last, now):
            self._counted.parcels += 1
            self._counted.items += parcel.count
        self._kept.add(parcel, now)
        chain.heard_at = now
        chain.newest = max(chain.newest, parcel.last)
        self._telling.came(name, chain)
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
            first, newest = self._withheld.pop(name), self._chains[name].newest
            for parcel in self._kept.between(name, first, newest):
                if self._giving.full:
                    self._withheld[name] = parcel.first
                    return
                self._giving.put(self._sequencer.arrived(parcel, now))
            self._sequencer.passed(name, first, newest, now)
            for peer, one in self._neighbours.items():
                if name in one.claims:
                    self._hear(name, one.claims[name], peer, now)
        self._chase()

    def heads(self, heads: Heads, link: Link) -> None:
        """What a neighbour has of chains of this stream."""
        now = self._loop.time()
        one = self._neighbours.get(link.peer)
        for name, (oldest, newest) in heads.heads.items():
            chain = self._chains[name]
            if chain.own:
                continue
            head = Head(oldest, newest, oldest if chain.new else heads.recent.get(name, oldest))
            if one is not None:
                one.claims[name] = head
            if chain.is_to_begin:
                self._begin(name, 0, now)
            elif not chain.newest:
                chain.begins = min(chain.begins or head.recent, head.recent)
                self._duplicates.begin(name, head.recent - 1, now)
            if name not in self._withheld:
                self._hear(name, head, link.peer, now)
            self._say(name, now)
            if one is not None and self._returning is not None:
                self._returning.heads(name, newest)
        self._chase()

    def _hear(self, name: bytes, head: Head, peer: str, now: float) -> None:
        self._sequencer.heads(name, head.oldest, head.newest, peer, now, head.recent)

    def wanted(self, want: Wanted, link: Link) -> None:
        """Somebody misses something: give what is kept, then say what is not, and what is kept of the chain at all.

        Who is no neighbour is given only of what begins here.
        """
        chain = self._chains[want.chain]
        if link.peer not in self._neighbours and not chain.own:
            self._counted.resent_refused += 1
        elif self._answers.wanted(want, link):
            for message in self._telling.messages({want.chain: chain}, self._loop.time(), waited=False):
                link.send(message)

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
        peers = [peer for peer in left if peer in want.holders]
        if want.proven:  # who says that it has everything may answer nothing
            peers += [peer for peer in left if peer not in want.holders]
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
        for message in self._telling.messages(self._telling.quiet(now), now):
            for one in self._neighbours.values():
                one.link.send(message)
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
        self._telling.forget(name)
        self._withheld.pop(name, None)
        self._unsaid.pop(name, None)
        for one in self._neighbours.values():
            one.claims.pop(name, None)
        self._kept.forget(name)
        self._unheard.forget(name)
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
