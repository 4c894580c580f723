"""The one way in: a bounded FIFO with one core thread behind it, and reader threads for queries beside it.

Above this file everything is asyncio, below it nothing is.  Gates submit nouns and await replies; what a request means
for subscribers goes into their outboxes in the order the core made it, whether or not the sender still waits.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from . import meters
from .answer import Answer, call_on
from .away import Away
from .errors import (
    BrokerError,
    DeadlineExceeded,
    EngineError,
    ShuttingDown,
    StoreError,
    TooManyRequests,
    without_frames,
)
from .model import Leave, Notification, Outcome, Replay, Resume, Resumed, Subscribe
from .threads import Workers
from .tracing import COURSE

if TYPE_CHECKING:
    from collections.abc import Callable

    from .away import Inbox
    from .config import LimitsConfig, SchedulerConfig
    from .core import Core
    from .model import CoreMessage, Query, Request, SubscriberId, Updated
    from .store import Choose, Store
    from .tracing import Course

log = logging.getLogger("triplewire.broker.scheduler")


@dataclass(slots=True)
class _Job:
    request: Request
    future: asyncio.Future[Updated | None]
    admitted: float
    deadline: float
    failure: BrokerError | None = (
        None  # of what comes after the core's part; what it led to is delivered all the same
    )
    returns_to: SubscriberId | None = None  # whose subscription it takes over
    course: Course | None = None  # where it is traced


@dataclass(slots=True)
class Statistics:
    """Counters since the start."""

    updates: int = 0
    queries: int = 0
    subscribes: int = 0
    refused: int = 0
    failed: int = 0
    notifications: int = 0


class Scheduler:
    """Admits requests, keeps their order, and hands out what they lead to.

    Must be made and used on one event loop.
    """

    def __init__(self, core: Core, store: Store, config: SchedulerConfig, limits: LimitsConfig) -> None:
        self._core = core
        self._store = store
        self._config = config
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._admitted = 0
        self._inboxes: dict[SubscriberId, Inbox] = {}
        self._next_subscriber = 1
        self.away = Away(limits, self._loop, lambda subscriber: self._enqueue(Leave(subscriber)))
        # What is enqueued is counted on the event loop, what has begun on the core thread.
        self._enqueued = self._begun = 0
        self._bulk: deque[_Job] = deque()
        self._closing = False
        self._stopped = False
        self._busy_since: float | None = None
        self._answers: set[Answer] = set()
        self._finished: deque[tuple[_Job, Outcome | BrokerError]] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self.statistics = Statistics()
        self.waited = meters.seconds("core_wait_seconds", "From a request's admission to its turn")
        self.worked = meters.seconds("core_work_seconds", "The core's work on one request")
        self.answered = meters.seconds("update_seconds", "From an update's admission to its reply")
        self._lane = Workers(1, "core")
        # Between the core and the answers, where those wait for the disk.
        self._handled: deque[tuple[_Job, Outcome | BrokerError]] = deque()
        self._syncer = Workers(1, "sync") if store.answers_when_synced else None
        self._readers = Workers(config.readers, "reader")

    @property
    def waiting(self) -> int:
        """Requests admitted and not yet answered."""
        return self._admitted

    @property
    def reading(self) -> int:
        """Queries that run or wait for a reader thread."""
        return len(self._answers)

    @property
    def subscribers(self) -> int:
        """Connections that can hold subscriptions."""
        return len(self._inboxes)

    def busy_s(self) -> float:
        """How long the core has been at its present request, in seconds; 0 where it has none."""
        since = self._busy_since
        return 0.0 if since is None else time.monotonic() - since

    def join(self, inbox: Inbox) -> SubscriberId:
        """A new subscriber, whose messages go into `inbox`.

        Raises:
            TooManyRequests: limits.sockets is reached.
        """
        if self._closing:
            raise ShuttingDown("the broker is shutting down")
        if len(self._inboxes) >= self._limits.sockets:
            raise TooManyRequests(f"there are {len(self._inboxes)} connections (limits.sockets)")
        subscriber = self._next_subscriber
        self._next_subscriber += 1
        self._inboxes[subscriber] = inbox
        return subscriber

    def leave(self, subscriber: SubscriberId, *, lost: bool = False) -> None:
        """The connection is gone: nothing more is sent, its subscriptions end in their turn.  Never refused.

        Where it was `lost`, those that can be resumed go on for limits.resume_s.
        """
        inbox = self._inboxes.pop(subscriber, None)
        if inbox is None or self._stopped:
            return
        kept = inbox.lose() if lost and not self._closing else frozenset()
        if kept:
            self.away.wait_for(subscriber, inbox, kept)
        else:
            self.away.forget(subscriber)
        self._enqueue(Leave(subscriber, kept))

    async def submit(self, request: Request, *, bulk: bool = False) -> Updated | None:
        """Give a request its place in the FIFO and wait for its reply.

        What it leads to is delivered even when the waiting task is cancelled.  A `bulk` request lets all others go
        first, for scheduler.bulk_wait_s at most.

        Raises:
            TooManyRequests: scheduler.queue_size requests wait already.
            DeadlineExceeded: it waited scheduler.timeout_s without its turn coming, and was not carried out.
            BrokerError: what the core says of it.
        """
        if self._closing:
            raise ShuttingDown("the broker is shutting down")
        if self._admitted >= self._config.queue_size:
            self.statistics.refused += 1
            raise TooManyRequests(f"Too many pending requests: {self._admitted} (scheduler.queue_size)")
        if isinstance(request, Subscribe) and request.resume is not None:
            return await self._return(request, request.resume)
        return await self._enqueue(request, bulk=bulk)

    def _return(self, request: Subscribe, resume: Resume) -> asyncio.Future[Updated | None]:
        """A client is back, perhaps before it was missed."""
        owner = self.away.owner(resume.spuid, request.client)
        if owner is None or resume.sequence is None:
            return self._enqueue(replace(request, resume=None))
        if owner != request.subscriber:
            self.leave(owner, lost=True)
            inbox = self.away.inbox(owner)
            if inbox is not None and inbox.reaches(resume.spuid, resume.sequence):
                self.away.hold(owner)
                return self._enqueue(request, returns_to=owner)
        return self._enqueue(replace(request, resume=Resume(resume.spuid, None)))

    def replay(self, change: Replay) -> asyncio.Future[Updated | None]:
        """Give a change of elsewhere its place; never refused, never too late: the caller bounds how many wait."""
        return self._enqueue(change)

    def _enqueue(
        self, request: Request, *, bulk: bool = False, returns_to: SubscriberId | None = None
    ) -> asyncio.Future[Updated | None]:
        now = time.monotonic()
        job = _Job(
            request,
            self._loop.create_future(),
            now,
            now + self._config.timeout_s,
            returns_to=returns_to,
            course=COURSE.get(),
        )
        if job.course is not None:
            job.course.go_on()
        self._give_place(job, bulk=bulk)
        return job.future

    def _give_place(self, job: _Job, *, bulk: bool = False) -> None:
        self._admitted += 1
        self._idle.clear()
        if bulk:
            self._bulk.append(job)
            self._lane.submit(self._run_bulk)
        else:
            self._enqueued += 1
            self._lane.submit(lambda: self._run_next(job))

    async def query(self, query: Query, choose: Choose, *, compress: bool = False) -> Answer:
        """The answer to a query, its first bytes already there; close it when done.

        A large answer comes in gzip where `compress` is set.

        Raises:
            TooManyRequests: scheduler.reader_queue_size queries wait already.
            BrokerError: the query can't be evaluated, or no format suits.
        """
        answer = Answer(
            self._limits.query_s,
            wait_s=self._config.timeout_s,
            limit_bytes=self._limits.answer_bytes,
            compress=compress,
        )
        self._read(answer, lambda: self._store.answer(query, choose, answer.sink))
        self.statistics.queries += 1
        await answer.started()
        return answer

    async def has_graph(self, graph: str) -> bool:
        """Whether a named graph is there.

        Raises:
            BrokerError: see `query`.
        """
        found: list[bool] = []
        answer = Answer(self._limits.query_s, wait_s=self._config.timeout_s)
        self._read(answer, lambda: found.append(self._store.has_graph(graph, answer.sink.check)))
        await answer.finished()
        return found[0]

    def _read(self, answer: Answer, work: Callable[[], None]) -> None:
        if self._closing:
            raise ShuttingDown("the broker is shutting down")
        if len(self._answers) >= self._config.readers + self._config.reader_queue_size:
            self.statistics.refused += 1
            raise TooManyRequests(
                f"Too many pending queries: {len(self._answers)} (scheduler.reader_queue_size)"
            )
        self._answers.add(answer)
        self._idle.clear()
        began = time.monotonic()
        answer.when_done(lambda: self._read_done(answer, began))
        self._readers.submit(lambda: answer.run(work))

    def _read_done(self, answer: Answer, began: float) -> None:
        meters.QUERY_SECONDS.observe(time.monotonic() - began)
        self._answers.discard(answer)
        self._check_idle()

    def _check_idle(self) -> None:
        if not self._admitted and not self._answers:
            self._idle.set()

    def _run_next(self, job: _Job) -> None:
        """On the core thread."""
        self._begun += 1
        self._run(job)

    def _run_bulk(self) -> None:
        """On the core thread, once for each bulk request, and again after those that it let go first."""
        if (
            self._enqueued > self._begun
            and time.monotonic() < self._bulk[0].admitted + self._config.bulk_wait_s
        ):
            self._lane.submit(self._run_bulk)
        else:
            self._run(self._bulk.popleft())

    def _run(self, job: _Job) -> None:
        """On the core thread."""
        began = self._busy_since = time.monotonic()
        if job.course is not None:
            job.course.done("wait")
        outcome = self._handle(job)
        self._busy_since = None
        self.waited.observe(began - job.admitted)
        self.worked.observe(time.monotonic() - began)
        if self._syncer is not None:
            self._handled.append((job, outcome))
            self._syncer.submit(self._sync)
            return
        self._finished.append((job, outcome))
        call_on(self._loop, self._deliver)

    def _sync(self) -> None:
        """On the syncing thread: one sync for all that the core did while the last one ran."""
        count = len(self._handled)
        if not count:
            return
        failure: BrokerError | None = None
        try:
            self._store.sync()
        except StoreError as error:
            log.exception("! syncing")
            failure = without_frames(
                StoreError(f"it was written, but may not outlive a loss of power: {error.description}")
            )
        for _ in range(count):
            job, outcome = self._handled.popleft()
            if job.course is not None:
                job.course.done("sync")
            if isinstance(outcome, Outcome) and outcome.reply is not None:
                job.failure = failure
            self._finished.append((job, outcome))
        call_on(self._loop, self._deliver)

    def _handle(self, job: _Job) -> Outcome | BrokerError:
        if time.monotonic() > job.deadline and not isinstance(job.request, Leave | Replay):
            return DeadlineExceeded(
                f"the request waited more than {self._config.timeout_s} s (scheduler.timeout_s)"
            )
        try:
            if job.course is None:
                return self._core.handle(job.request)
            return self._core.handle(job.request, job.course)
        except BrokerError as error:
            if isinstance(error, EngineError):
                log.exception("! %s", type(job.request).__name__)
            return without_frames(error)
        except BaseException:  # a panic inside Oxigraph is one; the core goes on
            log.exception("! %s", type(job.request).__name__)
            return EngineError("internal error: the request was not carried out")

    def _deliver(self) -> None:
        """On the event loop: messages into outboxes, then the sender's reply, in the core's order."""
        while self._finished:
            job, outcome = self._finished.popleft()
            self._admitted -= 1
            self._check_idle()
            if job.returns_to is not None:
                self.away.release(job.returns_to)
            if isinstance(outcome, BrokerError):
                self._fail(job, outcome)
                continue
            if isinstance(job.request, Subscribe):
                if not self._answered(job, job.request, outcome):
                    continue
            else:
                self._put_all(outcome, job.course)
            self.statistics.notifications += len(outcome.messages)
            if outcome.reply is not None:
                self.statistics.updates += 1
                self.answered.observe(time.monotonic() - job.admitted)
            self.statistics.subscribes += isinstance(job.request, Subscribe)
            if job.failure is not None:
                self._fail(job, job.failure)
            elif not job.future.cancelled():
                job.future.set_result(outcome.reply)

    def _fail(self, job: _Job, error: BrokerError) -> None:
        self.statistics.failed += 1
        if not job.future.cancelled():
            job.future.set_exception(error)
            job.future.exception()  # a sender that has gone leaves it unread

    def _answered(self, job: _Job, request: Subscribe, outcome: Outcome) -> bool:
        """The answer to a subscribe; False where the request has gone back into the FIFO, to begin anew."""
        ((subscriber, message),) = outcome.messages
        if isinstance(message, Resumed):
            change = self.away.hand_over(message.spuid, message.sequence)
            if change is None:
                job.request, job.returns_to = replace(request, resume=Resume(message.spuid, None)), None
                self._give_place(job)
                return False
            message = Notification(message.spuid, message.alias, message.sequence + 1, change)
        elif request.resume is not None:
            self.away.ended(request.resume.spuid)
        self._put(subscriber, message, begins=request if request.resumable else None)
        return True

    def _put_all(self, outcome: Outcome, course: Course | None) -> None:
        if course is None:
            for subscriber, message in outcome.messages:
                self._put(subscriber, message)
            return
        course.go_on()
        for subscriber, message in outcome.messages:
            self._put(subscriber, message)
            _told(course, message)

    def _put(
        self, subscriber: SubscriberId, message: CoreMessage, *, begins: Subscribe | None = None
    ) -> None:
        inbox = self._inboxes.get(subscriber)
        if inbox is None and begins is None:
            inbox = self.away.inbox(subscriber)
        if inbox is None or isinstance(message, Resumed):
            return
        try:
            if begins is not None and isinstance(message, Notification):
                inbox.begin(message)
                self.away.own(message.spuid, subscriber, begins.client)
                return
            inbox.put(message)
            if not isinstance(message, Notification) and message.spuid is not None:
                self.away.ended(message.spuid)
        except Exception:
            log.exception(
                "! %d: a message could not be taken", subscriber
            )  # the others, and the sender, go on

    async def close(self, drain_s: float = 10.0) -> None:
        """Refuse what is new, finish what is admitted, stop the threads."""
        self._closing = True
        try:
            await asyncio.wait_for(self._idle.wait(), drain_s)
        except TimeoutError:
            log.warning("! %d requests and %d queries were not finished", self._admitted, len(self._answers))
        for answer in list(self._answers):
            answer.close()
        self.away.close()
        for inbox in list(self._inboxes.values()):
            inbox.finish()
        self._stopped = True
        self._lane.stop()
        self._readers.stop()
        await asyncio.to_thread(self._lane.join, 1.0)
        if self._syncer is not None:
            self._syncer.stop()
            await asyncio.to_thread(self._syncer.join, 1.0)


def _told(course: Course, message: CoreMessage) -> None:
    """A message is in its outbox, or its connection has gone."""
    if isinstance(message, Notification):
        rows = {"added": message.delta.added.total(), "removed": message.delta.removed.total()}
        course.done("notification", spuid=message.spuid, sequence=message.sequence, **rows)
    else:
        course.done("message", kind=type(message).__name__)
