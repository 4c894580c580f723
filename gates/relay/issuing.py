"""The tickets and certificates of one stream: made when they are wanted, made anew when half of their life is over.

A chain is named by its stream, its node and its key (`chain_name`): there are no two that want the same one.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from .parcels import chain_name, is_proven
from .tickets import LEEWAY_S, decoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tickets import TrackerKey
    from .tracker_counts import Counts

_MOST_CHAINS = 64  # of one node, whose certificates have not expired: one that restarts all the time has many
_MOST_CHAINS_OF_ALL = 100_000  # who is there has its own anew with each status

_MOST_REFUSED = 1_000  # nodes


class _Ticket(NamedTuple):
    token: str
    expires: float


class _Chain(NamedTuple):
    """Whose a chain is; `token` is its newest certificate, and what else it says."""

    node: str
    publisher: str
    links_at: str
    token: str
    expires: float


class Issuing:
    """`wall` gives seconds since the epoch, by which what is signed expires `life_s` later."""

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of what is signed
        self,
        key: TrackerKey,
        stream: str,
        epoch: str,
        life_s: float,
        wall: Callable[[], float],
        counts: Counts,
    ) -> None:
        self._counts = counts
        self._key = key
        self._stream = stream
        self._epoch = epoch
        self._life_s = life_s
        self._wall = wall
        self._tickets: dict[tuple[str, str], _Ticket] = {}
        self._chains: dict[str, _Chain] = {}  # in the order in which they expire
        self._held: Counter[str] = Counter()
        self._refused: dict[str, tuple[str, str]] = {}  # what each node could not prove last

    def ticket(self, a: str, b: str) -> str:
        """For two neighbours; it lasts for at least half its life from now on."""
        pair = (a, b) if a < b else (b, a)
        now = self._wall()
        known = self._tickets.get(pair)
        if known is None or self._is_old(known.expires, now):
            known = self._tickets[pair] = _Ticket(self.single(a, b), now + self._life_s)
        return known.token

    def single(self, a: str, b: str) -> str:
        """One that is not remembered, for two who need not be neighbours."""
        self._counts.signed += 1
        return self._key.ticket(self._stream, a, b, self._epoch, self._wall() + self._life_s)

    def let_go(self, a: str, b: str) -> None:
        """These are no neighbours any more."""
        self._tickets.pop((a, b) if a < b else (b, a), None)

    def certificate(self, key: str, proof: str, publisher: str, node: str, links_at: str) -> str:
        """Of a node's chain, by its key and the proof that it has it (base64url); "" where it has not, or too many chains."""
        chain = chain_name(self._stream, node, decoded(key)).hex()
        now = self._wall()
        self._expire(now)
        known = self._chains.get(chain)
        if known is not None:
            is_same = (known.publisher, known.links_at) == (publisher, links_at)
            if is_same and not self._is_old(known.expires, now):
                return known.token
        if not self._is_proven(key, proof, node):
            self._counts.unproven += 1
            return ""
        if known is not None:
            del self._chains[chain]
        elif self._held[node] >= _MOST_CHAINS:
            return ""
        else:
            if len(self._chains) >= _MOST_CHAINS_OF_ALL:
                self._forget(next(iter(self._chains)))
            self._held[node] += 1
        expires = now + self._life_s
        self._counts.signed += 1
        token = self._key.certificate(self._stream, decoded(key), publisher, node, links_at, expires)
        self._chains[chain] = _Chain(node, publisher, links_at, token, expires)
        return token

    def origin(self, chain: str) -> str | None:
        """The node that a chain is of."""
        known = self._chains.get(chain)
        return known.node if known is not None else None

    def _is_proven(self, key: str, proof: str, node: str) -> bool:
        """A node that says the same again, as its statuses do, is not verified again."""
        if self._refused.get(node) == (key, proof):
            return False
        self._counts.proofs += 1
        if is_proven(self._stream, node, decoded(key), decoded(proof)):
            return True
        self._refused.pop(node, None)
        while len(self._refused) >= _MOST_REFUSED:
            self._refused.pop(next(iter(self._refused)))
        self._refused[node] = (key, proof)
        return False

    def _is_old(self, expires: float, now: float) -> bool:
        # Also where the clock was set back: what is good for longer than it should be is made anew
        return not now + self._life_s / 2 <= expires <= now + self._life_s

    def _expire(self, now: float) -> None:
        longest = now + self._life_s + LEEWAY_S
        while self._chains:
            chain, known = next(iter(self._chains.items()))
            # One that is good for too long is of a clock that was ahead, and would hold up all behind it
            if now < known.expires + LEEWAY_S and known.expires <= longest:
                return
            self._forget(chain)

    def _forget(self, chain: str) -> None:
        node = self._chains.pop(chain).node
        self._held[node] -= 1
        if not self._held[node]:
            del self._held[node]
