"""Sockets that several processes can have."""

from __future__ import annotations

import socket

import pytest

from triplewire.gates.stream.sockets import bound, listening


def closed(sockets):
    for opened in sockets:
        opened.close()


def test_all_addresses_of_a_host_have_the_same_port():
    """Any free one where 0 is asked for."""
    sockets = listening("localhost", 0)
    assert len({opened.getsockname()[1] for opened in sockets}) == 1
    closed(sockets)


def test_a_port_is_shared_by_those_who_say_so():
    """The one who holds it does not listen, and gets no connection."""
    (held,) = listening("127.0.0.1", 0, shared=True)
    worker = bound(held.family, held.getsockname(), shared=True)
    worker.listen()
    with socket.create_connection(held.getsockname(), 2) as client:
        accepted, address = worker.accept()
        assert address == client.getsockname()
        accepted.close()
    with pytest.raises(OSError, match="in use"):
        bound(held.family, held.getsockname())
    closed([held, worker])
