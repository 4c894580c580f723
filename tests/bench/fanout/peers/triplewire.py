"""Ours: `triplewire serve`, with its workers where it is to be several processes."""

from __future__ import annotations

from bench.fanout.processes import family
from support.running import RunningBroker

from .peer import DEFLATE, PLAIN, WINDOW, Address, Mode, Peer


class Triplewire(Peer):
    """The broker with one stream."""

    name = "triplewire"
    modes = (PLAIN, WINDOW, DEFLATE)
    several = True

    def __init__(self, mode: Mode, processes: int = 1) -> None:
        super().__init__(mode, processes)
        self._broker: RunningBroker | None = None

    @staticmethod
    def missing() -> str:
        return ""

    def start(self) -> Address:
        window = [f"streams.events.{name}={self.mode.window_s}" for name in ("window_s", "window_most_s")]
        settings = [each for setting in (*window, "log.level=WARNING") for each in ("--set", setting)]
        workers = self.processes if self.processes > 1 else 0
        self._broker = RunningBroker.start("--stream-workers", str(workers), *settings)
        kind = "compressed" if self.mode.deflate else "stream"
        return Address(
            pids=family(self._broker.process.pid),
            port=int(self._broker.streams.rsplit(":", 1)[1]),
            protocol="deflate" if self.mode.deflate else "http",
            sink="http",
            path=f"/events/{kind}",
            publish_path="/events/publish",
        )

    def stop(self) -> None:
        if self._broker is not None:
            self._broker.stop()
