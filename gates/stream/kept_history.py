"""A history that outlives the process: each item is in a file before it counts as taken.

A thread makes the file safe from a loss of power, about once a second while items come, and rewrites it when it is twice
as large as what is kept of it.  The event loop only ever appends, which costs microseconds.

Where that fails, nothing is taken.  After an append it may be tried again.  After a sync that failed nobody can say what is
on the disk: all that is kept is written into a new file first.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING
from uuid import uuid4

from triplewire.broker.errors import StoreError
from triplewire.broker.wire.items import TEST_CONNECTION

from .history import History
from .history_file import HEADER_BYTES, HistoryFile, Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from triplewire.broker.config import StreamConfig

    from .entry import Entry

_log = logging.getLogger("triplewire.gates.stream")

_SYNC_S = 1.0
# Below it a rewriting would cost more than the room it gives back.
SPARE_BYTES = 64 * 1024


class KeptHistory(History):
    """The history in the file at `path`, which is made where it is not there.

    Raises:
        StoreError: the file can't be read or written.
    """

    def __init__(
        self,
        name: str,
        config: StreamConfig,
        path: Path,
        clock: Callable[[], float] = time.time,
        *,
        sync_s: float = _SYNC_S,
    ) -> None:
        super().__init__(name, config, clock)
        self._file, kept = HistoryFile.open(path, config.source_id or str(uuid4()))
        self.source_id = config.source_id or kept.source_id
        self.restore(kept.entries, kept.last)
        self._sync_s = sync_s
        self._rewriting: tuple[Kept, int] | None = None
        self._failed: StoreError | None = None  # a sync
        self._trouble = ""
        self._changed = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"history of {name}", daemon=True)
        self._thread.start()

    def add(self, entries: Iterable[Entry]) -> None:
        """Keep these, in the file first.

        Raises:
            StoreError: they can't be written, or what was written before can't be made safe; none of them was added.
        """
        entries = [*entries]
        lasting = [entry for entry in entries if entry.item.command != TEST_CONNECTION]
        if lasting:
            if (failed := self._failed) is not None:
                self._rewriting = self._rewriting or self._whole()
                self._changed.set()
                raise StoreError(failed.description)
            self._append(lasting)
        super().add(entries)
        if lasting:
            self._ask_for_rewriting()
            self._changed.set()

    @property
    def trouble(self) -> str:
        """See `History`: of the last time that something was to be kept."""
        failed = self._failed
        return failed.description if failed is not None else self._trouble

    def close(self) -> None:
        """Make safe what is there and let go of the file; may be called again."""
        if not self._closing.is_set():
            self._closing.set()
            self._changed.set()
            self._thread.join()
            self._file.close()

    def _append(self, entries: list[Entry]) -> None:
        try:
            self._file.append(entries)
        except StoreError as error:
            self._trouble = error.description
            raise
        self._trouble = ""

    def _ask_for_rewriting(self) -> None:
        kept_bytes = self.bytes + HEADER_BYTES * len(self)
        if self._rewriting is None and self._file.size > 2 * kept_bytes + SPARE_BYTES:
            self._rewriting = self._whole()

    def _whole(self) -> tuple[Kept, int]:
        """Taken together: all that counts of the file as long as it is now."""
        return Kept(self.source_id, list(self), self.last), self._file.size

    def _keep(self) -> None:
        while not self._closing.is_set():
            self._changed.wait()
            self._closing.wait(self._sync_s)
            self._changed.clear()
            self._rewrite()
            self._sync()

    def _rewrite(self) -> None:
        if self._rewriting is not None:
            try:
                self._file.rewrite(*self._rewriting)
            except StoreError as error:
                # It is asked for again with the next item; until then there is the old file.
                if self._failed is None:
                    _log.warning("%s", error)
            else:
                if self._failed is not None:
                    _log.info("= the history of the stream %s can be kept again", self.name)
                self._failed = None
            self._rewriting = None

    def _sync(self) -> None:
        try:
            self._file.sync()
        except StoreError as error:
            if self._failed is None:
                _log.exception("the history of the stream %s can't be kept", self.name)
            self._failed = error
            self._rewriting = None  # asked for before, it would take from the file what came since
