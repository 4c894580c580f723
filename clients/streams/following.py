"""Following a stream over any number of connections, as a flow without I/O (see `clients/flows.py`).

Nothing is lost and nothing comes twice, as far as the server's history reaches: each connection asks for what comes
after an item that was had (`last-seen`), and what was had is not given again.

**What can be known of a gap.**  To a server that does not know the id, `last-seen` means its whole history, and it
does not say so.  So we ask for what comes after the last item *but one*: where the history reaches back, the last item
comes again first, which is the proof, and is dropped.  Where something else comes first, the history no longer
reaches back to what we had, or the server has begun anew, and items may have been lost: `on_gap` is told when that
first item comes.  It can't be known where only one item was ever had, or its id alone was given.

An item counts as had when more is asked for, or `done` is called: what was interrupted comes again.
"""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused, ClientError, ConnectionLost
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import FOLLOWED, STREAM_FINISHED, TEST_CONNECTION, Item, ItemError
from triplewire.clients.authorization import Authorize, Token, source_of, token_from
from triplewire.clients.backoff import Backoff
from triplewire.clients.flows import Call, Reply, Wait, refused, wait_s

from .inflating import Inflating
from .last_seen import LastSeen

if TYPE_CHECKING:
    from collections.abc import Callable
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
    """Items may have been lost between the last one that was had and `first`."""

    last_seen: str
    first: Item


Items: TypeAlias = tuple[Item, ...]
Step: TypeAlias = Call | Wait | Authorize | Read | Items
FollowFlow: TypeAlias = Generator[Step, Any, None]


@dataclass(frozen=True, slots=True)
class Told:
    """Whom the follower tells what, all on the consumer's own thread; exceptions end the following.

    `filters` are asked in turn: an item that one of them refuses is not given, and not shown to the others.
    `commands` tells whether commands of sources are given like items; no filter is asked about them.
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
        url: str,
        settings: StreamSettings,
        *,
        told: Told,
        rng: Random,
        authorization: Authorization | None = None,
        last_seen: str | None = None,
        state: LastSeenFile | None = None,
        compressed: bool = True,
    ) -> None:
        """What is in `state` counts before `last_seen`.

        Raises:
            ClientError: the state is no file of ours.
        """
        self._url = url
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
        self._had: OrderedDict[str, None] = OrderedDict()
        if self._seen is not None:
            self._had.update(dict.fromkeys(filter(None, (self._seen.before, self._seen.last))))
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
        refusal: BrokerRefused | None = None
        refused_token: str | None = None
        while True:
            try:
                token: Token = yield from token_from(self._source, refused_token)
                if refusal is not None and token.text == refused_token:
                    raise refusal
                reply: Reply = yield self._call(token)
            except ConnectionLost:
                if not self._connected or not self._settings.reconnect:
                    raise
                yield Wait(self._backoff.next_s())
                continue
            if 200 <= reply.status < 300:
                self._opens()
                return reply
            if reply.status == 401 and token.text is not None and refusal is None:
                refusal, refused_token = refused(reply), token.text
                continue
            if reply.status < 500 or not self._settings.reconnect:
                raise refused(reply)
            # Busy, or shedding load: its Retry-After, and never in step with the others.
            asked_s = wait_s(reply, 0, self._settings) if "retry-after" in reply.headers else 0.0
            yield Wait(asked_s + self._backoff.next_s())

    def _opens(self) -> None:
        self._doubtful = self._seen is not None and self._seen.before is not None
        if self._connected and self._told.on_reconnect is not None:
            self._told.on_reconnect()
        self._connected = True

    def _call(self, token: Token) -> Call:
        headers = {
            "accept": "application/ztreamy-stream, */*;q=0.1",
            "accept-encoding": self._accept_encoding,
            "cache-control": "no-cache",
        }
        if token.text is not None:
            headers["authorization"] = f"Bearer {token.text}"
        seen = self._seen
        params = (("last-seen", seen.before or seen.last),) if seen is not None else ()
        return Call("GET", self._url, params, headers, streamed=True)

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
                if wanted := self._wanted(items):
                    self._given = wanted[-1]
                    yield wanted
                self._pass_over()
                if reader.error is not None:
                    raise self._misbehaved(reader.error)
            self._keep()
        # An item that was cut off at the end comes again.

    def _unfit(self, error: ItemError) -> None:
        """It would come again with every reconnection."""
        logger.warning("= an item of %s is passed over: %s", self._url, error)

    def _misbehaved(self, error: ItemError) -> BrokerMisbehaved:
        return BrokerMisbehaved(f"{self._url} sends what is no stream of items: {error}")

    def _wanted(self, items: list[Item]) -> Items:
        """Those that are to be given; all that are new are pending then."""
        new: dict[str, Item] = {}
        for item in items:
            if item.command in _OF_THE_CONNECTION:
                continue
            had = item.event_id in self._had
            if self._doubtful:
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
        if item.command is not None:
            return self._told.commands
        return all(passes(item) for passes in self._told.filters)

    def _tell_of_gap(self, first: Item) -> None:
        if self._told.on_gap is not None:
            assert self._seen is not None
            self._told.on_gap(Gap(self._seen.last, first))

    def _remember(self, item: Item) -> None:
        self._had[item.event_id] = None
        if len(self._had) > self._settings.remembered_ids:
            self._had.popitem(last=False)
        if item.command is None and (self._seen is None or self._seen.last != item.event_id):
            self._seen = LastSeen(item.event_id, self._seen.last if self._seen is not None else None)

    def _keep(self) -> None:
        if self._state is not None and self._seen is not None and self._seen != self._kept:
            self._state.keep(self._seen)
            self._kept = self._seen
