"""Following a stream over any number of connections, as a flow without I/O (see `clients/flows.py`).

Nothing is lost and nothing comes twice, as far as the server's history reaches: each connection asks for what comes
after an item that was had (`last-seen`), and what was had is not given again.

**What can be known of a gap.**  To a server that does not know the id, `last-seen` means its whole history, and it
does not say so.  So we ask for what comes after the last item *but one*: where the history reaches back, the last item
comes again first, which is the proof, and is dropped.  Where something else comes first, the history no longer
reaches back to what we had, or the server has begun anew, and items may have been lost: `on_gap` is told when that
first item comes.  It can't be known where only one item was ever had, or its id alone was given.

**Where a stream has several relays** (`places.py`), a connection begins a while before the last item (`remembered.py`), as
the next relay has the items in another order.  Servers that know what that is say that they have the item asked for: then
nothing is missing between.  Items that a relay could not get are told by markers, which `on_gap` is told of, too.

An item counts as had when more is asked for, or `done` is called: what was interrupted comes again.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused, ClientError, ConnectionLost
from triplewire.broker.wire.gap_items import GAP, Missing, missing_of
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import FOLLOWED, STREAM_FINISHED, TEST_CONNECTION, Item, ItemError
from triplewire.clients.authorization import Authorize, Token, source_of, token_from
from triplewire.clients.backoff import Backoff
from triplewire.clients.flows import Call, Reply, Wait, refused, wait_s

from .inflating import Inflating
from .last_seen import LastSeen
from .places import Places
from .redirects import REDIRECTS
from .remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from random import Random

    from triplewire.clients.authorization import Authorization

    from .last_seen import LastSeenFile
    from .redirects import Trail
    from .settings import StreamSettings

logger = logging.getLogger("triplewire.clients")

# Neither is in a history, and both tell of the connection only: what to do at its end is known without them.
_OF_THE_CONNECTION = {TEST_CONNECTION, STREAM_FINISHED}
# A server that has the item that we go on behind says how many seconds before it it begins.
_COVERED = "triplewire-overlap"


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
        last_seen: str | None = None,
        state: LastSeenFile | None = None,
        compressed: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """It can be followed at any of `urls`, the first of which is asked first; what is in `state` counts before `last_seen`.

        Raises:
            ClientError: the state is no file of ours.
            ValueError: one of settings.trusted_redirects is no server's URL.
        """
        self._settings = settings
        self._told = told
        self._source = source_of(authorization)
        self._backoff = Backoff(rng, settings)
        self._accept_encoding = "deflate, identity;q=0.5" if compressed else "identity"
        self._state = state
        self._seen: LastSeen | None = (state.read() if state is not None else None) or (
            LastSeen(last_seen) if last_seen is not None else None
        )
        self._kept = self._seen
        seen = self._seen
        before = filter(None, (seen.before, seen.last)) if seen is not None else ()
        self._had = Remembered(settings.remembered_ids, clock, before)
        self._places = Places(urls, settings, seen.relay if seen is not None else None)
        self._asked: str | None = None  # the item that this connection goes on behind
        self._connected = False  # whether it ever was
        self._doubtful = False  # whether the first item of this connection tells of a gap
        self._pending: deque[Item] = deque()  # what came and has not been dealt with, also what is not wanted
        self._given: Item | None = None  # as far as that is being dealt with

    @property
    def last_seen(self) -> str | None:
        """The id of the last item that was had."""
        return self._seen.last if self._seen is not None else None

    def flow(self) -> FollowFlow:
        """The items, as many at a time as have come, for ever; returns where the stream ended and `reconnect` is off.

        Raises:
            BrokerRefused: the server answered with an error of ours (4xx).
            BrokerMisbehaved: what it sends is no stream of items.
            ConnectionLost: it could not be reached at first, or at all with `reconnect` off.
        """
        self._pending.clear()  # of an iteration that was left
        while True:
            reply = yield from self._opened()
            lost: ConnectionLost | None = None
            try:
                yield from self._read(reply)
            except ConnectionLost as error:
                lost = error
            finally:
                self._keep()
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
        self._keep()

    def _opened(self) -> Generator[Step, Any, Reply]:
        """A connection, at the first place that gives us one.

        Raises:
            BrokerRefused: a place answered with an error of ours; or with any, with `reconnect` off.
            ConnectionLost: nobody could be reached, at first or with `reconnect` off.
        """
        while True:
            failures: list[ClientError] = []
            is_promising = self._connected
            asked_s = 0.0
            for trail in self._places.trails():
                try:
                    reply: Reply = yield from self._answer(trail)
                except ConnectionLost as error:
                    self._places.failed(trail)
                    failures.append(error)
                    is_promising |= trail.is_moved  # a tracker that is there finds another relay
                    continue
                if 200 <= reply.status < 300:
                    self._opens(trail, reply)
                    return reply
                self._places.failed(trail)
                if reply.status == 404 and not self._places.is_last(trail):
                    continue  # another may know the stream
                is_leaving = reply.status == 404 and trail.is_moved and self._connected
                if reply.status < 500 and not is_leaving:
                    raise self._refused(reply, trail)
                # Busy, or shedding load: its Retry-After, and never in step with the others.
                failures.append(refused(reply))
                is_promising = True
                if "retry-after" in reply.headers:
                    asked_s = max(asked_s, wait_s(reply, 0, self._settings))
            if not (is_promising and self._settings.reconnect):
                raise failures[0]
            yield Wait(asked_s + self._backoff.next_s())

    def _answer(self, trail: Trail) -> Generator[Step, Any, Reply]:
        """What is answered at the end of a trail, wherever that is, and to another token where one was refused."""
        refused_token: str | None = None
        refusal: Reply | None = None
        while True:
            token = Token(None)
            if trail.shares_token:
                token = yield from token_from(self._source, refused_token)
                if refusal is not None and token.text == refused_token:
                    return refusal
            call = self._call(trail, token)
            reply: Reply = yield call
            if reply.status in REDIRECTS:
                trail.follow(reply, (name for name, _ in call.params))
            elif reply.status == 401 and token.text is not None and refusal is None:
                refusal, refused_token = reply, token.text
            else:
                return reply

    def _refused(self, reply: Reply, trail: Trail) -> BrokerRefused:
        error = refused(reply)
        if reply.status == 401 and not trail.shares_token:
            why = f"{error.description}; no token is sent on to {trail.url} (trusted_redirects)"
            return BrokerRefused(error.code, error.status, why)
        return error

    def _opens(self, trail: Trail, reply: Reply) -> None:
        seen = self._seen
        # Where the one that we went on behind is known, what came after it is there.
        self._doubtful = seen is not None and self._asked != seen.last and _COVERED not in reply.headers
        self._places.reached(trail)
        self._had.opened()
        if self._connected and self._told.on_reconnect is not None:
            self._told.on_reconnect()
        self._connected = True

    def _call(self, trail: Trail, token: Token) -> Call:
        headers = {
            "accept": "application/ztreamy-stream, */*;q=0.1",
            "accept-encoding": self._accept_encoding,
            "cache-control": "no-cache",
        }
        if token.text is not None:
            headers["authorization"] = f"Bearer {token.text}"
        params = (*self._begins(trail.url), *self._places.wishes(trail))
        return Call("GET", trail.url, params, headers, streamed=True, head_s=self._places.patience_s(trail))

    def _begins(self, url: str) -> tuple[tuple[str, str], ...]:
        """Where to begin at this URL: behind what was had, and earlier where the items may have another order."""
        seen, places = self._seen, self._places
        if seen is None:
            self._asked = None
            return ()
        elsewhere = places.relay is not None and url != places.relay
        beginning = self._had.beginning(self._settings.overlap_s) if places.are_several else None
        self._asked = beginning.event_id if beginning is not None else seen.before or seen.last
        overlap_s = self._settings.overlap_s if beginning is None else beginning.overlap_s
        if beginning is None and not elsewhere:
            return (("last-seen", self._asked),)
        return (("last-seen", self._asked), ("overlap", f"{overlap_s:.3f}".rstrip("0").rstrip(".")))

    def _read(self, reply: Reply) -> FollowFlow:
        reader = ItemReader(FOLLOWED, self._unfit)
        coding = Inflating(reply.headers.get("content-encoding", ""))
        while data := (yield Read(reply)):
            self._backoff.reset()
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
            self._keep()
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
            had = item.event_id in self._had
            missing = missing_of(item)
            if missing is not None:
                if not had and item.event_id not in new:
                    self._tell_of_gap(item, missing)
            elif self._doubtful:
                self._doubtful = False
                if not had:
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
            self._told.on_gap(Gap(self._seen.last if self._seen is not None else "", first, missing))

    def _remember(self, item: Item) -> None:
        if missing_of(item) is not None:
            self._had.add_marker(item.event_id)  # another relay may have had them
            return
        self._had.add(item.event_id)
        if item.command is None and (self._seen is None or self._seen.last != item.event_id):
            relay = self._places.relay if self._places.are_several else None
            self._seen = LastSeen(item.event_id, self._seen.last if self._seen is not None else None, relay)

    def _keep(self) -> None:
        if self._state is not None and self._seen is not None and self._seen != self._kept:
            self._state.keep(self._seen)
            self._kept = self._seen


def _parts(items: list[Item]) -> Iterator[list[Item]]:
    """Cut before each marker of a gap, so that all before it has been dealt with when it is told; the empty list too."""
    begin = 0
    for place, item in enumerate(items):
        if item.event_type == GAP and place > begin:
            yield items[begin:place]
            begin = place
    yield items[begin:]
