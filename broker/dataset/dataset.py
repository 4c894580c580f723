"""The quads, and what keeps them: an Oxigraph store, its journal, its renewal.

Which thread does what.  The core thread calls `write`, holding `quiet` as it does for all of a request.  One keeper
thread calls `keep` and `sync`.  Readers take `store` once a query and keep what they got: a renewal gives the dataset
another store with the same content, and the old one lives as long as somebody reads it.
"""

from __future__ import annotations

import gc
import logging
import math
import pickle
import shutil
import tempfile
import threading
import time
from collections import deque
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph
from pyoxigraph import RdfFormat

from triplewire.broker.delta_writer import write_delta
from triplewire.broker.errors import StoreError
from triplewire.broker.journal.checkpoint import checkpoint
from triplewire.broker.journal.snapshot_writer import Draft, write_draft
from triplewire.broker.readers.forking import run_forked
from triplewire.broker.threads import FairLock

from .churn import Churn
from .copying import copy_from, copy_of
from .position import read_position, write_position

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.config import JournalConfig
    from triplewire.broker.journal.journal import Journal
    from triplewire.broker.model import QuadDelta

    from .epochs import Epochs

log = logging.getLogger("triplewire.broker.dataset")

# Changes that the swap itself may still have to replay, on the core's time.
_SWAP_CHANGES = 16
# A renewal takes a processor for a while: it rests for this many times as long.
_REST = 4
# An old store is let go of when nothing was written for so long; at the latest after so long.
_QUIET_S, _QUIET_WITHIN_S = 0.5, 60.0
# After a failure, the same is not tried again at once.
_RETRY_S = 30.0


@dataclass(slots=True)
class Upkeep:
    """Counters since the start; seconds are of the last one."""

    snapshots: int = 0
    snapshot_s: float = 0.0
    renewals: int = 0
    renewal_s: float = 0.0
    swap_s: float = 0.0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """Where and how a dataset outlives the process; `flush_s` is of the disk engine's own files, None without any."""

    directory: Path
    journal: Journal
    epochs: Epochs
    config: JournalConfig
    flush_s: float | None = None


