"""The life of a subscriber's connection as a generator without I/O, for the blocking and the asyncio driver alike.

It yields what must be done and is sent what came of it; where it can't be done, the error is thrown in::

    Connect()                  open a WebSocket; ConnectionLost
    Send(text)                 ConnectionLost
    Receive(within_s)          the next message, or None where none came within that time; ConnectionLost
    Hang()                     close the WebSocket at once
    Pause(seconds)
    Authorize(source, refused) have a token fetched, and send it in; ClientError
    Invoke(function, argument) call a user's function; whatever it raises

A driver may stop driving after any step.  The session is touched only while the generator runs, so a driver with
threads holds its lock around `send` and `throw`, and not while it does a step.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from triplewire.broker.errors import BrokerRefused, ClientError, ConnectionLost

from .authorization import Authorize, token_from
from .callbacks import Callbacks, Failed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .backoff import Backoff
    from .callbacks import Event
    from .session import Session

logger = logging.getLogger("triplewire.clients")

# A broker that knows what a renewal is answers at once.
_ANSWER_S = 10.0
_TOKEN = re.compile(r'("authorization"\s*:\s*")[^"]*')


@dataclass(frozen=True, slots=True)
class Connect:
    """Open a WebSocket."""


@dataclass(frozen=True, slots=True)
class Send:
    """Send a text message."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Receive:
    """Wait for the next message; None is for ever."""

    within_s: float | None


@dataclass(frozen=True, slots=True)
class Hang:
    """Close the WebSocket; what it still holds is of no use."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Let this many seconds pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Invoke:
    """Call a function of the user's."""

    function: Callable[[Any], object]
    argument: Any


Step: TypeAlias = Connect | Send | Receive | Hang | Pause | Invoke | Authorize
Steps: TypeAlias = Generator[Step, Any, None]


@dataclass(frozen=True, slots=True)
class Watcher:
    """Functions that hear of the connection itself."""

    on_disconnect: Callable[[ConnectionLost], object] = lambda _: None
    on_reconnect: Callable[[None], object] = lambda _: None


def connection(session: Session, backoff: Backoff, watcher: Watcher, now: Callable[[], float]) -> Steps:
    """Everything from the first open connection (the driver has made it) to the end of the last."""
    while True:
        began = now()
        error = yield from _conversation(session, backoff, now)
        logger.warning("= connection lost: %s", error)
        yield Hang()
        events = session.lost(error)
        yield from _invoked(watcher.on_disconnect, error)
        yield from deliver(events)
        if not session.reconnect:
            return
        # Only a connection that lasted makes the waits short again: a broker may accept us just to drop us.
        if now() - began >= backoff.longest_s:
            backoff.reset()
        yield from _reconnected(backoff)
        logger.info("= connected again")
        yield from _invoked(watcher.on_reconnect, None)


class _Alarm(Enum):
    """What is to be done at a time."""

    ASK = "ask again for what the broker had no time for"
    FETCH = "try again to have a token"
    RENEW = "the token ends"
    ANSWER = "the renewal should have been answered"


_Alarms: TypeAlias = dict[_Alarm, float]


def _conversation(
    session: Session, backoff: Backoff, now: Callable[[], float]
) -> Generator[Step, Any, ConnectionLost]:
    """Say and hear until the connection breaks; returns why it did."""
    alarms: _Alarms = {}
    try:
        session.opened()
        while True:
            if session.token_wanted and _Alarm.FETCH not in alarms:
                yield from _authorized(session, backoff, now, alarms)
            for text in session.outgoing():
                logger.debug("> %.75s", _shown(text))
                yield Send(text)
            _set(alarms, session, backoff, now)
            due = min(alarms.values(), default=math.inf)
            text = yield Receive(None if due == math.inf else max(0.0, due - now()))
            if text is None:
                _ring(min(alarms, key=alarms.__getitem__), session, alarms)
                continue
            logger.debug("< %.75s", text)
            yield from deliver(session.received(text))
            # A broker that never pauses must not make us forget the time.
            for alarm in [alarm for alarm, at in alarms.items() if at <= now()]:
                _ring(alarm, session, alarms)
    except ConnectionLost as error:
        return error
    except ClientError as error:
        # The broker's bytes make no sense, or a function that gives tokens raised: begin anew.
        lost = ConnectionLost(f"given up by us: {error}")
        lost.__cause__ = error
        return lost


def _authorized(session: Session, backoff: Backoff, now: Callable[[], float], alarms: _Alarms) -> Steps:
    """Have a token fetched for the session; where nobody is there to give one, try again after a while."""
    try:
        token = yield from token_from(session.tokens, session.refused_token)
    except ClientError as error:
        away = isinstance(error, ConnectionLost) or (
            isinstance(error, BrokerRefused) and (error.status == 429 or error.status >= 500)
        )
        if away:
            logger.info("= no token yet: %s", error)
            alarms[_Alarm.FETCH] = now() + backoff.next_s()
        else:
            logger.warning("= no token: %s", error)
            yield from deliver(session.denied(error))
    else:
        yield from deliver(session.authorized(token))


def _set(alarms: _Alarms, session: Session, backoff: Backoff, now: Callable[[], float]) -> None:
    if not session.token_wanted:
        alarms.pop(_Alarm.FETCH, None)
    if session.postponed and _Alarm.ASK not in alarms:
        alarms[_Alarm.ASK] = now() + backoff.next_s()
    alarms[_Alarm.RENEW] = math.inf if session.renew_at is None else session.renew_at
    if session.renewing:
        alarms.setdefault(_Alarm.ANSWER, now() + _ANSWER_S)
    else:
        alarms.pop(_Alarm.ANSWER, None)


def _ring(alarm: _Alarm, session: Session, alarms: _Alarms) -> None:
    del alarms[alarm]
    match alarm:
        case _Alarm.ASK:
            session.ask_again()
        case _Alarm.RENEW:
            session.want_token()
        case _Alarm.ANSWER:
            session.renew_unanswered()
        case _Alarm.FETCH:
            pass  # tried again where a token is still wanted


def _shown(text: str) -> str:
    """A message of ours as the log may have it: without its token."""
    return _TOKEN.sub(r"\1..", text)


def _reconnected(backoff: Backoff) -> Steps:
    while True:
        yield Pause(backoff.next_s())
        try:
            yield Connect()
        except ConnectionLost as error:
            logger.info("= not yet: %s", error)
        else:
            return


def deliver(events: Iterable[Event]) -> Steps:
    """Tell the users, in order; whoever waits for a live query's first results or its end goes on after that."""
    for event in events:
        live = event.live
        error = event.error if isinstance(event, Failed) else None
        if error is not None and live.settle(error):
            continue  # raised where it was asked for, which is telling enough
        complaints = live.callbacks if error is None else None  # what on_error raises is not for on_error
        for function, argument in live.callbacks.told(event):
            yield from _invoked(function, argument, complaints)
        live.settle()


def _invoked(function: Callable[[Any], object], argument: Any, complaints: Callbacks | None = None) -> Steps:
    """Call it; what it raises is logged and told to `on_error`, and goes no further."""
    try:
        yield Invoke(function, argument)
    except Exception as error:
        logger.exception("! a callback raised")
        if complaints is not None:
            yield from _invoked(complaints.on_error, error)
