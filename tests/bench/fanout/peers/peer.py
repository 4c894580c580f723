"""What a peer is to the benchmark: a server that can be started, and where its consumers and publishers go."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.fanout.processes import ended

if TYPE_CHECKING:
    import subprocess


@dataclass(frozen=True)
class Mode:
    """How items are to leave: at once, or together with what comes within a window; compressed or not."""

    window_s: float = 0.0
    deflate: bool = False

    def __str__(self) -> str:
        window = f" {self.window_s:g} s" if self.window_s else ""
        return f"{'deflate' if self.deflate else 'plain'}{window}"


PLAIN, WINDOW, DEFLATE = Mode(), Mode(0.5), Mode(0.5, deflate=True)


@dataclass(frozen=True)
class Address:
    """Where a peer serves, what is spoken there (handshakes, sinks), and which processes are it."""

    pids: list[int]
    port: int
    protocol: str
    sink: str
    path: str = ""
    publish_path: str = ""
    publish_port: int = 0
    host: str = "127.0.0.1"


class Peer:
    """A server in one of its modes, made of so many processes where it can be several."""

    name = ""
    modes: tuple[Mode, ...] = (PLAIN,)
    several = False  # then it has as many consumers as its processes may have files

    def __init__(self, mode: Mode, processes: int = 1) -> None:
        self.mode, self.processes = mode, processes
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @staticmethod
    def missing() -> str:
        """Why it can't be measured here; empty where it can."""
        raise NotImplementedError

    def start(self) -> Address:
        """Start it, and wait until it serves.

        Raises:
            RuntimeError: it does not; says what it said.
        """
        raise NotImplementedError

    def stop(self) -> None:
        """End it, all of it."""
        if self._process is not None:
            ended(self._process)
        if self._folder is not None:
            self._folder.cleanup()

    def _configured(self, text: str) -> str:
        """The path of a file with this configuration, in a folder that goes with the peer."""
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix=f"fanout-{self.name}-")
        path = Path(self._folder.name) / "server.conf"
        path.write_text(text)
        return str(path)


def program(name: str) -> str | None:
    """Where a server is installed, also where only administrators have it on their PATH."""
    return shutil.which(name, path=f"/usr/sbin:/usr/local/sbin:{os.environ.get('PATH', '')}")
