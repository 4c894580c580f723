"""The handshakes, against the servers themselves where they are installed: who joined is told an item."""

from __future__ import annotations

import time

import pytest
from bench.fanout.crowd import Crowd
from bench.fanout.handshakes import HANDSHAKES
from bench.fanout.peers import PEERS
from bench.fanout.processes import BUILD, Program

MODES = [(name, mode) for name, peer in PEERS.items() for mode in peer.modes]


@pytest.mark.parametrize(("name", "mode"), MODES, ids=[f"{name}, {mode}" for name, mode in MODES])
def test_who_joined_is_told_an_item(name, mode):
    if why := PEERS[name].missing():
        pytest.skip(why)
    BUILD.mkdir(parents=True, exist_ok=True)
    peer = PEERS[name](mode, 1)
    try:
        address = peer.start()
        handshake = HANDSHAKES[address.protocol]
        crowd = Crowd((address.host, address.port), lambda: handshake(address.path), "127.0.0.2")
        crowd.join(3, 100, time.monotonic() + 10)
        assert len(crowd) == 3, crowd.refused
        time.sleep(0.3)  # ZeroMQ and Faye do not answer the last of what they are told
        port = address.publish_port or address.port
        sink = {"sink": address.sink, "host": address.host, "port": port, "path": address.publish_path}
        publisher = Program("publisher", **sink, rate=100, seed=1)
        publisher.tell(warm=5)  # one after the other
        until = time.monotonic() + 10
        while crowd.items < 15 and time.monotonic() < until:
            crowd.round(0.05)
        publisher.stop()
        assert crowd.missing(range(-999, -994)) == {"lost": 0, "twice": 0, "reordered": 0, "cut": 0}
        crowd.close()
    finally:
        peer.stop()
