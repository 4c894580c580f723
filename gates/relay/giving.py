"""What goes to a stream's sink: one thing at a time, behind a bounded queue.

A sink that is too slow holds up nothing but itself: where its queue is full, what comes is not put into order, but is left
with the parcels that are kept for neighbours, and is taken from there when the sink has caught up.  What is not kept any
more by then is a gap like any other: neighbours are asked for it, and a marker says so in the end.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Final

from triplewire.broker.errors import BrokerError, ProtocolError
from triplewire.broker.wire.gap_items import ANY_CHAIN

from .ordered import GapMarker, Piece
from .parcels import unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .carrying import Sink
    from .counted import Counted
    from .ordered import Delivery

log = logging.getLogger("triplewire.gates.relay")

_AGAIN_S: Final = 0.5  # after a sink could not take something
_LAST_S: Final = 2.0  # for what still waits at the end


class Giving:
    """Gives what is `put` to `sink`, in that order; `publisher` tells whose a chain is, `room` is called whenever there is some."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that it depends on
        self,
        sink: Sink,
        most: int,
        publisher: Callable[[bytes], str],
        room: Callable[[], None],
        counted: Counted,
        gave: Callable[[bytes, int], None] | None = None,
    ) -> None:
        """`gave` is called with a chain and the number that comes next in it, whenever the sink has taken something."""
        self._sink = sink
        self._most = most
        self._publisher = publisher
        self._room = room
        self._counted = counted
        self._gave = gave
        self._waiting: deque[Delivery] = deque()
        self._there = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._ended = False
        self._empty: asyncio.Future[None] | None = None  # at the end: nothing waits any more

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def full(self) -> bool:
        """Whether nothing more is to be put."""
        return len(self._waiting) >= self._most

    def put(self, deliveries: Iterable[Delivery]) -> None:
        """These are next."""
        self._waiting.extend(deliveries)
        if self._waiting:
            if self._task is None and not self._ended:
                self._task = asyncio.create_task(self._give())
            self._there.set()

    async def _give(self) -> None:
        while True:
            await self._there.wait()
            self._there.clear()
            while self._waiting:
                await self._give_one(self._waiting[0])
                self._waiting.popleft()
                if not self._waiting and self._empty is not None and not self._empty.done():
                    self._empty.set_result(None)
                if len(self._waiting) <= self._most // 2:
                    self._make_room()

    def _make_room(self) -> None:
        try:
            self._room()
        except Exception:  # what waits is given all the same
            log.exception("! a stream can't catch up")

    async def _give_one(self, delivery: Delivery) -> None:
        while True:
            try:
                await self._given(delivery)
            except BrokerError as error:
                log.warning("! a sink could not take something: %.200s", error.description)
                await asyncio.sleep(_AGAIN_S)
            except Exception:
                log.exception("! a sink failed")  # the same would fail again: the next thing has its turn
                if isinstance(delivery, Piece):
                    parcel = delivery.parcel
                    await self._give_one(GapMarker(parcel.chain, delivery.first, parcel.last))
                return
            else:
                self._tell(delivery)
                return

    def _tell(self, delivery: Delivery) -> None:
        if self._gave is None:
            return
        if isinstance(delivery, Piece):
            self._gave(delivery.parcel.chain, delivery.parcel.last + 1)
        elif delivery.certain:
            self._gave(delivery.chain, delivery.last + 1)

    async def _given(self, delivery: Delivery) -> None:
        if isinstance(delivery, GapMarker):
            await self._missing(delivery)
            return
        parcel = delivery.parcel
        try:
            items = delivery.of(unpack(parcel))
        except ProtocolError as error:
            # Signed by its publisher, and no items all the same
            log.warning("! %s publishes what is no items: %s", parcel.chain.hex(), error)
            await self._missing(GapMarker(parcel.chain, delivery.first, parcel.last))
            return
        await self._sink.take(items, self._publisher(parcel.chain))

    async def _missing(self, gap: GapMarker) -> None:
        self._counted.gaps += 1
        chain = gap.chain.hex() or ANY_CHAIN
        await self._sink.missing(chain, self._publisher(gap.chain), gap.first, gap.last)

    async def close(self) -> None:
        """Give what waits, if that can be in time."""
        self._ended = True
        if self._task is None:
            return
        if self._waiting:
            self._empty = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._empty], timeout=_LAST_S)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
