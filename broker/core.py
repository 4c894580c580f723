"""The core: answers requests one at a time, and says who must hear what.  It never calls out.

One update is: the units that it could touch look at what is there, it is written, all or nothing, they look again,
and each change becomes a notification for each subscription.  Only then is the next request looked at: the SEPA
paper's end of processing.  If the write fails, nothing has changed and nobody but the sender is told.  If one unit
fails, its own subscriptions end with an error and the rest go on.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from . import meters
from .errors import BrokerError, EngineError, UnitFailed
from .model import (
    BindingsDelta,
    Candidates,
    Failure,
    GraphWrite,
    Leave,
    Notification,
    Outcome,
    QuadDelta,
    Replay,
    Resumed,
    Subscribe,
    Unsubscribe,
    Unsubscribed,
    Update,
    Updated,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from .held import Held
    from .model import CoreMessage, Request, SubscriberId
    from .store import Before, Store
    from .subscriptions import Subscriptions
    from .tracing import Attribute, Course

log = logging.getLogger("triplewire.broker.core")


class Core:
    """Not thread-safe, and need not be: the scheduler has one thread for it."""

    def __init__(self, store: Store, subscriptions: Subscriptions) -> None:
        self._store = store
        self._subscriptions = subscriptions
        self._course: Course | None = None

    def handle(self, request: Request, course: Course | None = None) -> Outcome:
        """Carry out one request; a write tells its `course`.

        Raises:
            BrokerError: what the sender is told; then nothing has changed.
        """
        with self._store.quiet:
            self._course = course
            return self._handle(request)

    def _handle(self, request: Request) -> Outcome:
        match request:
            case Update():
                return self._write(lambda before: self._apply(request, before))
            case GraphWrite():
                return self._write(lambda before: self._store.write_graph(request, before))
            case Replay():
                return self._write(lambda before: self._replay(request, before))
            case Subscribe():
                return self._subscribe(request)
            case Unsubscribe():
                self._subscriptions.remove(request.spuid, request.subscriber)
                return Outcome(messages=((request.subscriber, Unsubscribed(request.spuid)),))
            case Leave():
                self._subscriptions.leave(request.subscriber, request.keep)
                return Outcome()

    def _apply(self, update: Update, before: Before) -> bool:
        self._store.apply(update, before)
        return False

    def _replay(self, change: Replay, before: Before) -> bool:
        self._store.replay(change, before)
        return False

    def _write(self, write: Callable[[Before], bool]) -> Outcome:
        touched: list[Held] = []
        failed: dict[int, Exception] = {}
        delta: QuadDelta | None = None

        course = self._course

        def before(change: QuadDelta | Candidates | None) -> None:
            nonlocal delta
            if course is not None:
                course.done("plan")
            delta = None if isinstance(change, Candidates) else change
            touched.extend(self._subscriptions.touched(change))
            for held in touched:
                error = self._before(held, delta)
                if error is not None:
                    failed[id(held)] = error
            if course is not None:
                course.done("look", units=len(touched))

        created = write(before)
        if course is not None:
            course.done("commit", **_size(delta))
        messages: list[tuple[SubscriberId, CoreMessage]] = []
        for held in touched:
            error = failed.get(id(held))
            told = len(messages)
            messages += self._after(held, delta) if error is None else self._end(held, error)
            if course is not None:
                followed, form = held.kind
                course.done("unit", followed=followed, form=form, messages=len(messages) - told)
        if delta is not None:
            meters.INSERTED.inc(len(delta.inserted))
            meters.DELETED.inc(len(delta.deleted))
        sequence = self._store.sequence if delta else None
        return Outcome(Updated(len(messages), created, delta, sequence), tuple(messages))

    def _before(self, held: Held, delta: QuadDelta | None) -> Exception | None:
        try:
            held.unit.before(delta, self._store)
        except Exception as error:  # noqa: BLE001 - whatever a unit does, the others go on
            return error
        return None

    def _after(self, held: Held, delta: QuadDelta | None) -> list[tuple[SubscriberId, CoreMessage]]:
        try:
            changes = list(held.changes(delta, self._store))
        except Exception as error:  # noqa: BLE001 - whatever a unit does, the others go on
            return self._end(held, error)
        messages: list[tuple[SubscriberId, CoreMessage]] = []
        added = removed = 0
        for change, subscriptions in changes:
            added += change.added.total() * len(subscriptions)
            removed += change.removed.total() * len(subscriptions)
            for subscription in subscriptions:
                subscription.sequence += 1
                told = Notification(subscription.spuid, subscription.alias, subscription.sequence, change)
                messages.append((subscription.subscriber, told))
        meters.ADDED_ROWS.inc(added)
        meters.REMOVED_ROWS.inc(removed)
        return messages

    def _end(self, held: Held, error: Exception) -> list[tuple[SubscriberId, CoreMessage]]:
        told = error if isinstance(error, BrokerError) else UnitFailed("the subscription's query failed")
        if isinstance(told, EngineError):
            log.error(
                "= %d subscriptions ended: %s", len(held.subscriptions), told.description, exc_info=error
            )
        ended = held.subscriptions
        self._subscriptions.end(held)
        return [
            (
                subscription.subscriber,
                Failure(
                    UnitFailed.code, told.status, told.description, subscription.alias, subscription.spuid
                ),
            )
            for subscription in ended
        ]

    def _subscribe(self, request: Subscribe) -> Outcome:
        resume = request.resume
        self._subscriptions.check_room(request.subscriber, resume.spuid if resume is not None else None)
        if resume is not None and resume.sequence is not None and self._subscriptions.take_over(request):
            back = Resumed(resume.spuid, request.alias, resume.sequence)
            return Outcome(messages=((request.subscriber, back),))
        held, case = self._subscriptions.unit_of(request.query)
        first = BindingsDelta.first(held.first(request.query, case, self._store))
        if resume is not None:
            self._subscriptions.end_one(resume.spuid)
        subscription = self._subscriptions.add(held, case, request)
        meters.FIRST_ROWS.inc(first.added.total())
        told = Notification(subscription.spuid, subscription.alias, subscription.sequence, first)
        return Outcome(messages=((request.subscriber, told),))


def _size(delta: QuadDelta | None) -> dict[str, Attribute]:
    return {} if delta is None else {"inserted": len(delta.inserted), "deleted": len(delta.deleted)}
