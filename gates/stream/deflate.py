"""Compression that is shared: one compressor for all who have converged, others for newcomers, none for each consumer.

A consumer's bytes are one zlib stream (RFC 1950): two bytes of header, then blocks (RFC 1951), each batch's ended by a
sync flush, so that it can be read at once.  Blocks may come from any compressor, as long as they point back only at
what this consumer has been sent (facts 0.4).  A compressor that is new points at nothing.  So:

- Newcomers of one window share a `Group`, whose compressor begins with the next batch.  Whatever they were sent before,
  from a history or from another group, its blocks never point there.
- A deflate block points back at most 32,768 bytes.  A group that has been sent so much since it began has the same past
  as the eldest group, as far as any block can tell: its members are moved there, and its compressor ends.  Nothing is
  reset, and nothing on the wire tells.
- Each group costs one deflate of each batch, so there are at most MOST_GROUPS.  Beyond, newcomers are taken into the
  youngest, which begins anew: its members lose some of their ratio, and nobody else does.

The eldest group is the main one.  When all its members have left, the next eldest is.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

# CM 8, CINFO 7: deflate with a window of 32 KiB (RFC 1950, 2.2).  The end, a checksum, never comes.
HEADER = b"\x78\x9c"
WINDOW_BYTES = 32_768
MOST_GROUPS = 8


class Members(Protocol):
    """Those who get a group's blocks."""

    def __len__(self) -> int: ...

    def take(self, others: Self, /) -> None:
        """Have the others' members, too; they are left without."""


_M = TypeVar("_M", bound=Members)


class Group(Generic[_M]):
    """Members who have been sent the same `seen` plain bytes since their compressor began."""

    __slots__ = ("_compressor", "members", "seen")

    def __init__(self, members: _M, level: int) -> None:
        self.members = members
        self.begin(level)

    def begin(self, level: int) -> None:
        """Forget what was compressed: the next block points at nothing."""
        self._compressor = _raw(level)
        self.seen = 0

    def block(self, plain: bytes) -> bytes:
        """The batch as blocks of this group's stream, which end at a whole byte."""
        self.seen += len(plain)
        return self._compressor.compress(plain) + self._compressor.flush(zlib.Z_SYNC_FLUSH)


class Groups(Generic[_M]):
    """All who follow one form of one stream compressed; `level` is zlib's, `members` makes an empty set of them."""

    def __init__(self, level: int, members: Callable[[], _M]) -> None:
        self._level = level
        self._members = members
        self._groups: list[Group[_M]] = []  # the eldest first
        self.merged = 0
        self.restarted = 0

    def __len__(self) -> int:
        """How many compressors there are."""
        return len(self._groups)

    def newcomers(self) -> _M:
        """Where to put those who come now; they get the batches from the next one on."""
        if self._groups and not self._groups[-1].seen:
            return self._groups[-1].members
        self._sweep()
        if len(self._groups) < MOST_GROUPS:
            self._groups.append(Group(self._members(), self._level))
        else:
            self._groups[-1].begin(self._level)
            self.restarted += 1
        return self._groups[-1].members

    def members(self) -> list[_M]:
        """Of all groups."""
        return [group.members for group in self._groups]

    def blocks(self, plain: bytes) -> list[tuple[_M, bytes]]:
        """The next batch, compressed once for each group that has members.

        Members are moved only by the next call, so what is returned is right until then.
        """
        self._converge()
        return [(group.members, group.block(plain)) for group in self._groups]

    def _converge(self) -> None:
        self._sweep()
        while len(self._groups) > 1 and self._groups[1].seen >= WINDOW_BYTES:
            # The eldest of the younger ones has seen the most, and the main group all of that.
            self._groups[0].members.take(self._groups.pop(1).members)
            self.merged += 1

    def _sweep(self) -> None:
        self._groups = [group for group in self._groups if len(group.members)]


def alone(plain: bytes, level: int) -> bytes:
    """Blocks that point at nothing but themselves, and may stand anywhere in a stream: a history, for all who ask for it."""
    compressor = _raw(level)
    return compressor.compress(plain) + compressor.flush(zlib.Z_SYNC_FLUSH)


def _raw(level: int) -> zlib._Compress:
    return zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
