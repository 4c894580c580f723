"""Parts of N-Quads into a running broker, beside whatever else it does, as updates that let all others go first.

Each chunk of lines is one update, journaled and told to subscribers like any.  Its size follows the time of the answers
(`chunk_size.py`), while one is on its way the next is made ready, and what has been answered is kept in a progress file.
A broker that is away is waited for.

A broker without a journal forgets what it answered when it starts anew.  So before a load goes on, it asks whether
anything is there of the lines before; where nothing is, it begins at the beginning.
"""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import TYPE_CHECKING

from triplewire.broker.errors import BrokerRefused, ClientError, ConnectionLost
from triplewire.clients.backoff import Backoff
from triplewire.clients.settings import ClientSettings

from .chunk_size import ChunkSettings, ChunkSize
from .insert_data import UnloadableLine, insert_data
from .part_files import PartsError
from .progress_file import START, Position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triplewire.clients.sparql import SparqlClient

    from .part_files import Part, PartFiles
    from .progress_file import ProgressFile

TOO_LARGE, TOO_MANY, SERVER = 413, 429, 500
# Of what was answered last, so many lines are asked for before a load goes on.
_WITNESSES = 8
# A broker that has not been heard of for so long may have been started anew.
_SILENCE_S = 1.0
_BEGINNINGS = 5


