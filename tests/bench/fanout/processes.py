"""Processes beside this one: programs that are spoken to by lines of JSON, what servers have used, and open files."""

from __future__ import annotations

import json
import os
import resource
import select
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

TESTS = Path(__file__).parents[2]
BUILD = TESTS.parent / "build" / "bench"


def say(**answer: Any) -> None:
    """One line of JSON."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def use_all_files() -> int:
    """Raise this process's limit of open files to what it may have; those that it starts inherit it."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


class Program:
    """`python -m bench.fanout.<name> '<plan>'`."""

    def __init__(self, name: str, **plan: Any) -> None:
        self._name = name
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", f"bench.fanout.{name}", json.dumps(plan)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(TESTS)},
            bufsize=0,
        )
        self._lines = b""

    def tell(self, **order: Any) -> None:
        """An order, which it may answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")

    def answer(self, timeout_s: float) -> dict[str, Any]:
        """Its next line.

        Raises:
            TimeoutError, RuntimeError: there is none in time; it has ended.
        """
        assert self._process.stdout is not None
        out, until = self._process.stdout.fileno(), time.monotonic() + timeout_s
        while b"\n" not in self._lines:
            if not select.select([out], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError(f"{self._name} said nothing for {timeout_s} s")
            if not (data := os.read(out, 1 << 20)):
                raise RuntimeError(f"{self._name} ended with {self._process.wait()}")
            self._lines += data
        line, self._lines = self._lines.split(b"\n", 1)
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(self, timeout_s: float = 60, **order: Any) -> dict[str, Any]:
        """An order and its answer."""
        self.tell(**order)
        return self.answer(timeout_s)

    def stop(self) -> None:
        """Its input ends, and it does."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def cpu_s(pids: list[int]) -> float:
    """Processor time of these processes, in the system too, to the nanosecond (clock_getcpuclockid(3)).

    What /proc says is in ticks of 10 ms, which is a thousand deliveries.
    """
    return sum(time.clock_gettime((~pid << 3) | 2) for pid in pids)


def resident_kb(pids: list[int]) -> float:
    """What they have in memory; what they share is counted by shares."""
    return sum(psutil.Process(pid).memory_full_info().pss for pid in pids) / 1024


def family(pid: int) -> list[int]:
    """It and all that it has started."""
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


def free_port() -> int:
    """One that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def started(
    command: list[str], port: int, *, log: Path, env: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a server and wait until it listens.

    Raises:
        RuntimeError: it ends instead, or takes longer than 15 s; says what it said.
    """
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=os.environ | (env or {}))
    until = time.monotonic() + 15
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return process
        except OSError as error:
            if process.poll() is not None or time.monotonic() > until:
                process.kill()
                process.wait()
                raise RuntimeError(f"{command[0]} does not listen: {log.read_text()}") from error
            time.sleep(0.05)


def ended(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end, and make it."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
