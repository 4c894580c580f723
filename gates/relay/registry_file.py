"""The registry as it was read last, in a file: a tracker that starts while the broker is away goes on by it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import RdfFormat, Triple

from triplewire.clients.private_file import replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from .registered import Triples

log = logging.getLogger("triplewire.gates.relay")

NAME = "registry.nt"


class RegistryFile:
    """`NAME` in a directory, as N-Triples; methods wait for the disk.  What can't be read or written is logged."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / NAME

    def load(self) -> Triples | None:
        """What was kept; None where nothing was, or nothing that can be read."""
        try:
            text = self._path.read_bytes()
            return [
                (quad.subject, quad.predicate, quad.object)
                for quad in pyoxigraph.parse(text, format=RdfFormat.N_TRIPLES)
            ]
        except FileNotFoundError:
            return None
        except (OSError, SyntaxError, ValueError) as error:
            log.warning("! %s can't be read: %.300s", self._path, error)
            return None

    def keep(self, triples: Triples) -> None:
        """Put this in the place of what was kept."""
        lines = pyoxigraph.serialize((Triple(*one) for one in triples), format=RdfFormat.N_TRIPLES) or b""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._path, lines.decode("utf-8"), synced=True)
        except OSError as error:
            log.warning("! the registry can't be kept in %s: %s", self._path, error)
