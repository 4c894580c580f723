"""One client of the Secure Event Protocol, whatever carries its texts.

Texts come in one at a time and are answered in order; all that goes out, replies too, goes through the outbox, so
that what the client hears is what the core did, in the core's order.

Where clients have to say who they are, each message has its token; what it asks for is done for the token's client.
"""

from __future__ import annotations

import logging
import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from triplewire.broker import meters
from triplewire.broker.errors import BrokerError, Overloaded
from triplewire.broker.model import Failure, Subscribe, Unsubscribe
from triplewire.broker.rights import Scope
from triplewire.broker.security.authority import access_of
from triplewire.broker.wire.subscribe import (
    MessageError,
    Renewed,
    RenewMessage,
    SubscribeMessage,
    UnsubscribeMessage,
    decode_client,
)
from triplewire.gates.leases import outbox_for
from triplewire.gates.quotas import Holdings

from .endings import Endings

if TYPE_CHECKING:
    from triplewire.broker.config import LimitsConfig
    from triplewire.broker.rights import Access
    from triplewire.broker.scheduler import Scheduler
    from triplewire.broker.security.authority import Authority
    from triplewire.broker.wire.subscribe import ClientMessage
    from triplewire.gates.quotas import Quotas

log = logging.getLogger("triplewire.gates.websocket")

_ELIDED = 75  # characters of a query in the log


class Session:
    """Joins the scheduler when made, leaves it when closed."""

    def __init__(  # noqa: PLR0913 - all that it depends on
        self,
        scheduler: Scheduler,
        limits: LimitsConfig,
        authority: Authority,
        quotas: Quotas,
        renew_s: float,
        *,
        address: str | None = None,
        wrong_path: str | None = None,
    ) -> None:
        """`renew_s` is how long a subscription waits for another token when its own has run out."""
        self._scheduler = scheduler
        self._limits = limits
        self._authority = authority
        self._wrong_path = wrong_path
        self._endings = Endings(scheduler)
        self._held = Holdings(quotas, address)
        self.is_known = False  # whether a good token was shown
        self.outbox, self._leases = outbox_for(authority, limits, renew_s, self._endings.add)
        if self._leases is not None:
            self._leases.ended = self._held.unsubscribe
        try:
            self.subscriber = self._endings.subscriber = scheduler.join(self._leases or self.outbox)
        except BrokerError:
            self._held.close()
            raise

    async def receive(self, message: str | bytes) -> None:
        """Carry out one message of the client; what is wrong with it is told in the outbox."""
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
        log.debug("< %d %s", self.subscriber, _shown(said))
        try:
            await self._carry_out(said, len(message))
        except BrokerError as error:
            # SEPA's engine sends 500 here for too_many_requests; its Java client retries 404 and 408 as time-outs
            status = 500 if isinstance(error, Overloaded) else error.status
            self._tell(error.code, status, error.description, said.alias)

    def close(self, *, lost: bool = False) -> None:
        """The connection is gone, and its subscriptions with it; where it was `lost`, the client may come back."""
        self._scheduler.leave(self.subscriber, lost=lost)
        self._endings.close()
        self._held.close()
        if self._leases is not None:
            self._leases.close()
        self.outbox.finish()

    async def _carry_out(self, said: ClientMessage, size: int) -> None:
        access = await access_of(self._authority, said.authorization)
        self.is_known = True
        self._held.message(access.client, size)
        access.need(Scope.SUBSCRIBE)
        match said:
            case SubscribeMessage():
                await self._subscribe(said, access)
            case UnsubscribeMessage():
                await self._unsubscribe(said, access)
            case RenewMessage():
                self.outbox.tell(Renewed(_seconds_left(access), said.alias))
                if self._leases is not None:
                    self._leases.renew(access, knowingly=True)

    async def _subscribe(self, said: SubscribeMessage, access: Access) -> None:
        if self._leases is not None:
            self._leases.begin_anew(access, said.alias, said.query)
            self._leases.renew(access)
            self._leases.ask(access, said.alias, said.query)
        resumable = said.resumable and self._limits.resume_s > 0
        query = said.query if access.rights.read is None else replace(said.query, readable=access.rights.read)
        subscribe = Subscribe(query, self.subscriber, said.alias, resumable, said.resume, access.client)
        self._held.subscribe(access.client)
        try:
            await self._scheduler.submit(subscribe)
        except BrokerError:
            self._held.unsubscribe(access.client)
            raise

    async def _unsubscribe(self, said: UnsubscribeMessage, access: Access) -> None:
        if self._leases is not None:
            self._leases.renew(access)
            self._leases.check(said.spuid, access)
        await self._scheduler.submit(Unsubscribe(said.spuid, self.subscriber))
        if self._leases is None:  # they know of every end
            self._held.unsubscribe(access.client)

    def _tell(self, code: str, status: int, description: str, alias: str | None) -> None:
        log.info("! %d %s: %.200s", self.subscriber, code, description)
        meters.refused("websocket", status)
        self.outbox.put(Failure(code, status, description, alias))


def _shown(said: ClientMessage) -> str:
    """What the log may show of a message: nothing of its token."""
    match said:
        case SubscribeMessage():
            return f"subscribe {said.alias!r:.40} {said.query.sparql[:_ELIDED]!r}"
        case UnsubscribeMessage():
            return f"unsubscribe {said.spuid!r:.75}"
        case RenewMessage():
            return "renew"


def _seconds_left(access: Access) -> int | None:
    return None if access.expires == math.inf else max(0, int(access.expires - time.time()))


def _alias_of(message: str | bytes) -> str | None:
    """The alias by which the client will know what an error answers."""
    try:
        return decode_client(message).alias if isinstance(message, str) else None
    except MessageError as error:
        return error.alias
