"""The worker processes from the main one's side: started, told everything once, replaced when they die.

All listen on the same port (SO_REUSEPORT), so the kernel deals new connections among them.  The port is held here, by
a socket that does not listen.  A worker that has died, or does not read or say anything for a while, is replaced; its
consumers come back to another, or to the new one, with what they saw last, and find it in the copy of the history.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from triplewire.broker.errors import NotFound
from triplewire.broker.security.authority import Nobody
from triplewire.gates.quotas import Quotas

from .accounts import Ledger
from .channel import (
    Absent,
    Authorize,
    Begin,
    Came,
    Changed,
    Closed,
    Left,
    Opened,
    Publish,
    Refuse,
    Requested,
    Stop,
    Took,
    packed,
)
from .sockets import listening
from .worker_process import WorkerProcess, reap

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping, Sequence

    from triplewire.broker.config import LimitsConfig, StreamGateConfig
    from triplewire.broker.security.authority import Authority

    from .channel import Question, Received
    from .entry import Batch
    from .feed import Feed

_log = logging.getLogger("triplewire.gates.stream.workers")

_LOOK_S = 0.5
_STOP_S = 5.0
# A worker that dies at once is not started anew at once, or nothing else would be done.
_DELAYS_S = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0)
_LIVED_S = 10.0


class Workers:
    """`config.workers` of them, that serve `feeds`; `level` is that of their logs."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that it depends on
        self,
        feeds: Mapping[str, Feed],
        authority: Authority,
        limits: LimitsConfig,
        config: StreamGateConfig,
        level: str = "INFO",
        quotas: Quotas | None = None,
        log_format: str = "text",
        trackers: Sequence[str] = (),
    ) -> None:
        self._feeds = feeds
        self._authority = authority
        self._limits = limits
        self._quotas = quotas or Quotas(limits)
        # The limit on all who follow, dealt out as the kernel deals the connections
        self._each = replace(config, consumers=-(-config.consumers // max(config.workers, 1)))
        self._config = config
        self._level = level.upper()
        self._log_format = log_format
        self._trackers = tuple(trackers)
        self._held: list[socket.socket] = []
        self._workers: dict[int, WorkerProcess] = {}
        self._listening: dict[str, tuple[Feed, list[Callable[[], None]]]] = {}
        self._following: dict[str, int] = {}  # how many follow, by stream, and one for the copies
        self._absent: frozenset[str] = frozenset()
        self._failures = [0] * config.workers
        self._starting: dict[int, asyncio.Task[None]] = {}
        self._unlisten: Callable[[], None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._closing = False
        self.replaced = 0

    @property
    def consumers(self) -> int:
        """How many follow, as of a second ago."""
        return sum(worker.stats.consumers for worker in self._workers.values())

    @property
    def shed(self) -> int:
        """How often there were too many, at those workers that are there."""
        return sum(worker.stats.shed for worker in self._workers.values())

    @property
    def skipped(self) -> int:
        """How often a consumer had too much unread, at those workers that are there."""
        return sum(worker.stats.skipped for worker in self._workers.values())

    @property
    def lanes(self) -> int:
        """How many ways of reading a stream somebody reads in, at each worker."""
        return sum(worker.stats.lanes for worker in self._workers.values())

    @property
    def pids(self) -> list[int]:
        """Of the processes."""
        return [worker.pid for worker in self._workers.values()]

    async def start(self) -> list[int]:
        """Start all of them, and wait until each listens; the ports.

        Raises:
            OSError: the port can't be had.
            EngineError: a worker ended as it began.
        """
        self._held = listening(self._config.host, self._config.port, shared=True)
        try:
            self._unlisten = self._authority.listen(self._changed)
            self.refresh()
            for index in range(self._config.workers):
                await self._start(index)
            await asyncio.gather(*(worker.ready for worker in self._workers.values()))
        except BaseException:
            await self.close()
            raise
        self._looking = asyncio.get_running_loop().create_task(self._look())
        return [held.getsockname()[1] for held in self._held]

    def refuse(self) -> None:
        """Have nobody taken in any more."""
        self._tell(Refuse())

    async def close(self) -> None:
        """Have them end all responses, and end them."""
        self._closing = True
        for task in (self._looking, *self._starting.values()):
            if task is not None:
                task.cancel()
        if self._unlisten is not None:
            self._unlisten()
        for name in tuple(self._listening):
            self._forget(name)
        self._tell(Stop())
        loop = asyncio.get_running_loop()
        until = loop.time() + _STOP_S
        workers = [*self._workers.values()]
        while not all(worker.reap() for worker in workers) and loop.time() < until:  # noqa: ASYNC110 - processes
            await asyncio.sleep(0.02)
        for worker in workers:
            worker.kill()
        await asyncio.to_thread(reap, workers)
        self._workers.clear()
        for held in self._held:
            held.close()

    def refresh(self) -> None:
        """Streams may have come or gone."""
        for name, (feed, _) in tuple(self._listening.items()):
            if self._feeds.get(name) is not feed:
                self._forget(name)
                self._tell(Closed(name))
        for name, feed in self._feeds.items():
            if name not in self._listening and not feed.closed:
                self._listen(name, feed)
                self._tell(opened(name, feed))

    def took(self, took: Took) -> None:
        """A worker has written a batch."""
        feed = self._feeds.get(took.name)
        if feed is not None:
            feed.took(took.seconds)

    def received(self, received: Received) -> None:
        """A client of a worker has sent something."""
        self._quotas.received(*received)

    async def asked(self, what: Question) -> Any:
        """What a worker asks for.

        Raises:
            BrokerError: why not.
        """
        if isinstance(what, Authorize):
            return await self._authority.access(what.token)
        if isinstance(what, Requested):
            return self._quotas.request(*what)
        assert isinstance(what, Publish)
        feed = self._feeds.get(what.name)
        if feed is None:
            raise NotFound(f"there is no stream {what.name:.100}")
        return await feed.publish(what.items, what.publisher)

    def lost(self, worker: WorkerProcess) -> None:
        """Its channel has ended, and so does it; another one begins."""
        if self._workers.get(worker.index) is not worker:
            return
        del self._workers[worker.index]
        worker.kill()
        if self._closing:
            return
        lived_s = asyncio.get_running_loop().time() - worker.began
        failures = self._failures[worker.index]
        failures = self._failures[worker.index] = 0 if lived_s > _LIVED_S else failures + 1
        delay_s = _DELAYS_S[min(max(failures - 1, 0), len(_DELAYS_S) - 1)]
        _log.warning("! the stream worker %d (%d) has ended and is replaced", worker.index, worker.pid)
        self.replaced += 1
        task = asyncio.get_running_loop().create_task(self._replace(worker, delay_s))
        self._starting[worker.index] = task

    async def _replace(self, worker: WorkerProcess, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        while True:
            try:
                await self._start(worker.index)
            except OSError:
                _log.exception("! the stream worker %d can't be started", worker.index)
                await asyncio.sleep(_DELAYS_S[-1])
            else:
                break
        await asyncio.to_thread(reap, [worker])

    async def _start(self, index: int) -> None:
        worker = WorkerProcess(self, index, Ledger(self._quotas))
        await worker.start(self._level, self._log_format)
        self._workers[index] = worker
        addresses = tuple((int(held.family), held.getsockname()) for held in self._held)
        is_open = isinstance(self._authority, Nobody)
        for name, (feed, _) in self._listening.items():
            worker.channel.send(opened(name, feed))
        worker.channel.send(Absent(self._absent))
        worker.channel.send(Begin(self._each, self._limits, addresses, is_open, self._trackers))

    def _listen(self, name: str, feed: Feed) -> None:
        def came(batch: Batch) -> None:
            self._tell(Came(name, batch.entries))

        def left(batch: Batch) -> None:
            self._tell(Left(name, batch.last))

        def closed() -> None:
            self._forget(name)
            self._tell(Closed(name))

        # Their copies of what it keeps have to go on, whether somebody reads them or not.
        feed.followed(1)
        self._following[name] = 1
        ends = [feed.listen_now(came), feed.listen(left), feed.when_closed(closed)]
        self._listening[name] = (feed, ends)

    def _forget(self, name: str) -> None:
        feed, ends = self._listening.pop(name)
        feed.followed(-self._following.pop(name))
        for end in ends:
            end()

    def _changed(self) -> None:
        self._tell(Changed())

    def _tell(self, message: object) -> None:
        """All workers, the same bytes."""
        data = packed(message)
        for worker in tuple(self._workers.values()):
            worker.channel.write(data)

    def _count(self) -> None:
        """Let each feed know how many follow it at workers."""
        counts = dict.fromkeys(self._listening, 1)
        for worker in self._workers.values():
            for name, followers in worker.stats.following:
                if name in counts:
                    counts[name] += followers
        for name, count in counts.items():
            if count != self._following[name]:
                self._listening[name][0].followed(count - self._following[name])
                self._following[name] = count

    def _tell_absent(self) -> None:
        absent = frozenset(name for name, (feed, _) in self._listening.items() if feed.absent)
        if absent != self._absent:
            self._absent = absent
            self._tell(Absent(absent))

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            self.refresh()
            self._count()
            self._tell_absent()
            now = asyncio.get_running_loop().time()
            for worker in tuple(self._workers.values()):
                why = "has ended" if worker.reap() else worker.trouble(now)
                if why is not None:
                    _log.warning("! the stream worker %d (%d) %s", worker.index, worker.pid, why)
                    worker.kill()
                    self.lost(worker)


def opened(name: str, feed: Feed) -> Opened:
    """The stream as a worker that begins must know it."""
    entries = tuple(feed.history)
    last, sign_of_life_s = feed.history.last, feed.sign_of_life_s
    return Opened(name, feed.config, feed.source_id, entries, feed.sent, last, sign_of_life_s)