class LoadInterrupted(ConnectionLost):
    """The broker was away for too long; what it answered before is kept, and the same command goes on from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineSettings:
    """Seconds as the names say."""

    chunks: ChunkSettings = field(default_factory=ChunkSettings)
    give_up_s: float = 300.0  # how long a broker that is away is waited for
    keep_s: float = 0.5  # how often the progress file is written: so much is sent again after a crash
    graph: str | None = None  # for what is in no graph


@dataclass(slots=True)
class Loaded:
    """What a load came to: lines sent, lines that were there from a load before, requests, seconds."""

    lines: int = 0
    before: int = 0
    requests: int = 0
    seconds: float = 0.0
    anew: bool = False  # the broker had lost what it had answered


@dataclass(slots=True)
class _Chunk:
    lines: list[bytes]
    updates: list[str]


class _Forgotten(Exception):
    """Nothing of what the broker answered is there."""


class OnlineLoad:
    """One load; `told` hears of the lines that have been loaded, all in all."""

    def __init__(  # noqa: PLR0913 - each is another's to make
        self,
        client: SparqlClient,
        files: PartFiles,
        progress: ProgressFile,
        settings: OnlineSettings,
        *,
        told: Callable[[int], None] = lambda _: None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._client = client
        self._files = files
        self._progress = progress
        self._settings = settings
        self._told = told
        self._sleep = sleep
        self._witnesses: deque[bytes] = deque(maxlen=_WITNESSES)
        self._doubtful = False  # whether the broker may have been started anew since it answered
        self._kept_at = self._heard_at = 0.0
        self._done = START
        self._sum = 0
        self._size = ChunkSize(settings.chunks)
        self.loaded = Loaded()

    def run(self) -> Loaded:
        """Load what is not yet loaded.

        Raises:
            LoadInterrupted: the broker was away for longer than the settings allow.
            ConnectionLost: it can't be reached at all.
            BrokerRefused: it refuses, as for a token without the right.
            PartsError: the parts are not as the manifest says, or have a line that can't be sent.
            HistoryError, OSError: the progress file can't be used.
        """
        began = time.monotonic()
        self._size = ChunkSize(self._settings.chunks, self._overhead_s())
        self._heard_at = time.monotonic()
        self._done = self._progress.read()
        self._doubtful = self._done != START
        self.loaded.before = self._sum = self._lines_before(self._done)
        self._told(self._sum)
        try:
            for _ in range(_BEGINNINGS):
                try:
                    self._parts()
                    break
                except _Forgotten:
                    self._begin_anew()
            else:
                raise LoadInterrupted("the broker forgets what it has answered: has it no --data?")
        finally:
            self._progress.keep(self._done)
        self.loaded.seconds = time.monotonic() - began
        return self.loaded

    def _begin_anew(self) -> None:
        self.loaded.anew, self.loaded.before = True, 0
        self._done, self._sum, self._doubtful = START, 0, False
        self._witnesses.clear()
        self._told(0)

    def _lines_before(self, position: Position) -> int:
        return sum(part.lines for part in self._files.parts[: position.part]) + position.lines

    def _overhead_s(self) -> float:
        """What a request costs that changes nothing; the first contact, where nothing is retried."""
        fastest = 1e9
        for _ in range(3):
            began = time.perf_counter()
            self._client.update("INSERT DATA { }")
            fastest = min(fastest, time.perf_counter() - began)
        return fastest

    def _parts(self) -> None:
        parts = self._files.parts
        if self._doubtful and not self._done.lines and self._done.part:
            self._remember_end(parts[self._done.part - 1])
        with ThreadPoolExecutor(1, "chunks") as preparing:
            for number in range(self._done.part, len(parts)):
                self._part(number, parts[number], preparing)
        if self._doubtful:
            self._check()

    def _remember_end(self, part: Part) -> None:
        with self._files.open(part) as lines:
            self._witnesses.extend(lines)

    def _part(self, number: int, part: Part, preparing: ThreadPoolExecutor) -> None:
        with self._files.open(part) as file:
            lines = iter(file)
            self._witnesses.extend(islice(lines, self._done.lines))
            coming = preparing.submit(self._prepare, lines)
            at = self._done.lines
            while chunk := self._result(coming.result, part, at):
                coming = preparing.submit(self._prepare, lines)
                try:
                    self._carry_out(chunk)
                except BaseException:
                    coming.cancel()
                    raise
                at += len(chunk.lines)
                self._answered(Position(number, at), chunk)
        if at != part.lines:
            raise PartsError(
                f"{self._files.directory}/{part.name} has {at} lines, its manifest says {part.lines}"
            )
        self._done = Position(number + 1)

    def _result(self, result: Callable[[], _Chunk | None], part: Part, at: int) -> _Chunk | None:
        try:
            return result()
        except UnloadableLine as error:
            place = f"{self._files.directory}/{part.name}, line {at + error.index + 1}"
            raise PartsError(f"{place}: {error}; {self._so_far()}") from error

    def _prepare(self, lines: Iterator[bytes]) -> _Chunk | None:
        """On a thread beside the one that waits for answers."""
        most, size = self._size.lines, 0
        chunk: list[bytes] = []
        for line in islice(lines, most):
            chunk.append(line)
            size += len(line)
            if size >= self._settings.chunks.most_bytes:
                break
        return self._chunk(chunk) if chunk else None

    def _chunk(self, lines: list[bytes]) -> _Chunk:
        return _Chunk(lines, [text.decode() for text in insert_data(lines, self._settings.graph)])

    def _answered(self, position: Position, chunk: _Chunk) -> None:
        self._done = position
        self._sum += len(chunk.lines)
        self.loaded.lines += len(chunk.lines)
        self._witnesses.extend(chunk.lines[-_WITNESSES:])
        self._told(self._sum)
        now = time.monotonic()
        if now >= self._kept_at + self._settings.keep_s:
            self._progress.keep(position)
            self._kept_at = now

    def _carry_out(self, chunk: _Chunk) -> None:
        began = time.perf_counter()
        try:
            for update in chunk.updates:
                self._patiently(update)
        except BrokerRefused as error:
            if error.status != TOO_LARGE or len(chunk.lines) == 1:
                raise
            middle = len(chunk.lines) // 2
            self._size.too_large(len(chunk.lines))
            self._carry_out(self._chunk(chunk.lines[:middle]))
            self._carry_out(self._chunk(chunk.lines[middle:]))
        else:
            self._size.took(len(chunk.lines), time.perf_counter() - began)

    def _patiently(self, update: str) -> None:
        backoff, since = Backoff(Random(), ClientSettings()), time.monotonic()  # noqa: S311 - no secret
        while True:
            try:
                if self._doubtful or time.monotonic() > self._heard_at + _SILENCE_S:
                    self._check()
                self.loaded.requests += 1
                self._client.update(update)
            except (ConnectionLost, BrokerRefused) as error:
                if isinstance(error, BrokerRefused) and not _passes(error.status):
                    raise
                self._doubtful = True
                if time.monotonic() - since >= self._settings.give_up_s:
                    raise LoadInterrupted(f"{error}; {self._so_far()}") from error
                self._sleep(backoff.next_s())
            else:
                self._heard_at = time.monotonic()
                return

    def _check(self) -> None:
        """Raises _Forgotten where nothing is there of what was answered last; ConnectionLost where nobody answers."""
        lines = [line for line in self._witnesses if line.strip()]
        if lines:
            try:
                found = self._client.ask(_question(lines, self._settings.graph))
            except BrokerRefused as error:
                if _passes(error.status):
                    raise
                found = True  # whoever may not ask has to believe
            except ConnectionLost:
                raise
            except ClientError:
                found = True  # an endpoint that can be changed, but not asked
            if not found:
                raise _Forgotten
        self._doubtful = False

    def _so_far(self) -> str:
        return f"{self._sum} of {self._files.lines} lines are loaded, the same command goes on from there"


def _passes(status: int) -> bool:
    """Whether a refusal may be another time's acceptance."""
    return status == TOO_MANY or status >= SERVER


def _question(lines: list[bytes], graph: str | None) -> str:
    alternatives = [
        text.decode().removeprefix("INSERT DATA ") for line in lines for text in insert_data([line], graph)
    ]
    return f"ASK {{ {' UNION '.join(alternatives)} }}"
