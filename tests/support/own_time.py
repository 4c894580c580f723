"""How long the caller's own thread computes: neither other threads count nor the garbage that other tests have left."""

from __future__ import annotations

import gc
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def own_time() -> Iterator[Callable[[], float]]:
    """What is given tells the seconds since the block began."""
    gc.disable()
    began = time.thread_time()
    try:
        yield lambda: time.thread_time() - began
    finally:
        gc.enable()
