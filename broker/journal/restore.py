"""The dataset as it was, as a file of N-Quads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triplewire.broker.errors import StoreError

from .past import past

if TYPE_CHECKING:
    from pathlib import Path

    from .moment import Moment


@dataclass(frozen=True, slots=True)
class Restored:
    """What was written, and of which record's dataset."""

    sequence: int
    quads: int


def restore(directory: Path, out: Path, at: Moment | None = None) -> Restored:
    """Write the dataset after a record or at a time, as it is now without either; `out` is whole or not there.

    Graphs without a quad have no place in N-Quads.

    Raises:
        JournalDamaged: what is kept can't be trusted.
        StoreError: that moment is not kept, or `out` can't be written.
    """
    found = past(directory, at)
    quads = 0
    draft = out.with_name(f"{out.name}.draft")
    try:
        with draft.open("wb") as file:
            for text in found.texts():
                file.write(text)
                quads += text.count(b"\n")
        draft.replace(out)
    except OSError as error:
        raise StoreError(f"{out} can't be written: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)
    return Restored(found.sequence, quads)
