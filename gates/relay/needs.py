"""The certificates that are missing here: neighbours are asked for them, each chain's of one at a time, and few at a time.

What a neighbour says of a chain means nothing before its certificate is here: it is kept so long, and counts then.  Each has
its own bound and its own turn, so that one who makes up chains, or never answers, keeps nobody from being asked for theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from .messages import MOST_NEEDED, Need, encode

if TYPE_CHECKING:
    from .link import Link

_ANSWER_S: Final = 1.0
_TRIES: Final = 3  # who says that there is a chain may have made it up
_MOST_TELLERS: Final = 8
_MOST_LINKS: Final = 8  # that may speak of as many chains as there may be; where there are more, of fewer
_PARCEL_S: Final = 1.0  # between two parcels of a link whose chains are asked for


class Head(NamedTuple):
    """What a neighbour has of a chain: see `messages.Heads`."""

    oldest: int
    newest: int
    recent: int


@dataclass(slots=True)
class _Missing:
    """A chain; `told` is who spoke of it, and what."""

    told: dict[Link, Head | None] = field(default_factory=dict)
    is_asked: bool = False


@dataclass(slots=True)
class _Asking:
    """A link, with how often it was asked in vain for each chain that it spoke of.

    `asked` are those that it was asked for, `waiting` those that it will be; at `at` it answered last.
    """

    waiting: dict[bytes, int] = field(default_factory=dict)
    asked: dict[bytes, int] = field(default_factory=dict)
    at: float = 0.0
    parcel_at: float = float("-inf")

    def __len__(self) -> int:
        return len(self.waiting) + len(self.asked)


class Needs:
    """Of at most `most` chains of each link.  All times are of one clock that never goes back, in seconds."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._chains: dict[bytes, _Missing] = {}
        self._links: dict[Link, _Asking] = {}

    def __len__(self) -> int:
        return len(self._chains)

    def told(self, chain: bytes, link: Link, head: Head | None = None) -> None:
        """A neighbour speaks of a chain whose certificate is missing; it is asked with the next `ask`."""
        missing = self._chains.get(chain)
        if missing is not None and link in missing.told:
            missing.told[link] = head or missing.told[link]
            return
        asking = self._asking(link)
        most = min(self._most, self._most * _MOST_LINKS // len(self._links))
        if len(asking) < most and (missing is None or len(missing.told) < _MOST_TELLERS):
            self._chains.setdefault(chain, _Missing()).told[link] = head
            asking.waiting[chain] = 0

    def parcel(self, chain: bytes, link: Link, now: float) -> None:
        """The same by a parcel, of which one in a second counts, as anybody can make up chains."""
        asking = self._asking(link)
        if now - asking.parcel_at >= _PARCEL_S:
            asking.parcel_at = now
            self.told(chain, link)
            self.ask(now)

    def came(self, chain: bytes, now: float) -> dict[Link, Head | None]:
        """The certificate is here: who spoke of the chain, and what they said."""
        missing = self._chains.pop(chain, None)
        if missing is None:
            return {}
        for link in missing.told:
            asking = self._links[link]
            asking.waiting.pop(chain, None)
            if asking.asked.pop(chain, None) is not None:
                asking.at = now
        self.ask(now)
        return missing.told

    def ask(self, now: float) -> None:
        """Ask whoever has answered all that it was asked; who has not in time, is asked for the same later, after the others."""
        for link, asking in tuple(self._links.items()):
            if asking.asked and now - asking.at >= _ANSWER_S:
                self._links[link] = self._links.pop(link)
                self._ask_later(link, asking)
        for link, asking in self._links.items():
            if asking.waiting and not asking.asked:
                free = (chain for chain in asking.waiting if not self._chains[chain].is_asked)
                some = tuple(islice(free, MOST_NEEDED))
                if some:
                    asking.asked = {chain: asking.waiting.pop(chain) for chain in some}
                    asking.at = now
                    for chain in some:
                        self._chains[chain].is_asked = True
                    link.send(encode(Need(some)))

    def closed(self, link: Link) -> None:
        """It can't be asked any more, and what it said is forgotten."""
        asking = self._links.pop(link, None)
        if asking is not None:
            for chain in asking.asked:
                self._chains[chain].is_asked = False
            for chain in (*asking.asked, *asking.waiting):
                self._unsay(chain, link)

    def _ask_later(self, link: Link, asking: _Asking) -> None:
        asked, asking.asked = asking.asked, {}
        for chain, tries in asked.items():
            self._chains[chain].is_asked = False
            if tries + 1 < _TRIES:
                asking.waiting[chain] = tries + 1
            else:
                self._unsay(chain, link)

    def _unsay(self, chain: bytes, link: Link) -> None:
        told = self._chains[chain].told
        del told[link]
        if not told:
            del self._chains[chain]

    def _asking(self, link: Link) -> _Asking:
        return self._links.setdefault(link, _Asking())
