"""The connection to the MQTT broker: messages in order, each acknowledged when it has been dealt with and not before.

Nothing that comes with QoS 1 is lost.  The broker keeps a session for us (MQTT 5, 4.1), with our subscriptions and every
message that we have not acknowledged, and may send no more than `in_flight` of those at once (4.9): while updates are
slow or the SPARQL broker is away, messages wait at the MQTT broker, up to the limits that it sets itself.  After a lost
connection it sends what was not acknowledged again, marked as a duplicate and with the same packet identifier.  We know
the last of those that we had, so in one run of the adapter none is dealt with twice.  Across two runs one may be: the
adapter died between the update and its acknowledgement.

Messages of QoS 0 come as they come.  Up to `queue` of them wait here; one more is lost, and counted.

aiomqtt acknowledges a message when it arrives.  To do it later we take paho's client, which it is made of, into our own
hands for that: `manual_ack_set`, `on_message` and `ack` are paho's public methods.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from triplewire.clients import ClientSettings
from triplewire.clients.backoff import Backoff

from .services import finished

try:
    import aiomqtt
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties
    from paho.mqtt.subscribeoptions import SubscribeOptions
except ImportError as missing:
    raise ImportError("the MQTT adapter needs aiomqtt: pip install 'triplewire[mqtt]'") from missing

if TYPE_CHECKING:
    from paho.mqtt.client import MQTTMessage

    from .mqtt_settings import MqttSettings

logger = logging.getLogger("triplewire.conf.monitoring")


@dataclass(slots=True, eq=False)
class MqttMessage:
    """A message as it arrived; `connection` is the number of the connection that it came by last."""

    topic: str
    payload: bytes
    qos: int
    packet: int
    connection: int
    is_done: bool = False
    arrived: datetime = field(default_factory=lambda: datetime.now(UTC))


class MqttLink:
    """Fills `inbox` while `run` runs; whoever takes a message out says `done` of each, in the same order."""

    def __init__(self, settings: MqttSettings, patience: ClientSettings | None = None) -> None:
        patience = patience or ClientSettings()
        self.inbox: asyncio.Queue[MqttMessage] = asyncio.Queue()
        self.connected = asyncio.Event()
        self.lost = 0  # of QoS 0
        self.repeated = 0
        self._settings = settings
        self._backoff = Backoff(random.Random(), patience)  # noqa: S311 - jitter, no secret
        self._timeout_s = patience.timeout_s
        self._connection = 0
        self._client: aiomqtt.Client | None = None
        self._known: dict[int, MqttMessage] = {}  # by packet identifier
        # The last of them; their acknowledgements may not have arrived.
        self._done: deque[MqttMessage] = deque()

    async def run(self) -> None:
        """Connect, and connect again, until cancelled.

        Raises:
            OSError: a file with a certificate or the password can't be read.
        """
        loop = asyncio.get_running_loop()
        while True:
            client = self._make()
            began = loop.time()
            try:
                await self._stay(client)
            except aiomqtt.MqttError as error:
                # A text: who keeps log records would keep the error's frames, and the socket in them.
                reason = str(error)
                logger.warning(
                    "! no connection to MQTT at %s:%s: %s", self._settings.host, self._settings.port, reason
                )
            # Only a connection that lasted makes the waits short again, as another adapter of our name may be about.
            if loop.time() - began >= self._backoff.longest_s:
                self._backoff.reset()
            await asyncio.sleep(self._backoff.next_s())

    def done(self, message: MqttMessage) -> None:
        """The message has been dealt with; the broker may forget it."""
        message.is_done = True
        if message.qos == 0:
            return
        self._done.append(message)
        if len(self._done) > self._settings.in_flight:
            oldest = self._done.popleft()
            if self._known.get(oldest.packet) is oldest:
                del self._known[oldest.packet]
        self._acknowledge(message)

    async def _stay(self, client: aiomqtt.Client) -> None:
        # Before it is connected: what was not acknowledged comes right with the connection.
        self._client = client
        try:
            # Cancelled while it connects, aiomqtt would leave a socket behind.
            await finished(client.__aenter__())
            await finished(self._subscribe(client))
            logger.info("= connected to MQTT at %s:%s", self._settings.host, self._settings.port)
            self.connected.set()
            async for _ in client.messages:
                pass  # none come, because they come to `_arrived`; it ends with the connection
        finally:
            self._client = None
            self.connected.clear()
            if client._client.socket() is not None:  # noqa: SLF001 - see the module's docstring
                with contextlib.suppress(aiomqtt.MqttError):  # it is closed, although nobody said so
                    await client.__aexit__(None, None, None)

    def _make(self) -> aiomqtt.Client:
        settings = self._settings
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.ReceiveMaximum = settings.in_flight
        properties.SessionExpiryInterval = settings.session_s
        client = aiomqtt.Client(
            settings.host,
            settings.port,
            username=settings.username,
            password=settings.password(),
            identifier=settings.client,
            timeout=self._timeout_s,
            protocol=aiomqtt.ProtocolVersion.V5,
            clean_start=False,
            properties=properties,
            tls_context=settings.tls.context() if settings.tls else None,
        )
        self._connection += 1
        paho = client._client  # noqa: SLF001 - see the module's docstring
        paho.manual_ack_set(True)
        connection = self._connection
        paho.on_message = lambda _, __, message: self._arrived(message, connection)
        return client

    async def _subscribe(self, client: aiomqtt.Client) -> None:
        # Retained messages only where the subscription is new (3.8.3.1): else they would come again at each connection.
        options = SubscribeOptions(qos=1, retainHandling=SubscribeOptions.RETAIN_SEND_IF_NEW_SUB)
        codes: Any = await client.subscribe([(topic, options) for topic in self._settings.topics])
        for topic, code in zip(self._settings.topics, codes, strict=True):
            if code.is_failure:
                raise aiomqtt.MqttError(f"the broker refuses {topic}: {code}")

    def _arrived(self, message: MQTTMessage, connection: int) -> None:
        try:
            topic = message.topic
        except UnicodeDecodeError:
            topic = "�"  # mapped to nothing
        if message.qos == 0:
            if self.inbox.qsize() >= self._settings.queue:
                self.lost += 1
                return
        elif message.dup and self._is_repetition(topic, message, connection):
            return
        arrived = MqttMessage(topic, bytes(message.payload), message.qos, message.mid, connection)
        if message.qos:
            self._known[message.mid] = arrived
        self.inbox.put_nowait(arrived)

    def _is_repetition(self, topic: str, message: MQTTMessage, connection: int) -> bool:
        """Whether we have it already: then it waits in the inbox still, or only its acknowledgement got lost."""
        known = self._known.get(message.mid)
        if known is None or (known.topic, known.payload) != (topic, message.payload):
            return False
        self.repeated += 1
        known.connection = connection
        if known.is_done:
            self._acknowledge(known)
        return True

    def _acknowledge(self, message: MqttMessage) -> None:
        # By another connection than it came by, the message has yet to come again: it is acknowledged then.
        if self._client is not None and message.connection == self._connection:
            self._client._client.ack(message.packet, message.qos)  # noqa: SLF001 - see the module's docstring
