"""The life of a subscriber's connection as a generator without I/O, for the blocking and the asyncio driver alike.

It yields what must be done and is sent what came of it; where it can't be done, the error is thrown in::

    Connect()                  open a WebSocket; ConnectionLost
    Send(text)                 ConnectionLost
    Receive(within_s)          the next message, or None where none came within that time; ConnectionLost
    Hang()                     close the WebSocket at once
    Pause(seconds)
    Invoke(function, argument) call a user's function; whatever it raises

A driver may stop driving after any step.  The session is touched only while the generator runs, so a driver with
threads holds its lock around `send` and `throw`, and not while it does a step.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from triplewire.broker.errors import ClientError, ConnectionLost

from .callbacks import Callbacks, Failed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .backoff import Backoff
    from .callbacks import Event
    from .session import Session

logger = logging.getLogger("triplewire.clients")


@dataclass(frozen=True, slots=True)
class Connect:
    """Open a WebSocket."""


@dataclass(frozen=True, slots=True)
class Send:
    """Send a text message."""

    text: str


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


Step: TypeAlias = Connect | Send | Receive | Hang | Pause | Invoke
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


def _conversation(
    session: Session, backoff: Backoff, now: Callable[[], float]
) -> Generator[Step, Any, ConnectionLost]:
    """Say and hear until the connection breaks; returns why it did."""
    try:
        session.opened()
        ask_again_at: float | None = None
        while True:
            for text in session.outgoing():
                logger.debug("> %.75s", text)
                yield Send(text)
            if session.postponed and ask_again_at is None:
                ask_again_at = now() + backoff.next_s()
            text = yield Receive(None if ask_again_at is None else max(0.0, ask_again_at - now()))
            if text is None:
                ask_again_at = None
                session.ask_again()
                continue
            logger.debug("< %.75s", text)
            yield from deliver(session.received(text))
    except ConnectionLost as error:
        return error
    except ClientError as error:
        # The broker's bytes make no sense, or there is no token: begin anew.
        lost = ConnectionLost(f"given up by us: {error}")
        lost.__cause__ = error
        return lost


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
