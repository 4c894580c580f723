"""A reader process that opens the files of a store on disk: `python -m triplewire.broker.readers.opened`.

It sees what was committed when it opened them, and is told when to open them anew.
"""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import Path

import pyoxigraph

from triplewire.broker.threads import STACK_BYTES

from .child import Child
from .forking import alone
from .memory import MemoryLimit
from .wire import Channel

# RocksDB writes a file every few seconds at most; opening takes 10 ms.
_ATTEMPTS = 5


def open_store(path: Path) -> pyoxigraph.Store:
    """The store as it is now, with all that was committed.

    RocksDB reads the list of its tables first and the logs that are not in them after.  A log that becomes a table
    between the two would be in neither, and nothing would tell.  So the list must not have changed meanwhile.

    Raises:
        OSError, RuntimeError: it can't be opened, or changes each time.
    """
    for _ in range(_ATTEMPTS):
        before = _list_of_tables(path)
        store = pyoxigraph.Store.read_only(str(path))
        if _list_of_tables(path) == before:
            return store
    raise OSError(f"the files in {path} change too often to be opened")


def _list_of_tables(path: Path) -> tuple[str, int]:
    """Its file, and how long that is: it is only ever appended to."""
    name = (path / "CURRENT").read_text(encoding="ascii").strip()
    return name, (path / name).stat().st_size


def main(fd: str, parent: str, memory_bytes: str, path: str) -> None:
    """Answer questions until the broker is gone."""
    channel = Channel(alone(int(fd), int(parent)))
    gc.disable()
    child = Child(channel, lambda: open_store(Path(path)), MemoryLimit(int(memory_bytes)), _ATTEMPTS)
    threading.stack_size(STACK_BYTES)  # as on the broker's own threads
    thread = threading.Thread(target=child.serve)
    thread.start()
    thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
