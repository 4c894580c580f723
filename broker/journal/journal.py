"""The journal as its one writer sees it.

A change walks in three steps on the writer's thread: `append` it, write it into the store, `settle`.  Where the store
refuses it, `undo_last` instead: then it never was.  Readers and snapshots never see a record that is not settled.
`sync`, reading, snapshots and `retain` may happen on other threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triplewire.broker import meters
from triplewire.broker.errors import JournalDamaged, StoreError

from .files import sync_folder
from .lock import DirectoryLock
from .reader import JournalReader
from .record import Record, encode
from .repair import set_aside
from .segment import FOLDER
from .segments import Segments
from .snapshot import snapshot_sequences

if TYPE_CHECKING:
    from pathlib import Path

    from triplewire.broker.config import JournalConfig
    from triplewire.broker.model import QuadDelta


@dataclass(frozen=True, slots=True)
class JournalStatistics:
    """How much there is, and how much of it is new since the journal was opened, synced, or held by a snapshot."""

    first_sequence: int
    last_sequence: int
    segments: int
    size: int
    appended_records: int
    appended_bytes: int
    unsynced_bytes: int
    bytes_since_snapshot: int
    torn_bytes: int


class Journal:
    """Appends changes; while it is open, no other process can write into the directory."""

    def __init__(self, directory: Path, config: JournalConfig, lock: DirectoryLock) -> None:
        self.directory = directory
        self._config = config
        self._lock = lock
        self._segments = Segments(directory, config)
        end = self._segments.find_end()
        snapshots = snapshot_sequences(directory)
        self.torn_bytes = end.torn_bytes
        # Where the journal was thrown away and its snapshots were not, their numbers are used up.
        self._last = self._settled = max([end.sequence, *snapshots])
        if self._last > end.sequence:
            self._segments.close()
        self._last_bytes = 0
        self._time_ms = end.time_ms
        self._appended_records = self._appended_bytes = self._synced_bytes = 0
        self._synced_at = 0.0
        held = snapshots[-1] if snapshots else 0
        self._snapshot_at = -self._segments.size_after(held) if held < self._last else 0

    @classmethod
    def open(cls, directory: Path, config: JournalConfig) -> Journal:
        """The journal, ready to append after its last record; a torn tail is cut off.

        Raises:
            StoreError: another process has it open, or the directory can't be written into.
            JournalDamaged: the last segment can't be trusted.
        """
        lock = DirectoryLock(directory)
        try:
            (directory / FOLDER).mkdir(exist_ok=True)
            sync_folder(directory)
            return cls(directory, config, lock)
        except OSError as error:
            lock.release()
            raise StoreError(f"{directory} can't be written into: {error.strerror}") from error
        except (StoreError, JournalDamaged):
            lock.release()
            raise

    def begin_after(self, sequence: int) -> None:
        """Begin anew behind a snapshot of that number; all segments there are, are set aside.

        Raises:
            OSError: they can't be.
        """
        self._segments.close()
        set_aside(self.directory)
        self._segments = Segments(self.directory, self._config)
        self._last = self._settled = sequence
        self._last_bytes = 0
        self._appended_records = self._appended_bytes = self._synced_bytes = 0
        self._snapshot_at = 0

    @property
    def last_sequence(self) -> int:
        """The record that was appended last, 0 where there never was one."""
        return self._last

    @property
    def settled_sequence(self) -> int:
        """The last record that the store has as well."""
        return self._settled

    @property
    def last_time_ms(self) -> int:
        """The time of the record that was appended last."""
        return self._time_ms

    @property
    def first_sequence(self) -> int:
        """The oldest record that is kept; the one to come where there is none."""
        first = self._segments.first
        return self._last + 1 if first is None else first

    def append(self, delta: QuadDelta, client: str, now: float) -> int:
        """Append one change and return its sequence number; `now` is in seconds since 1970.

        Times never go back: where the clock does, the last record's time is used.

        Raises:
            MalformedRequest: a term can't be written as N-Quads; nothing has changed.
            StoreError: it can't be written; nothing has changed, and the next one may succeed.
        """
        sequence = self._last + 1
        time_ms = max(int(now * 1000), self._time_ms)
        data = encode(Record.of(delta, sequence, time_ms, client))
        try:
            self._segments.append(data, sequence, time_ms)
        except StoreError:
            meters.APPEND_FAILED.inc()
            raise
        self._settled = self._last
        self._last = sequence
        self._last_bytes = len(data)
        self._time_ms = time_ms
        self._appended_records += 1
        self._appended_bytes += len(data)
        return sequence

    def settle(self) -> None:
        """The store has what was appended last: readers may see it."""
        self._settled = self._last
        self._last_bytes = 0

    def undo_last(self) -> None:
        """Take back the record appended last, which the store refused; safe from a loss of power on return.

        Raises:
            StoreError: it can't be taken back; then nothing more can be appended.
        """
        assert self._last_bytes, "a record that is settled can't be taken back"
        self._segments.cut(self._last_bytes)
        self._last -= 1
        self._appended_records -= 1
        self._appended_bytes -= self._last_bytes
        self._synced_bytes = min(self._synced_bytes, self._appended_bytes)
        self._last_bytes = 0

    def is_sync_due(self, now: float) -> bool:
        """Whether the policy asks for `sync` before the answers go out."""
        if self._appended_bytes == self._synced_bytes or self._config.fsync == "never":
            return False
        return self._config.fsync == "always" or now - self._synced_at >= self._config.fsync_s

    def sync(self, now: float = 0.0) -> None:
        """Make all that was appended safe from a loss of power.

        Raises:
            StoreError: the disk failed; what it lost can't be known, so nothing more can be appended.
        """
        upto = self._appended_bytes
        self._segments.sync()
        self._synced_bytes = max(self._synced_bytes, upto)
        self._synced_at = max(self._synced_at, now)

    def read(self, after: int = 0) -> JournalReader:
        """The settled records after a sequence number, from any thread; iterate again to go on."""
        return JournalReader(self.directory, after, settled=lambda: self._settled)

    def is_snapshot_due(self) -> bool:
        """Whether the records since the last snapshot are many enough for a new one."""
        return self._appended_bytes - self._snapshot_at >= self._config.snapshot_bytes

    @property
    def appended_bytes(self) -> int:
        """How much was appended since the journal was opened."""
        return self._appended_bytes

    def snapshot_made(self, appended_bytes: int) -> None:
        """A snapshot holds all that had been appended at that figure."""
        self._snapshot_at = appended_bytes

    def retain(self, now: float) -> int:
        """Drop segments that are too old or too many and that every snapshot holds; returns how many went."""
        return self._segments.retain(self._covered(), int(now * 1000))

    def drop_before(self, sequence: int) -> int:
        """Drop segments with no record from `sequence` on, where every snapshot holds them; how many went."""
        return self._segments.drop_before(sequence, self._covered())

    def statistics(self) -> JournalStatistics:
        """The figures of this moment."""
        return JournalStatistics(
            first_sequence=self.first_sequence,
            last_sequence=self._last,
            segments=self._segments.count,
            size=self._segments.size,
            appended_records=self._appended_records,
            appended_bytes=self._appended_bytes,
            unsynced_bytes=self._appended_bytes - self._synced_bytes,
            bytes_since_snapshot=self._appended_bytes - self._snapshot_at,
            torn_bytes=self.torn_bytes,
        )

    def close(self) -> None:
        """Make everything safe and let the next process in.

        Raises:
            StoreError: the disk failed.
        """
        try:
            self._segments.close()
        finally:
            self._lock.release()

    def _covered(self) -> int:
        return min(snapshot_sequences(self.directory), default=0)
