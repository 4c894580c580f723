"""The certificates that are missing here: neighbours are asked for them, each chain's of one at a time, and few at a time.

What a neighbour says of a chain means nothing before its certificate is here: it is kept so long, and counts then.
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
_PARCEL_S: Final = 1.0  # between two parcels of a link whose chains are asked for


class Head(NamedTuple):
    """What a neighbour has of a chain: see `messages.Heads`."""

    oldest: int
    newest: int
    recent: int


@dataclass(slots=True)
class _Missing:
    """A chain; `told` is who spoke of it, and what, the one first whose turn it is to be asked."""

    told: dict[Link, Head | None] = field(default_factory=dict)
    tries: int = 0


@dataclass(slots=True)
class _Asking:
    """A link; `asked` are the chains that it was asked for, `waiting` those that it will be; at `at` it answered last."""

    waiting: dict[bytes, None] = field(default_factory=dict)
    asked: set[bytes] = field(default_factory=set)
    at: float = 0.0
    parcel_at: float = float("-inf")


class Needs:
    """Of at most `most` chains.  All times are of one clock that never goes back, in seconds."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._chains: dict[bytes, _Missing] = {}
        self._links: dict[Link, _Asking] = {}

    def __len__(self) -> int:
        return len(self._chains)

    def told(self, chain: bytes, link: Link, head: Head | None = None) -> None:
        """A neighbour speaks of a chain whose certificate is missing; it is asked with the next `ask`."""
        missing = self._chains.get(chain)
        if missing is None:
            if len(self._chains) >= self._most:
                return
            missing = self._chains[chain] = _Missing({link: head})
            self._asking(link).waiting[chain] = None
        elif link in missing.told or len(missing.told) < _MOST_TELLERS:
            missing.told[link] = head or missing.told.get(link)

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
        asking = self._links.get(next(iter(missing.told)))
        if asking is not None:
            asking.waiting.pop(chain, None)
            if chain in asking.asked:
                asking.asked.discard(chain)
                asking.at = now
        self.ask(now)
        return missing.told

    def ask(self, now: float) -> None:
        """Ask whoever has answered all that it was asked; who has not in time, is asked for the same later."""
        for link, asking in tuple(self._links.items()):
            if asking.asked and now - asking.at >= _ANSWER_S:
                asked, asking.asked = asking.asked, set()
                for chain in asked:
                    self._pass_on(chain, link)
        for link, asking in self._links.items():
            if asking.waiting and not asking.asked:
                some = tuple(islice(asking.waiting, MOST_NEEDED))
                for chain in some:
                    del asking.waiting[chain]
                asking.asked = {*some}
                asking.at = now
                link.send(encode(Need(some)))

    def closed(self, link: Link) -> None:
        """It can't be asked any more, and what it said is forgotten."""
        self._links.pop(link, None)
        for chain, missing in tuple(self._chains.items()):
            had_turn = next(iter(missing.told)) is link
            missing.told.pop(link, None)
            if not missing.told:
                del self._chains[chain]
            elif had_turn:
                self._wait(chain, missing)

    def _pass_on(self, chain: bytes, link: Link) -> None:
        """The next one's turn, which may be the same again."""
        missing = self._chains[chain]
        missing.tries += 1
        if missing.tries >= _TRIES:
            del self._chains[chain]
            return
        missing.told[link] = missing.told.pop(link)
        self._wait(chain, missing)

    def _wait(self, chain: bytes, missing: _Missing) -> None:
        self._asking(next(iter(missing.told))).waiting[chain] = None

    def _asking(self, link: Link) -> _Asking:
        return self._links.setdefault(link, _Asking())
