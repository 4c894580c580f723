"""Real brokers in processes of their own, for tests over real sockets."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class RunningBroker:
    """`triplewire serve` on free ports; `http` is the base URL, `ws` the subscribe URL of the WebSocket port.

    `streams` is the base URL of the stream port.  `https`, `wss` and `streams_tls` are the same over TLS, "" without a
    certificate.
    """

    process: subprocess.Popen[str]
    http: str
    ws: str
    log_path: Path
    lines: list[str] = field(default_factory=list)
    https: str = ""
    wss: str = ""
    streams: str = ""
    streams_tls: str = ""

    @classmethod
    def start(cls, *arguments: str, env: dict[str, str] | None = None, memory: bool = True) -> RunningBroker:
        """Start it and wait for `ready`; raises RuntimeError with its output where it ends instead."""
        log = tempfile.NamedTemporaryFile(  # noqa: SIM115 - it outlives this function
            mode="w", suffix=".log", prefix="triplewire-", delete=False
        )
        command = [
            sys.executable,
            "-P",
            "-m",
            "triplewire.clients",
            "serve",
            "--http-port",
            "0",
            "--ws-port",
            "0",
            "--stream-port",
            "0",
            "--set",
            "tls.stream_port=0",
        ]
        command += ["--memory", *arguments] if memory else [*arguments]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ | (env or {})
        )
        log.close()
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if lines[-1] == "ready":
                break
        else:
            process.wait()
            process.stdout.close()
            message = f"the broker ended with {process.returncode}: {lines} {Path(log.name).read_text()}"
            raise RuntimeError(message)
        http = next(m.group() for line in lines if (m := re.search(r"http://[^/\s]+", line)))
        ws = next(m.group() for line in lines if (m := re.search(r"ws://\S+", line)))
        https, wss, streams, streams_tls = (
            next((m.group(1) for line in lines if (m := re.search(pattern, line))), "")
            for pattern in (
                r"^tls .*?(https://[^/\s]+)",
                r"(wss://\S+)",
                r"^streams .*?(http://[^/\s]+)",
                r"^streams .*?(https://[^/\s]+)",
            )
        )
        return cls(process, http, ws, Path(log.name), lines, https, wss, streams, streams_tls)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def log(self) -> str:
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def stop(self, timeout: float = 15) -> int:
        """SIGTERM, and its exit status."""
        if self.alive:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            if self.process.stdout is not None:
                self.process.stdout.close()
        self.log_path.unlink(missing_ok=True)
        return status

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.log_path.unlink(missing_ok=True)


@dataclass
class RunningOxigraph:
    """`oxigraph serve`, in memory where no location is given: the remote SPARQL endpoint of the tests."""

    process: subprocess.Popen[bytes]
    url: str

    @classmethod
    def start(cls, location: str | None = None) -> RunningOxigraph:
        import socket
        import sysconfig

        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        program = Path(sysconfig.get_path("scripts")) / "oxigraph"
        process = subprocess.Popen(
            [
                str(program),
                "serve",
                "--bind",
                f"127.0.0.1:{port}",
                *(["--location", location] if location else []),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 15
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if time.monotonic() > deadline or process.poll() is not None:
                    process.kill()
                    raise
                time.sleep(0.05)
        return cls(process, f"http://127.0.0.1:{port}")

    @property
    def query(self) -> str:
        return f"{self.url}/query"

    @property
    def update(self) -> str:
        return f"{self.url}/update"

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)
