"""Sockets for the stream port, which several processes can have together."""

from __future__ import annotations

import socket
from typing import Any


def listening(host: str, port: int, *, shared: bool = False) -> list[socket.socket]:
    """Sockets on all addresses of the host, the same port on each; see `bound`.

    Raises:
        OSError: that can't be listened on.
    """
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    try:
        for family, _, _, _, address in dict.fromkeys(found):
            number = sockets[0].getsockname()[1] if sockets else port
            sockets.append(bound(family, (address[0], number, *address[2:]), shared=shared))
    except OSError:
        for opened in sockets:
            opened.close()
        raise
    return sockets


def bound(family: int, address: tuple[Any, ...], *, shared: bool = False) -> socket.socket:
    """A socket that is bound and does not listen yet; `shared`: other processes may have the same address.

    Raises:
        OSError: the address can't be had.
    """
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind(address)
    except OSError:
        opened.close()
        raise
    return opened
