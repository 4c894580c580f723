"""A program of the project in a process of its own, which says `ready` when it answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Started(NamedTuple):
    """The process, the file that has its log, and the lines with which it says where it is, `ready` the last."""

    process: subprocess.Popen[str]
    log_path: Path
    lines: list[str]


def started(name: str, *arguments: str, env: dict[str, str] | None = None) -> Started:
    """`triplewire NAME ...`, when it is ready; raises RuntimeError with its output where it ends instead."""
    log = tempfile.NamedTemporaryFile(  # noqa: SIM115 - it outlives this function
        mode="w", suffix=".log", prefix="triplewire-", delete=False
    )
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "triplewire.clients", name, *arguments],
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        env=os.environ | (env or {}),
    )
    log.close()
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if lines[-1] == "ready":
            return Started(process, Path(log.name), lines)
    process.wait()
    process.stdout.close()
    message = f"`{name}` ended with {process.returncode}: {lines} {Path(log.name).read_text()}"
    raise RuntimeError(message)


@dataclass
class RunningProgram:
    """One that was `started`; who starts it ends it, by `stop` or `kill`."""

    process: subprocess.Popen[str]
    log_path: Path
    lines: list[str]

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def log(self) -> str:
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def stop(self, timeout: float = 15) -> int:
        """SIGTERM, and its exit status; the log of one that does not end is left where it is."""
        if self.alive:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self._close()
        self.log_path.unlink(missing_ok=True)
        return status

    def kill(self) -> None:
        """As by a loss of power."""
        self.process.kill()
        self.process.wait()
        self._close()
        self.log_path.unlink(missing_ok=True)

    def _close(self) -> None:
        if self.process.stdout is not None:
            self.process.stdout.close()
