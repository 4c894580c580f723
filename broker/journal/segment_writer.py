"""Appending to one segment, all of a record or nothing of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from triplewire.broker.errors import StoreError

from .files import sync_folder
from .segment import file_header, segment_path

if TYPE_CHECKING:
    from pathlib import Path


class SegmentWriter:
    """The end of a segment; what failed to be written in full is taken away before the next record comes."""

    def __init__(self, path: Path, first: int, fd: int, size: int) -> None:
        self.path = path
        self.first = first
        self.size = size
        self._fd = fd
        self._ragged = False

    @classmethod
    def create(cls, directory: Path, first: int, time_ms: int) -> SegmentWriter:
        """A new segment that begins with record `first`.

        Raises:
            StoreError: it can't be written; then it is not there.
        """
        path = segment_path(directory, first)
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _failed(path, error) from error
        writer = cls(path, first, fd, 0)
        try:
            writer.append(file_header(first, time_ms))
            os.fsync(fd)
            sync_folder(path.parent)
        except (StoreError, OSError) as error:
            os.close(fd)
            path.unlink(missing_ok=True)
            raise error if isinstance(error, StoreError) else _failed(path, error) from error
        return writer

    @classmethod
    def reopen(cls, path: Path, first: int, size: int) -> SegmentWriter:
        """The segment that was written last, whatever lies after `size` cut off.

        Raises:
            StoreError: it can't be written.
        """
        try:
            fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise _failed(path, error) from error
        writer = cls(path, first, fd, size)
        if os.fstat(fd).st_size != size:
            try:
                writer.cut(size)
            except StoreError:
                writer.close()
                raise
        return writer

    def append(self, data: bytes) -> None:
        """Write `data` at the end, in one call to the system where it takes it so.

        Raises:
            StoreError: there is no room, or the disk failed; nothing of `data` is there.
        """
        if self._ragged:
            self._truncate(self.size)
        try:
            written = os.write(self._fd, data)
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError as error:
            self._ragged = True
            self._truncate(self.size, error)
            raise _failed(self.path, error) from error
        self.size += len(data)

    def cut(self, size: int) -> None:
        """Take away what lies after `size`, safely.

        Raises:
            StoreError: the disk failed.
        """
        self.size = size
        self._ragged = True
        self._truncate(size)
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise _failed(self.path, error) from error

    def duplicate(self) -> int:
        """A descriptor of one's own, so that another thread can sync while this one appends or closes."""
        return os.dup(self._fd)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._fd)

    def _truncate(self, size: int, cause: OSError | None = None) -> None:
        try:
            os.ftruncate(self._fd, size)
        except OSError as error:
            raise _failed(self.path, cause or error) from error
        self._ragged = False


def _failed(path: Path, error: OSError) -> StoreError:
    return StoreError(f"the journal can't be written: {error.strerror} ({path})")
