"""A kept stream that comes back after it was away: what was published meanwhile is had from the others, or its loss is told.

Each chain begins where the stream stood in it (`places.py`), so what follows is a gap like any other, once one parcel has
come.  Neighbours keep the newest for long (`kept.py`): it is signed, and proves that there were items before it.  Where none
has it, the node where the chain begins is asked.  Where nobody has even that one any more, only the word of neighbours says that
there was something.  Then a marker says so, and the chain's place stays where it is: should more come all the same, it is not
passed over.

A chain that nobody knows any more can't be asked for.  Where that may be, as the stream was away for longer than nodes
remember chains, or all others are new themselves, one marker of the whole stream says between which times.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import shuffle
from typing import TYPE_CHECKING, Final, NamedTuple

from .ordered import GapMarker

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from .places import Places

SETTLE_S: Final = 3.0  # for neighbours to say what they know
_MARKERS: Final = 100  # for chains of which there is only the word of others; more are one
_MARGIN_S: Final = 30.0  # nodes forget a chain not all at the same moment


class Lost(NamedTuple):
    """Items of a chain that others say there were."""

    chain: bytes
    first: int
    last: int


@dataclass(slots=True)
class _Told:
    newest: int
    least: int  # of what neighbours said is its newest


class Returning:
    """What neighbours say of each chain in the first moments, whenever there were none before.

    `here` tells the number of a chain's last item that has come; others remember a chain for `idle_s` after its last item.
    """

    def __init__(self, places: Places, idle_s: float, here: Callable[[bytes], int]) -> None:
        self._places = places
        self._least_s = idle_s - _MARGIN_S
        self._here = here
        self._told: dict[bytes, _Told] = {}
        self._since = places.there
        self._back_at: float | None = None  # since when there are neighbours
        self._over = False

    def heads(self, chain: bytes, newest: int) -> None:
        """A neighbour's word."""
        if self._over:
            return
        told = self._told.get(chain)
        if told is None:
            told = self._told[chain] = _Told(newest, newest)
        told.newest, told.least = max(told.newest, newest), min(told.least, newest)

    def step(
        self, now: float, longest_s: float, known: Container[bytes], *, is_there: bool
    ) -> tuple[list[Lost], list[GapMarker]]:
        """Now and then: of which chains the newest is to be asked for where they begin, and what is lost at last.

        `longest_s` is how long a gap is asked for, `known` are the chains that somebody knows, `is_there` says whether there are
        neighbours.
        """
        self._places.pass_time(is_there=is_there)
        if self._over and not is_there:
            self._told, self._since = {}, self._places.there
            self._back_at, self._over = None, False
        if self._over or (self._back_at is None and not is_there):
            return [], []
        if self._back_at is None:
            self._back_at = now
        past = now - self._back_at
        if past < SETTLE_S:
            return [], []
        lost = [one for one in self._lost() if one.chain in known]
        if past < SETTLE_S + longest_s:
            shuffle(lost)  # few are asked at a time
            return lost, []
        markers = self._markers(lost, known)
        self._begin()
        return [], markers

    def _lost(self) -> Iterator[Lost]:
        """What is not here, and not known to be missing either."""
        for chain, told in self._told.items():
            following = self._following(chain)
            if following is not None and following <= told.newest:
                yield Lost(chain, following, told.newest)

    def _markers(self, lost: list[Lost], known: Container[bytes]) -> list[GapMarker]:
        markers = [GapMarker(*one, certain=False) for one in lost[:_MARKERS]]
        if len(lost) > _MARKERS or self._may_have_been_forgotten(known):
            since = max(1, int(self._since or 1))
            until = max(since, int(self._places.clock()))
            markers.append(GapMarker(b"", since, until, certain=False))
        return markers

    def _may_have_been_forgotten(self, known: Container[bytes]) -> bool:
        """Whether there may have been chains that nobody knows any more."""
        if self._places.is_new:
            return False
        if not self._places.believed:
            return True
        if self._since is None:  # nobody else was ever there
            return False
        away_s = self._places.clock() - self._since
        return away_s >= self._least_s or bool(self._places.unknown(known, self._least_s))

    def _begin(self) -> None:
        """Of a stream that is new, chains stand where neighbours say; then a chain that is not known is one that began."""
        if self._places.is_new:
            for chain, told in self._told.items():
                if self._places.after(chain) is None:
                    self._places.gave(chain, told.least + 1)
        self._places.begun()
        self._told.clear()
        self._over = True

    def _following(self, chain: bytes) -> int | None:
        after = self._places.after(chain)
        return None if after is None else max(after, self._here(chain)) + 1
