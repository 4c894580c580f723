"""Parts of N-Quads into the directory of a broker that is not running, at the speed of Oxigraph's bulk loader."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pyoxigraph import RdfFormat

from .part_files import PartsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .part_files import PartFiles


def load_offline(
    files: PartFiles,
    data: Path,
    *,
    engine: str | None = None,
    graph: str | None = None,
    told: Callable[[int], None] = lambda _: None,
) -> float:
    """All parts as one load: one snapshot where the directory is new, else changes, and of what is new only.

    `told` hears of the bytes read, all in all.  Returns the seconds that it took.  A load that was interrupted is
    started again from its beginning, and comes to the same.

    Raises:
        StoreError: a broker has the directory, or it can't be written.
        JournalDamaged: what is kept there can't be trusted.
        PartsError: the parts can't be read; nothing of them is there.
    """
    # Here, so that loading into a running broker loads no engine.
    from triplewire.broker.dataset.offline import OfflineLoad  # noqa: PLC0415

    began, read = time.monotonic(), 0

    def heard(size: int) -> None:
        nonlocal read
        read += size
        told(read)

    with OfflineLoad(data, engine) as into:
        try:
            into.load(files.stream(heard), RdfFormat.N_QUADS, files.directory, graph)
        except SyntaxError as error:
            raise PartsError(f"{files.directory}: {error}") from error
    return time.monotonic() - began
