"""A broker that has its dataset from another: a snapshot first, then each change as it was made there.

What can go wrong, and what comes of it: a lost or silent connection is made anew, from the record after the last one
that was carried out.  Where the leader does not keep that record any more, or has given its number to another change,
a new snapshot is fetched, and the difference to what is here is carried out as one change: subscribers hear of it like
of any other.  Meanwhile queries are answered from what there is.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import httpx
import pyoxigraph

from triplewire.broker.dataset.copying import bring_forward
from triplewire.broker.errors import BrokerError, ClientError, StoreError
from triplewire.broker.journal.feed import Beat, FeedParser, SnapshotHead, load_snapshot, record_of
from triplewire.broker.journal.quad_lines import WRITER
from triplewire.broker.model import QuadDelta, Replay

from .gate import EPOCH, WRITER_FIELD
from .leader import leader_auth, leader_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from triplewire.broker.config import FollowConfig, PathsConfig
    from triplewire.broker.dataset.dataset import Dataset
    from triplewire.broker.journal.record import Frame
    from triplewire.broker.model import Updated
    from triplewire.broker.scheduler import Scheduler

log = logging.getLogger("triplewire.gates.journal")

_RETRY_S = (0.2, 5.0)
_SPOOL_BYTES = 16 * 1024 * 1024
_GONE = 410
_REMEMBERED = 1000
_SILENT_S = 3.0  # beats come more often


@dataclass(slots=True)
class Following:
    """How it goes; times are of the leader's clock, in ms since 1970."""

    connected: bool = False
    sequence: int = 0
    time_ms: int = 0
    leader_sequence: int = 0
    leader_time_ms: int = 0
    heard_at: float = 0.0
    snapshots: int = 0
    connections: int = 0

    @property
    def lag_s(self) -> float:
        """How far behind: 0 where all that the leader told of is here, and it told of something just now."""
        silent = time.monotonic() - self.heard_at
        behind = self.leader_time_ms - self.time_ms if self.sequence < self.leader_sequence else 0
        return max(0.0, behind / 1000) + (silent if silent > _SILENT_S or not self.connected else 0.0)


@dataclass(slots=True)
class _Fetched:
    """A dataset of the leader's; `quads` is their number."""

    store: pyoxigraph.Store
    quads: int
    sequence: int
    epoch: str


class LeaderGone(Exception):
    """The connection ended, or never was; it is made anew."""


class OutOfReach(Exception):
    """The leader does not have what follows on what is here."""


