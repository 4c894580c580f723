"""A small file of a client, which nobody else can read, and of which nobody ever sees half."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, text: str, *, synced: bool) -> None:
    """Put a file with mode 600 and this text in the place of what is there.

    `synced`: a loss of power leaves the text as it was or as it is to be; the folder is the caller's to sync, where it
    must be the latter.

    Raises:
        OSError: it can't be written; what was there is as it was.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)  # its mode is 600
    try:
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - mkstemp's
            file.write(text)
            if synced:
                file.flush()
                os.fsync(descriptor)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
