"""The connections of the stream port that speak HTTP: bounded in all and by address, cut when they say nothing in time."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from triplewire.broker.errors import Overloaded

from .accounts import Hold

if TYPE_CHECKING:
    from triplewire.broker.config import LimitsConfig

    from .accounts import Accounts
    from .protocol import Connection


class Connections:
    """Those that do not follow: a consumer's is none of these any more, but keeps its place on its address's account."""

    def __init__(self, limits: LimitsConfig, accounts: Accounts) -> None:
        self.shed = 0  # how often there were too many
        self._limits = limits
        self._accounts = accounts
        self._there: dict[Connection, None] = {}

    def __len__(self) -> int:
        return len(self._there)

    def add(self, connection: Connection) -> None:
        """One more.

        Raises:
            Overloaded: there are as many as may be, in all or of its address.
        """
        self._there[connection] = None
        peer = connection.transport.get_extra_info("peername")
        connection.address = peer[0] if isinstance(peer, tuple) else None
        try:
            self._count(connection)
        except Overloaded:
            self.shed += 1
            raise
        opened = connection.transport.get_extra_info("socket")
        if opened is not None and opened.family != socket.AF_UNIX:
            # A peer that has gone without a word is noticed, if nothing is sent to it for hours
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._bound_unread(opened)

    def remove(self, connection: Connection) -> None:
        """It has gone, or follows."""
        self._there.pop(connection, None)
        if connection.place is not None:
            connection.place.give()

    def expire(self, now: float) -> None:
        """Cut those who say nothing in time."""
        for connection in tuple(self._there):
            if connection.deadline < now:
                connection.cut()

    def cut(self) -> None:
        """All of them."""
        for connection in tuple(self._there):
            connection.cut()

    def _count(self, connection: Connection) -> None:
        if len(self._there) > self._limits.sockets:
            raise Overloaded("too many connections (limits.sockets)")
        if not self._accounts.counts("", connection.address):
            return

        def refused() -> None:  # cut by the next sweep, whether it asks for anything or not
            connection.deadline = 0.0

        connection.place = Hold(self._accounts, ("sockets", "", connection.address))
        connection.place.when_refused(refused)

    def _bound_unread(self, opened: socket.socket) -> None:
        """Have the kernel end a connection whose peer takes nothing of what waits for it for `limits.send_s`.

        That is one who has stopped reading, which tcp(7) counts as well, or one that is not there any more.  A timer of
        ours would have to look at each of tens of thousands.
        """
        option = getattr(socket, "TCP_USER_TIMEOUT", None)  # Linux has it
        if option is not None and self._limits.send_s:
            opened.setsockopt(socket.IPPROTO_TCP, option, max(1, int(self._limits.send_s * 1000)))
