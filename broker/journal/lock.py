"""One process at a time writes into a data directory."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

from triplewire.broker.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path


class DirectoryLock:
    """Holds `DIR/lock` until it is released or the process ends, however it ends."""

    def __init__(self, directory: Path) -> None:
        """Takes the lock.

        Raises:
            StoreError: another process has it, or the directory can't be written into.
        """
        path = directory / "lock"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreError(f"{directory} can't be written into: {error.strerror}") from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._fd)
            raise StoreError(f"{directory} is in use by another broker (process {holder})") from error
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let the next one in."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
