"""Writing no more on a connection, so that the other end can still read what was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


def hang_up(transport: asyncio.Transport) -> None:
    """Half-close it: a close at once could take the last words away with a reset, where something comes unread.

    Over TLS there is no such thing, and it is closed; a connection that the other end has reset is gone.
    """
    if not transport.can_write_eof():
        transport.close()
        return
    try:
        transport.write_eof()
    except OSError:  # the reset has come, and the loop has not told it yet
        transport.abort()
