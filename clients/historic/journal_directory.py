"""The journal in the directory of a broker that runs on this machine, or is stopped; it is only read.

The broker may still take back the record that it wrote last, where the store refuses it (`Journal.undo_last`), so a
record counts when it is a second old.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from triplewire.broker.dataset.epochs import Epochs
from triplewire.broker.errors import JournalDamaged, StoreError
from triplewire.broker.journal.reader import JournalReader
from triplewire.broker.journal.record import HEADER
from triplewire.broker.journal.segment import SegmentReader, first_sequences, read_header, segment_path
from triplewire.broker.journal.snapshot import Snapshot, snapshot_sequences

from .journal_place import Beginning, JournalGap, OriginError, Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from triplewire.broker.journal.record import Record

SETTLE_S: Final = 1.0


class JournalDirectory:
    """An `Origin` on the local disk; `end` remembers how far it looked, so that it costs what is new."""

    def __init__(self, directory: Path, settle_s: float = SETTLE_S) -> None:
        self._directory = directory
        self._settle_s = settle_s
        self._tail: SegmentReader | None = None

    def beginning(self) -> Beginning:
        """See `Origin`.

        Raises:
            OriginError: there is no journal, or no whole snapshot where one is needed.
        """
        snapshot = self._newest_snapshot()
        firsts = first_sequences(self._directory)
        header = read_header(segment_path(self._directory, firsts[0])) if firsts else None
        if snapshot is None:
            if not (self._directory / "journal").is_dir():
                raise OriginError(f"{self._directory}: there is no journal")
            if firsts and firsts[0] > 1:
                raise OriginError(
                    f"{self._directory}: the journal begins with record {firsts[0]}, and no snapshot is whole"
                )
            return Beginning(Place(0, self._epoch()), header.time_ms if header else 0, None, 0)
        manifest = snapshot.manifest
        if header is None:
            return Beginning(
                Place(manifest.until, self._epoch()), manifest.time_ms, manifest.sequence, manifest.until
            )
        return Beginning(
            Place(firsts[0] - 1, self._epoch()), header.time_ms, manifest.sequence, manifest.until
        )

    def _newest_snapshot(self) -> Snapshot | None:
        for sequence in reversed(snapshot_sequences(self._directory)):
            try:
                snapshot = Snapshot.open(self._directory, sequence)
                snapshot.check()
            except JournalDamaged:
                continue
            return snapshot
        return None

    def end(self, after: Place, most_bytes: int) -> Place:
        """See `Origin`."""
        epochs = self._epochs()
        if after.epoch and epochs is not None and not epochs.holds(after.epoch, after.sequence):
            raise JournalGap(
                f"{self._directory}: the journal has lost record {after.sequence} as it was read, and given its number "
                "to another change: begin a new archive"
            )
        firsts = first_sequences(self._directory)
        if firsts and after.sequence + 1 < firsts[0]:
            raise self._gap(after.sequence + 1, firsts[0])
        last, size = after.sequence, 0
        for first, following in pairwise(firsts):
            if following - 1 <= last:
                continue
            size += self._size(first)
            last = following - 1
            if size >= most_bytes:
                return Place(last, self._epoch())
        if firsts:
            last = self._in_tail(firsts[-1], last, most_bytes - size)
        # Asked for last: whatever was just read is known in this epoch, too.
        return Place(last, self._epoch()) if last > after.sequence else after

    def settle(self) -> None:
        """See `Origin`."""
        time.sleep(self._settle_s)

    def _size(self, first: int) -> int:
        try:
            return segment_path(self._directory, first).stat().st_size
        except FileNotFoundError as error:
            raise self._gap(first, None) from error

    def _in_tail(self, first: int, last: int, most_bytes: int) -> int:
        """The last settled record of the newest segment."""
        tail = self._tail
        # Behind `last`, a query has been started anew from an earlier place.
        if tail is None or tail.first != first or tail.next - 1 > last:
            if tail is not None:
                tail.close()
            try:
                tail = self._tail = SegmentReader(segment_path(self._directory, first))
            except FileNotFoundError as error:
                raise self._gap(first, None) from error
            except JournalDamaged as error:
                raise OriginError(str(error)) from error
        return self._walked(tail, last, most_bytes)

    def _walked(self, tail: SegmentReader, last: int, most_bytes: int) -> int:
        now_ms = time.time() * 1000
        size = 0
        try:
            for frame in tail.frames():
                frame_bytes = HEADER.size + len(frame.payload)
                if 0 <= now_ms - frame.time_ms < self._settle_s * 1000:
                    tail.offset -= frame_bytes  # looked at again next time: it may be taken back
                    tail.next -= 1
                    break
                if frame.sequence > last:
                    last = frame.sequence
                    size += frame_bytes
                    if size >= most_bytes:
                        break
        except JournalDamaged as error:
            raise OriginError(str(error)) from error
        if tail.header is None:  # its writing is under way
            tail.close()
            self._tail = None
        return last

    def pieces(self, after: Place, upto: int) -> list[tuple[Place, int]]:
        """See `Origin`: one for each segment."""
        starts = [
            first - 1 for first in first_sequences(self._directory) if after.sequence < first - 1 < upto
        ]
        ends = [*starts, upto]
        return [
            (Place(start, after.epoch), end)
            for start, end in zip([after.sequence, *starts], ends, strict=True)
            if start < end
        ]

    def records(self, after: Place, upto: int) -> Iterator[Record]:
        """See `Origin`."""
        last = after.sequence
        try:
            with JournalReader(self._directory, after.sequence) as reader:
                for record in reader:
                    if record.sequence > upto:
                        break
                    last = record.sequence
                    yield record
                    if last == upto:  # what lies behind it may not be settled
                        break
        except StoreError as error:
            raise self._gap(last + 1, None) from error
        except JournalDamaged as error:
            raise OriginError(str(error)) from error
        if last < upto:
            raise JournalGap(f"{self._directory}: the journal ends with record {last}; {upto} was there")

    def snapshot_parts(self, snapshot: int) -> list[str]:
        """See `Origin`: its files."""
        return [part.name for part in self._snapshot(snapshot).manifest.parts]

    def snapshot_texts(self, snapshot: int, part: str) -> Iterator[bytes]:
        """See `Origin`."""
        whole = self._snapshot(snapshot)
        parts = tuple(one for one in whole.manifest.parts if one.name == part)
        only = Snapshot(whole.path, replace(whole.manifest, parts=parts))
        try:
            yield from only.texts()
        except JournalDamaged as error:
            raise JournalGap(
                f"{self._directory}: snapshot {snapshot} is not there any more: {error}"
            ) from error

    def _snapshot(self, sequence: int) -> Snapshot:
        try:
            return Snapshot.open(self._directory, sequence)
        except JournalDamaged as error:
            raise JournalGap(
                f"{self._directory}: snapshot {sequence} is not there any more: {error}"
            ) from error

    def _epochs(self) -> Epochs | None:
        try:
            entries = json.loads((self._directory / "epochs.json").read_bytes())
            return Epochs([(str(name), int(last)) for name, last in entries]) if entries else None
        except (OSError, ValueError, TypeError):
            return None

    def _epoch(self) -> str:
        epochs = self._epochs()
        return epochs.current if epochs is not None else ""

    def _gap(self, wanted: int, first: int | None) -> JournalGap:
        if first is None:
            first = next(iter(first_sequences(self._directory)), None)
        kept = f"it begins with record {first}" if first is not None else "it keeps none"
        return JournalGap(
            f"{self._directory}: record {wanted} of the journal is not kept any more, {kept}: begin a new archive, and "
            "let the broker keep more (journal.keep_bytes, journal.keep_s)"
        )
