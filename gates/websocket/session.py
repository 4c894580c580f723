"""One client of the Secure Event Protocol, whatever carries its texts.

Texts come in one at a time and are answered in order; all that goes out, replies too, goes through the outbox, so
that what the client hears is what the core did, in the core's order.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from triplewire.broker.errors import BrokerError, Overloaded
from triplewire.broker.model import Failure, Subscribe, Unsubscribe
from triplewire.broker.wire.subscribe import MessageError, SubscribeMessage, decode_client
from triplewire.gates.outbox import Outbox

if TYPE_CHECKING:
    from triplewire.broker.config import LimitsConfig
    from triplewire.broker.scheduler import Scheduler
    from triplewire.broker.wire.subscribe import ClientMessage

log = logging.getLogger("triplewire.gates.websocket")

_ELIDED = 75


class Session:
    """Joins the scheduler when made, leaves it when closed."""

    def __init__(self, scheduler: Scheduler, limits: LimitsConfig, *, wrong_path: str | None = None) -> None:
        self._scheduler = scheduler
        self._limits = limits
        self._wrong_path = wrong_path
        self.outbox = Outbox(limits)
        self.subscriber = scheduler.join(self.outbox)

    async def receive(self, message: str | bytes) -> None:
        """Carry out one message of the client; what is wrong with it is told in the outbox."""
        log.debug("< %d %.*s", self.subscriber, _ELIDED, message)
        if self._wrong_path is not None:
            self._tell("wrong_path", 404, self._wrong_path, _alias_of(message))
            return
        if isinstance(message, bytes):
            self._tell("JsonParseException", 400, "messages must be text frames; this one is binary", None)
            return
        try:
            said = decode_client(message)
        except MessageError as error:
            self._tell(error.code, 400, str(error), error.alias)
            return
        try:
            await self._scheduler.submit(self._request(said))
        except BrokerError as error:
            # SEPA's engine sends 500 here for too_many_requests; its Java client retries 404 and 408 as time-outs
            status = 500 if isinstance(error, Overloaded) else error.status
            self._tell(error.code, status, error.description, said.alias)

    def close(self, *, lost: bool = False) -> None:
        """The connection is gone, and its subscriptions with it; where it was `lost`, the client may come back."""
        self._scheduler.leave(self.subscriber, lost=lost)
        self.outbox.finish()

    def _request(self, said: ClientMessage) -> Subscribe | Unsubscribe:
        if isinstance(said, SubscribeMessage):
            resumable = said.resumable and self._limits.resume_s > 0
            return Subscribe(said.query, self.subscriber, said.alias, resumable, said.resume)
        return Unsubscribe(said.spuid, self.subscriber)

    def _tell(self, code: str, status: int, description: str, alias: str | None) -> None:
        log.info("! %d %s: %.200s", self.subscriber, code, description)
        self.outbox.put(Failure(code, status, description, alias))


def _alias_of(message: str | bytes) -> str | None:
    """The alias by which the client will know what an error answers."""
    try:
        return decode_client(message).alias if isinstance(message, str) else None
    except MessageError as error:
        return error.alias
