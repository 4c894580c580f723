"""How much memory a query may use: a limit on the address space of the process that answers it."""

from __future__ import annotations

import contextlib
import os
import resource
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PAGE_BYTES = resource.getpagesize()


class MemoryLimit:
    """Lets this process grow by `allowed` bytes over what it needs for its store; 0 is no limit.

    What the store itself needs is not the query's: it may grow while the limit is `lifted`.
    """

    def __init__(self, allowed: int) -> None:
        self._allowed = allowed
        self._base = 0
        self._statm = -1

    @contextlib.contextmanager
    def lifted(self) -> Iterator[None]:
        """Without a limit for the time being; what comes by then is not the query's."""
        if not self._allowed:
            yield
            return
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        before = self._address_space() if self._base else 0
        try:
            yield
        finally:
            now = self._address_space()
            self._base += now - before
            # Where the system does not tell, there is no limit rather than one that nothing fits in.
            if now:
                wanted = max(now, self._base + self._allowed)
                soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
                resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

    def _address_space(self) -> int:
        try:
            if self._statm < 0:
                self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
            return int(os.pread(self._statm, 64, 0).split()[0]) * _PAGE_BYTES
        except OSError:
            return 0
