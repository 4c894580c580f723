"""Mosquitto, an MQTT broker in C, at quality 0."""

from __future__ import annotations

from bench.fanout.processes import BUILD, free_port, started

from .peer import Address, Peer, program

_CONFIG = """listener {port} 127.0.0.1
allow_anonymous true
persistence false
sys_interval 0
max_connections -1
max_queued_messages 100000
max_queued_bytes 0
set_tcp_nodelay true
log_dest stderr
log_type error
"""


class Mosquitto(Peer):
    """One topic."""

    name = "mosquitto"

    @staticmethod
    def missing() -> str:
        return "" if program("mosquitto") else "Mosquitto is not installed"

    def start(self) -> Address:
        port = free_port()
        command = [program("mosquitto") or "mosquitto", "-c", self._configured(_CONFIG.format(port=port))]
        self._process = started(command, port, log=BUILD / "mosquitto.log")
        return Address(pids=[self._process.pid], port=port, protocol="mqtt", sink="mqtt")
