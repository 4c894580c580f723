"""Faye, a Bayeux server for Node.js, which the paper compares with; npm puts it under build/, at the first start."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from bench.fanout.processes import BUILD, free_port, started

from .peer import Address, Peer

_VERSION = "1.4.3"
_FOLDER = BUILD / "node"
# A consumer's connect is held for as long as a run takes: with WebSockets its answer carries no items.
_SERVER = """
const http = require('http'), faye = require('faye');
const server = http.createServer();
new faye.NodeAdapter({mount: '/faye', timeout: 3600}).attach(server);
server.listen({port: Number(process.argv[2]), host: '127.0.0.1', backlog: 4096});
"""


class Faye(Peer):
    """One channel."""

    name = "faye"

    @staticmethod
    def missing() -> str:
        if shutil.which("node") is None:
            return "Node.js is not installed"
        if (_FOLDER / "node_modules" / "faye").is_dir():
            return ""
        return _install()

    def start(self) -> Address:
        port = free_port()
        program = Path(_FOLDER) / "server.js"
        program.write_text(_SERVER)
        self._process = started(["node", str(program), str(port)], port, log=BUILD / "faye.log")
        return Address(
            pids=[self._process.pid],
            port=port,
            protocol="faye",
            sink="faye",
            path="/faye",
            publish_path="/faye",
        )


def _install() -> str:
    """Why it could not be; empty where it is."""
    if shutil.which("npm") is None:
        return "npm is not installed"
    _FOLDER.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(_FOLDER), f"faye@{_VERSION}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return f"npm did not fetch faye@{_VERSION} within 120 s"
    return "" if done.returncode == 0 else f"npm did not fetch faye@{_VERSION}: {done.stderr[-300:]}"
