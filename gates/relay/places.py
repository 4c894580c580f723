"""Where a kept stream stands in each chain: a small file, so that a process that comes back asks for what it missed.

::

    "TWSp"  number u64  there f64  chains u32              little endian; "TWSn" while the stream is new
    chain 8 bytes  next u64  heard f64                     for each, the one that was quiet longest first
    crc32(all of that, whose) u32

`next` is the number of the chain's item that was not taken yet, 0 for a chain that was published here.  `number` is that of
the last item that the stream took by then, `there` the time at which others were known to be there, in seconds since 1970.
`whose` is the stream's Source-Id.

The file is written after the items are kept, once a second while they come, and takes the place of the one before as a
whole.  What is told by one that is behind comes again, and is dropped by its id.  One that is ahead, as the stream's history
was lost or a loss of power took its end, is not believed: all that others keep is asked for then.
"""

from __future__ import annotations

import logging
import struct
import time
import zlib
from typing import TYPE_CHECKING, Final

from triplewire.broker.errors import StoreError

from .parcels import CHAIN_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from pathlib import Path

_log = logging.getLogger("triplewire.gates.relay")

_MAGIC: Final = b"TWSp"
_MAGIC_NEW: Final = b"TWSn"
_HEAD: Final = struct.Struct("<4sQdI")
_PLACE: Final = struct.Struct(f"<{CHAIN_BYTES}sQd")
_CHECK: Final = struct.Struct("<I")
_WRITE_S: Final = 1.0
_THERE_S: Final = 30.0  # between two writings while nothing comes
_OWN: Final = 0


class Places:
    """The places in the file at `path`, of at most `most` chains; `last` is the number of the stream's last item.

    `is_new` says that it is not known yet which chains there were when the stream began: of those that never were here it
    missed nothing.  `believed` says whether what it told counts.  `there` is
    when others were there last, None where that is not known.

    Raises:
        StoreError: the file can't be read.
    """

    def __init__(
        self, path: Path, whose: str, last: int, most: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._path = path
        self._whose = whose.encode("utf-8", "surrogatepass")
        self._most = most
        self.clock = clock
        self._places: dict[bytes, tuple[int, float]] = {}  # the one that was quiet longest first
        self._number = last
        self._changed = self._frozen = self._failing = False
        self._written_at = clock()
        self.there: float | None = None
        self.is_new, self.believed = False, True
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            self.is_new = True
        except OSError as error:
            raise StoreError(f"the places of a stream can't be read: {error.strerror} ({path})") from error
        else:
            self.believed = self._read(data, last)
            if not self.believed:
                _log.warning("! %s is damaged, or is ahead of its stream: all is asked for again", path)

    def __len__(self) -> int:
        return len(self._places)

    def after(self, chain: bytes) -> int | None:
        """All items after this number are wanted; None where what others say is to count.

        Of a chain that never was here all are: it began while this process was not there.
        """
        place = self._places.get(chain)
        if place is None:
            return None if self.is_new else 0
        return None if place[0] == _OWN else place[0] - 1

    def unknown(self, known: Container[bytes], idle_s: float) -> list[bytes]:
        """Chains that were here in the last `idle_s`, and are not among those."""
        since = self.clock() - idle_s
        return [
            chain
            for chain, (following, heard) in self._places.items()
            if following != _OWN and heard > since and chain not in known
        ]

    def gave(self, chain: bytes, following: int) -> None:
        """All before the number `following` has been taken, and is kept."""
        if self._frozen:
            return
        self._places.pop(chain, None)
        self._places[chain] = following, self.clock()
        if len(self._places) > self._most:
            del self._places[next(iter(self._places))]
        self._changed = True

    def own(self, chain: bytes) -> None:
        """That chain is published here: of it nothing is ever missed."""
        self.gave(chain, _OWN)

    def took(self, number: int) -> None:
        """The stream has taken an item of this number."""
        self._number = number

    def freeze(self) -> None:
        """What comes from now on is not kept any more."""
        self._frozen = True

    def begun(self) -> None:
        """All that others know has been asked for: from now on a chain that is not known here is one that began."""
        self.believed = True
        if self.is_new:
            self.is_new = False
            self._changed = True

    def pass_time(self, *, is_there: bool) -> None:
        """Write where it is time; `is_there` says whether others are there."""
        if self._frozen:
            return
        now = self.clock()
        if is_there:
            self.there = now
        past = abs(now - self._written_at)  # the clock may be set back
        if past >= _WRITE_S and (self._changed or (is_there and past >= _THERE_S)):
            self.write()

    def write(self) -> None:
        """Write all; where that fails, it is logged, and tried again with the next."""
        self._written_at = self.clock()
        there = self.there if self.there is not None else 0.0
        magic = _MAGIC_NEW if self.is_new else _MAGIC
        parts = [_HEAD.pack(magic, self._number, there, len(self._places))]
        parts += [_PLACE.pack(chain, *place) for chain, place in self._places.items()]
        data = b"".join(parts)
        draft = self._path.with_name(f"{self._path.name}.draft")
        try:
            draft.write_bytes(data + _CHECK.pack(self._sum(data)))
            draft.replace(self._path)
        except OSError as error:
            if not self._failing:
                _log.warning("! the places of a stream can't be kept: %s (%s)", error.strerror, self._path)
            self._failing = True
        else:
            self._changed = self._failing = False

    def _read(self, data: bytes, last: int) -> bool:
        """Whether the file can be believed."""
        body, check = data[: -_CHECK.size], data[-_CHECK.size :]
        if len(body) < _HEAD.size or check != _CHECK.pack(self._sum(body)):
            return False
        magic, number, there, chains = _HEAD.unpack_from(body)
        if magic not in {_MAGIC, _MAGIC_NEW} or len(body) != _HEAD.size + chains * _PLACE.size:
            return False
        self.there = there or None
        if number > last:
            return False
        self.is_new = magic == _MAGIC_NEW
        for chain, following, heard in _PLACE.iter_unpack(body[_HEAD.size :]):
            self._places[chain] = following, heard
        return True

    def _sum(self, data: bytes) -> int:
        return zlib.crc32(self._whose, zlib.crc32(data))
