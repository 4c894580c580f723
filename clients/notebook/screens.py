"""Where a picture is shown: in the notebook's cell, again and again at the same place, or in a file."""

from __future__ import annotations

import base64
import os
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any, Protocol


class Screen(Protocol):
    """Something that shows the last picture."""

    def show(self, picture: bytes, words: str) -> None:
        """Show this PNG in the place of the one before; `words` are for who can't see it."""
        ...


class CellScreen:
    """The output of the cell that shows it first; Jupyter's `update_display_data`, so any thread may show."""

    def __init__(self) -> None:
        self._id = uuid.uuid4().hex
        self._shown = False

    def show(self, picture: bytes, words: str) -> None:
        """See `Screen`."""
        from IPython.display import display, update_display  # noqa: PLC0415 - there where a notebook is

        data = {"image/png": base64.b64encode(picture).decode("ascii"), "text/plain": words}
        about = {"image/png": {"alt": words}}
        tell: Any = update_display if self._shown else display
        tell(data, raw=True, metadata=about, display_id=self._id)
        self._shown = True


class FileScreen:
    """A PNG file that is replaced as a whole: who reads it never sees half a picture."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def show(self, picture: bytes, words: str) -> None:  # noqa: ARG002 - a PNG has no place for them
        """See `Screen`; raises OSError where the file can't be written."""
        number, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(picture)
            Path(name).chmod(0o644)
            Path(name).replace(self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook: Jupyter, VS Code and the like."""
    ipython: Any = sys.modules.get("IPython")  # a kernel has loaded it
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
