"""What neighbours say of chains, and ask for: each goes to the stream that the chain is of, as its certificate says.

What is said of a chain without a good certificate waits until that has been had from whoever said it (`needs.py`).
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from triplewire.broker.errors import Unauthorized

from .messages import Heads, Need, Wanted
from .needs import Head, Needs

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from .counted import Counted
    from .link import Link
    from .membership import Membership
    from .messages import Absent, Certified
    from .tickets import TrackerKeys


class ToldChains:
    """Of a node with these `members`, by stream; `chains` are those that are certified, at most `most` of others are asked of each link."""

    def __init__(
        self,
        members: Mapping[str, Membership],
        chains: MutableMapping[bytes, Membership],
        keys: TrackerKeys,
        counted: Counted,
        most: int,
    ) -> None:
        self._members = members
        self._chains = chains
        self._keys = keys
        self._counted = counted
        self._needs = Needs(most)
        self._loop = asyncio.get_running_loop()

    def __len__(self) -> int:
        """How many wait for their certificates."""
        return len(self._needs)

    def certified(self, message: Certified, link: Link) -> None:
        """A certificate; what was said of its chain counts now.

        Raises:
            Unauthorized: it is not good (Forged, where it is made up), or there are too many chains.
        """
        certificate = self._keys.certificate(message.token, time.time())
        chain = certificate.chain
        told = self._needs.came(chain, self._loop.time())
        member = self._members.get(certificate.stream)
        if member is None or not member.joined:
            return
        heads = {teller: head for teller, head in told.items() if head is not None}
        if not member.forwarding.certified(
            certificate, message.token, link.peer, begun=message.begun, told=heads
        ):
            raise Unauthorized("there are too many chains")
        self._chains[chain] = member

    def heads(self, message: Heads, link: Link) -> None:
        """What a neighbour has."""
        by_member: dict[str, dict[bytes, tuple[int, int]]] = {}
        shares = self._shares(link)
        for chain, head in message.heads.items():
            member = self._chains.get(chain)
            if shares and (member is None or member.forwarding.lacks(chain)):
                self._needs.told(chain, link, Head(*head, message.recent.get(chain, head[0])))
            if member is not None and member.joined:
                by_member.setdefault(member.stream, {})[chain] = head
        for stream, some in by_member.items():
            self._members[stream].forwarding.heads(Heads(some, message.recent), link)
        self._needs.ask(self._loop.time())

    def lacks(self, chain: bytes, link: Link) -> None:
        """A parcel came whose chain has no good certificate here."""
        if self._shares(link):
            self._needs.parcel(chain, link, self._loop.time())

    def asked(self, message: Wanted | Need, link: Link) -> None:
        """Who shares the stream is given what it misses."""
        for chain in (message.chain,) if isinstance(message, Wanted) else message.chains:
            member = self._chains.get(chain)
            if member is None or not member.may_ask(link):
                self._counted.misfit += 1
            elif isinstance(message, Wanted):
                member.forwarding.wanted(message, link)
            else:
                member.forwarding.needed(chain, link)

    def absent(self, message: Absent, link: Link) -> None:
        """A neighbour has not what it was asked for."""
        member = self._chains.get(message.chain)
        if member is not None:
            member.forwarding.absent(message, link)

    def tick(self) -> None:
        """Now and then: who has not answered is not waited for."""
        self._needs.ask(self._loop.time())

    def closed(self, link: Link) -> None:
        """What was said over it is forgotten, but of certified chains."""
        self._needs.closed(link)

    def _shares(self, link: Link) -> bool:
        return any(member.joined and member.may_ask(link) for member in self._members.values())
