"""The journal for followers: `GET /journal/snapshot`, then `GET /journal?epoch=E&after=N`, which never ends."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from triplewire.broker.errors import (
    Gone,
    MalformedRequest,
    MethodNotAllowed,
    NotFound,
    StoreError,
    TooManyRequests,
)
from triplewire.broker.journal.feed import RECORDS_TYPE, SNAPSHOT_TYPE, SnapshotStream, beat_bytes
from triplewire.broker.journal.quad_lines import WRITER
from triplewire.broker.rights import Scope
from triplewire.gates.lapse import lapsed

if TYPE_CHECKING:
    from pathlib import Path

    from triplewire.broker.config import JournalConfig
    from triplewire.broker.dataset.dataset import Dataset
    from triplewire.broker.journal.journal import Journal
    from triplewire.broker.security.authority import Authority
    from triplewire.gates.http.request import HttpRequest
    from triplewire.gates.http.response import HttpResponse

log = logging.getLogger("triplewire.gates.journal")

METHODS = ("GET", "OPTIONS")
EPOCH, WRITER_FIELD = "Triplewire-Epoch", "Triplewire-Writer"
_CHUNK = 128 * 1024


class JournalGate:
    """Serves the journal's path and `snapshot` below it; made on the event loop."""

    def __init__(self, dataset: Dataset, config: JournalConfig, authority: Authority) -> None:
        self._dataset = dataset
        self._authority = authority
        self._config = config
        self._loop = asyncio.get_running_loop()
        self._waiting: set[asyncio.Event] = set()
        self._closing = False
        self.followers = 0
        self._reached: dict[asyncio.Event, int] = {}  # the record that each has been sent up to
        dataset.listen(lambda _: self._wake())

    def close(self) -> None:
        """End the streams: the broker is about to end."""
        self._closing = True
        self._set()

    @property
    def behind(self) -> int:
        """How many records the slowest follower has not been sent yet."""
        kept = self._dataset.kept
        if kept is None or not self._reached:
            return 0
        return max(0, kept.journal.settled_sequence - min(self._reached.values()))

    def _wake(self) -> None:
        """On the core thread."""
        if self._waiting:
            self._loop.call_soon_threadsafe(self._set)

    def _set(self) -> None:
        for event in self._waiting:
            event.set()

    async def serve(self, request: HttpRequest, response: HttpResponse) -> None:
        """A snapshot, or the records after one number.

        Raises:
            NotFound: nothing is kept here.
            Gone: the records asked for are not kept, or are not what the follower takes them for.
            TooManyRequests: journal.followers are there.
        """
        request.access.need(Scope.ADMIN)
        if request.method not in {"GET", "HEAD"}:
            raise MethodNotAllowed(f"{request.method} is not a way to follow", allow=METHODS)
        kept = self._dataset.kept
        if kept is None:
            raise NotFound("there is no journal to follow here: start with --data")
        if self.followers >= self._config.followers:
            raise TooManyRequests(f"{self.followers} brokers follow already (journal.followers)")
        self.followers += 1
        try:
            if request.path.endswith("/snapshot"):
                await self._snapshot(kept.directory, kept.epochs.current, response)
            else:
                await self._records(request, response, kept.journal)
        finally:
            self.followers -= 1

    async def _snapshot(self, directory: Path, epoch: str, response: HttpResponse) -> None:
        stream = await asyncio.to_thread(SnapshotStream, directory, epoch)
        try:
            await response.start(200, SNAPSHOT_TYPE, [("Cache-Control", "no-store")])
            for chunk in stream.chunks():
                await response.chunk(chunk)
            await response.end()
        finally:
            stream.close()

    async def _records(self, request: HttpRequest, response: HttpResponse, journal: Journal) -> None:
        parameters = request.parameters()
        epoch, after = parameters.one("epoch") or "", parameters.one("after") or ""
        if not after.isascii() or not after.isdigit():
            raise MalformedRequest("after must be the number of a record")
        sequence = int(after)
        kept = self._dataset.kept
        assert kept is not None
        if not kept.epochs.holds(epoch, sequence) or sequence > journal.settled_sequence:
            raise Gone(
                f"record {sequence} of epoch {epoch:.32} is not one of this journal's: begin with a snapshot"
            )
        if sequence + 1 < journal.first_sequence:
            raise Gone(f"the journal begins with record {journal.first_sequence}: begin with a snapshot")
        await response.start(
            200,
            RECORDS_TYPE,
            [
                (EPOCH, kept.epochs.current),
                (WRITER_FIELD, WRITER),
                ("Cache-Control", "no-store"),
                ("X-Accel-Buffering", "no"),
            ],
        )
        log.info("= a follower at record %d", sequence)
        sender = asyncio.create_task(self._follow(response, journal, sequence))
        gone = asyncio.create_task(request.gone())
        out = asyncio.create_task(lapsed(self._authority, request.access, Scope.ADMIN))
        try:
            await asyncio.wait({sender, gone, out}, return_when=asyncio.FIRST_COMPLETED)
            if sender.done():
                sender.result()
            elif out.done():
                request.abort()  # it comes back with another token
        finally:
            for task in (sender, gone, out):
                task.cancel()
            await asyncio.gather(sender, gone, out, return_exceptions=True)
            log.info("= a follower left")

    async def _follow(self, response: HttpResponse, journal: Journal, after: int) -> None:
        wake = asyncio.Event()
        self._waiting.add(wake)
        self._reached[wake] = after
        reader = journal.read(after)
        try:
            while not self._closing:
                wake.clear()
                parts: list[bytes] = []
                size = 0
                for _, data in reader.encoded():
                    parts.append(data)
                    size += len(data)
                    if size >= _CHUNK:
                        await response.chunk(b"".join(parts))
                        parts, size = [], 0
                parts.append(beat_bytes(journal.settled_sequence))
                await response.chunk(b"".join(parts))
                self._reached[wake] = reader.next - 1
                try:
                    async with asyncio.timeout(self._config.beat_s):
                        await wake.wait()
                except TimeoutError:
                    continue
            await response.end()
        except StoreError as error:  # a follower so slow that its records went: it begins anew
            log.warning("= a follower is let go of: %s", error.description)
            await response.end()
        finally:
            reader.close()
            self._waiting.discard(wake)
            del self._reached[wake]
