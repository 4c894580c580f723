"""The bytes of a publisher, on its account."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from triplewire.broker.errors import TooManyRequests

if TYPE_CHECKING:
    from .accounts import Accounts
    from .bodies import Body
    from .protocol import Connection


class Paying:
    """Of one request: counted when it ends, or on and on where it does not."""

    def __init__(self, accounts: Accounts, client: str, connection: Connection, body: Body) -> None:
        self._accounts = accounts
        self._client = client
        self._connection = connection
        self._body = body
        self._paid = 0

    async def came(self, size: int) -> None:
        """So many more have come; they count as a request.

        Who sends more than it may is not read for a while: to refuse it in the middle would lose what is on its way.
        """
        client, address = self._client, self._connection.address
        if not self._accounts.counts(client, address):
            return
        self._paid += size
        self._accounts.received(client, address, size)
        while not self._connection.lost:
            try:
                asked = self._accounts.request(client, address)
                if asked is not None:
                    await asked
            except TooManyRequests as error:
                await asyncio.sleep(error.retry_after_s)
            else:
                return

    def settle(self) -> None:
        """The request has ended, whatever way."""
        if self._body.size > self._paid:
            self._accounts.received(self._client, self._connection.address, self._body.size - self._paid)