class Dataset:
    """One store at a time; `kept` is None where nothing outlives the process."""

    def __init__(self, store: pyoxigraph.Store, churn: Churn, kept: Kept | None = None) -> None:
        self.quiet = FairLock()
        self.churn = churn
        self.kept = kept
        self.upkeep = Upkeep()
        # The record of the journal, here or where the changes come from, that the dataset is at.
        self.sequence = kept.journal.last_sequence if kept is not None else 0
        self._store: pyoxigraph.Store | None = store
        self._writing = threading.Lock()
        self._keeping = threading.Lock()
        self._closing = False
        # Set where copies of this process read the store: then no thread but the core's may be inside it when one is
        # made, and what reads all of it does so in a copy, too.
        self.is_copied = False
        self._listeners: list[Callable[[QuadDelta], None]] = []
        self._swapped: Callable[[], None] = lambda: None
        self._missed: deque[QuadDelta] | None = None
        self._retired: pyoxigraph.Store | None = None
        self._written_at = self._retired_at = 0.0
        self._failed = False
        self._flushed = -1
        self._flush_at = self._snapshot_at = self._renewal_at = 0.0

    @property
    def store(self) -> pyoxigraph.Store:
        """The store of this moment: for one query or one request.

        Raises:
            StoreError: there is none: it failed, and could not be opened again.
        """
        if self._store is None:
            raise StoreError("the store is not open")
        return self._store

    @property
    def is_disk(self) -> bool:
        """Whether the store itself is in files."""
        return self.kept is not None and self.kept.flush_s is not None

    def _write_store(self, delta: QuadDelta, kept: Kept) -> None:
        if self._failed:
            self._revive(kept)
        try:
            write_delta(self.store, delta)
        except StoreError:
            if not self.is_disk:
                raise
            self._failed = True
            self._revive(kept)
            write_delta(self.store, delta)

    def _revive(self, kept: Kept) -> None:
        """Open the disk engine's files again: after a failure, as of a full disk, RocksDB takes nothing until then."""
        position = read_position(kept.directory)
        self._store = None
        gc.collect()  # the files are let go of with the last reference
        try:
            store = pyoxigraph.Store(str(kept.directory / "store"))
            with kept.journal.read(position.sequence if position is not None else 0) as reader:
                for record in reader:
                    write_delta(store, record.delta())
        except OSError as error:
            raise StoreError(
                f"the store can't be opened again: {' '.join(str(error).split())[:300]}"
            ) from error
        self._store = store
        self._failed = False
        log.warning("= the store was opened again after a failure")

    def replay(self, delta: QuadDelta, sequence: int, *, leap: bool = False) -> None:
        """Write a change that was made elsewhere, its record's number `sequence`; for datasets that are not kept.

        Raises:
            StoreError: it does not follow on what is here, or can't be written; nothing has changed.
        """
        assert self.kept is None
        if sequence != self.sequence + 1 and not leap:
            raise StoreError(f"record {sequence} does not follow on {self.sequence}")
        if delta:
            self.write(delta)
        self.sequence = sequence

    def adopt(self, store: pyoxigraph.Store, quads: int, sequence: int) -> None:
        """Begin with a store that was filled elsewhere; before anybody has asked."""
        self._store = store
        self.churn = Churn(quads)
        self.sequence = sequence

    def listen(self, told: Callable[[QuadDelta], None], swapped: Callable[[], None] | None = None) -> None:
        """Have `told` called on the core thread with each change, when it is written and nobody has heard of it.

        `swapped` is called while `quiet` is held, when the store is another one with the same content.
        """
        self._listeners.append(told)
        if swapped is not None:
            self._swapped = swapped

    def write(self, delta: QuadDelta, client: str = "") -> None:
        """Write a change, all or nothing: into the journal, then into the store.

        Raises:
            MalformedRequest: a term can't be written as N-Quads; nothing has changed.
            StoreError: it can't be written; nothing has changed.
        """
        kept = self.kept
        with self._writing:
            if kept is None:
                write_delta(self.store, delta)
            else:
                kept.journal.append(delta, client, time.time())
                try:
                    self._write_store(delta, kept)
                except BaseException:  # a panic inside Oxigraph is one; it has rolled back
                    kept.journal.undo_last()
                    raise
                kept.journal.settle()
                self.sequence = kept.journal.last_sequence
            if self._missed is not None:
                self._missed.append(delta)
        self.churn.count(delta)
        self._written_at = time.monotonic()
        for told in self._listeners:
            told(delta)

    @property
    def answers_when_synced(self) -> bool:
        """Whether what was written must be made safe before it is answered."""
        return self.kept is not None and self.kept.config.fsync == "always"

    def sync(self) -> None:
        """Make what was written safe from a loss of power, unless the settings leave that to the system.

        Raises:
            StoreError: the disk failed; nothing more is written until the broker starts anew.
        """
        if self.kept is not None and self.is_sync_due():
            self.kept.journal.sync()

    def is_sync_due(self) -> bool:
        """Whether `sync` has anything to do; at once, on any thread."""
        return self.kept is not None and self.kept.journal.is_sync_due(math.inf)

    def is_keep_due(self) -> bool:
        """Whether `keep` may have anything to do; at once, on any thread: it costs less than a thread's wake."""
        return (
            self._retired is not None
            or (self.is_disk and time.monotonic() >= self._flush_at)
            or (self.kept is not None and self.kept.journal.is_snapshot_due())
            or self.churn.is_due
        )

    def keep(self) -> None:
        """Do whatever is due: flush, snapshot, renewal.  For one thread that is not the core's; may take long.

        Failures are logged, and tried again later.
        """
        with self._keeping:
            if self._closing:
                return
            self._drop_retired()
            now = time.monotonic()
            if self.is_disk and now >= self._flush_at:
                assert self.kept is not None
                assert self.kept.flush_s is not None
                done = self._try("flushing the store", self.flush)
                self._flush_at = now + (self.kept.flush_s if done else _RETRY_S)
            if self.kept is not None and self.kept.journal.is_snapshot_due() and now >= self._snapshot_at:
                done = self._try("writing a snapshot", self.snapshot)
                self._snapshot_at = 0.0 if done else time.monotonic() + _RETRY_S
            if self.churn.is_due and now >= self._renewal_at:
                began = time.monotonic()
                done = self._try("renewing the store", self.renew)
                took = time.monotonic() - began
                self._renewal_at = time.monotonic() + (_REST * took if done else _RETRY_S)

    def _try(self, what: str, work: Callable[[], object]) -> bool:
        try:
            work()
        except Exception:
            self.upkeep.failures += 1
            log.exception("! %s failed", what)
            return False
        return True

    def flush(self) -> None:
        """Make the files of the disk engine safe, so that a start need not replay more than what comes now.

        Raises:
            StoreError: the disk failed.
        """
        kept = self.kept
        if kept is None or kept.flush_s is None:
            return
        sequence = kept.journal.settled_sequence
        if sequence == self._flushed:
            return
        kept.journal.sync()  # the store must not be ahead of it
        try:
            self.store.flush()
            write_position(kept.directory, sequence)
        except OSError as error:
            self._failed = True
            raise StoreError(f"flushing the store failed: {' '.join(str(error).split())[:300]}") from error
        self._flushed = sequence

    def snapshot(self) -> int:
        """Write a snapshot now, whatever is due; returns its sequence number.

        Raises:
            StoreError: it can't be written, or there is no journal.
        """
        if self.kept is None:
            raise StoreError("nothing is kept: there is no directory (store.data)")
        began = time.monotonic()
        kept = self.kept
        made = checkpoint(kept.journal, self.store, kept.config, time.time(), self._draft)
        self.upkeep.snapshots += 1
        self.upkeep.snapshot_s = time.monotonic() - began
        return made.manifest.sequence

    def renew(self) -> None:
        """Get rid of what is dead: a new store in place of the one in memory; compaction on disk.

        Raises:
            StoreError: Oxigraph failed; the store is what it was.
        """
        began = time.monotonic()
        dead = self.churn.dead
        if self.is_disk:
            self.store.optimize()
            self.churn.renewed(dead)
        else:
            self._swap(dead)
        self.upkeep.renewals += 1
        self.upkeep.renewal_s = time.monotonic() - began
        log.info("= renewed in %.1f s: %d dead quads", self.upkeep.renewal_s, dead)

    def _swap(self, dead: int) -> None:
        self._retired = None
        with self._writing:
            missed = self._missed = deque()
        try:
            copy = self._copy()
            while len(missed) > _SWAP_CHANGES:
                self._check()
                write_delta(copy, missed.popleft())
            began = time.monotonic()
            with self.quiet, self._writing:
                for delta in missed:
                    write_delta(copy, delta)
                self._missed = None
                self._retired, self._store = self._store, copy
                self._retired_at = time.monotonic()
                self._swapped()
            self.upkeep.swap_s = time.monotonic() - began
            self.churn.renewed(dead)
        finally:
            with self._writing:
                self._missed = None

    def _draft(self, directory: Path, store: pyoxigraph.Store, sequence: int) -> Draft:
        if not self.is_copied:
            return write_draft(directory, store, sequence)
        job = partial(_pickled_draft, directory, store, sequence)
        draft = pickle.loads(run_forked(self.quiet, job, self._check))  # noqa: S301 - from ourselves
        assert isinstance(draft, Draft)
        return draft

    def _copy(self) -> pyoxigraph.Store:
        if not self.is_copied:
            return copy_of(self.store, self._check)[0]
        with tempfile.TemporaryDirectory(prefix="triplewire-") as folder:
            path = Path(folder) / "quads.nq"
            graphs = pickle.loads(run_forked(self.quiet, partial(_dumped, self.store, path), self._check))  # noqa: S301
            return copy_from(path, graphs, self._check)

    def _drop_retired(self) -> None:
        """Let the old store go, at a quiet moment if one comes.

        Oxigraph takes about 0.4 us a quad for it, and Python's lock is held meanwhile.
        """
        if self._retired is None:
            return
        now = time.monotonic()
        if now - self._written_at > _QUIET_S or now - self._retired_at > _QUIET_WITHIN_S:
            self._retired = None

    def health(self) -> dict[str, Any]:
        """How much there is, and how its upkeep goes, for operators."""
        upkeep = self.upkeep
        found: dict[str, Any] = {
            "dataset": {
                "quads": self.churn.live,
                "dead": self.churn.dead,
                "renewals": upkeep.renewals,
                "renewal_s": round(upkeep.renewal_s, 3),
                "swap_s": round(upkeep.swap_s, 4),
                "failures": upkeep.failures,
            }
        }
        kept = self.kept
        if kept is not None:
            found["journal"] = {
                **asdict(kept.journal.statistics()),
                "snapshots": upkeep.snapshots,
                "snapshot_s": round(upkeep.snapshot_s, 3),
                "free_bytes": _free_bytes(kept.directory),
            }
        return found

    def _check(self) -> None:
        if self._closing:
            raise StoreError("the broker is shutting down")

    def close(self) -> None:
        """Make everything safe, and let go of the files.

        Raises:
            StoreError: the disk failed.
        """
        self._closing = True
        with self._keeping:
            if self._store is None:
                return
            try:
                self.flush()
            finally:
                kept, self.kept = self.kept, None
                self._store = self._retired = (
                    None  # Oxigraph has no close: the last reference lets its files go
                )
                if kept is not None:
                    kept.journal.close()
                    if kept.flush_s is not None:
                        write_position(kept.directory, self._flushed, ended_well=True)


def _free_bytes(directory: Path) -> int | None:
    """What the disk has left for us; None where it does not say."""
    try:
        return shutil.disk_usage(directory).free
    except OSError:
        return None


def _pickled_draft(directory: Path, store: pyoxigraph.Store, sequence: int) -> bytes:
    return pickle.dumps(write_draft(directory, store, sequence))


def _dumped(store: pyoxigraph.Store, path: Path) -> bytes:
    store.dump(str(path), format=RdfFormat.N_QUADS)
    return pickle.dumps(list(store.named_graphs()))