class Follower:
    """Carries out the leader's changes through the scheduler; made on the event loop."""

    def __init__(self, config: FollowConfig, paths: PathsConfig, dataset: Dataset) -> None:
        self.state = Following()
        self._config = config
        self._journal = f"{config.url.rstrip('/')}{paths.journal}"
        self._dataset = dataset
        self._epoch = ""
        self.auth = leader_auth(config, paths)
        self._http = leader_client(config, httpx.Timeout(config.timeout_s, read=config.silence_s), self.auth)
        self._applied: dict[int, Updated | None] = {}
        self._order: deque[int] = deque()
        self._wanted: dict[int, asyncio.Future[Updated | None]] = {}

    async def begin(self) -> None:
        """Fill the dataset with a snapshot; before anybody has asked.

        Raises:
            StoreError: the leader can't be reached, or has nothing to follow.
        """
        try:
            found = await self._fetch()
        except (LeaderGone, OutOfReach) as error:
            raise StoreError(f"{self._journal} can't be followed: {error}") from error
        self._dataset.adopt(found.store, found.quads, found.sequence)
        self._at(found)
        log.info("= %s: begun with %d quads, record %d", self._config.url, found.quads, found.sequence)

    async def run(self, scheduler: Scheduler) -> None:
        """Follow until cancelled."""
        wait_s, longest_s = _RETRY_S
        while True:
            heard = self.state.heard_at
            try:
                await self._follow(scheduler)
            except OutOfReach as reason:
                log.warning("= %s: %s", self._config.url, reason)
                with contextlib.suppress(LeaderGone, OutOfReach):
                    await self._leap(scheduler)
                    continue
            except (LeaderGone, BrokerError) as error:
                log.warning("= %s: %s", self._config.url, error)
            finally:
                self.state.connected = False
            if self.state.heard_at != heard:
                wait_s = _RETRY_S[0]
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, longest_s)

    async def _follow(self, scheduler: Scheduler) -> None:
        async with self._records(self._epoch, self.state.sequence) as response:
            self._epoch = response.headers.get(EPOCH, "")
            self.state.connected = True
            self.state.connections += 1
            await self._take(response, scheduler)
        raise LeaderGone("the leader ended the connection")

    @contextlib.asynccontextmanager
    async def _records(self, epoch: str, after: int) -> AsyncIterator[httpx.Response]:
        parameters = {"epoch": epoch, "after": str(after)}
        try:
            async with self._http.stream("GET", self._journal, params=parameters) as response:
                if response.status_code == _GONE:
                    raise OutOfReach(await _reason(response))
                if not response.is_success:
                    raise LeaderGone(await _reason(response))
                yield response
        except httpx.HTTPError as error:
            raise LeaderGone(f"the connection broke: {error!r:.200}") from error
        except ClientError as error:
            raise LeaderGone(f"there is no token for it: {error}") from error
        except (ValueError, SyntaxError) as error:
            raise LeaderGone(f"the leader's bytes are not to be understood: {error}") from error

    async def _take(self, response: httpx.Response, scheduler: Scheduler) -> None:
        parser = FeedParser(self._config.record_bytes)
        writer = response.headers.get(WRITER_FIELD, WRITER)
        waiting: deque[tuple[Frame, asyncio.Future[Updated | None]]] = deque()
        try:
            async for data in response.aiter_raw():
                self.state.heard_at = time.monotonic()
                for item in parser.feed(data):
                    if isinstance(item, Beat):
                        self.state.leader_sequence = max(self.state.leader_sequence, item.sequence)
                        self.state.leader_time_ms = item.time_ms
                        continue
                    change = Replay(record_of(item, writer).delta(), item.sequence)
                    self.state.leader_sequence = max(self.state.leader_sequence, item.sequence)
                    self.state.leader_time_ms = max(self.state.leader_time_ms, item.time_ms)
                    waiting.append((item, scheduler.replay(change)))
                    if len(waiting) > self._config.waiting:
                        await self._done(waiting, self._config.waiting // 2)
                await self._done(waiting, 0)
        finally:
            # Those that are under way are carried out, or refused because one before them was.
            await asyncio.gather(*(future for _, future in waiting), return_exceptions=True)
            for frame, future in waiting:
                if future.done() and not future.cancelled() and future.exception() is None:
                    self._carried_out(frame.sequence, frame.time_ms, future.result())

    async def _done(self, waiting: deque[tuple[Frame, asyncio.Future[Updated | None]]], left: int) -> None:
        while len(waiting) > left:
            frame, future = waiting[0]
            updated = await asyncio.shield(future)
            waiting.popleft()
            self._carried_out(frame.sequence, frame.time_ms, updated)

    def _carried_out(self, sequence: int, time_ms: int, updated: Updated | None) -> None:
        self.state.sequence, self.state.time_ms = sequence, time_ms
        self._applied[sequence] = updated
        self._order.append(sequence)
        if len(self._order) > _REMEMBERED:
            del self._applied[self._order.popleft()]
        future = self._wanted.pop(sequence, None)
        if future is not None and not future.done():
            future.set_result(updated)

    async def carried_out(self, sequence: int, within_s: float) -> Updated | None:
        """Wait until a record is here; what came of it, None where that is not known any more.

        Raises:
            TimeoutError: it did not come in time.
        """
        if sequence <= self.state.sequence:
            return self._applied.get(sequence)
        future = self._wanted.setdefault(sequence, asyncio.get_running_loop().create_future())
        async with asyncio.timeout(within_s):
            return await asyncio.shield(future)

    async def _leap(self, scheduler: Scheduler) -> None:
        found = await self._fetch()
        delta = await asyncio.to_thread(_difference, self._dataset.store, found.store)
        await scheduler.replay(Replay(delta, found.sequence, leap=True))
        self._at(found)
        log.info(
            "= %s: leapt to record %d, +%d -%d quads",
            self._config.url,
            found.sequence,
            len(delta.inserted),
            len(delta.deleted),
        )

    def _at(self, found: _Fetched) -> None:
        self._epoch = found.epoch
        self.state.snapshots += 1
        self.state.sequence = self.state.leader_sequence = found.sequence
        self.state.heard_at = time.monotonic()
        for sequence in [sequence for sequence in self._wanted if sequence <= found.sequence]:
            self._wanted.pop(sequence).set_result(None)

    async def _fetch(self) -> _Fetched:
        """The leader's dataset of now: a snapshot, brought forward by the records behind it."""
        head, store = await self._snapshot()
        found = _Fetched(store, head.quads, head.sequence, head.epoch)
        async with self._records(head.epoch, head.sequence) as response:
            parser = FeedParser(self._config.record_bytes)
            writer = response.headers.get(WRITER_FIELD, WRITER)
            async for data in response.aiter_raw():
                items = parser.feed(data)
                frames = [item for item in items if not isinstance(item, Beat)]
                deltas = [record_of(frame, writer).delta() for frame in frames]
                found.quads += await asyncio.to_thread(bring_forward, store, deltas)
                if frames:
                    found.sequence = frames[-1].sequence
                if len(frames) < len(items):  # the first beat: all that there was has come
                    return found
        raise LeaderGone("the leader ended the connection")

    async def _snapshot(self) -> tuple[SnapshotHead, pyoxigraph.Store]:
        with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as file:
            try:
                async with self._http.stream("GET", f"{self._journal}/snapshot") as response:
                    if not response.is_success:
                        raise LeaderGone(await _reason(response))
                    async for data in response.aiter_raw():
                        file.write(data)
            except httpx.HTTPError as error:
                raise LeaderGone(f"no snapshot came: {error!r:.200}") from error
            except ClientError as error:
                raise LeaderGone(f"there is no token for it: {error}") from error
            file.seek(0)
            try:
                return await asyncio.to_thread(_loaded, file)
            except (ValueError, SyntaxError, OSError) as error:
                raise LeaderGone(f"the snapshot is not to be understood: {error}") from error

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    def health(self) -> dict[str, Any]:
        """The state, for operators."""
        state = self.state
        return {
            "leader": self._config.url,
            "connected": state.connected,
            "sequence": state.sequence,
            "leader_sequence": state.leader_sequence,
            "lag_s": round(state.lag_s, 3),
            "snapshots": state.snapshots,
            "connections": state.connections,
        }


def _loaded(file: IO[bytes]) -> tuple[SnapshotHead, pyoxigraph.Store]:
    store = pyoxigraph.Store()
    return load_snapshot(file, store), store


def _difference(old: pyoxigraph.Store, new: pyoxigraph.Store) -> QuadDelta:
    """What makes the old one be the new one."""
    inserted = frozenset(quad for quad in new if quad not in old)
    deleted = frozenset(quad for quad in old if quad not in new)
    before, after = set(old.named_graphs()), set(new.named_graphs())
    created = after - before - {quad.graph_name for quad in inserted}
    return QuadDelta(inserted, deleted, frozenset(created), frozenset(before - after))  # type: ignore[arg-type]


async def _reason(response: httpx.Response) -> str:
    body = (await response.aread())[:300].decode("utf-8", "replace")
    return f"{response.status_code} {body}"
