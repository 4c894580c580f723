"""A stream port with one stream, `events`, in a process of its own: what a relay is to consumers, and can be killed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Self

from triplewire.broker.config import LimitsConfig, StreamConfig, StreamGateConfig
from triplewire.broker.security.authority import Nobody
from triplewire.gates.stream.server import StreamServer
from triplewire.gates.stream.stream import open_stream


class LoneStream:
    """`with LoneStream() as stream:`; `url` is the stream's."""

    def __init__(self, port: int = 0) -> None:
        tests = str(Path(__file__).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "support.lone_stream", str(port)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": tests},
            cwd="/",
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.base = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.base}/events"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """It is gone from one moment to the next; may be called again."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


async def _serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    events = open_stream("events", StreamConfig(history_items=10_000), loop)
    server = StreamServer({"events": events}, Nobody(), LimitsConfig(), StreamGateConfig(port=port))
    print(*await server.start(), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
