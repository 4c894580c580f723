"""What a subscriber must say and what it hears, without I/O: the SE Protocol's state machine on the client's side.

A session outlives its connections.  Its driver tells it `opened`, `received(text)` and `lost`; each returns events for
the users, and `outgoing()` hands out the texts that must be sent on the connection that is open now.

The invariant: for each live query, first results plus every change told since is the answer at the broker as of the
last message that was taken in.  A reconnection keeps it: the broker is told what was heard last, and tells all that
was missed as one change; where it can't, or knows nothing of that, the new first results are told as their difference
from the kept answer.

Aliases on the wire are ours and unique in the session, so that an answer finds its question even where a user gives one alias
to two queries, or none; users see their own.

Where tokens end (`bearer.py`), a new one is told to the broker before that.  A subscription that the broker holds back
for want of a good token goes on with the next one, with all that it missed as one change; where the broker has let it
go, or does not know renewals, it is asked for again, and the difference to the kept answer is told.

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
    Renewed,
    SubscribeMessage,
    UnsubscribeMessage,
    decode_broker,
    encode_client,
    refusal,
)

from .authorization import source_of
from .bearer import RENEW, Bearer
from .callbacks import Callbacks, Changed, Ended, Event, Failed, FirstResults
from .live_query import LiveQuery, State

if TYPE_CHECKING:
    from .authorization import Authorization, Token, TokenSource

# SEPA sends too_many_requests with status 500 on WebSockets, so the code counts as well.
WINDOW = 64
# The alias of goodbyes to what is asked for anew: nobody waits for their answers.
LEFT = "left#"

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
        self._bearer = Bearer(source_of(authorization))
        self._window = window
        self._live: dict[str, LiveQuery] = {}  # by label, in the order they were made
        self._by_spuid: dict[str, LiveQuery] = {}
        self._queued: dict[str, LiveQuery] = {}  # to be asked for when the window has room
        self._asked: dict[str, str | None] = {}  # labels of those on their way, and the tokens they went with
        self._goodbyes: dict[str, LiveQuery] = {}  # to be said when there is a token
        self._left: list[str] = []  # spuids of what was asked for anew, whose goodbyes wait for a token
        self._muted: dict[str, LiveQuery] = {}  # of which the broker tells nothing until it is told a token
        self._retried: set[str] = set()  # labels of those that were refused for their token's sake
        self._refusal: Failure | None = None  # the last of these
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

    def forget(self, live: LiveQuery) -> None:
        """It could not be asked for; nobody is told, as whoever asked knows."""
        if self._live.get(live.label) is live:
            self._forget(live)

    def opened(self) -> None:
        """There is a connection: every live query is asked for."""
        self.connected = self._trusted = True
        for waiting in (self._queued, self._asked, self._postponed, self._goodbyes, self._muted):
            waiting.clear()
        self._retried.clear()
        self._left.clear()
        for live in self._live.values():
            self._ask(live)

    def lost(self, error: ConnectionLost) -> list[Event]:
        """The connection is gone; the broker may keep the subscriptions for a while, or end them with it."""
        self.connected = False
        self._bearer.lost()
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

    @property
    def tokens(self) -> TokenSource:
        """Where its tokens come from."""
        return self._bearer.source

    @property
    def refused_token(self) -> str | None:
        """The token that the broker did not take."""
        return self._bearer.refused

    @property
    def token_wanted(self) -> bool:
        """Whether there is something to say that must wait for `authorized`, or `denied`."""
        return self.connected and self._bearer.wanted

    @property
    def renew_at(self) -> float | None:
        """When `want_token` should be called, as the broker's knowledge of us ends; by `Token.renew_at`'s clock."""
        return self._bearer.renew_at if self._by_spuid else None

    @property
    def renewing(self) -> bool:
        """Whether the broker was told a new token and has not answered; call `renew_unanswered` after a while."""
        return self._bearer.pending

    def want_token(self) -> None:
        """The last token ends."""
        self._bearer.wanted = True

    def authorized(self, token: Token) -> list[Event]:
        """Here is a token: what waited for it is said, and the broker is told where it does not know it."""
        if not self._bearer.brings(token):
            assert self._refusal is not None  # that is how it was refused
            concerned = [*self._muted.values(), *self._queued.values(), *self._goodbyes.values()]
            return self._deny(concerned, refusal(self._refusal))
        if self.connected:
            self._renew()
            self._leave()
            goodbyes, self._goodbyes = self._goodbyes, {}
            for live in goodbyes.values():
                self._say_goodbye(live)
            self._fill()
        self._bearer.brings(None)
        return []

    def denied(self, error: Exception) -> list[Event]:
        """There is no token to be had: no live query can go on."""
        return self._deny(list(self._live.values()), error)

    def renew_unanswered(self) -> None:
        """The broker does not seem to know what a renewal is."""
        self._bearer.pending = self._bearer.understood = False
        self._begin_again(list(self._by_spuid.values()))

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
            case Renewed():
                self._bearer.renewed()
                self._muted.clear()
                return []
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
        self._retried.discard(live.label)
        self._muted.pop(live.label, None)
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
        nameless = failure.alias is None and failure.spuid is None
        if failure.alias == RENEW or (self._bearer.owed and nameless):
            return self._renew_failed(failure)
        live = self._concerned(failure)
        if live is None:
            # Nobody's: a message of ours that the broker could not read.  The connection is as good as before.
            return []
        if failure.status == 401 and self._waits_for_token(live, failure):
            return []
        if live.state is State.LEAVING:
            return [self._end(live)]
        if live.state is State.WAITING and live.answered and _busy(failure):
            self._postponed[live.label] = live
            self._arrived(live)
            return []
        return [self._fail(live, refusal(failure))]

    def _waits_for_token(self, live: LiveQuery, failure: Failure) -> bool:
        """Whether another token may help where the broker did not take the last one, or that one has run out."""
        self._refusal = failure
        if live.state is State.LIVE:
            return self._bearer.speaks_by_name and self._hold(live)
        if live.state is State.LEAVING and failure.spuid is not None:
            return True  # not the answer to our goodbye, which is on its way
        if live.state is State.LEAVING and live.spuid is None:
            return False  # the broker never held it
        asked_with = self._asked.get(live.label, self._bearer.told_text)
        if live.label in self._retried or not self._bearer.refuse(asked_with):
            return False
        self._retried.add(live.label)
        (self._queued if live.state is State.WAITING else self._goodbyes)[live.label] = live
        self._arrived(live)
        return True

    def _hold(self, live: LiveQuery) -> bool:
        if live.label in self._muted:  # told so a second time: the broker has let it go
            self._begin_again([live])
        else:
            self._muted[live.label] = live
            self._bearer.wanted = True
        return True

    def _renew_failed(self, failure: Failure) -> list[Event]:
        if not self._bearer.pending:
            self._bearer.owed = False
            return []  # too late: we have helped ourselves
        if failure.status != 401:
            self.renew_unanswered()
            self._bearer.owed = False
            return []
        return [] if self._bearer.renewal_refused() else self.denied(refusal(failure))

    def _renew(self) -> None:
        if not self._by_spuid:
            return
        text = self._bearer.renew(muted=bool(self._muted))
        if text is not None and self._bearer.understood:
            self._outgoing.append(text)
        elif text is not None:
            self.renew_unanswered()

    def _begin_again(self, lives: list[LiveQuery]) -> None:
        """Ask anew for what the broker holds; it may tell of it until it hears our goodbye, which is passed over."""
        for live in lives:
            self._muted.pop(live.label, None)
            if live.state is not State.LIVE or live.spuid is None:
                continue
            self._by_spuid.pop(live.spuid, None)
            self._left.append(live.spuid)
            live.state, live.heard = State.WAITING, None
            self._ask(live)
        self._leave()

    def _leave(self) -> None:
        while self._left:
            token = self._bearer.speaks()
            if token is None:
                return
            self._outgoing.append(encode_client(UnsubscribeMessage(self._left.pop(), LEFT, token.text)))

    def _concerned(self, failure: Failure) -> LiveQuery | None:
        if failure.spuid is not None and failure.spuid in self._by_spuid:
            return self._by_spuid[failure.spuid]
        if failure.alias is not None:
            live = self._live.get(failure.alias)
            return None if live is not None and _of_before(live, failure) else live
        # SEPA's engine forgets the alias of a query that it can't parse: where only one waits, it is that one.
        waiting = [live for live in self._live.values() if live.state is State.WAITING]
        return waiting[0] if len(waiting) == 1 else None

    def _label(self, alias: str | None) -> str:
        label = alias or f"q{next(self._numbers)}"
        while label in self._live or label in {LEFT, RENEW}:
            label = f"{alias or 'q'}#{next(self._numbers)}"
        return label

    def _ask(self, live: LiveQuery) -> None:
        live.spuid = None
        if self.connected:
            self._queued[live.label] = live
            self._fill()

    def _fill(self) -> None:
        while self._queued and len(self._asked) < self._window:
            token = self._bearer.speaks()
            if token is None:
                return
            label = next(iter(self._queued))
            live = self._queued.pop(label)
            self._asked[label] = token.text
            said = SubscribeMessage(live.query, label, token.text, self.reconnect, live.heard)
            self._outgoing.append(encode_client(said))

    def _arrived(self, live: LiveQuery) -> None:
        """Its subscribe is no longer on its way, or nobody waits for it any more."""
        self._asked.pop(live.label, None)
        self._fill()

    def _say_goodbye(self, live: LiveQuery) -> None:
        assert live.spuid is not None
        token = self._bearer.speaks()
        if token is None:
            self._goodbyes[live.label] = live
        else:
            self._outgoing.append(encode_client(UnsubscribeMessage(live.spuid, live.label, token.text)))

    def _deny(self, lives: list[LiveQuery], error: Exception) -> list[Event]:
        events: list[Event] = [
            self._end(live) if live.state is State.LEAVING else self._fail(live, error)
            for live in dict.fromkeys(lives)
        ]
        self._bearer.denied()
        return events

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
        for waiting in (self._queued, self._postponed, self._goodbyes, self._muted):
            waiting.pop(live.label, None)
        self._retried.discard(live.label)
        if self.connected:
            self._arrived(live)


def _of_before(live: LiveQuery, failure: Failure) -> bool:
    """Whether it tells of a subscription that we have left, and asked anew for."""
    heard = live.heard.spuid if live.heard is not None else None
    return live.answered and live.state is State.WAITING and failure.spuid not in {None, heard}


def _busy(failure: Failure) -> bool:
    return failure.status in _BUSY_STATUS or failure.code in _BUSY_CODES
