"""Files that must survive a loss of power."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Make the names in a folder safe: files that came, went, or were renamed."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_synced(path: Path, data: bytes) -> None:
    """A whole file, safe when this returns; its name is not until its folder is synced."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_replaced(path: Path, data: bytes) -> None:
    """A whole file in place of the old one: after a loss of power there is one of the two."""
    draft = path.with_name(f"{path.name}.draft")
    write_synced(draft, data)
    draft.replace(path)
    sync_folder(path.parent)
