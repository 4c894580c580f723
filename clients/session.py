"""What a subscriber must say and what it hears, without I/O: the SE Protocol's state machine on the client's side.

A session outlives its connections.  Its driver tells it `opened`, `received(text)` and `lost`; each returns events for
the users, and `outgoing()` hands out the texts that must be sent on the connection that is open now.

The invariant: for each live query, first results plus every change told since is the answer at the broker as of the
last message that was taken in.  A reconnection keeps it: the broker is told what was heard last, and tells all that
was missed as one change; where it can't, or knows nothing of that, the new first results are told as their difference
from the kept answer.

Aliases on the wire are ours and unique in the session, so that an answer finds its question even where a user gives one alias
to two queries, or none; users see their own.

At most `WINDOW` subscribes are on their way at a time: first results can be large, and a broker closes the connection
of a client that asks faster than it reads.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from triplewire.broker.errors import BrokerMisbehaved, ConnectionLost, ProtocolError
from triplewire.broker.model import Failure, Notification, Query, Resume, Unsubscribed
from triplewire.broker.wire.subscribe import (
    SubscribeMessage,
    UnsubscribeMessage,
    decode_broker,
    encode_client,
    refusal,
)

from .callbacks import Callbacks, Changed, Ended, Event, Failed, FirstResults
from .live_query import LiveQuery, State

if TYPE_CHECKING:
    from .flows import Authorization

# SEPA sends too_many_requests with status 500 on WebSockets, so the code counts as well.
WINDOW = 64

_BUSY_STATUS = {429, 503, 504}
_BUSY_CODES = {"too_many_requests", "overloaded", "shutting_down", "timeout"}


class Session:
    """The live queries of one socket.  Not thread-safe: a driver with threads holds a lock around each call."""

    def __init__(
        self, *, reconnect: bool = True, authorization: Authorization | None = None, window: int = WINDOW
    ) -> None:
        self.reconnect = reconnect
        self.connected = False
        self._trusted = True  # whether what we know is what the broker said
        self._authorization = authorization
        self._window = window
        self._live: dict[str, LiveQuery] = {}  # by label, in the order they were made
        self._by_spuid: dict[str, LiveQuery] = {}
        self._queued: dict[str, LiveQuery] = {}  # to be asked for when the window has room
        self._asked: set[str] = set()  # labels of those on their way
        self._postponed: dict[str, LiveQuery] = {}
        self._outgoing: list[str] = []
        self._numbers = count(1)

    def subscribe(self, query: Query, alias: str | None, callbacks: Callbacks) -> LiveQuery:
        """A new live query; asked for now, or as soon as there is a connection."""
        live = LiveQuery(query, alias, callbacks)
        live.label = self._label(alias)
        self._live[live.label] = live
        self._ask(live)
        return live

    def unsubscribe(self, live: LiveQuery) -> list[Event]:
        """Let it go; nothing is told of its answer any more.  The events are those that no broker is needed for.

        A live query of another session, or one that has ended, is let be.
        """
        if self._live.get(live.label) is not live or live.state is State.LEAVING:
            return []
        if not self.connected or live.label in self._postponed or live.label in self._queued:
            return [self._end(live)]
        if live.state is State.LIVE:
            self._say_goodbye(live)
        self._arrived(live)
        # Where first results have yet to come, the spuid to say goodbye with comes with them.
        live.state = State.LEAVING
        return []

    def opened(self) -> None:
        """There is a connection: every live query is asked for."""
        self.connected = self._trusted = True
        self._queued.clear()
        self._asked.clear()
        self._postponed.clear()
        for live in self._live.values():
            self._ask(live)

    def lost(self, error: ConnectionLost) -> list[Event]:
        """The connection is gone; the broker may keep the subscriptions for a while, or end them with it."""
        self.connected = False
        self._by_spuid.clear()
        self._outgoing.clear()
        events: list[Event] = []
        for live in tuple(self._live.values()):
            if live.state is State.LEAVING:
                events.append(self._end(live))
            elif self.reconnect:
                if live.state is State.LIVE and live.spuid is not None:
                    live.heard = Resume(live.spuid, live.sequence)
                if not self._trusted:
                    live.heard = None
                live.state = State.WAITING
            else:
                events.append(self._fail(live, error))
        return events

    def abandon(self, error: Exception) -> list[Failed]:
        """Every live query fails: the driver will not connect again."""
        self.connected = False
        self._outgoing.clear()
        return [self._fail(live, error) for live in tuple(self._live.values())]

    @property
    def postponed(self) -> bool:
        """Whether a live query that was there before waits for a broker with time; call `ask_again` after a while."""
        return bool(self._postponed)

    def ask_again(self) -> None:
        """Ask for the postponed ones."""
        postponed, self._postponed = self._postponed, {}
        for live in postponed.values():
            self._ask(live)

    def outgoing(self) -> list[str]:
        """The texts to send now, in this order; each is handed out once."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def received(self, text: str | bytes) -> list[Event]:
        """What a message from the broker means.

        Raises:
            BrokerMisbehaved: it is no message of the protocol, so what we know can't be trusted; reconnect.
        """
        try:
            message = decode_broker(text)
        except ProtocolError as error:
            self._trusted = False
            raise BrokerMisbehaved(str(error)) from error
        match message:
            case Notification():
                return self._notified(message)
            case Unsubscribed(spuid):
                live = self._by_spuid.get(spuid)
                return [self._end(live)] if live is not None else []
            case Failure():
                return self._failed(message)

    def _notified(self, message: Notification) -> list[Event]:
        live = self._by_spuid.get(message.spuid)
        if live is None:
            live = self._answered(message)
        if live is None:
            return []
        if live.state is State.LEAVING:
            if live.spuid is None:
                live.spuid = message.spuid
                self._say_goodbye(live)
            return []
        live.state = State.LIVE
        live.heard = None
        live.spuid = message.spuid
        self._arrived(live)
        return self._taken_in(live, message)

    def _answered(self, message: Notification) -> LiveQuery | None:
        """The live query whose subscribe this answers; a stray notification of one that has ended answers none."""
        live = self._live.get(message.alias or "")
        if live is None or live.state is State.LIVE:
            return None
        if message.sequence != 0 and Resume(message.spuid, message.sequence - 1) != live.heard:
            return None
        self._by_spuid[message.spuid] = live
        return live

    def _taken_in(self, live: LiveQuery, message: Notification) -> list[Event]:
        live.sequence = message.sequence
        if not live.answered:
            live.answered = True
            change = live.kept.apply(message.delta)
            return [FirstResults(live, replace(message, alias=live.alias, delta=change))]
        # Sequence 0 again: this is the whole answer, as after a reconnection the broker did not know us any more.
        change = live.kept.apply(message.delta) if message.sequence else live.kept.replace(message.delta)
        return [Changed(live, replace(message, alias=live.alias, delta=change))] if change else []

    def _failed(self, failure: Failure) -> list[Event]:
        live = self._concerned(failure)
        if live is None:
            # Nobody's: a message of ours that the broker could not read.  The connection is as good as before.
            return []
        if live.state is State.LEAVING:
            return [self._end(live)]
        if live.state is State.WAITING and live.answered and _busy(failure):
            self._postponed[live.label] = live
            self._arrived(live)
            return []
        return [self._fail(live, refusal(failure))]

    def _concerned(self, failure: Failure) -> LiveQuery | None:
        if failure.spuid is not None and failure.spuid in self._by_spuid:
            return self._by_spuid[failure.spuid]
        if failure.alias is not None:
            return self._live.get(failure.alias)
        # SEPA's engine forgets the alias of a query that it can't parse: where only one waits, it is that one.
        waiting = [live for live in self._live.values() if live.state is State.WAITING]
        return waiting[0] if len(waiting) == 1 else None

    def _label(self, alias: str | None) -> str:
        label = alias or f"q{next(self._numbers)}"
        while label in self._live:
            label = f"{alias or 'q'}#{next(self._numbers)}"
        return label

    def _ask(self, live: LiveQuery) -> None:
        live.spuid = None
        if self.connected:
            self._queued[live.label] = live
            self._fill()

    def _fill(self) -> None:
        while self._queued and len(self._asked) < self._window:
            label = next(iter(self._queued))
            live = self._queued.pop(label)
            self._asked.add(label)
            said = SubscribeMessage(live.query, label, self._token(), self.reconnect, live.heard)
            self._outgoing.append(encode_client(said))

    def _arrived(self, live: LiveQuery) -> None:
        """Its subscribe is no longer on its way, or nobody waits for it any more."""
        self._asked.discard(live.label)
        self._fill()

    def _say_goodbye(self, live: LiveQuery) -> None:
        assert live.spuid is not None
        self._outgoing.append(encode_client(UnsubscribeMessage(live.spuid, live.label, self._token())))

    def _token(self) -> str | None:
        return self._authorization() if self._authorization is not None else None

    def _end(self, live: LiveQuery) -> Ended:
        self._forget(live)
        return Ended(live, live.spuid)

    def _fail(self, live: LiveQuery, error: Exception) -> Failed:
        self._forget(live)
        return Failed(live, error)

    def _forget(self, live: LiveQuery) -> None:
        live.state = State.ENDED
        self._live.pop(live.label, None)
        if live.spuid is not None:
            self._by_spuid.pop(live.spuid, None)
        self._queued.pop(live.label, None)
        self._postponed.pop(live.label, None)
        if self.connected:
            self._arrived(live)


def _busy(failure: Failure) -> bool:
    return failure.status in _BUSY_STATUS or failure.code in _BUSY_CODES
