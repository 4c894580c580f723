"""How far the files of the disk engine surely are: `DIR/store.json`.

Oxigraph's files are behind the journal by what was not flushed, never by a part of a change.  Records say exactly what
came and went, so replaying some that are there already does no harm.  One thing does: a machine that loses power may
lose the end of the journal and keep what the store had of it.  So the position also says which boot of the machine it
is of, and whether the process ended well.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from triplewire.broker.journal.files import write_replaced

_NAME = "store.json"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Position:
    """The store holds every record up to `sequence`."""

    sequence: int
    boot: str
    ended_well: bool

    @property
    def is_trusted(self) -> bool:
        """Whether the store can't hold anything that the journal has lost."""
        return self.ended_well or (self.boot != "" and self.boot == this_boot())


def this_boot() -> str:
    """A name for the time since the machine started; empty where it can't be known."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def read_position(directory: Path) -> Position | None:
    """What was written last, None where nothing was, or nothing that can be read."""
    try:
        return Position(**json.loads((directory / _NAME).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def write_position(directory: Path, sequence: int, *, ended_well: bool = False) -> None:
    """Say how far the store is; whole or not there, and safe from a loss of power on return.

    Raises:
        OSError: it can't be written.
    """
    position = Position(sequence, this_boot(), ended_well)
    write_replaced(directory / _NAME, json.dumps(asdict(position)).encode())


def remove_position(directory: Path) -> None:
    """Nothing is known of the store."""
    (directory / _NAME).unlink(missing_ok=True)
