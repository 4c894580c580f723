"""Who may be trusted to know which records: `DIR/epochs.json`.

A follower has records up to some number.  The journal it follows may have lost its end meanwhile, to a loss of power
or a repair, and given the same numbers to other changes.  So each opening of a journal is an epoch with a name that
nobody else has, and the journal knows how far each earlier epoch's records are still its own.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING

from triplewire.broker.journal.files import write_replaced

if TYPE_CHECKING:
    from pathlib import Path

_NAME = "epochs.json"
_MOST = 1000


class Epochs:
    """The epochs of one journal, oldest first: name, and the last record that was there when it began."""

    def __init__(self, entries: list[tuple[str, int]]) -> None:
        assert entries
        self._entries = entries

    @classmethod
    def begin(cls, directory: Path, last: int) -> Epochs:
        """A new epoch of the journal that has come to record `last`; safe on disk on return.

        Raises:
            OSError: it can't be written.
        """
        entries = [*_read(directory / _NAME), (secrets.token_hex(8), last)][-_MOST:]
        write_replaced(directory / _NAME, json.dumps(entries).encode())
        return cls(entries)

    @property
    def current(self) -> str:
        """The name of the present one."""
        return self._entries[-1][0]

    def holds(self, epoch: str, sequence: int) -> bool:
        """Whether what somebody knows as record `sequence` of `epoch`, and all before it, is this journal's own."""
        names = [name for name, _ in self._entries]
        if epoch not in names:
            return False
        later = self._entries[names.index(epoch) + 1 :]
        return all(sequence <= last for _, last in later)


def _read(path: Path) -> list[tuple[str, int]]:
    try:
        return [(str(name), int(last)) for name, last in json.loads(path.read_bytes())]
    except (OSError, ValueError, TypeError):
        return []  # nobody is trusted then: followers begin with a snapshot
