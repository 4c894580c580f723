"""Real brokers in processes of their own, for tests over real sockets."""

from __future__ import annotations

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from .running_program import RunningProgram, started


@dataclass
class RunningBroker(RunningProgram):
    """`triplewire serve` on free ports; `http` is the base URL, `ws` the subscribe URL of the WebSocket port.

    `streams` is the base URL of the stream port.  `https`, `wss` and `streams_tls` are the same over TLS, "" without a
    certificate.
    """

    http: str
    ws: str
    https: str = ""
    wss: str = ""
    streams: str = ""
    streams_tls: str = ""

    @classmethod
    def start(cls, *arguments: str, env: dict[str, str] | None = None, memory: bool = True) -> RunningBroker:
        """Start it and wait for `ready`; raises RuntimeError with its output where it ends instead."""
        command = ["--http-port", "0", "--ws-port", "0", "--stream-port", "0", "--set", "tls.stream_port=0"]
        command += ["--memory", *arguments] if memory else [*arguments]
        found = started("serve", *command, env=env)
        http, ws, https, wss, streams, streams_tls = (
            next((m.group(1) for line in found.lines if (m := re.search(pattern, line))), "")
            for pattern in (
                r"(http://[^/\s]+)",
                r"(ws://\S+)",
                r"^tls .*?(https://[^/\s]+)",
                r"(wss://\S+)",
                r"^streams .*?(http://[^/\s]+)",
                r"^streams .*?(https://[^/\s]+)",
            )
        )
        return cls(*found, http, ws, https, wss, streams, streams_tls)


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
