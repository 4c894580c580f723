"""Following a stream over any number of connections, as a flow without I/O (see `clients/flows.py`).

Nothing is lost and nothing comes twice, as far as the server's history reaches: each connection asks for what comes
after an item that was had (`last-seen`), and what was had is not given again.

**What can be known of a gap.**  To a server that does not know the id, `last-seen` means its whole history, and it
does not say so.  So we ask for what comes after the last item *but one*: where the history reaches back, the last item
comes again first, which is the proof, and is dropped.  Where something else comes first, the history no longer
reaches back to what we had, or the server has begun anew, and items may have been lost: `on_gap` is told when that
first item comes.  It can't be known where only one item was ever had, or its id alone was given.

**Where a stream has several relays** (`places.py`), a connection begins a while before the last item (`remembered.py`), as
the next relay has the items in another order.  Servers that know what that is say that they have the item asked for, and
how long before it they begin: then nothing is missing between, but of an origin that has been silent for longer than that:
`on_gap` is told where something else of it comes first than the last that was had.  Servers that have not got that item are
told how old it may be (`away`), and begin there.  Items that a relay could not get are told by markers, which `on_gap`
is told of, too.

An item counts as had when more is asked for, or `done` is called: what was interrupted comes again.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from triplewire.broker.errors import BrokerMisbehaved, ClientError, ConnectionLost
from triplewire.broker.wire.gap_items import GAP, Missing, missing_of
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import FOLLOWED, STREAM_FINISHED, TEST_CONNECTION, Item, ItemError
from triplewire.clients.authorization import Authorize
from triplewire.clients.backoff import Backoff
from triplewire.clients.flows import Call, Reply, Wait

from .connecting import Connecting
from .inflating import Inflating
from .last_seen import LastSeen
from .places import Places
from .progress import Progress
from .remembered import elapsed_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from random import Random

    from triplewire.clients.authorization import Authorization

    from .last_seen import LastSeenFile
    from .settings import StreamSettings

logger = logging.getLogger("triplewire.clients")

# Neither is in a history, and both tell of the connection only: what to do at its end is known without them.
_OF_THE_CONNECTION = {TEST_CONNECTION, STREAM_FINISHED}


@dataclass(frozen=True, slots=True)
class Read:
    """Read what comes next of a streamed reply, b"" where it has ended."""

    reply: Reply


@dataclass(frozen=True, slots=True)
class Gap:
    """Items may have been lost between the last one that was had and `first`.

    With `missing` they surely were: the relay could not get these, and `first` is the marker that says so.  `last_seen`
    is "" where nothing was had before it.
    """

    last_seen: str
    first: Item
    missing: Missing | None = None


Items: TypeAlias = tuple[Item, ...]
Step: TypeAlias = Call | Wait | Authorize | Read | Items
FollowFlow: TypeAlias = Generator[Step, Any, None]


@dataclass(frozen=True, slots=True)
class Told:
    """Whom the follower tells what, all on the consumer's own thread; exceptions end the following.

    `filters` are asked in turn: an item that one of them refuses is not given, and not shown to the others.
    `commands` tells whether commands of sources, and markers of gaps, are given like items; no filter is asked about them.
    """

    filters: tuple[Callable[[Item], bool], ...] = ()
    on_gap: Callable[[Gap], object] | None = None
    on_disconnect: Callable[[ClientError | None], object] | None = None
    on_reconnect: Callable[[], object] | None = None
    commands: bool = False


class Following:
    """One stream, as far as it was followed."""

    def __init__(  # noqa: PLR0913 - all but two are keywords
        self,
        urls: Sequence[str],
        settings: StreamSettings,
        *,
        told: Told,
        rng: Random,
        authorization: Authorization | None = None,
        last_seen: str | LastSeen | None = None,
        state: LastSeenFile | None = None,
        compressed: bool = True,
        clock: Callable[[], float] = elapsed_s,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """It can be followed at any of `urls`, the first of which is asked first; what is in `state` counts before `last_seen`.

        `clock` gives seconds that do not go back, `wall_clock` seconds since 1970.

        Raises:
            ClientError: the state is no file of ours.
            ValueError: one of settings.trusted_redirects is no server's URL.
        """
        self._settings = settings
        self._told = told
        self._backoff = Backoff(rng, settings)
        if isinstance(last_seen, str):
            last_seen = LastSeen(last_seen)
        seen = (state.read() if state is not None else None) or last_seen
        self._places = Places(urls, settings, seen.relay if seen is not None else None)
        self._progress = Progress(
            settings, self._places, seen, state=state, clock=clock, wall_clock=wall_clock
        )
        self._connecting = Connecting(
            self._places,
            settings,
            backoff=self._backoff,
            begins=self._progress.begins,
            authorization=authorization,
            compressed=compressed,
        )
        self._misled = False  # whether a relay sent what is no stream, and nothing new came since
        self._pending: deque[Item] = deque()  # what came and has not been dealt with, also what is not wanted
        self._given: Item | None = None  # as far as that is being dealt with

    @property
    def last_seen(self) -> str | None:
        """The id of the last item that was had."""
        return self._progress.last_seen

    def flow(self) -> FollowFlow:
        """The items, as many at a time as have come, for ever; returns where the stream ended and `reconnect` is off.

        Raises:
            BrokerRefused: the server answered with an error of ours (4xx); of relays that a tracker named, two did, or the only one.
            BrokerMisbehaved: what it sends is no stream of items; of such relays, what two sent.
            ConnectionLost: it could not be reached at first, or at all with `reconnect` off.
        """
        self._pending.clear()  # of an iteration that was left
        while True:
            is_again = self._connecting.connected
            reply = yield from self._connecting.opened()
            self._progress.opened(reply)
            if is_again and self._told.on_reconnect is not None:
                self._told.on_reconnect()
            lost: ClientError | None = None
            try:
                yield from self._read(reply)
            except ConnectionLost as error:
                lost = error
            except BrokerMisbehaved as error:
                if self._misled or not self._places.is_named:
                    raise
                self._misled = True
                lost = error
            finally:
                self._progress.keep()
            if not self._settings.reconnect:
                if lost is not None:
                    raise lost
                return
            self._places.lost()
            if self._told.on_disconnect is not None:
                self._told.on_disconnect(lost)
            yield Wait(self._backoff.next_s())

    def gives(self, item: Item) -> None:
        """Of what the flow gave last, this item is being dealt with."""
        self._given = item

    def had(self) -> None:
        """What was given has been dealt with."""
        given, self._given = self._given, None
        while given is not None and self._pending:
            item = self._pending.popleft()
            self._remember(item)
            if item is given:
                return

    def done(self) -> None:
        """What was given last has been dealt with, and that is kept."""
        self.had()
        self._progress.keep()

    def _read(self, reply: Reply) -> FollowFlow:
        reader = ItemReader(FOLLOWED, self._unfit)
        coding = Inflating(reply.headers.get("content-encoding", ""))
        while data := (yield Read(reply)):
            self._backoff.reset()
            self._progress.came()
            for piece in coding.pieces(data):
                try:
                    items = reader.feed(piece)
                except ItemError as error:
                    raise self._misbehaved(error) from error
                for part in _parts(items):
                    if wanted := self._wanted(part):
                        self._given = wanted[-1]
                        yield wanted
                    self._pass_over()
                if reader.error is not None:
                    raise self._misbehaved(reader.error)
            self._progress.keep()
        # An item that was cut off at the end comes again.

    def _unfit(self, error: ItemError) -> None:
        """It would come again with every reconnection."""
        logger.warning("= an item of %s is passed over: %s", self._places.relay, error)

    def _misbehaved(self, error: ItemError) -> BrokerMisbehaved:
        return BrokerMisbehaved(f"{self._places.relay} sends what is no stream of items: {error}")

    def _wanted(self, items: list[Item]) -> Items:
        """Those that are to be given; all that are new are pending then."""
        new: dict[str, Item] = {}
        for item in items:
            if item.command in _OF_THE_CONNECTION:
                continue
            had = item.event_id in self._progress
            missing = missing_of(item)
            if missing is not None:
                if not had and item.event_id not in new:
                    self._tell_of_gap(item, missing)
            elif self._progress.shows_gap(item, had=had or item.event_id in new):
                self._tell_of_gap(item)
            if not had:
                new.setdefault(item.event_id, item)
        self._pending.extend(new.values())
        return tuple(item for item in new.values() if self._is_wanted(item))

    def _pass_over(self) -> None:
        """All that came has been dealt with."""
        while self._pending:
            self._remember(self._pending.popleft())

    def _is_wanted(self, item: Item) -> bool:
        if item.command is not None or missing_of(item) is not None:
            return self._told.commands
        return all(passes(item) for passes in self._told.filters)

    def _tell_of_gap(self, first: Item, missing: Missing | None = None) -> None:
        if self._told.on_gap is not None:
            self._told.on_gap(Gap(self.last_seen or "", first, missing))

    def _remember(self, item: Item) -> None:
        self._progress.add(item)
        self._misled = False


def _parts(items: list[Item]) -> Iterator[list[Item]]:
    """Cut before each marker of a gap, so that all before it has been dealt with when it is told; the empty list too."""
    begin = 0
    for place, item in enumerate(items):
        if item.event_type == GAP and place > begin:
            yield items[begin:place]
            begin = place
    yield items[begin:]
