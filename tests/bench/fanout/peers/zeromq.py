"""ZeroMQ: a process with a PUB socket, fed through a PULL socket; libzmq does all of it in C++, by one I/O thread."""

from __future__ import annotations

import importlib.util
import sys

from bench.fanout.processes import BUILD, free_port, started

from .peer import Address, Peer

_PROGRAM = """
import sys, zmq
context = zmq.Context()
context.set(zmq.MAX_SOCKETS, 1023)
taken, told = context.socket(zmq.PULL), context.socket(zmq.PUB)
told.set(zmq.SNDHWM, 100000)
told.set(zmq.BACKLOG, 4096)
taken.bind(f"tcp://127.0.0.1:{sys.argv[2]}")
told.bind(f"tcp://127.0.0.1:{sys.argv[1]}")
while True:
    told.send(taken.recv(copy=False), copy=False)
"""


class ZeroMQ(Peer):
    """One PUB socket."""

    name = "zeromq"

    @staticmethod
    def missing() -> str:
        return "" if importlib.util.find_spec("zmq") else "pyzmq is not installed (extra: bench)"

    def start(self) -> Address:
        port, publish_port = free_port(), free_port()
        command = [sys.executable, "-c", _PROGRAM, str(port), str(publish_port)]
        self._process = started(command, port, log=BUILD / "zeromq.log")
        return Address(
            pids=[self._process.pid], port=port, protocol="zeromq", sink="zeromq", publish_port=publish_port
        )
