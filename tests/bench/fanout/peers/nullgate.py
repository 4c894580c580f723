"""The floor of a Python process: frames and compresses a batch once and sends it to each socket, with no features.

It stands in the load client's folder (../shared/tools/loadclient beside the working tree), which need not be there.
"""

from __future__ import annotations

import sys

from bench.fanout.processes import BUILD, TESTS, free_port, started

from .peer import DEFLATE, PLAIN, WINDOW, Address, Peer

_PROGRAM = TESTS.parents[1] / "shared" / "tools" / "loadclient" / "nullgate.py"


class Nullgate(Peer):
    """The bare gate."""

    name = "nullgate"
    modes = (PLAIN, WINDOW, DEFLATE)

    @staticmethod
    def missing() -> str:
        return "" if _PROGRAM.is_file() else "the load client's folder is not there"

    def start(self) -> Address:
        port = free_port()
        command = [sys.executable, str(_PROGRAM), str(port), str(self.mode.window_s)]
        self._process = started(command, port, log=BUILD / "nullgate.log")
        return Address(
            pids=[self._process.pid],
            port=port,
            protocol="deflate" if self.mode.deflate else "http",
            sink="http",
            path="/events/compressed" if self.mode.deflate else "/events/stream",
            publish_path="/events/publish",
        )
